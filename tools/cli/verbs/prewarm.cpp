#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "json.h"
#include "kiln/kiln.h"
#include "kiln/remote.h"
#include "output.h"
#include "system/environment.h"
#include "table.h"
#include "verbs.h"
#include "verbs/inspect.h"
#include "verbs/interrupt.h"
#include "verbs/prewarm_plan.h"
#include "verbs/program_words.h"
#include "verbs/progress.h"

namespace kiln::cli {

namespace {

// What was compiled and yet is not in the cache, and why. Safe to use from any thread.
class NotKept {
 public:
  void see(const Event& event) {
    if (event.kind != EventKind::not_stored) return;
    const std::lock_guard lock(mutex_);
    reasons_[event.key] = event.detail;
  }

  [[nodiscard]] std::optional<std::string> reason(const Digest& key) const {
    const std::lock_guard lock(mutex_);
    const auto at = reasons_.find(key);
    return at != reasons_.end() ? std::optional(at->second) : std::nullopt;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Digest, std::string> reasons_;
};

PrewarmSources sources_of(const Globals& globals, const PrewarmWords& words) {
  PrewarmSources sources{words.manifests, std::nullopt, words.archs, std::nullopt, {}};
  if (words.manifests.empty() && words.from.empty())
    refuse(ErrorCode::invalid_argument,
           "kiln prewarm: name a manifest, or a cache or bundle with --from");
  if (!words.from.empty()) sources.from = words.from;
  sources.settings = settings_of(globals);
  if (!words.image.empty()) sources.image = value_of("--image", parse_image_kind(words.image));
  return sources;
}

Runtime open_runtime(const Globals& globals, const PrewarmWords& words, NotKept& not_kept) {
  refuse_bundle(resolve_settings(asked_settings(globals)).value());
  auto options = runtime_options(globals);
  options.observer = [&not_kept](const Event& event) { not_kept.see(event); };
  options.mode = Mode::jit;
  options.compile_workers = words.jobs;
  if (words.timeout) {
    options.compile_timeout =
        std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(*words.timeout));
  }
  auto runtime = Runtime::open(std::move(options)).value();
  const auto& settings = runtime.settings();
  if (auto fault = runtime.cache_fault(); !fault.empty())
    refuse(ErrorCode::cache_unusable, std::move(fault));
  if (settings.cache_disabled || settings.cache_read_only) {
    refuse(ErrorCode::cache_unusable,
           fmt::format("there is no cache to fill: {} is set",
                       settings.cache_disabled ? "KILN_CACHE_DISABLE" : "KILN_CACHE_READONLY"));
  }
  return runtime;
}

// Reports each step, and the sum at the end.
class Report {
 public:
  Report(const Globals& globals, const PrewarmPlan& plan, const NotKept& not_kept)
      : globals_(globals),
        plan_(plan),
        not_kept_(not_kept),
        failures_(plan.failures),
        progress_(std::in_place, shape_of_progress(globals), plan.items.size()) {
    if (globals.json) print_json({{"event", "started"}, {"total", total()}});
    for (const auto& failure : plan.failures) tell(failure_json(failure));
  }

  void see(const PrefetchStep& step) {
    const auto& item = plan_.items[step.index];
    if (const auto error = error_of(step)) {
      if (error->code == ErrorCode::cancelled) return void(++cancelled_);
      failures_.push_back(
          {item.program.name(), item.target.arch(), to_string(item.target.kind()), *error});
      tell(failure_json(failures_.back()));
    } else {
      ++(step.outcome->origin == Origin::compiled ? compiled_ : hits_);
      if (step.outcome->origin == Origin::remote) ++remote_hits_;
      tell(artifact_json(*step.outcome));
    }
    if (!step.outcome || step.outcome->origin == Origin::compiled) ++worked_;
    progress_->show(step.done, worked_, failures_.size(), item.program.name());
  }

  ExitCode finish(int signal, bool verbose, const RuntimeCounters& counters) {
    progress_.reset();
    if (globals_.json) {
      print_json({{"event", "finished"},
                  {"total", total()},
                  {"compiled", compiled_},
                  {"precompiled", counters.precompiled},
                  {"hits", hits_},
                  {"remote_hits", remote_hits_},
                  {"failed", failures_.size()},
                  {"cancelled", cancelled_},
                  {"seconds", seconds()}});
    } else {
      print_failures(verbose);
      if (!globals_.quiet) print_sum();
    }
    if (signal != 0) {
      if (!globals_.quiet) say("kiln: stopped; the same command goes on where this one ended\n");
      return static_cast<ExitCode>(128 + signal);
    }
    return failures_.empty() ? ExitCode::done : ExitCode::failure;
  }

