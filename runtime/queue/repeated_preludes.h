#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <unordered_set>
#include <utility>

#include "kiln/digest.h"

namespace kiln {

/// The preludes that are worth precompiling: of each, several programs are about to be compiled, or one was before. Safe to use
/// from any thread.
class RepeatedPreludes {
 public:
  /// While one exists, its preludes are expected. Must not outlive `all`.
  class Scope {
   public:
    Scope(RepeatedPreludes& all, std::set<Digest> own) : all_(all), own_(std::move(own)) {
      const std::lock_guard lock(all_.mutex_);
      all_.expected_.insert(own_.begin(), own_.end());
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    // One of each: another scope may expect the same.
    ~Scope() {
      const std::lock_guard lock(all_.mutex_);
      for (const auto& prelude : own_) all_.expected_.erase(all_.expected_.find(prelude));
    }

   private:
    RepeatedPreludes& all_;
    const std::set<Digest> own_;
  };

  /// Whether the prelude of a program that is compiled now is one of them.
  [[nodiscard]] bool meet(const Digest& prelude) {
    const std::lock_guard lock(mutex_);
    if (met_.size() >= most_met) met_.clear();
    return !met_.insert(prelude).second || expected_.contains(prelude);
  }

 private:
  static constexpr std::size_t most_met = 65'536;

  std::mutex mutex_;
  std::multiset<Digest> expected_;
  std::unordered_set<Digest, DigestHash> met_;
};

}  // namespace kiln
