#include "lease_book.h"

#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace kiln::remote {

namespace {

using namespace std::chrono_literals;

/// Nobody waits for these.
constexpr Broker::Budget patience{2s, false};
constexpr Broker::Budget insisting{2s, false, true};
constexpr auto time_between_beats = Leases::lasting / 3;
constexpr std::size_t most_waited_for = 10'000;
/// More than the leases of two machines that died take to end.
constexpr auto most_in_vain = 3 * Leases::lasting;
/// So long nobody of this machine waits for others from then on.
constexpr auto rest_of_leases = 5min;

std::string new_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// A server that answers so is well, and has no leases to give.
bool means_none(const Error& error) {
  constexpr int bad_request = 400;
  constexpr int forbidden = 403;
  constexpr int not_allowed = 405;
  constexpr int not_implemented = 501;
  return error.vendor_code == bad_request || error.vendor_code == forbidden ||
         error.vendor_code == not_allowed || error.vendor_code == not_implemented;
}

// Whoever is stopped compiles nothing. One that cannot be seen is believed to live.
bool is_stopped(pid_t process) {
  if (process == 0) return false;
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  return name_end != std::string::npos && name_end + 2 < line.size() &&
         (line[name_end + 2] == 'T' || line[name_end + 2] == 't');
}

}  // namespace

LeaseBook::LeaseBook(Broker& broker, Broker& server) : broker_(broker), server_(server) {
  std::thread([this] { work(); }).detach();
}

LeaseState LeaseBook::take(const std::string& name, const Holder& holder,
                           std::chrono::microseconds most_wait) {
  if (server_.status().resting) return LeaseState::unavailable;
  {
    const std::lock_guard lock(mutex_);
    if (Broker::Clock::now() < left_alone_until_) return LeaseState::unavailable;
    if (held_.contains(name)) return LeaseState::held;
    // Nobody else of this machine asks meanwhile.
    held_[name] = {{}, holder};
  }
  const auto token = new_token();
  const auto ask = [this, name, token](Backend& backend) -> Result<LeaseState> {
    if (!backend.leases) return LeaseState::unavailable;
    const auto taken = backend.leases->take(name, token);
    if (!taken && means_none(taken.error())) return LeaseState::unavailable;
    if (!taken) {
      // The server may have given it, and the answer be lost: others would wait for nobody.
      give_back_soon({name, token, false});
      return tl::unexpected(taken.error());
    }
    return *taken == LeaseAnswer::taken  ? LeaseState::taken
           : *taken == LeaseAnswer::held ? LeaseState::held
                                         : LeaseState::failed;
  };
  // Whoever asked makes it without a lease by then, and nobody shall wait for him.
  const auto late = [this, name, token](const Result<LeaseState>& answer) {
    if (answer == LeaseState::taken) give_back_soon({name, token, false});
  };
  const auto answer = broker_.ask<LeaseState>({.time = most_wait, .writes = true}, ask, late);
  const auto state = state_of(answer);
  const std::lock_guard lock(mutex_);
  if (state == LeaseState::taken) {
    held_[name].token = token;
  } else {
    held_.erase(name);
  }
  // What did not come in time says nothing of that.
  if (answer) gives_none_ = state == LeaseState::unavailable;
  if (waited_for_.size() > most_waited_for) waited_for_.clear();
  if (state == LeaseState::held && waited_for_.emplace(name, true).second) ++waits_;
  if (state != LeaseState::held && state != LeaseState::late) waited_for_.erase(name);
  return state;
}

void LeaseBook::release(const std::string& name, const Holder& holder, bool failed) {
  const std::lock_guard lock(mutex_);
  const auto at = held_.find(name);
  if (at != held_.end() && at->second.holder.number == holder.number) drop(at, failed);
}

bool LeaseBook::keep(const std::string& name, const Holder& holder) {
  const std::lock_guard lock(mutex_);
  const auto at = held_.find(name);
  if (at == held_.end() || at->second.holder.number != holder.number) return false;
  at->second.holder = {};
  return true;
}

void LeaseBook::release_all(const Holder& holder) {
  const std::lock_guard lock(mutex_);
  for (auto at = held_.begin(); at != held_.end();) {
    const auto next = std::next(at);
    if (at->second.holder.number == holder.number) drop(at, false);
    at = next;
  }
}

// One that is being asked for has no token yet, and is whoever's who asks.
void LeaseBook::drop(std::map<std::string, Held>::iterator at, bool failed) {
  if (at->second.token.empty()) return;
  returned_.push_back({at->first, std::move(at->second.token), failed});
  held_.erase(at);
  to_return_.notify_one();
}

void LeaseBook::waited_in_vain(std::chrono::microseconds time) {
  const std::lock_guard lock(mutex_);
  const auto now = Broker::Clock::now();
  if (now - last_in_vain_ > rest_of_leases) vain_ = {};
  last_in_vain_ = now;
  vain_ += time;
  if (vain_ < most_in_vain) return;
  left_alone_until_ = now + rest_of_leases;
  vain_ = {};
}

bool LeaseBook::gives_none() {
  const std::lock_guard lock(mutex_);
  return gives_none_;
}

std::uint64_t LeaseBook::waits() {
  const std::lock_guard lock(mutex_);
  return waits_;
}

void LeaseBook::give_back_soon(Returned lease) {
  const std::lock_guard lock(mutex_);
  returned_.push_back(std::move(lease));
  to_return_.notify_one();
}

void LeaseBook::work() {
  auto next_beat = Broker::Clock::now() + time_between_beats;
  std::unique_lock lock(mutex_);
  for (;;) {
    to_return_.wait_until(lock, next_beat, [&] { return !returned_.empty(); });
    const auto returned = std::exchange(returned_, {});
    lock.unlock();
    for (const auto& lease : returned) give_back(lease);
    if (const auto now = Broker::Clock::now(); now >= next_beat) {
      prolong();
      next_beat = now + time_between_beats;
    }
    lock.lock();
  }
}

// Also where the server is left alone: the answer that gave the lease may have come too late, and so opened the breaker.
void LeaseBook::give_back(const Returned& lease) {
  static_cast<void>(broker_.ask<bool>(insisting, [lease](Backend& backend) -> Result<bool> {
    auto released =
        backend.leases ? backend.leases->release(lease.name, lease.token, lease.failed) : Outcome();
    if (!released) return tl::unexpected(std::move(released.error()));
    return true;
  }));
}

void LeaseBook::prolong() {
  std::map<std::string, Held> held;
  {
    const std::lock_guard lock(mutex_);
    held = held_;
  }
  for (const auto& [name, lease] : held) {
    if (lease.token.empty()) continue;
    if (is_stopped(lease.holder.process)) {
      release(name, lease.holder, false);
      continue;
    }
    static_cast<void>(broker_.ask<bool>(
        patience, [name = name, token = lease.token](Backend& backend) -> Result<bool> {
          return backend.leases ? backend.leases->prolong(name, token) : Result<bool>(false);
        }));
  }
}

}  // namespace kiln::remote
