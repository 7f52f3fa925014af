#pragma once

#include <mutex>
#include <set>
#include <utility>

#include "kiln/digest.h"

namespace kiln {

/// The preludes that are worth precompiling: several programs that are about to be compiled share each of them.
/// Safe to use from any thread.
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

  [[nodiscard]] bool contains(const Digest& prelude) const {
    const std::lock_guard lock(mutex_);
    return expected_.contains(prelude);
  }

  /// Spares the caller the digest of a prelude where none is expected.
  [[nodiscard]] bool empty() const {
    const std::lock_guard lock(mutex_);
    return expected_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::multiset<Digest> expected_;
};

}  // namespace kiln
