#include "broker.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "kiln/digest.h"
#include "start_thread.h"

namespace kiln::remote {

namespace {

std::uint64_t microseconds(Broker::Clock::duration time) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

}  // namespace

Broker::Broker(Open open, std::size_t most_connections)
    : open_(std::move(open)), most_connections_(most_connections) {
  std::thread([this] { probe(); }).detach();
}

// The others are of what was asked, and not of the server.
std::optional<std::string> Broker::failure_in(const Error& error) {
  const bool of_server = error.code == ErrorCode::io_failed || error.code == ErrorCode::timed_out;
  return of_server ? std::optional(error.message) : std::nullopt;
}

std::optional<Error> Broker::why_resting(const Budget& budget) const {
  if (!breaker_.is_open() || budget.insists) return std::nullopt;
  return Error{ErrorCode::cache_unusable,
               fmt::format("the server is left alone until it answers again, since it failed: {}",
                           status_.last_failure)};
}

void Broker::add(std::shared_ptr<Job> job) {
  if (job->counts) job->era = breaker_.begin(Clock::now());
  jobs_.push_back(std::move(job));
  // Where no further thread is to be had, those that are there do it, or it is not done in time.
  if (idle_ < jobs_.size() && threads_ < most_connections_ && start_thread([this] { work(); }))
    ++threads_;
  work_to_do_.notify_one();
}

void Broker::wait(std::unique_lock<std::mutex>& lock, const Budget& budget,
                  const std::function<bool()>& done) {
  const auto deadline = Clock::now() + budget.time;
  while (!done() && (budget.insists || !breaker_.is_open())) {
    const auto now = Clock::now();
    if (now >= deadline) return;
    const bool was_open = breaker_.is_open();
    breaker_.look(now);
    if (breaker_.is_open() && !was_open) {
      status_.last_failure = "it did not answer in time";
      probe_due_.notify_one();
      something_done_.notify_all();
      continue;
    }
    const auto silent_until = breaker_.is_open() ? deadline : breaker_.silent_until();
    something_done_.wait_until(lock, std::min(deadline, silent_until));
  }
}

void Broker::work() {
  std::optional<Backend> backend;
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    work_to_do_.wait(lock, [&] { return !jobs_.empty(); });
    --idle_;
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    const auto began = Clock::now();
    auto failure = run(*job, backend);
    lock.lock();
    const auto now = Clock::now();
    if (backend) status_.gives_leases = backend->leases != nullptr;
    if (job->counts) breaker_.end(job->era);
    if (failure) {
      ++status_.failures;
      status_.last_failure = std::move(*failure);
      // A server that takes no entries may still have some to give.
      if (job->counts) breaker_.fail(now, now - began);
      if (breaker_.is_open()) probe_due_.notify_one();
    } else {
      status_.round_trip_us = microseconds(now - began);
      breaker_.succeed(now);
    }
    something_done_.notify_all();
  }
}

// A connection that failed is made anew, and one to a folder that was opened to be read for who writes there.
std::optional<std::string> Broker::run(const Job& job, std::optional<Backend>& backend) const {
  const bool serves = backend && (!backend->is_current || backend->is_current()) &&
                      (backend->writable || !job.writes);
  if (!serves) backend.reset();
  Result<Backend*> connected(nullptr);
  if (!backend) {
    if (auto opened = open_(job.writes)) {
      backend = std::move(*opened);
    } else {
      connected = tl::unexpected(std::move(opened.error()));
    }
  }
  if (connected) connected = &*backend;
  auto failure = job.run(connected);
  if (failure) backend.reset();
  return failure;
}

void Broker::probe() {
  std::optional<Backend> backend;
  std::unique_lock lock(mutex_);
  for (;;) {
    probe_due_.wait(lock, [&] { return breaker_.is_open() || reach_; });
    if (!reach_) {
      const auto due = breaker_.next_probe();
      probe_due_.wait_until(lock, due, [&] { return reach_; });
    }
    probe_now(lock, backend);
  }
}

void Broker::probe_now(std::unique_lock<std::mutex>& lock, std::optional<Backend>& backend) {
  const auto began = Clock::now();
  lock.unlock();
  Outcome reached;
  const Job job{[&reached](const Result<Backend*>& server) {
                  auto hints = server
                                   ? (*server)->objects->hints(Digest(), 1)
                                   : Result<std::vector<StoreHint>>(tl::unexpected(server.error()));
                  if (!hints) reached = tl::unexpected(hints.error());
                  return failure_of(hints);
                },
                false};
  auto failure = run(job, backend);
  lock.lock();
  const auto now = Clock::now();
  if (!failure) status_.round_trip_us = microseconds(now - began);
  if (!failure && now - began > Breaker::most_cost) failure = "it takes too long to answer";
  if (failure) status_.last_failure = *failure;
  if (breaker_.is_open()) breaker_.probed(now, !failure);
  reach_ = false;
  reached_ = std::move(reached);
  if (backend) status_.gives_leases = backend->leases != nullptr;
  something_done_.notify_all();
}

Outcome Broker::reach(std::chrono::milliseconds most_wait) {
  std::unique_lock lock(mutex_);
  reach_ = true;
  probe_due_.notify_one();
  if (!something_done_.wait_for(lock, most_wait, [&] { return !reach_; }))
    return fail(ErrorCode::timed_out, "it did not answer in time");
  return reached_;
}

RemoteStatus Broker::status() {
  const std::lock_guard lock(mutex_);
  auto status = status_;
  status.resting = breaker_.is_open();
  return status;
}

}  // namespace kiln::remote
