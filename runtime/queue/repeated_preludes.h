#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "kiln/digest.h"

namespace kiln {

/// The preludes that are worth precompiling: of each, several programs are about to be compiled, or others were before and took long
/// enough. Safe to use from any thread.
class RepeatedPreludes {
 public:
  /// Precompiling costs about as much as `worth`, however short a prelude is, and pays by what it takes off later compiles: where
  /// nobody said how many will come, it begins once the earlier ones took so long together.
  explicit RepeatedPreludes(std::chrono::microseconds worth) : worth_(worth) {}

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
    const auto [met, is_first] = met_.try_emplace(prelude);
    return expected_.contains(prelude) || (!is_first && met->second >= worth_);
  }

  /// A program of this prelude was compiled, and its prelude with it.
  void took(const Digest& prelude, std::chrono::microseconds time) {
    const std::lock_guard lock(mutex_);
    if (const auto met = met_.find(prelude); met != met_.end()) met->second += time;
  }

 private:
  static constexpr std::size_t most_met = 65'536;

  const std::chrono::microseconds worth_;
  std::mutex mutex_;
  std::multiset<Digest> expected_;
  std::unordered_map<Digest, std::chrono::microseconds, DigestHash> met_;  ///< What they took.
};

}  // namespace kiln
