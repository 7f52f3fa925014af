#pragma once

#include <span>
#include <vector>

namespace demo {

/// The tokens of one step, a row each.
struct Batch {
  std::vector<int> tokens;
  std::vector<int> positions;   ///< In the sequence.
  std::vector<int> lengths;     ///< How many tokens each attends to: itself and all before it.
  std::vector<int> page_table;  ///< [row][shape::pages]: where the sequence's keys and values lie.
};

/// The sequence that is decoded: how long it is, and which pages of the key/value cache are its own.
class Sequence {
 public:
  /// The next tokens, with room in the cache for what is made of them. REQUIRES: at most
  /// shape::max_positions tokens in all.
  [[nodiscard]] Batch append(std::span<const int> tokens);

 private:
  int length_ = 0;
  std::vector<int> pages_;
};

}  // namespace demo
