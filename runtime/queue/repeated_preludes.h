#pragma once

#include <mutex>
#include <set>
#include <utility>

#include "kiln/digest.h"

namespace kiln {

/// The preludes that several programs share which are about to be compiled: they are worth precompiling. Safe to use from any thread.
class RepeatedPreludes {
 public:
  /// Expects these until it ends. Must not outlive what gave it.
  class Scope {
   public:
    Scope(RepeatedPreludes& all, std::set<Digest> own) : all_(all), own_(std::move(own)) {
      const std::lock_guard lock(all_.mutex_);
      all_.expected_.insert(own_.begin(), own_.end());
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    // One of each: others may expect the same.
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

  /// So that nothing need be digested where nothing is expected.
  [[nodiscard]] bool empty() const {
    const std::lock_guard lock(mutex_);
    return expected_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::multiset<Digest> expected_;
};

}  // namespace kiln
