#include "deliveries.h"

#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace kiln::remote {

namespace {

using namespace std::chrono_literals;

/// A cache that nothing is carried from or to for so long is closed.
constexpr auto time_to_close = 2s;
/// What the server does not take now, it may take in a moment.
constexpr int most_tries = 3;
/// So long texts that were put are taken to be there.
constexpr auto texts_stay = 10min;
constexpr std::size_t most_texts_there = 100'000;
constexpr auto time_between_tries = 1s;

}  // namespace

Deliveries::Deliveries(Server& server, LeaseBook& leases, Rules rules)
    : leases_(leases), rules_(std::move(rules)), store_(server, rules_.keys, rules_.patience) {
  std::thread([this] { work(); }).detach();
}

bool Deliveries::add(PushEntry push, const LeaseBook::Holder& holder) {
  if (!leases_.keep(push.lease, holder)) push.lease.clear();
  bool is_added = false;
  std::string in_vain;
  {
    const std::lock_guard lock(mutex_);
    is_added = rules_.pushes && jobs_.size() < most_waiting;
    if (takes_nothing_ || !is_added) in_vain = std::exchange(push.lease, {});
    if (is_added) jobs_.emplace_back(std::move(push));
    if (!is_added) ++dropped_;
  }
  to_do_.notify_one();
  leases_.release(in_vain, {}, true);
  return is_added;
}

bool Deliveries::add(AdmitEntries admit) {
  const std::lock_guard lock(mutex_);
  if (jobs_.size() >= most_waiting) return false;
  jobs_.emplace_back(std::move(admit));
  to_do_.notify_one();
  return true;
}

void Deliveries::tell(RemoteStatus& status) {
  const std::lock_guard lock(mutex_);
  status.pushed = pushed_;
  status.duplicates = duplicates_;
  status.dropped = dropped_;
  status.waiting = jobs_.size() + (busy_ ? 1 : 0);
}

bool Deliveries::idle() {
  const std::lock_guard lock(mutex_);
  return jobs_.empty() && !busy_;
}

void Deliveries::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!to_do_.wait_for(lock, time_to_close, [&] { return !jobs_.empty(); })) {
      lock.unlock();
      cache_.reset();
      opened_.clear();
      lock.lock();
      continue;
    }
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    std::visit([this](const auto& one) { carry(one); }, job);
    lock.lock();
    busy_ = false;
  }
}

void Deliveries::carry(const PushEntry& push) {
  bool put = false;
  bool is_new = false;
  auto* const cache = open(push.cache);
  const int tries = takes_nothing() ? 1 : most_tries;
  for (int attempt = 1; cache != nullptr && !put && attempt <= tries; ++attempt) {
    if (attempt > 1) std::this_thread::sleep_for(time_between_tries);
    forget_texts_at_times();
    const auto report =
        kiln::push(*cache, store_, {.keys = std::vector{push.key}, .texts_there = &texts_there_});
    // It may be another server by now.
    if (!report) texts_there_.clear();
    put = report && report->added + report->present != 0;
    is_new = report && report->added != 0;
    note(put, push.lease);
  }
  if (cache == nullptr) leases_.release(push.lease, {}, true);
  const std::lock_guard lock(mutex_);
  ++(put ? pushed_ : dropped_);
  if (put && !is_new) ++duplicates_;
}

bool Deliveries::takes_nothing() {
  const std::lock_guard lock(mutex_);
  return takes_nothing_;
}

// Machines wait for each entry of which there is a lease. Where the server takes none, they are told so at once, of all that wait
// here, and not when all was tried.
void Deliveries::note(bool put, const std::string& lease) {
  leases_.release(lease, {}, !put);
  std::vector<std::string> in_vain;
  {
    const std::lock_guard lock(mutex_);
    takes_nothing_ = !put;
    for (auto& job : jobs_) {
      auto* const waiting = std::get_if<PushEntry>(&job);
      if (!put && waiting != nullptr) in_vain.push_back(std::exchange(waiting->lease, {}));
    }
  }
  for (const auto& one : in_vain) leases_.release(one, {}, true);
}

// A store may lose anything at any time.
void Deliveries::forget_texts_at_times() {
  const auto now = std::chrono::steady_clock::now();
  if (now < forgets_texts_ && texts_there_.size() < most_texts_there) return;
  texts_there_.clear();
  forgets_texts_ = now + texts_stay;
}

// What does not get here is asked for again by whoever needs it.
void Deliveries::carry(const AdmitEntries& admit) {
  if (auto* const cache = open(admit.cache))
    static_cast<void>(pull(store_, *cache, {.requests = std::vector{admit.request}}));
}

Cache* Deliveries::open(const CacheOfCaller& cache) {
  if (opened_ == cache.directory && cache_) return &*cache_;
  cache_.reset();
  opened_ = cache.directory;
  auto opened = Cache::open(cache.directory, {.max_bytes = cache.max_bytes,
                                              .trust = rules_.trust,
                                              .trusted_keys = rules_.keys,
                                              .plain_images = cache.plain_images,
                                              .on_fault = [](std::string_view) {}});
  if (!opened) return nullptr;
  cache_.emplace(std::move(*opened));
  return &*cache_;
}

}  // namespace kiln::remote
