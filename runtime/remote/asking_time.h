#pragma once

#include <algorithm>
#include <chrono>
#include <map>

#include "remote/asking_account.h"

namespace kiln {

/// How long one call may still wait for stores that machines share: for each half a second in all, and a quarter for one answer,
/// and for one that does not pay not at all. So a server that is slow and never fails costs a compile no more than one that is
/// down costs two. Serves one thread.
class AskingTime {
 public:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::chrono::microseconds left(const AskingAccount& store) const {
    if (counts_ && !store.pays()) return {};
    const auto at = spent_.find(&store);
    const auto spent = at == spent_.end() ? std::chrono::microseconds() : at->second;
    return std::clamp(most - spent, std::chrono::microseconds(), AskingAccount::most_at_once);
  }

  /// Begins anew: whoever waits until somebody else has made it saves that himself, and it is on nobody's account.
  void renew() {
    spent_.clear();
    counts_ = false;
  }

  /// Begins anew: nothing can be compiled in its place, which an answer would have to be worth.
  void insist() {
    renew();
    insists_ = true;
  }
  [[nodiscard]] bool insists() const noexcept { return insists_; }

  /// Takes its life off the time for one store.
  class Spending {
   public:
    Spending(AskingTime& time, AskingAccount& store) : time_(time), store_(store) {}
    Spending(const Spending&) = delete;
    Spending& operator=(const Spending&) = delete;
    ~Spending() {
      const auto waited =
          std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_);
      time_.spent_[&store_] += waited;
      if (time_.counts_) store_.spend(waited);
    }

   private:
    AskingTime& time_;
    AskingAccount& store_;
    const Clock::time_point began_ = Clock::now();
  };

 private:
  static constexpr std::chrono::microseconds most = std::chrono::milliseconds(500);

  std::map<const AskingAccount*, std::chrono::microseconds> spent_;
  bool counts_ = true;  ///< On the stores' accounts.
  bool insists_ = false;
};

}  // namespace kiln
