#pragma once

#include <unistd.h>

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "kiln/digest.h"

namespace kiln {

/// Lets one thread do what several ask for at one time. The others wait and share what it came to,
/// a failure as well as a success. Different keys do not wait for each other.
///
/// Each thread may lose interest. One that waits leaves at once. When nobody is left who wants the work, it is stopped,
/// and from that moment on nobody joins it: who asks then begins anew. Safe to use from any thread.
template <class Outcome>
class SingleFlight {
 public:
  struct Landed {
    Outcome outcome;
    /// Whether this thread did the work. One that waited may have asked for something newer.
    bool own;
  };

  /// Calls `work(stop_token)` unless another thread does so for the same key. `work` must not ask for the
  /// same key again. If it throws, which only a lack of memory makes it do, all who wait throw the same.
  /// Gives what the work came to; nothing where this thread only waited and `stop` made it leave.
  template <class Work>
  std::optional<Landed> run(const Digest& key, const std::stop_token& stop, Work&& work) {
    const auto [flight, own] = board(key);
    const std::stop_callback leaving(stop, [this, &key, flight = flight] { leave(key, *flight); });
    if (own) return Landed{carry_out(key, *flight, std::forward<Work>(work)), true};
    std::unique_lock lock(mutex_);
    if (!landed_.wait(lock, stop, [flight = flight] { return flight->ended; })) return std::nullopt;
    if (flight->failure) std::rethrow_exception(flight->failure);
    return Landed{*flight->outcome, false};
  }

 private:
  struct Turn {
    const int process = ::getpid();
    std::size_t interested = 1;
    std::stop_source stop = {};
    bool ended = false;
    std::optional<Outcome> outcome = {};
    std::exception_ptr failure = {};
  };

  /// The flight of this key, and whether it is a new one.
  std::pair<std::shared_ptr<Turn>, bool> board(const Digest& key) {
    const std::lock_guard lock(mutex_);
    auto& flight = flights_[key];
    // A parent process's flight never lands in a child that was forked meanwhile.
    if (flight && flight->process == ::getpid()) {
      ++flight->interested;
      return {flight, false};
    }
    flight = std::make_shared<Turn>();
    return {flight, true};
  }

  void leave(const Digest& key, Turn& flight) {
    {
      const std::lock_guard lock(mutex_);
      if (--flight.interested != 0) return;
      forget(key, flight);
    }
    flight.stop.request_stop();
  }

  template <class Work>
  Outcome carry_out(const Digest& key, Turn& flight, Work&& work) {
    try {
      Outcome outcome = std::forward<Work>(work)(flight.stop.get_token());
      land(key, flight, [&] { flight.outcome = outcome; });
      return outcome;
    } catch (...) {
      land(key, flight, [&] { flight.failure = std::current_exception(); });
      throw;
    }
  }

  template <class Note>
  void land(const Digest& key, Turn& flight, const Note& note) {
    const std::lock_guard lock(mutex_);
    forget(key, flight);
    flight.ended = true;
    note();
    landed_.notify_all();
  }

  /// Another one may have taken its place.
  void forget(const Digest& key, const Turn& flight) {
    const auto at = flights_.find(key);
    if (at != flights_.end() && at->second.get() == &flight) flights_.erase(at);
  }

  std::mutex mutex_;
  std::condition_variable_any landed_;
  std::map<Digest, std::shared_ptr<Turn>> flights_;
};

}  // namespace kiln
