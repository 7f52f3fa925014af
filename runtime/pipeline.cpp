#include "pipeline.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/stopwatch.h"
#include "lookup/nearest_entry.h"
#include "manifest/recorded_programs.h"
#include "narrow/narrow.h"
#include "queue/prefetch.h"
#include "source/mounts.h"
#include "source/output_paths.h"
#include "vendor/nvrtc.h"
#include "vendor/nvtx.h"

namespace kiln {

namespace {

// How far the search for the nearest entry goes beside a miss, which is not to take long.
constexpr AlikeLimits limits_of_a_miss{.entries = 200, .rows = 2'000};

// Of headers that were read after `before`. A file that was written a moment earlier may have been written again
// since, and look as it did; and one of an image looks like that of another image, which may be mounted by then.
std::vector<FileStamp> lasting_stamps(const Closure& closure,
                                      std::chrono::system_clock::time_point before) {
  MountedImages images;
  std::vector<FileStamp> stamps;
  stamps.reserve(closure.found.size());
  for (const auto& header : closure.found) {
    const bool lasts =
        is_settled(header.stamp, before) && !images.may_hold(header.path, header.stamp);
    stamps.push_back(lasts ? header.stamp : FileStamp{});
  }
  return stamps;
}

tl::unexpected<Error> cancelled(const Query& query) {
  return fail(ErrorCode::cancelled, fmt::format("{} for {}: the compile was cancelled",
                                                query.program.name(), query.target.arch()));
}

// Names a request with all that its headers hold.
Digest with_headers(const Digest& flight, const Closure& closure) {
  return digest_of(
      std::string(flight.view()).append(digest_of(closure.dependencies.material()).view()));
}

// Errors that every process meets alike which compiles this program.
bool is_of_the_program(const Error& error) {
  return error.code == ErrorCode::compile_failed || error.code == ErrorCode::header_not_found ||
         error.code == ErrorCode::unknown_kernel || error.code == ErrorCode::invalid_option ||
         error.code == ErrorCode::unknown_arch;
}

std::string reason_of_miss(const Fitness& fitness, bool damaged) {
  if (!fitness.why_not().empty()) return fitness.why_not();
  return damaged ? "what was stored for this request is damaged"
                 : "nothing is stored for this request";
}

// Asks once, again where that may be trusted which is not here, and then for what other compilers made.
template <class Ask>
auto ask_for(Fitness& fitness, const Ask& ask) {
  for (;;) {
    auto found = ask();
    if (!found && fitness.trust()) found = ask();
    if (found || !fitness.widen()) return found;
  }
}

Explanation explanation_of(const Query& query) {
  Explanation explanation;
  explanation.program = query.program.name();
  explanation.arch = query.target.arch();
  explanation.kind = query.request.kind;
  explanation.request = query.request_digest;
  return explanation;
}

Explanation explain_hit(const Query& query, const Artifact& artifact, Origin origin,
                        std::string remark) {
  auto explanation = explanation_of(query);
  explanation.hit = true;
  explanation.origin = origin;
  explanation.key = artifact.key;
  explanation.remark = std::move(remark);
  return explanation;
}

}  // namespace

Pipeline::Pipeline(const Settings& settings, const Tools& tools)
    : tools_(tools),
      patience_(settings.compile_patience),
      eligible_(EligibleToolchains::parse(settings.toolchains).value_or(EligibleToolchains())) {
  if (settings.record) {
    recorder_.emplace(*settings.record,
                      [this](const std::string& line) { tools_.reporter.warn(line); });
  }
}

std::optional<ServedArtifact> Pipeline::served_before(const Program& program,
                                                      const Target& target) {
  auto artifact = served_.find(program, target);
  if (!artifact) return std::nullopt;
  counters_.look_ups.count_hit(Origin::memory);
  tools_.layers.count_memory_hit(*artifact);
  tools_.reporter.tell(EventKind::hit, *artifact, Origin::memory, 0);
  return ServedArtifact{std::move(artifact), Origin::memory};
}

std::optional<ServedArtifact> Pipeline::at_hand(const Query& query) {
  std::string why_not;
  auto found = look_up(query, why_not);
  if (!found) return std::nullopt;
  record(query, query.flight(), *found);
  served_.remember(query.program, query.target, found->artifact);
  return found;
}

std::optional<ServedArtifact> Pipeline::stored(const Query& query, const Query& asked,
                                               const Loading& loading) {
  std::string why_not;
  auto found = look_up(query, why_not, loading);
  if (found) record(asked, asked.flight(), *found);
  return found;
}

Result<ServedArtifact> Pipeline::obtain(const Query& query, const CompileControl& control) {
  const auto flight = query.flight();
  auto obtained = share_or_obtain(query, flight, control);
  record(query, flight, obtained);
  if (obtained) served_.remember(query.program, query.target, obtained->artifact);
  return obtained;
}

// Threads share a compile, and its failure, where they find the same headers: one that comes after a header was
// mended has another.
Result<ServedArtifact> Pipeline::share_or_obtain(const Query& query, const Digest& flight,
                                                 const CompileControl& control) {
  const Stopwatch watch;
  const auto landings = landings_.load();
  std::string why;
  if (auto found = look_up(query, why)) return std::move(*found);
  const Miss miss{close_over(query.program, query.search, tools_.files), std::move(why),
                  watch.milliseconds()};
  const auto shared = with_headers(flight, miss.closure);
  auto landed = flights_.run(
      shared, control.stop, [&](const std::stop_token& nobody_left) -> Result<ServedArtifact> {
        std::string why_not;
        if (landings_ != landings) {
          if (auto found = look_up(query, why_not)) return std::move(*found);
        }
        return compile_missing(query, miss, {nobody_left, control.when_compiled});
      });
  if (!landed) return cancelled(query);
  auto& outcome = landed->outcome;
  // What another thread was forbidden may be allowed by now.
  const bool forbidden = !outcome && outcome.error().code == ErrorCode::not_cached;
  if (landed->own || (!outcome && !forbidden)) return std::move(outcome);
  // What was compiled for another thread may be older than a header is now, or not to be kept.
  if (auto found = look_up(query, why)) return std::move(*found);
  return compile_missing(query, miss, control);
}

Result<ServedArtifact> Pipeline::compile_missing(const Query& query, const Miss& miss,
                                                 const CompileControl& control) {
  ++counters_.look_ups.misses;
  tools_.reporter.tell(EventKind::miss, query.program, query.target, miss.milliseconds, miss.why);
  if (tools_.mode == Mode::cache_only) return tl::unexpected(not_cached(query, miss.why));
  return compile_in_turn(query, miss.closure, miss.why, control);
}

// `why_not` becomes what speaks against the newest entry.
std::optional<ServedArtifact> Pipeline::look_up(const Query& query, std::string& why_not,
                                                std::optional<Loading> loading) {
  const Stopwatch watch;
  Fitness fitness(query.search, tools_.compiler, eligible_, tools_.files, loading);
  bool damaged = false;
  auto found = ask_for(fitness, [&] {
    return tools_.layers.find(query.request, query.request_digest, query.search.roots(),
                              std::ref(fitness), damaged);
  });
  why_not = reason_of_miss(fitness, damaged);
  if (!found) return std::nullopt;
  counters_.look_ups.count_hit(found->origin);
  tools_.reporter.tell(EventKind::hit, *found->artifact, found->origin, watch.milliseconds(),
                       fitness.remark());
  if (fitness.trusted()) warn_of_trust(*found->artifact, fitness.remark());
  return ServedArtifact{std::move(found->artifact), found->origin};
}

// Once for each program: each process compiles it again, which somebody will want to know.
void Pipeline::warn_of_not_kept(const Artifact& artifact) {
  {
    const std::lock_guard lock(warned_mutex_);
    if (!warned_of_.insert(artifact.program).second) return;
  }
  tools_.reporter.warn(fmt::format("{} for {} is compiled and not kept: {}", artifact.program,
                                   artifact.arch, artifact.not_kept));
}

// Once, since where there is no compiler it may be so of all programs; of each the observer is told.
void Pipeline::warn_of_trust(const Artifact& artifact, const std::string& remark) {
  if (warned_of_trust_.exchange(true)) return;
  tools_.reporter.warn(
      fmt::format("{} for {} is served as it was stored, since it cannot be compiled here: {}; so "
                  "may others be",
                  artifact.program, artifact.arch, remark));
}

// One process compiles what several ask for; those who waited share what it came to.
Result<ServedArtifact> Pipeline::compile_in_turn(const Query& query, const Closure& closure,
                                                 std::string why, const CompileControl& control) {
  auto turn = tools_.layers.take_turn(turn_of(query, closure), patience_, control.stop);
  if (control.stop.stop_requested()) return cancelled(query);
  if (turn && turn->waited()) {
    ++counters_.look_ups.waits;
    if (auto found = look_up(query, why)) return std::move(*found);
    if (turn->shared_failure()) return tl::unexpected(*turn->shared_failure());
  }
  // Asked here, since it may have been set while others had the turn.
  const Mode mode = tools_.mode;
  if (mode == Mode::cache_only) return tl::unexpected(not_cached(query, why));
  if (mode == Mode::warn) {
    tools_.reporter.warn("compiling " + explain_miss(query, why, limits_of_a_miss).summary());
  }
  auto compiled = compile_and_store(query, closure, control);
  // That there is no compiler, say, is this process's own affair.
  if (turn && !compiled && is_of_the_program(compiled.error())) turn->fail(compiled.error());
  return compiled;
}

// What two processes must agree in to share a compile: the request, where its headers are and what they hold, and by
// whom.
Digest Pipeline::turn_of(const Query& query, const Closure& closure) {
  std::string all(with_headers(query.flight(), closure).view());
  if (const auto& files = tools_.compiler.search().files) all += files->toolchain.identity.view();
  return digest_of(all);
}

bool Pipeline::repeats(const Query& query) const {
  return !expected_.empty() && expected_.contains(prelude_text_of(query.program, query.target));
}

Result<ServedArtifact> Pipeline::compile_and_store(const Query& query, Closure closure,
                                                   const CompileControl& control) {
  const auto& search = tools_.compiler.search();
  if (!search.files) return tl::unexpected(vendor::nvrtc_missing(search));
  const auto& toolchain = search.files->toolchain;
  const vendor::ProfilerRange range(
      fmt::format("compile {} for {}", query.program.name(), query.target.arch()));
  const Stopwatch watch;
  const auto before = std::chrono::system_clock::now();
  tools_.reporter.tell(EventKind::compile_begin, query.program, query.target, 0);
  ++counters_.compiles;
  auto job = make_job(query, closure);
  job.prelude_repeats = repeats(query);
  auto compiled = tools_.service.run(job, control.stop);
  if (control.when_compiled) control.when_compiled();
  if (compiled && control.stop.stop_requested()) compiled = cancelled(query);
  if (!compiled) {
    tools_.reporter.tell(EventKind::compile_end, query.program, query.target, watch.milliseconds(),
                         compiled.error().message);
    return tl::unexpected(std::move(compiled.error()));
  }
  if (compiled->precompiled) ++counters_.precompiled;
  Artifact& made = compiled->artifact;
  if (compiled->readings) {
    closure = narrow(query, closure, *compiled->readings, tools_.files);
  } else if (!closure.dependencies.lookups.empty() || !closure.unresolved.empty()) {
    closure.not_stored = "kiln cannot see which headers this NVRTC reads";
  }
  record_output_paths(query, made.image, closure);
  made.toolchain = toolchain.text;
  made.key =
      key_of(query.request_digest, digest_of(closure.dependencies.material()), toolchain.identity);
  made.not_kept = closure.not_stored;
  const auto artifact = std::make_shared<const Artifact>(std::move(made));
  tools_.reporter.tell(EventKind::compile_end, *artifact, Origin::compiled, watch.milliseconds());
  keep(query, closure, toolchain, artifact, before);
  ++landings_;
  return ServedArtifact{artifact, Origin::compiled};
}

void Pipeline::keep(const Query& query, Closure& closure, const Toolchain& toolchain,
                    const std::shared_ptr<const Artifact>& artifact,
                    std::chrono::system_clock::time_point before) {
  if (!artifact->not_kept.empty()) {
    ++counters_.not_kept;
    warn_of_not_kept(*artifact);
    return tools_.reporter.tell(EventKind::not_stored, *artifact, Origin::compiled, 0,
                                artifact->not_kept);
  }
  if (tools_.layers.writable()) store(query, closure, toolchain, *artifact, before);
  tools_.layers.remember(query.request_digest, std::move(closure.dependencies), toolchain,
                         artifact);
}

void Pipeline::store(const Query& query, const Closure& closure, const Toolchain& toolchain,
                     const Artifact& artifact, std::chrono::system_clock::time_point before) {
  const Stopwatch watch;
  const Witness witness{query.search.roots(), lasting_stamps(closure, before)};
  NewEntry entry{query.request, closure.dependencies, toolchain, artifact, &witness, {}};
  entry.texts.push_back({query.program.source_digest(), query.program.source()});
  std::set<Digest> known;
  for (const auto& header : closure.texts) {
    if (header && known.insert(header->digest).second) {
      entry.texts.push_back({header->digest, header->text});
    }
  }
  if (const auto stored = tools_.layers.store(entry); !stored) {
    return tools_.reporter.tell(EventKind::not_stored, artifact, Origin::compiled,
                                watch.milliseconds(), stored.error().message);
  }
  ++counters_.look_ups.stores;
  tools_.reporter.tell(EventKind::store, artifact, Origin::compiled, watch.milliseconds());
}

// Writes down what was asked for, also what failed: that is for somebody to mend.
void Pipeline::record(const Query& query, const Digest& flight,
                      const Result<ServedArtifact>& obtained) {
  if (!recorder_ || !recorder_->wants(flight)) return;
  auto closure = close_over(query.program, query.search, tools_.files);
  record_output_paths(query, obtained ? obtained->artifact->image : Bytes(), closure);
  const auto stored = obtained ? tools_.layers.stored(obtained->artifact->key)
                               : Result<StoredEntry>(tl::unexpected(obtained.error()));
  recorder_->note(flight, list_request(query, closure, stored, [&](const Digest& text) {
                    return tools_.layers.text(text);
                  }));
}

Explanation Pipeline::explain(const Query& query) {
  if (const auto artifact = served_.find(query.program, query.target))
    return explain_hit(query, *artifact, Origin::memory, {});
  Fitness fitness(query.search, tools_.compiler, eligible_, tools_.files);
  bool damaged = false;
  const auto found = ask_for(fitness, [&] {
    return tools_.layers.peek(query.request, query.request_digest, query.search.roots(),
                              std::ref(fitness), damaged);
  });
  if (found) return explain_hit(query, *found->artifact, found->origin, fitness.remark());
  return explain_miss(query, reason_of_miss(fitness, damaged), {});
}

Explanation Pipeline::explain_miss(const Query& query, std::string reason,
                                   const AlikeLimits& limits) {
  auto explanation = explanation_of(query);
  auto closure = close_over(query.program, query.search, tools_.files);
  const auto& compiler = tools_.compiler.search().files;
  explanation.nearest =
      nearest_entry({query, closure, compiler ? &compiler->toolchain : nullptr, reason},
                    tools_.layers, tools_.files, limits);
  explanation.reason = std::move(reason);
  explanation.not_stored = std::move(closure.not_stored);
  return explanation;
}

Error Pipeline::not_cached(const Query& query, const std::string& why) {
  return {ErrorCode::not_cached,
          fmt::format("{}; the mode cache-only forbids compiling: fill the cache beforehand, or "
                      "set KILN_MODE=jit",
                      explain_miss(query, why, limits_of_a_miss).summary()),
          {},
          0};
}

void Pipeline::forget(const Digest& key) {
  tools_.layers.forget(key);
  served_.forget(key);
}

}  // namespace kiln
