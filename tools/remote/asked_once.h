#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace kiln::remote {

/// Of those who ask a server the same at one time, lets one ask; the others wait, and find what he heard. The processes of an engine
/// come for each kernel together. Safe to use from any thread.
class AskedOnce {
 public:
  using Clock = std::chrono::steady_clock;

  /// Held until the last copy of it is gone.
  using Turn = std::shared_ptr<void>;

  /// Null for whoever has waited, until another's turn was over or until then: what that one heard may be known now, and where it is
  /// not, he asks without a turn. Borrows this.
  [[nodiscard]] Turn take(const std::string& question, Clock::time_point until) {
    std::unique_lock lock(mutex_);
    if (const auto asked = asked_.find(question); asked != asked_.end()) {
      const auto over = asked->second;
      turn_over_.wait_until(lock, until, [&] { return *over; });
      return nullptr;
    }
    const auto asked = asked_.emplace(question, std::make_shared<bool>(false)).first;
    // Without memory for the turn it is given back at once.
    lock.unlock();
    return {this, [this, asked](void*) { give_back(asked); }};
  }

 private:
  using Asked = std::map<std::string, std::shared_ptr<bool>>;  ///< And whether the turn is over.

  void give_back(Asked::iterator asked) {
    const std::lock_guard lock(mutex_);
    *asked->second = true;
    asked_.erase(asked);
    turn_over_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable turn_over_;
  Asked asked_;
};

}  // namespace kiln::remote
