#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace kiln::remote {

/// Of those who ask a server the same at one time, lets one ask; the others wait, and find what he heard. The processes of an engine
/// come for each kernel together. Safe to use from any thread.
class AskedOnce {
 public:
  using Clock = std::chrono::steady_clock;

  /// Held until the last copy of it is gone.
  using Turn = std::shared_ptr<void>;

  /// Null where others had it until then. Borrows this.
  [[nodiscard]] Turn take(const std::string& question, Clock::time_point until) {
    std::unique_lock lock(mutex_);
    if (!given_back_.wait_until(lock, until, [&] { return !asked_.contains(question); }))
      return nullptr;
    const auto asked = asked_.insert(question).first;
    // Without memory for the turn it is given back at once.
    lock.unlock();
    return {this, [this, asked](void*) { give_back(asked); }};
  }

 private:
  void give_back(std::set<std::string>::iterator asked) {
    const std::lock_guard lock(mutex_);
    asked_.erase(asked);
    given_back_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable given_back_;
  std::set<std::string> asked_;
};

}  // namespace kiln::remote
