#pragma once

#include <future>
#include <map>
#include <mutex>
#include <utility>

#include "kiln/digest.h"

namespace kiln {

/// Lets one thread do what several ask for at one time; the others wait and share what it came to,
/// a failure as well as a success. Different keys do not wait for each other.
template <class Outcome>
class SingleFlight {
 public:
  /// Calls `work` unless another thread is at it for the same key. `work` must not ask for the same
  /// key again. Should it throw, which only a lack of memory makes it do, all who wait see that too.
  /// Returns what it came to, and whether this thread did it: one that waited may have asked for
  /// something newer than what the other one saw.
  template <class Work>
  std::pair<Outcome, bool> run(const Digest& key, Work&& work) {
    std::promise<Outcome> promise;
    {
      std::unique_lock lock(mutex_);
      if (const auto at = flights_.find(key); at != flights_.end()) {
        const auto flight = at->second;
        lock.unlock();
        return {flight.get(), false};
      }
      flights_.emplace(key, promise.get_future().share());
    }
    const Landing landing{*this, key};
    Outcome outcome = std::forward<Work>(work)();
    promise.set_value(outcome);
    return {std::move(outcome), true};
  }

 private:
  // Ends the flight however it ends: one that is left over would be waited for for ever.
  struct Landing {
    SingleFlight& flights;
    const Digest& key;

    ~Landing() {
      const std::lock_guard lock(flights.mutex_);
      flights.flights_.erase(key);
    }
  };

  std::mutex mutex_;
  std::map<Digest, std::shared_future<Outcome>> flights_;
};

}  // namespace kiln
