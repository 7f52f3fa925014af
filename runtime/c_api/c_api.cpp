#include "kiln/c_api.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "c_api/c_api_values.h"
#include "kiln/remote.h"

using namespace kiln;
using namespace kiln::c_api;

Parameters::Parameters(const KernelInfo& info) {
  for (const Parameter& param : info.params) params.push_back({param.offset, param.size});
  for (const ParameterKind kind : parameter_kinds(info))
    kinds.push_back(number_of(parameter_kind_values, kind));
}

kiln_artifact::kiln_artifact(Artifact made) : artifact(std::move(made)), key(artifact.key.hex()) {
  for (const KernelInfo& info : artifact.kernels) parameters.emplace_back(info);
}

kiln_explanation::kiln_explanation(Explanation made)
    : explanation(std::move(made)),
      key(explanation.hit ? explanation.key.hex() : std::string()),
      summary(explanation.summary()) {}

namespace {

std::optional<std::chrono::milliseconds> optional_time(std::uint64_t count) {
  return count != 0 ? std::optional(milliseconds(count)) : std::nullopt;
}

std::optional<unsigned> optional_workers(std::int32_t number) {
  if (number == 0) return std::nullopt;
  if (number == KILN_WORKERS_NONE) return 0U;
  if (number == KILN_WORKERS_AUTOMATIC) return automatic_workers;
  if (number < 0) refuse(fmt::format("'compile_workers' is {}, which is no number", number));
  return static_cast<unsigned>(number);
}

LogCallback log_callback(kiln_log_callback log, void* user) {
  if (log == nullptr) return {};
  return [log, user](LogLevel level, std::string_view text) {
    log(user, KILN_LOG_OFF + number_of(log_levels, level), std::string(text).c_str());
  };
}

Observer observer(kiln_observer observe, void* user) {
  if (observe == nullptr) return {};
  return [observe, user](const Event& event) {
    const std::string program(event.program);
    const std::string arch(event.arch);
    const std::string key = event.key.empty() ? std::string() : event.key.hex();
    const std::string detail(event.detail);
    const kiln_event told{.size = sizeof(kiln_event),
                          .kind = number_of(event_kinds, event.kind),
                          .origin = number_of(origins, event.origin),
                          .program = program.c_str(),
                          .arch = arch.c_str(),
                          .key = key.c_str(),
                          .milliseconds = event.milliseconds,
                          .detail = detail.c_str()};
    observe(user, &told);
  };
}

void set_cache_options(RuntimeOptions& options, const kiln_runtime_options& from) {
  options.cache_directory = optional_text(from.cache_directory);
  options.cache_disabled = optional_enumerator(switches, from.cache_disabled, "cache_disabled");
  options.cache_read_only = optional_enumerator(switches, from.cache_read_only, "cache_read_only");
  options.cache_trust_others =
      optional_enumerator(switches, from.cache_trust_others, "cache_trust_others");
  options.cache_trust_owners = optional_text(from.cache_trust_owners);
  options.cache_group = optional_text(from.cache_group);
  options.engine = optional_text(from.engine);
  options.trusted_keys = optional_text(from.trusted_keys);
  options.signing_key = optional_text(from.signing_key);
  options.remotes = optional_text(from.remotes);
  options.remote_helper = optional_text(from.remote_helper);
  if (from.cache_max_bytes != 0) options.cache_max_bytes = from.cache_max_bytes;
  if (from.bundles != nullptr) {
    options.bundles = paths(from.bundles, from.bundle_count, "bundles");
  }
  for (const kiln_bytes& bundle :
       given_list(from.embedded_bundles, from.embedded_bundle_count, "embedded_bundles")) {
    options.embedded_bundles.push_back(given_bytes(bundle, "embedded_bundles"));
  }
}

RuntimeOptions runtime_options(const kiln_runtime_options& from) {
  RuntimeOptions options;
  set_cache_options(options, from);
  options.allow_ptx = optional_enumerator(switches, from.allow_ptx, "allow_ptx");
  options.mode = optional_enumerator(modes, from.mode, "mode");
  options.compile_workers = optional_workers(from.compile_workers);
  options.compile_timeout = optional_time(from.compile_timeout);
  options.compile_patience = optional_time(from.compile_patience);
  options.nvrtc = optional_text(from.nvrtc);
  options.nvjitlink = optional_text(from.nvjitlink);
  options.nvfatbin = optional_text(from.nvfatbin);
  options.cuda_driver = optional_text(from.cuda_driver);
  options.worker = optional_text(from.worker);
  options.variant = optional_text(from.variant);
  options.record = optional_text(from.record);
  options.log_level = optional_enumerator(log_levels, from.log_level, "log_level");
  options.log = log_callback(from.log, from.log_user);
  options.observer = observer(from.observer, from.observer_user);
  return options;
}

LinkSpec link_spec(const kiln_link_spec& from) {
  LinkSpec spec{.name = given_text(from.name, "name"),
                .inputs = {},
                .target = target_of(from.arch, from.kind),
                .options = texts(from.options, from.option_count, "options"),
                .kernels = texts(from.kernels, from.kernel_count, "kernels")};
  for (const kiln_artifact* input : given_list(from.inputs, from.input_count, "inputs")) {
    spec.inputs.push_back(given(input, "inputs").artifact);
  }
  return spec;
}

std::vector<Target> targets_of(const kiln_target* targets, std::size_t count) {
  std::vector<Target> copies;
  for (const auto& [arch, kind] : given_list(targets, count, "targets")) {
    copies.push_back(target_of(arch, kind));
  }
  return copies;
}

std::vector<PrefetchItem> prefetch_items(const kiln_prefetch_item* items, std::size_t count) {
  std::vector<PrefetchItem> copies;
  for (const kiln_prefetch_item& item : given_list(items, count, "items")) {
    copies.push_back({given(item.program, "program").program, target_of(item.arch, item.kind)});
  }
  return copies;
}

/// Tells a C callback of each step, and stops where it wants so.
class PrefetchTeller {
 public:
  PrefetchTeller(kiln_prefetch_callback callback, void* user) : callback_(callback), user_(user) {}

