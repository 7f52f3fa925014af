#pragma once

#include <algorithm>
#include <limits>
#include <vector>

namespace kiln {

/// Follows how many brackets are open in a text, over all branches of its conditionals: rather too many than too few. Below none
/// where a bracket was opened in another text, or the branch is taken for nothing.
class Brackets {
 public:
  void open() { ++open_; }
  void close() { --open_; }

  void begin_conditional() { conditionals_.push_back({.before = open_}); }

  /// `last`: one of its branches is taken.
  void begin_branch(bool last) {
    if (conditionals_.empty()) return;
    auto& conditional = conditionals_.back();
    conditional.most = std::max(conditional.most, open_);
    conditional.may_be_skipped &= !last;
    open_ = conditional.before;
  }

  void end_conditional() {
    if (conditionals_.empty()) return;
    const auto& conditional = conditionals_.back();
    open_ = std::max(open_, conditional.most);
    if (conditional.may_be_skipped) open_ = std::max(open_, conditional.before);
    conditionals_.pop_back();
  }

  [[nodiscard]] bool any() const { return open_ > 0; }

 private:
  struct Conditional {
    int before;
    int most = std::numeric_limits<int>::min();  ///< Behind any branch so far.
    bool may_be_skipped = true;
  };

  int open_ = 0;
  std::vector<Conditional> conditionals_;
};

}  // namespace kiln
