#include "obtainer.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include <fmt/format.h>

#include "base/stopwatch.h"
#include "kiln/resources.h"
#include "remote/late_answers.h"

namespace kiln {

namespace {

// Errors that every process meets alike which makes the same of the same.
bool meets_every_process(const Error& error) {
  switch (error.code) {
    case ErrorCode::compile_failed:
    case ErrorCode::link_failed:
    case ErrorCode::header_not_found:
    case ErrorCode::unknown_kernel:
    case ErrorCode::invalid_option:
    case ErrorCode::unknown_arch:
      return true;
    default:
      return false;
  }
}

tl::unexpected<Error> not_cached(Making& making, const std::string& why_not) {
  return fail(ErrorCode::not_cached,
              fmt::format("{}; the mode cache-only forbids {} it: fill the cache beforehand, or "
                          "set KILN_MODE=jit",
                          making.explain_miss(why_not).summary(), making.doing));
}

// Thousands of machines may wait for one: who waits for long looks less often, and asks still less often whether the one that
// makes it is gone.
constexpr std::chrono::seconds time_between_leases{1};
std::chrono::milliseconds time_between_looks(std::chrono::steady_clock::duration waited) {
  constexpr std::chrono::milliseconds shortest{100};
  constexpr std::chrono::milliseconds longest{2'000};
  constexpr int part = 8;
  return std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(waited / part), shortest,
                    longest);
}

// Whether it was ended by a stop.
bool nap(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  woken.wait_for(lock, stop, time, [] { return false; });
  return stop.stop_requested();
}

// What processes must agree in to share what is made.
Digest turn_of(Making& making) {
  std::string all(making.flight().view());
  if (const auto maker = making.maker()) all += (*maker)->identity.view();
  return digest_of(all);
}

}  // namespace

Obtainer::Obtainer(Layers& layers, const Reporter& reporter, const std::atomic<Mode>& mode,
                   std::chrono::milliseconds patience)
    : layers_(layers), reporter_(reporter), mode_(mode), patience_(patience) {}

tl::expected<ServedArtifact, Miss> Obtainer::look_up(Making& making) {
  const Stopwatch watch;
  auto found = making.look_up();
  if (!found) return tl::unexpected(std::move(found.error()));
  const auto& [artifact, origin] = found->served;
  counters_.count_hit(origin);
  reporter_.tell(EventKind::hit, *artifact, origin, watch.milliseconds(), found->remark);
  if (found->trusted) warn_of_trust(*artifact, found->remark);
  return std::move(found->served);
}

void Obtainer::count_memory_hit(const Artifact& artifact) {
  counters_.count_hit(Origin::memory);
  layers_.count_memory_hit(artifact);
  reporter_.tell(EventKind::hit, artifact, Origin::memory, 0);
}

// Threads share what is made, where its headers are still as they were, and a failure that began after they asked: one that
// began before may be of a header that was mended since.
Result<ServedArtifact> Obtainer::obtain(Making& making, const std::stop_token& stop) {
  const auto asked = Clock::now();
  const auto flight = making.flight();
  for (;;) {
    const Stopwatch watch;
    const auto landings = landings_.load();
    auto found = look_up(making);
    if (found) return std::move(*found);
    const auto milliseconds = watch.milliseconds();
    auto landed = flights_.run(flight, stop, [&](const std::stop_token& nobody_left) {
      const auto began = Clock::now();
      if (landings_ != landings) {
        if (auto landed_since = look_up(making)) return Landing{std::move(*landed_since), began};
      }
      return Landing{make_missing(making, found.error(), milliseconds, nobody_left), began};
    });
    if (!landed) return making.cancelled();
    auto& [outcome, began] = landed->outcome;
    // What another thread was forbidden may be allowed by now.
    const bool forbidden = !outcome && outcome.error().code == ErrorCode::not_cached;
    if (landed->own || (!outcome && !forbidden && began >= asked)) return std::move(outcome);
    if (!outcome && !forbidden) continue;
    // What was made for another thread may be older than a header is now, or not to be kept.
    if (auto landed_meanwhile = look_up(making)) return std::move(*landed_meanwhile);
    return make_missing(making, found.error(), milliseconds, stop);
  }
}

// It took so many milliseconds to find out that no layer has it.
Result<ServedArtifact> Obtainer::make_missing(Making& making, const Miss& miss, double milliseconds,
                                              const std::stop_token& stop) {
  if (mode_ == Mode::cache_only) making.asking_time.insist();
  if (auto fetched = fetch(making, Making::Heard::lately)) return std::move(*fetched);
  // It may have come too late to be worth waiting for. What cannot be made here is.
  if (!making.asking_time.insists() && !making.maker()) {
    making.asking_time.insist();
    if (auto fetched = fetch(making, Making::Heard::lately)) return std::move(*fetched);
  }
  tell(EventKind::miss, making, milliseconds, miss.why_not);
  if (mode_ == Mode::cache_only) {
    count_miss(miss.reason);
    return not_cached(making, miss.why_not);
  }
  return make_in_turn(making, miss, stop);
}

// Before the making, whose writing carries the count to the cache. Not where another process or machine makes it: whoever
// waits for that is served, and has a hit.
void Obtainer::count_miss(MissReason reason) {
  ++counters_.misses;
  layers_.count_miss(reason);
}

// One process makes what several ask for; those who waited share what it came to.
Result<ServedArtifact> Obtainer::make_in_turn(Making& making, const Miss& miss,
                                              const std::stop_token& stop) {
  auto why_not = miss.why_not;
  auto turn = making.keep ? layers_.take_turn(turn_of(making), patience_, stop) : std::nullopt;
  if (stop.stop_requested()) {
    count_miss(miss.reason);
    return making.cancelled();
  }
  if (turn) {
    // Whoever had it may have been done before this one asked for it.
    auto found = look_up(making);
    if (turn->waited()) ++counters_.waits;
    if (found) return std::move(*found);
    if (turn->shared_failure()) {
      count_miss(miss.reason);
      return tl::unexpected(*turn->shared_failure());
    }
    // Whoever had the turn may have found it elsewhere, and the cache may not have it yet.
    if (turn->waited()) {
      making.asking_time.renew();
      if (auto fetched = fetch(making, Making::Heard::lately)) return std::move(*fetched);
    }
    why_not = std::move(found.error().why_not);
  }
  // Asked here, since it may have been set while others had the turn.
  const Mode mode = mode_;
  if (mode == Mode::cache_only) {
    count_miss(miss.reason);
    return not_cached(making, why_not);
  }
  if (mode == Mode::warn)
    reporter_.warn(fmt::format("{} {}", making.doing, making.explain_miss(why_not).summary()));
  std::unique_ptr<Lease> lease;
  if (auto made_elsewhere = wait_for_others(making, lease, stop)) return std::move(*made_elsewhere);
  count_miss(miss.reason);
  if (stop.stop_requested()) return making.cancelled();
  auto made = make_and_keep(making, std::move(lease), stop);
  // That there is no compiler, say, is this process's own affair.
  if (turn && !made && meets_every_process(made.error())) turn->fail(made.error());
  return made;
}

std::optional<ServedArtifact> Obtainer::fetch(Making& making, Making::Heard heard) {
  if (!making.keep || !layers_.has_remotes()) return std::nullopt;
  const Stopwatch watch;
  auto found = making.fetch(heard);
  if (!found) return std::nullopt;
  const auto& [artifact, origin] = found->served;
  counters_.count_hit(origin);
  reporter_.tell(EventKind::hit, *artifact, origin, watch.milliseconds(), found->remark);
  if (found->trusted) warn_of_trust(*artifact, found->remark);
  return std::move(found->served);
}

std::optional<ServedArtifact> Obtainer::wait_for_others(Making& making,
                                                        std::unique_ptr<Lease>& lease,
                                                        const std::stop_token& stop) {
  if (!making.keep || !layers_.has_remotes()) return std::nullopt;
  const auto what = turn_of(making);
  const auto began = Clock::now();
  auto asks_for_lease = began;
  LateAnswers late_answers;
  for (bool waited = false;; waited = true) {
    RemoteLayer::Leased leased{remote::LeaseState::held};
    if (Clock::now() >= asks_for_lease) {
      leased = layers_.lease(what, making.asking_time);
      leased.state = late_answers.judge(leased.state, waited);
      asks_for_lease = Clock::now() + time_between_leases;
    }
    if (leased.state == remote::LeaseState::unavailable) break;
    // Since the look-up another machine may have put it there.
    if (auto fetched = fetch(making, Making::Heard::anew)) {
      if (leased.lease) leased.lease->give_back();
      return fetched;
    }
    lease = std::move(leased.lease);
    const auto waiting = Clock::now() - began;
    if (leased.state != remote::LeaseState::held || waiting >= patience_) {
      if (waited && leased.state != remote::LeaseState::failed)
        layers_.tell_vain_wait(std::chrono::duration_cast<std::chrono::microseconds>(waiting));
      break;
    }
    if (!waited) {
      ++counters_.lease_waits;
      tell(EventKind::lease_wait, making, 0);
    }
    if (nap(time_between_looks(waiting), stop)) break;
    making.asking_time.renew();
  }
  return std::nullopt;
}

Result<ServedArtifact> Obtainer::make_and_keep(Making& making, std::unique_ptr<Lease> lease,
                                               const std::stop_token& stop) {
  const auto maker = making.maker();
  if (!maker) return tl::unexpected(maker.error());
  const Toolchain& toolchain = **maker;
  const Stopwatch watch;
  tell(EventKind::compile_begin, making, 0);
  auto made = making.make(stop, counters_);
  layers_.note_compile(std::chrono::microseconds(watch.microseconds()));
  if (!made) {
    tell(EventKind::compile_end, making, watch.milliseconds(), made.error().message);
    return tl::unexpected(std::move(made.error()));
  }
  made->artifact.toolchain = toolchain.text;
  made->artifact.key =
      key_of(making.request_digest, digest_of(made->dependencies.material()), toolchain.identity);
  const auto artifact = std::make_shared<const Artifact>(std::move(made->artifact));
  reporter_.tell(EventKind::compile_end, *artifact, Origin::compiled, watch.milliseconds());
  if (artifact->not_kept.empty()) {
    if (making.keep && layers_.writable()) {
      const auto code = kernel_code(*artifact);
      const bool stored = store({making.request, made->dependencies, toolchain, *artifact,
                                 made->witness.stamps.empty() ? nullptr : &made->witness,
                                 std::move(made->texts), &code});
      if (stored && layers_.share(artifact->key, std::move(lease)))
        reporter_.tell(EventKind::remote_store, *artifact, Origin::compiled, 0);
    }
    layers_.remember(making.request_digest, std::move(made->dependencies), toolchain, artifact);
  } else {
    ++counters_.not_kept;
    warn_of_not_kept(*artifact);
    reporter_.tell(EventKind::not_stored, *artifact, Origin::compiled, 0, artifact->not_kept);
  }
  ++landings_;
  return ServedArtifact{artifact, Origin::compiled};
}

bool Obtainer::store(const NewEntry& entry) {
  const Stopwatch watch;
  if (const auto stored = layers_.store(entry); !stored) {
    reporter_.tell(EventKind::not_stored, entry.artifact, Origin::compiled, watch.milliseconds(),
                   stored.error().message);
    return false;
  }
  ++counters_.stores;
  reporter_.tell(EventKind::store, entry.artifact, Origin::compiled, watch.milliseconds());
  return true;
}

void Obtainer::tell(EventKind kind, const Making& making, double milliseconds,
                    std::string_view detail) const {
  reporter_.tell({kind,
                  making.request.program,
                  making.request.arch,
                  {},
                  Origin::compiled,
                  milliseconds,
                  detail});
}

// Once for each program: each process compiles it again, which somebody will want to know.
void Obtainer::warn_of_not_kept(const Artifact& artifact) {
  {
    const std::lock_guard lock(warned_mutex_);
    if (!warned_of_.insert(artifact.program).second) return;
  }
  reporter_.warn(fmt::format("{} for {} is compiled and not kept: {}", artifact.program,
                             artifact.arch, artifact.not_kept));
}

// Once, since where there is no compiler it may be so of all programs; the observer is told of each.
void Obtainer::warn_of_trust(const Artifact& artifact, const std::string& remark) {
  if (warned_of_trust_.exchange(true)) return;
  reporter_.warn(
      fmt::format("{} for {} is served as it was stored, since it cannot be compiled here: {}; "
                  "further ones are served without a warning",
                  artifact.program, artifact.arch, remark));
}

}  // namespace kiln