  void operator()(const PrefetchStep& step) {
    if (tell(step) != 0) stop_.request_stop();
  }

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  std::int32_t tell(const PrefetchStep& step) const {
    if (callback_ == nullptr) return 0;
    if (step.outcome) {
      const kiln_artifact artifact(*step.outcome);
      return callback_(user_, step.index, &artifact, nullptr, step.done, step.total);
    }
    const kiln_error error = error_of(step.outcome.error());
    return callback_(user_, step.index, nullptr, &error, step.done, step.total);
  }

  kiln_prefetch_callback callback_;
  void* user_;
  std::stop_source stop_;
};

}  // namespace

uint32_t kiln_api_version() { return KILN_API_VERSION; }

kiln_error* kiln_runtime_open(const kiln_runtime_options* options, kiln_runtime** runtime) {
  return make_handle(runtime, "runtime", [&] {
    const auto from = options ? read(options, "options") : kiln_runtime_options{};
    return Runtime::open(runtime_options(from)).value();
  });
}

void kiln_runtime_close(kiln_runtime* runtime) { delete runtime; }

kiln_error* kiln_runtime_set_mode(kiln_runtime* runtime, kiln_mode mode) {
  return guarded([&] {
    runtime_of(runtime).set_mode(
        enumerator_at(modes, std::int64_t{mode} - KILN_MODE_JIT, mode, "mode"));
  });
}

kiln_error* kiln_runtime_check_cache(const kiln_runtime* runtime) {
  return guarded([&] {
    std::string fault = runtime_of(runtime).cache_fault();
    if (!fault.empty()) refuse(std::move(fault), ErrorCode::cache_unusable);
  });
}