 private:
  // The error of a step; also where something was compiled and not kept.
  [[nodiscard]] std::optional<Error> error_of(const PrefetchStep& step) const {
    const auto& [program, target] = plan_.items[step.index];
    if (!step.outcome) {
      auto error = step.outcome.error();
      if (error.code == ErrorCode::header_not_found && plan_.recorded[step.index])
        error.message += fmt::format(
            "; the record lacks it, since what it was made from did not read it: prewarm "
            "{} from its sources, or record it for {}",
            program.name(), target.arch());
      return error;
    }
    const auto reason = not_kept_.reason(step.outcome->key);
    if (!reason || step.outcome->origin != Origin::compiled) return std::nullopt;
    return Error{ErrorCode::not_cached,
                 fmt::format("{} for {} was compiled and is not kept: {}", program.name(),
                             target.arch(), *reason),
                 {},
                 0};
  }

  static Json failure_json(const PrewarmFailure& failure) {
    Json document{{"program", failure.program},
                  {"arch", failure.arch},
                  {"image", failure.image.empty() ? Json() : Json(failure.image)}};
    document.update(error_json(failure.error));
    return document;
  }

  void tell(const Json& what) {
    if (!globals_.json) return;
    Json document{
        {"event", "item"}, {"done", compiled_ + hits_ + failures_.size()}, {"total", total()}};
    document.update(what);
    print_json(document);
  }

  void print_failures(bool verbose) const {
    if (failures_.empty()) return;
    Table table({{"PROGRAM"}, {"ARCH"}, {"IMAGE"}, {"CODE"}, {"ERROR"}});
    for (const auto& [program, arch, image, error] : failures_) {
      const auto message = verbose ? error.message : without_options(error.message);
      table.add({program, arch, or_dash(image), to_string(error.code),
                 message.substr(0, message.find('\n'))});
    }
    say("{}", table.text(wants_colour(stderr), width_of(stderr)));
    for (const auto& [program, arch, image, error] : failures_) {
      if (verbose && !error.log.empty())
        print_log(fmt::format("kiln: the compiler said of {} for {}:", program, arch), error.log);
    }
  }

  void print_sum() const {
    put("{} of {} there: {} compiled, {} before, {} failed", compiled_ + hits_, total(), compiled_,
        hits_ - remote_hits_, failures_.size());
    if (remote_hits_ > 0) put(", {} from shared stores", remote_hits_);
    if (cancelled_ > 0) put(", {} not begun", cancelled_);
    put("; {:.1f} s\n", seconds());
  }

  [[nodiscard]] std::size_t total() const { return plan_.items.size() + plan_.failures.size(); }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  const Globals& globals_;
  const PrewarmPlan& plan_;
  const NotKept& not_kept_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<PrewarmFailure> failures_;
  std::size_t compiled_ = 0;
  std::size_t hits_ = 0;
  std::size_t remote_hits_ = 0;  ///< Of the hits, those that came from a store that machines share.
  std::size_t cancelled_ = 0;
  std::size_t worked_ = 0;
  std::optional<Progress> progress_;
};

// What a shared store gave is kept by kiln-remote, which also puts there what was compiled: for the next command it is to be here.
void wait_for_deliveries(const Globals& globals, const Runtime& runtime,
                         const Interrupt& interrupt) {
  constexpr std::chrono::milliseconds nap(20);
  constexpr std::chrono::minutes longest(1);
  const auto end = std::chrono::steady_clock::now() + longest;
  for (;;) {
    std::uint64_t waiting = 0;
    const auto remotes = runtime.remotes(false);
    for (const auto& remote : remotes) waiting += remote.status ? remote.status->waiting : 0;
    if (waiting == 0 || interrupt.signal() != 0) return;
    if (std::chrono::steady_clock::now() > end) {
      warn_of_each(globals, {fmt::format("{} entries are still on their way between this cache and "
                                         "shared stores; kiln stats tells when they are there",
                                         waiting)});
      return;
    }
    std::this_thread::sleep_for(nap);
  }
}

}  // namespace

ExitCode prewarm(const Globals& globals, const PrewarmWords& words) {
  const auto sources = sources_of(globals, words);
  Interrupt interrupt;
  NotKept not_kept;
  auto runtime = open_runtime(globals, words, not_kept);
  const auto plan = plan_prewarm(runtime, sources);
  Report report(globals, plan, not_kept);
  (void)runtime.prefetch(
      plan.items, [&](const PrefetchStep& step) { report.see(step); }, interrupt.token());
  wait_for_deliveries(globals, runtime, interrupt);
  return report.finish(interrupt.signal(), words.verbose, runtime.counters());
}

}  // namespace kiln::cli
