#pragma once

#include <algorithm>
#include <chrono>
#include <map>

namespace kiln {

class RemoteLayer;

/// How long one call may still wait for stores that machines share: for each half a second in all, and a quarter for one answer.
/// So a server that is slow and never fails costs a compile no more than one that is down costs two. Serves one thread.
class AskingTime {
 public:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::chrono::microseconds left(const RemoteLayer& store) const {
    const auto at = spent_.find(&store);
    const auto spent = at == spent_.end() ? std::chrono::microseconds() : at->second;
    return std::clamp(most - spent, std::chrono::microseconds(), most_at_once);
  }

  /// Begins anew: whoever waits until somebody else has made it saves that himself.
  void renew() { spent_.clear(); }

  /// Takes its life off the time for one store.
  class Spending {
   public:
    Spending(AskingTime& time, const RemoteLayer& store) : time_(time), store_(store) {}
    Spending(const Spending&) = delete;
    Spending& operator=(const Spending&) = delete;
    ~Spending() {
      time_.spent_[&store_] +=
          std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_);
    }

   private:
    AskingTime& time_;
    const RemoteLayer& store_;
    const Clock::time_point began_ = Clock::now();
  };

 private:
  static constexpr std::chrono::microseconds most = std::chrono::milliseconds(500);
  static constexpr std::chrono::microseconds most_at_once = std::chrono::milliseconds(250);

  std::map<const RemoteLayer*, std::chrono::microseconds> spent_;
};

}  // namespace kiln