kiln_error* kiln_runtime_get_counters(const kiln_runtime* runtime, kiln_counters* counters) {
  return guarded([&] {
    const RuntimeCounters counted = runtime_of(runtime).counters();
    write(counters, "counters",
          kiln_counters{.size = sizeof(kiln_counters),
                        .memory_hits = counted.memory_hits,
                        .local_hits = counted.local_hits,
                        .bundle_hits = counted.bundle_hits,
                        .misses = counted.misses,
                        .compiles = counted.compiles,
                        .precompiled = counted.precompiled,
                        .combines = counted.combines,
                        .waits = counted.waits,
                        .stores = counted.stores,
                        .refusals = counted.refusals,
                        .cache_errors = counted.cache_errors,
                        .loads = counted.loads,
                        .remote_hits = counted.remote_hits,
                        .lease_waits = counted.lease_waits});
  });
}

kiln_error* kiln_runtime_get_remotes(const kiln_runtime* runtime, int32_t reach,
                                     kiln_remotes** remotes, size_t* count) {
  return make_handle(remotes, "remotes", [&] {
    auto& told = given(count, "count");
    auto states = runtime_of(runtime).remotes(reach != 0);
    told = states.size();
    return states;
  });
}

kiln_error* kiln_remotes_get_info(const kiln_remotes* remotes, size_t index,
                                  kiln_remote_info* info) {
  return guarded([&] {
    const auto& states = given(remotes, "remotes").states;
    if (index >= states.size())
      refuse(fmt::format("there is no store {}: the runtime has {}", index, states.size()));
    const RemoteState& state = states[index];
    const RemoteStatus status = state.status.value_or(RemoteStatus());
    const char* const fault = state.status ? "" : state.status.error().message.c_str();
    const char* const last = state.status ? state.status->last_failure.c_str() : "";
    write(info, "info",
          kiln_remote_info{.size = sizeof(kiln_remote_info),
                           .url = state.url.c_str(),
                           .fault = fault,
                           .last_failure = last,
                           .read_only = state.read_only,
                           .resting = status.resting,
                           .gives_leases = status.gives_leases,
                           .round_trip_us = status.round_trip_us,
                           .asked = status.asked,
                           .found = status.found,
                           .failures = status.failures,
                           .slow = status.slow,
                           .pushed = status.pushed,
                           .duplicates = status.duplicates,
                           .dropped = status.dropped,
                           .waiting = status.waiting,
                           .lease_waits = status.lease_waits});
  });
}

void kiln_remotes_free(kiln_remotes* remotes) { delete remotes; }

kiln_error* kiln_runtime_availability(const kiln_runtime* runtime, kiln_tool tool,
                                      kiln_availability** availability) {
  return make_handle(availability, "availability",
                     [&] { return (runtime_of(runtime).*enumerator(tools, tool, "tool"))(); });
}

kiln_error* kiln_availability_get_info(const kiln_availability* availability,
                                       kiln_availability_info* info) {
  return guarded([&] {
    const Availability& told = given(availability, "availability").availability;
    write(info, "info",
          kiln_availability_info{.size = sizeof(kiln_availability_info),
                                 .available = told.available,
                                 .description = told.description.c_str(),
                                 .reason = told.reason.c_str(),
                                 .path = told.path.c_str()});
  });
}

void kiln_availability_free(kiln_availability* availability) { delete availability; }

kiln_error* kiln_runtime_compile(kiln_runtime* runtime, const kiln_program* program,
                                 const char* arch, kiln_image_kind kind, kiln_artifact** artifact) {
  return make_handle(artifact, "artifact", [&] {
    return runtime_of(runtime).compile(program_of(program), target_of(arch, kind)).value();
  });
}

kiln_error* kiln_runtime_link(kiln_runtime* runtime, const kiln_link_spec* spec,
                              kiln_artifact** artifact) {
  return make_handle(artifact, "artifact", [&] {
    return runtime_of(runtime).link(link_spec(read(spec, "spec"))).value();
  });
}

kiln_error* kiln_runtime_fatbin(kiln_runtime* runtime, const kiln_program* program,
                                const kiln_target* targets, size_t count,
                                kiln_artifact** artifact) {
  return make_handle(artifact, "artifact", [&] {
    return runtime_of(runtime).fatbin(program_of(program), targets_of(targets, count)).value();
  });
}

