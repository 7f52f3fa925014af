#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace kiln::remote {

/// Of those who ask a server the same at one time, lets one ask; the others wait, and find what he heard. The processes of an engine
/// come for each kernel together. Where he waits for long, on a connection that has broken maybe, one of the others asks as well.
/// Safe to use from any thread.
class AskedOnce {
 public:
  using Clock = std::chrono::steady_clock;

  /// Held until the last copy of it is gone.
  using Turn = std::shared_ptr<void>;

  /// Null for whoever has waited, until something was heard, nobody had a turn any more, or `end`: what was heard may be known now,
  /// and where it is not, he asks without a turn. Whoever has waited until `long_enough` asks beside the first. Borrows this.
  [[nodiscard]] Turn take(const std::string& question, Clock::time_point long_enough,
                          Clock::time_point end) {
    std::unique_lock lock(mutex_);
    const auto known = asked_.find(question);
    if (known == asked_.end()) {
      const auto asked =
          asked_.emplace(question, std::make_shared<Asked>(Asked{question})).first->second;
      lock.unlock();
      return turn(asked);
    }
    const auto asked = known->second;
    changed_.wait_until(lock, long_enough, [&] { return asked->is_over; });
    changed_.wait_until(lock, end, [&] { return asked->is_over || asked->turns < most_turns; });
    if (asked->is_over || asked->turns == most_turns) return nullptr;
    ++asked->turns;
    lock.unlock();
    return turn(asked);
  }

  /// Whoever waits finds it now.
  void tell_heard(const std::string& question) {
    const std::lock_guard lock(mutex_);
    const auto known = asked_.find(question);
    if (known == asked_.end()) return;
    // A copy: it goes from the map.
    const auto asked = known->second;
    end(asked);
  }

 private:
  static constexpr int most_turns = 2;

  struct Asked {
    std::string question;
    int turns = 1;
    bool is_over = false;
  };

  // Without memory for the turn it is given back at once.
  Turn turn(const std::shared_ptr<Asked>& asked) {
    return {this, [this, asked](void*) { give_back(asked); }};
  }

  void give_back(const std::shared_ptr<Asked>& asked) {
    const std::lock_guard lock(mutex_);
    --asked->turns;
    if (asked->turns == 0) end(asked);
    changed_.notify_all();
  }

  void end(const std::shared_ptr<Asked>& asked) {
    asked->is_over = true;
    const auto known = asked_.find(asked->question);
    if (known != asked_.end() && known->second == asked) asked_.erase(known);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Asked>> asked_;
};

}  // namespace kiln::remote