kiln_error* kiln_artifact_get_info(const kiln_artifact* artifact, kiln_artifact_info* info) {
  return guarded([&] {
    const Artifact& told = given(artifact, "artifact").artifact;
    write(info, "info",
          kiln_artifact_info{.size = sizeof(kiln_artifact_info),
                             .key = artifact->key.c_str(),
                             .program = told.program.c_str(),
                             .arch = told.arch.c_str(),
                             .kind = image_kind_number(told.kind),
                             .origin = number_of(origins, told.origin),
                             .image = {told.image.data(), told.image.size()},
                             .log = told.log.c_str(),
                             .toolchain = told.toolchain.c_str(),
                             .compile_us = told.compile_us,
                             .kernel_count = told.kernels.size()});
  });
}

kiln_error* kiln_artifact_get_kernel(const kiln_artifact* artifact, size_t index,
                                     kiln_kernel_info* info) {
  return guarded([&] {
    const auto& [told, key, parameters] = given(artifact, "artifact");
    if (index >= told.kernels.size()) {
      refuse(fmt::format("there is no kernel {}: the artifact has {}", index, told.kernels.size()));
    }
    write(info, "info", info_of(told.kernels[index], parameters[index], told.arch, told.kind));
  });
}

void kiln_artifact_free(kiln_artifact* artifact) { delete artifact; }

kiln_error* kiln_runtime_explain(kiln_runtime* runtime, const kiln_program* program,
                                 const char* arch, kiln_image_kind kind,
                                 kiln_explanation** explanation) {
  return make_handle(explanation, "explanation", [&] {
    return runtime_of(runtime).explain(program_of(program), target_of(arch, kind)).value();
  });
}

kiln_error* kiln_explanation_get_info(const kiln_explanation* explanation,
                                      kiln_explanation_info* info) {
  return guarded([&] {
    const auto& [told, key, summary] = given(explanation, "explanation");
    write(info, "info",
          kiln_explanation_info{.size = sizeof(kiln_explanation_info),
                                .hit = told.hit,
                                .origin = number_of(origins, told.origin),
                                .key = key.c_str(),
                                .reason = told.reason.c_str(),
                                .summary = summary.c_str()});
  });
}

void kiln_explanation_free(kiln_explanation* explanation) { delete explanation; }

kiln_error* kiln_runtime_compile_async(kiln_runtime* runtime, const kiln_program* program,
                                       const char* arch, kiln_image_kind kind, int32_t priority,
                                       kiln_compiling** compiling) {
  return make_handle(compiling, "compiling", [&] {
    return runtime_of(runtime).compile_async(program_of(program), target_of(arch, kind),
                                             {priority});
  });
}

kiln_error* kiln_compiling_wait(const kiln_compiling* compiling, uint64_t patience,
                                int32_t* ready) {
  return guarded([&] {
    given(ready, "ready") =
        given(compiling, "compiling").compiling.wait_for(milliseconds(patience));
  });
}

kiln_error* kiln_compiling_get(const kiln_compiling* compiling, kiln_artifact** artifact) {
  return make_handle(artifact, "artifact",
                     [&] { return given(compiling, "compiling").compiling.get().value(); });
}

kiln_error* kiln_compiling_cancel(const kiln_compiling* compiling) {
  return guarded([&] { given(compiling, "compiling").compiling.cancel(); });
}

void kiln_compiling_free(kiln_compiling* compiling) { delete compiling; }

kiln_error* kiln_runtime_prefetch(kiln_runtime* runtime, const kiln_prefetch_item* items,
                                  size_t count, kiln_prefetch_callback progress, void* user,
                                  kiln_prefetch_report* report) {
  return guarded([&] {
    auto& asked = given(runtime, "runtime").runtime;
    if (report != nullptr) (void)size_of(report, "report");
    PrefetchTeller teller(progress, user);
    const PrefetchReport told =
        asked.prefetch(prefetch_items(items, count), std::ref(teller), teller.token());
    if (report == nullptr) return;
    write(report, "report",
          kiln_prefetch_report{.size = sizeof(kiln_prefetch_report),
                               .hits = told.hits,
                               .compiled = told.compiled,
                               .failures = told.failures.size()});
  });
}
