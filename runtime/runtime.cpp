#include "kiln/runtime.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "combiner.h"
#include "compile_queue.h"
#include "compile_service.h"
#include "compiler_on_this_machine.h"
#include "fatbin.h"
#include "fingerprint.h"
#include "fingerprint_nearest.h"
#include "header_files.h"
#include "header_search.h"
#include "image_choice.h"
#include "in_process.h"
#include "layers.h"
#include "link_images.h"
#include "load.h"
#include "obtained.h"
#include "output_paths.h"
#include "prefetch.h"
#include "recorded_programs.h"
#include "recorder.h"
#include "reporter.h"
#include "single_flight.h"
#include "source.h"
#include "tool_on_this_machine.h"
#include "vendor/driver.h"
#include "vendor/nvfatbin.h"
#include "vendor/nvjitlink.h"
#include "vendor/nvrtc.h"
#include "worker_pool.h"
#include "worker_setup.h"

namespace kiln {

namespace {

class Stopwatch {
 public:
  [[nodiscard]] double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// A program as it stands for one target on this machine: what every layer is asked with.
struct Query {
  Query(const Program& asked, const Target& wanted,
        const std::vector<std::filesystem::path>& toolkit_dirs)
      : program(asked),
        target(wanted),
        search(asked,
               asked.toolkit_headers() ? toolkit_dirs : std::vector<std::filesystem::path>()),
        request(request_of(asked, wanted)),
        request_digest(digest_of(request.material())) {}

  const Program program;
  const Target target;
  HeaderSearch search;
  Request request;
  Digest request_digest;
};

// Names all that a precompiled header of this program depends on. The whole closure is in it, not only what
// its prelude includes: another end of the prelude than the compiler's does no harm then.
Digest prelude_of(const Query& query, const Closure& closure) {
  const Program& program = query.program;
  if (closure.prelude == 0 || closure.texts.empty()) return {};
  std::string all(closure.dependencies.material());
  all.append(query.search.roots().view());
  all.append(std::string_view(program.source()).substr(0, closure.prelude)).push_back('\0');
  for (const auto& option : program.options()) all.append(option).push_back('\0');
  all.append(query.target.arch()).append(to_string(query.target.kind()));
  return digest_of(all);
}

std::vector<HeaderOnDisk> headers_on_disk(const Closure& closure) {
  std::vector<HeaderOnDisk> files;
  std::set<std::string_view> known;
  for (std::size_t index = 0; index < closure.found.size(); ++index) {
    const auto& found = closure.found[index];
    if (found.path.empty() || !known.insert(found.path).second) continue;
    files.push_back({found.path, found.stamp, closure.dependencies.lookups[index].content});
  }
  return files;
}

CompileJob job_of(const Query& query, const Closure& closure) {
  const Program& program = query.program;
  CompileJob job;
  job.program = program.name();
  job.source = program.source();
  job.embedded = closure.embedded;
  job.include_dirs = query.search.directories();
  job.expressions = program.kernels();
  job.options = program.options();
  job.arch = query.target.arch();
  job.kind = query.target.kind();
  job.seed = query.request_digest;
  job.prelude = prelude_of(query, closure);
  if (!job.prelude.empty()) job.files = headers_on_disk(closure);
  return job;
}

std::vector<FileStamp> settled_stamps(const Closure& closure) {
  std::vector<FileStamp> stamps;
  for (const auto& header : closure.found) {
    stamps.push_back(is_settled(header.stamp) ? header.stamp : FileStamp{});
  }
  return stamps;
}

Result<Artifact> copy_of(Result<Obtained> obtained) {
  if (!obtained) return tl::unexpected(std::move(obtained.error()));
  Artifact artifact = *obtained->artifact;
  artifact.origin = obtained->origin;
  return artifact;
}

template <class Tool>
Availability availability_of(ToolOnThisMachine<Tool>& tool) {
  const auto& file = tool.search().file;
  const auto path = file ? file->library : std::filesystem::path{};
  const auto& opened = tool.open();
  if (!opened) return {false, {}, opened.error().message, path};
  return {true, fmt::format("{}, {} ({})", opened->text(), path.string(), file->origin), {}, path};
}

// Threads that ask together share a compile where they agree in this.
Digest flight_of(const Query& query) {
  return digest_of(
      std::string(query.request_digest.view()).append(query.search.surroundings().view()));
}

tl::unexpected<Error> cancelled(const Query& query) {
  return fail(ErrorCode::cancelled, fmt::format("{} for {}: the compile was cancelled",
                                                query.program.name(), query.target.arch()));
}

// Errors that every process meets alike which compiles this program.
bool is_of_the_program(const Error& error) {
  return error.code == ErrorCode::compile_failed || error.code == ErrorCode::header_not_found ||
         error.code == ErrorCode::unknown_kernel || error.code == ErrorCode::invalid_option ||
         error.code == ErrorCode::unknown_arch;
}

// Not the key alone: what kiln cannot account for may have another image under the same one.
Digest image_identity(const Artifact& artifact) {
  return digest_of(std::string(artifact.key.view()).append(artifact.image));
}

// How far the search for the nearest entry goes beside a miss, which is not to take long.
constexpr AlikeLimits limits_of_a_miss{.entries = 200, .rows = 2'000};

// The driver's words for an image that it does not run, whatever the reason.
bool is_refusal(const Error& error) {
  switch (error.vendor_code) {
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_INVALID_SOURCE:
      return error.code == ErrorCode::driver_failed;
    default:
      return false;
  }
}

}  // namespace

class Runtime::Impl {
 public:
  Impl(Settings settings, RuntimeOptions options)
      : settings_(std::move(settings)),
        reporter_(settings_.log_level, std::move(options.log), std::move(options.observer)),
        worker_(worker_to_use()),
        compiler_(settings_.nvrtc, worker_.empty() ? vendor::NvrtcVariables::inherited
                                                   : vendor::NvrtcVariables::cleared),
        linker_(vendor::find_nvjitlink, settings_.nvjitlink, compiler_),
        packer_(vendor::find_nvfatbin, settings_.nvfatbin, compiler_),
        layers_(settings_, reporter_),
        mode_(settings_.mode),
        combiner_(layers_, reporter_, mode_, settings_.compile_patience),
        service_(make_service()),
        queue_(service_->concurrency(), settings_.compile_queue) {
    if (settings_.record) {
      recorder_.emplace(*settings_.record,
                        [this](const std::string& line) { reporter_.warn(line); });
    }
  }

  Result<Obtained> obtain(const Program& program, const Target& target,
                          const std::stop_token& stop = {}) {
    const auto resolved = resolve(target);
    if (!resolved) return tl::unexpected(resolved.error());
    if (resolved->kind() == ImageKind::fatbin) return fatbin(program, {*resolved}, stop);
    const Memo memo(program.id(), resolved->arch(), resolved->kind());
    if (auto known = recall(memo)) return std::move(*known);
    const Query query(program, *resolved, compiler_.include_dirs());
    return obtain_and_remember(query, memo, stop);
  }

  // As obtain(), without waiting for a compile: `request` says how that is to be queued. What is there
  // is looked for at once, on this thread, so that a hit is behind no compile.
  Compiling begin(const Program& program, const Target& target, CompileQueue::Request request) {
    const auto at_once = [&request](Result<Obtained> outcome) {
      const auto state = std::make_shared<Compiling::State>(std::move(request.when_ready));
      state->complete(std::move(outcome));
      return Compiling(state);
    };
    const auto resolved = resolve(target);
    if (!resolved) return at_once(tl::unexpected(resolved.error()));
    if (resolved->kind() == ImageKind::fatbin)
      return begin_fatbin(program, *resolved, std::move(request));
    const Memo memo(program.id(), resolved->arch(), resolved->kind());
    if (auto known = recall(memo)) return at_once(std::move(*known));
    const auto query = std::make_shared<const Query>(program, *resolved, compiler_.include_dirs());
    std::string why_not;
    if (auto found = look_up(*query, why_not)) {
      record(*query, *found);
      remember(memo, found->artifact);
      return at_once(std::move(*found));
    }
    request.name = program.name();
    request.key = flight_of(*query);
    request.work = [this, query, memo](const std::stop_token& stop) {
      return obtain_and_remember(*query, memo, stop);
    };
    return queue_.add(std::move(request));
  }

  PrefetchReport prefetch(const std::vector<PrefetchItem>& items, const PrefetchProgress& progress,
                          const std::stop_token& stop) {
    const auto begin_item = [this](const PrefetchItem& item, std::function<void()> when_ready) {
      return begin(
          item.program, item.target,
          {.priority = prefetch_priority, .bounded = false, .when_ready = std::move(when_ready)});
    };
    expect(repeated_beginnings(items));
    return prefetch_all(items, queue_.threads(), begin_item, progress, stop);
  }

  Result<Obtained> link(LinkSpec spec) {
    const auto target = resolve(spec.target);
    if (!target) return tl::unexpected(target.error());
    spec.target = *target;
    const auto recipe = link_recipe(spec);
    if (!recipe) return tl::unexpected(recipe.error());
    const auto link = [&](const vendor::NvJitLink& linker) { return link_images(linker, spec); };
    return combine(*recipe, linker_, link, {});
  }

  Result<Obtained> fatbin(const Program& program, const std::vector<Target>& wanted,
                          const std::stop_token& stop) {
    std::vector<Target> resolved;
    for (const auto& target : wanted) {
      auto real = resolve(target);
      if (!real) return tl::unexpected(std::move(real.error()));
      resolved.push_back(std::move(*real));
    }
    const auto targets = fatbin_targets(program, resolved);
    if (!targets) return tl::unexpected(targets.error());
    std::vector<Artifact> images;
    for (const auto& target : *targets) {
      const auto image = obtain(program, target, stop);
      if (!image) return tl::unexpected(image.error());
      images.push_back(*image->artifact);
    }
    const auto recipe = fatbin_recipe(program, images);
    if (!recipe) return tl::unexpected(recipe.error());
    const auto pack = [&](const vendor::NvFatbin& packer) {
      return pack_fatbin(packer, *recipe, images);
    };
    return combine(*recipe, packer_, pack, stop);
  }

  Result<Kernel> kernel(const Program& program, std::string_view expression) {
    const auto& listed = program.kernels();
    if (!listed.empty() && !std::binary_search(listed.begin(), listed.end(), expression)) {
      return fail(ErrorCode::unknown_kernel,
                  fmt::format("{}: '{}' is not among the program's kernels: {}", program.name(),
                              expression, fmt::join(listed, "; ")));
    }
    const auto& cuda = driver();
    if (!cuda) return tl::unexpected(cuda.error());
    const auto device = (*cuda)->current_device();
    if (!device) return tl::unexpected(device.error());
    const auto memo = std::tuple(program.id(), device->handle, std::string(expression));
    if (const auto* record = recall_kernel(memo)) return Kernel(*record);
    const auto module = load_for(*device, program);
    if (!module) return tl::unexpected(module.error());
    const auto* record = (*module)->find(expression);
    if (record == nullptr) {
      return fail(ErrorCode::unknown_kernel, fmt::format("{}: the image for {} has no kernel '{}'",
                                                         program.name(), device->name, expression));
    }
    const std::unique_lock lock(kernels_mutex_);
    kernels_[memo] = record;
    return Kernel(*record);
  }

  Result<Explanation> explain(const Program& program, const Target& target) {
    const auto resolved = resolve(target);
    if (!resolved) return tl::unexpected(resolved.error());
    if (resolved->kind() == ImageKind::fatbin) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{} for {}: a fatbin is looked up by its images: have those "
                              "explained, the cubins or PTX that it holds",
                              program.name(), resolved->arch()));
    }
    const Query query(program, *resolved, compiler_.include_dirs());
    if (const auto artifact = recall_artifact({program.id(), resolved->arch(), resolved->kind()}))
      return explain_hit(query, {artifact, Origin::memory}, {});
    Fitness fitness(query.search, compiler_, files_);
    bool damaged = false;
    const auto peek = [&] {
      return layers_.peek(query.request, query.request_digest, query.search.roots(),
                          std::ref(fitness), damaged);
    };
    auto found = peek();
    if (!found && fitness.trust()) found = peek();
    if (found) return explain_hit(query, {found->artifact, found->origin}, fitness.remark());
    return explain_miss(query, reason_of_miss(fitness, damaged), {});
  }

  void set_mode(Mode mode) noexcept { mode_ = mode; }
  [[nodiscard]] Mode mode() const noexcept { return mode_; }

  Result<Program> program_of(const ListedProgram& listed) {
    return make_listed(listed, compiler_.include_dirs(), files_);
  }

  CompilerOnThisMachine& compiler() { return compiler_; }
  ToolOnThisMachine<vendor::NvJitLink>& linker() { return linker_; }
  ToolOnThisMachine<vendor::NvFatbin>& packer() { return packer_; }

  const Result<std::shared_ptr<const vendor::Driver>>& driver() {
    std::call_once(driver_opened_,
                   [this] { driver_ = vendor::open_driver(settings_.cuda_driver); });
    return driver_;
  }

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const std::string& cache_fault() const { return layers_.cache_fault(); }

  [[nodiscard]] RuntimeCounters counters() const {
    const auto combined = combiner_.counters();
    return {memory_hits_ + combined.memory_hits,
            local_hits_ + combined.local_hits,
            bundle_hits_ + combined.bundle_hits,
            misses_ + combined.misses,
            compiles_,
            precompiled_,
            combined.made,
            waits_ + combined.waits,
            stores_ + combined.stores,
            refusals_,
            layers_.faults(),
            loads_};
  }

 private:
  using Memo = std::tuple<std::uint64_t, std::string, ImageKind>;
  using KernelMemo = std::tuple<std::uint64_t, CUdevice, std::string>;

  // Empty where this process compiles: by its settings, or because there is no helper to be found.
  std::filesystem::path worker_to_use() const {
    if (settings_.compile_workers == 0) return {};
    const auto search = find_worker(settings_.worker);
    if (search.executable.empty()) {
      reporter_.warn(
          fmt::format("kiln-worker: not found, so everything is compiled in this process. "
                      "Looked at:\n{}\nInstall it beside the library, or name it with "
                      "KILN_WORKER",
                      vendor::describe(search.steps)));
    }
    return search.executable;
  }

  std::unique_ptr<CompileService> make_service() {
    if (worker_.empty())
      return std::make_unique<InProcessCompiler>(compiler_, settings_.compile_timeout,
                                                 settings_.precompiled_max_bytes);
    return std::make_unique<WorkerPool>(
        WorkerPoolOptions{worker_, workers_for(settings_.compile_workers),
                          settings_.compile_timeout, settings_.compile_memory,
                          settings_.precompiled_max_bytes},
        compiler_, reporter_);
  }

  std::optional<Obtained> recall(const Memo& memo) {
    auto artifact = recall_artifact(memo);
    if (!artifact) return std::nullopt;
    ++memory_hits_;
    layers_.count_memory_hit(*artifact);
    reporter_.tell(EventKind::hit, *artifact, Origin::memory, 0);
    return Obtained{std::move(artifact), Origin::memory};
  }

  std::shared_ptr<const Artifact> recall_artifact(const Memo& memo) {
    const std::shared_lock lock(memos_mutex_);
    const auto at = memos_.find(memo);
    return at != memos_.end() ? at->second.lock() : nullptr;
  }

  void remember(const Memo& memo, const std::shared_ptr<const Artifact>& artifact) {
    constexpr std::size_t most_memos = 65'536;
    const std::unique_lock lock(memos_mutex_);
    // Programs made anew for each call would fill it for ever.
    if (memos_.size() >= most_memos) memos_.clear();
    memos_[memo] = artifact;
  }

  void forget(const Digest& key) {
    layers_.refuse(key);
    const std::unique_lock lock(memos_mutex_);
    std::erase_if(memos_, [&](const auto& memo) {
      const auto artifact = memo.second.lock();
      return !artifact || artifact->key == key;
    });
  }

  // "native" is the calling thread's device.
  Result<Target> resolve(const Target& target) {
    if (!target.is_native()) return target;
    const auto& cuda = driver();
    if (!cuda) return tl::unexpected(cuda.error());
    const auto device = (*cuda)->current_device();
    if (!device) return tl::unexpected(device.error());
    return Target::parse(compile_target(device->major, device->minor), target.kind());
  }

  // All of it is queued: it is looked up by its images, which may have to be compiled before.
  Compiling begin_fatbin(const Program& program, const Target& target,
                         CompileQueue::Request request) {
    request.name = program.name();
    request.key = flight_of(Query(program, target, compiler_.include_dirs()));
    request.work = [this, program, target](const std::stop_token& stop) {
      return fatbin(program, {target}, stop);
    };
    return queue_.add(std::move(request));
  }

  // The tool is mapped only where something has to be made.
  template <class Tool, class Make>
  Result<Obtained> combine(const Recipe& recipe, ToolOnThisMachine<Tool>& tool, const Make& make,
                           const std::stop_token& stop) {
    const auto make_with_tool = [&]() -> Result<Artifact> {
      const auto& opened = tool.open();
      if (!opened) return tl::unexpected(opened.error());
      return make(*opened);
    };
    auto found = combiner_.obtain(recipe, tool.search(), make_with_tool, stop);
    if (!found) return tl::unexpected(std::move(found.error()));
    return Obtained{std::move(found->artifact), found->origin};
  }

  // The best image there is for the device; only where there is none is one compiled.
  Result<Obtained> obtain_for(const vendor::Device& device, const Program& program) {
    const auto wanted = Target::parse(compile_target(device.major, device.minor));
    if (!wanted) return tl::unexpected(wanted.error());
    for (const auto& arch : runnable_archs(device.major, device.minor)) {
      const auto target = Target::parse(arch);
      if (!target) return tl::unexpected(target.error());
      std::string why;
      if (auto stored = look_up(Query(program, *target, compiler_.include_dirs()), why)) {
        record(Query(program, *wanted, compiler_.include_dirs()), *stored);
        return std::move(*stored);
      }
    }
    return obtain(program, *wanted);
  }

  const KernelRecord* recall_kernel(const KernelMemo& memo) {
    const std::shared_lock lock(kernels_mutex_);
    const auto at = kernels_.find(memo);
    return at != kernels_.end() ? at->second : nullptr;
  }

  // A stored image that the driver refuses is dropped, and the next best one taken, at the end one that
  // is compiled anew; what that one meets is final, so that nothing goes round in circles.
  Result<const Module*> load_for(const vendor::Device& device, const Program& program) {
    for (;;) {
      const auto obtained = obtain_for(device, program);
      if (!obtained) return tl::unexpected(obtained.error());
      auto module = load(device, *obtained);
      if (module || !is_refusal(module.error()) || is_final(*obtained)) return module;
      if (first_refusal(*obtained->artifact)) {
        ++refusals_;
        reporter_.warn(fmt::format("{}; it is dropped from the cache", module.error().message));
      }
      // Each time: another thread's look-up may have brought it back into memory.
      forget(obtained->artifact->key);
    }
  }

  bool first_refusal(const Artifact& artifact) {
    const std::lock_guard lock(modules_mutex_);
    return refused_.insert(image_identity(artifact)).second;
  }

  // Whether this very image came from the compiler here, so that compiling once more gives no other.
  bool is_final(const Obtained& obtained) {
    const auto identity = image_identity(*obtained.artifact);
    const std::lock_guard lock(modules_mutex_);
    if (obtained.origin == Origin::compiled) final_.insert(identity);
    return final_.contains(identity);
  }

  // An image is given to the driver once for each device, however many kernels and programs use it.
  Result<const Module*> load(const vendor::Device& device, const Obtained& obtained) {
    const Artifact& artifact = *obtained.artifact;
    const std::lock_guard lock(modules_mutex_);
    const auto identity = image_identity(artifact);
    auto& module = modules_[{identity, device.handle}];
    if (module) return module.get();
    const Stopwatch watch;
    auto loaded = Module::load(*driver(), device, artifact, [this](const Error& error) {
      reporter_.tell({.kind = EventKind::launch_failed,
                      .program = {},
                      .arch = {},
                      .key = {},
                      .detail = error.message});
    });
    if (!loaded) return tl::unexpected(std::move(loaded.error()));
    module = std::move(*loaded);
    ++loads_;
    reporter_.tell(EventKind::load, artifact, obtained.origin, watch.milliseconds());
    return module.get();
  }

  Result<Obtained> obtain_and_remember(const Query& query, const Memo& memo,
                                       const std::stop_token& stop) {
    auto obtained = share_or_obtain(query, stop);
    record(query, obtained);
    if (obtained) remember(memo, obtained->artifact);
    return obtained;
  }

  Result<Obtained> share_or_obtain(const Query& query, const std::stop_token& stop) {
    auto landed = flights_.run(flight_of(query), stop, [&](const std::stop_token& nobody_left) {
      return look_up_or_compile(query, nobody_left);
    });
    if (!landed) return cancelled(query);
    auto& outcome = landed->outcome;
    // What another thread was forbidden may be allowed by now.
    const bool forbidden = !outcome && outcome.error().code == ErrorCode::not_cached;
    if (landed->own || (!outcome && !forbidden)) return std::move(outcome);
    // What was compiled for another thread may be older than a header is now, or not to be kept.
    std::string why_not;
    if (auto found = look_up(query, why_not)) return std::move(*found);
    return look_up_or_compile(query, stop);
  }

  Result<Obtained> look_up_or_compile(const Query& query, const std::stop_token& stop) {
    const Stopwatch watch;
    std::string why;
    if (auto found = look_up(query, why)) return std::move(*found);
    ++misses_;
    reporter_.tell(EventKind::miss, query.program, query.target, watch.milliseconds(), why);
    if (mode_ == Mode::cache_only) return tl::unexpected(not_cached(query, why));
    return compile_in_turn(query, why, stop);
  }

  // One process compiles what several ask for; those who waited share what it came to.
  Result<Obtained> compile_in_turn(const Query& query, std::string why,
                                   const std::stop_token& stop) {
    auto turn = layers_.take_turn(turn_of(query), settings_.compile_patience, stop);
    if (stop.stop_requested()) return cancelled(query);
    if (turn && turn->waited()) {
      ++waits_;
      if (auto found = look_up(query, why)) return std::move(*found);
      if (turn->shared_failure()) return tl::unexpected(*turn->shared_failure());
    }
    // Asked here, since it may have been set while others had the turn.
    const Mode mode = mode_;
    if (mode == Mode::cache_only) return tl::unexpected(not_cached(query, why));
    if (mode == Mode::warn) {
      reporter_.warn("compiling " + explain_miss(query, why, limits_of_a_miss).summary());
    }
    auto compiled = compile_and_store(query, stop);
    // That there is no compiler, say, is this process's own affair.
    if (turn && !compiled && is_of_the_program(compiled.error())) turn->fail(compiled.error());
    return compiled;
  }

  // What two processes must agree in to share a compile: the request, where its headers are, and by whom.
  Digest turn_of(const Query& query) {
    std::string all(query.request_digest.view());
    all += query.search.surroundings().view();
    if (const auto& files = compiler_.search().files) all += files->toolchain.identity.view();
    return digest_of(all);
  }

  // `why_not` becomes what speaks against the newest entry.
  std::optional<Obtained> look_up(const Query& query, std::string& why_not) {
    Fitness fitness(query.search, compiler_, files_);
    bool damaged = false;
    auto found = ask_layers(query, fitness, damaged);
    if (!found && fitness.trust()) found = ask_layers(query, fitness, damaged);
    why_not = reason_of_miss(fitness, damaged);
    return found;
  }

  static std::string reason_of_miss(const Fitness& fitness, bool damaged) {
    if (!fitness.why_not().empty()) return fitness.why_not();
    return damaged ? "what was stored for this request is damaged"
                   : "nothing is stored for this request";
  }

  static Explanation explain_hit(const Query& query, const Obtained& found, std::string remark) {
    auto explanation = explanation_of(query);
    explanation.hit = true;
    explanation.origin = found.origin;
    explanation.key = found.artifact->key;
    explanation.remark = std::move(remark);
    return explanation;
  }

  Explanation explain_miss(const Query& query, std::string reason, const AlikeLimits& limits) {
    auto explanation = explanation_of(query);
    auto closure = close_over(query.program, query.search, files_);
    const auto& compiler = compiler_.search().files;
    explanation.nearest = nearest_entry({query.program, query.request, query.search, closure,
                                         compiler ? &compiler->toolchain : nullptr, reason},
                                        layers_, files_, limits);
    explanation.reason = std::move(reason);
    explanation.not_stored = std::move(closure.unaccountable);
    return explanation;
  }

  static Explanation explanation_of(const Query& query) {
    Explanation explanation;
    explanation.program = query.program.name();
    explanation.arch = query.target.arch();
    explanation.kind = query.request.kind;
    explanation.request = query.request_digest;
    return explanation;
  }

  Error not_cached(const Query& query, const std::string& why) {
    return {ErrorCode::not_cached,
            fmt::format("{}; the mode cache-only forbids compiling: fill the cache beforehand, or "
                        "set KILN_MODE=jit",
                        explain_miss(query, why, limits_of_a_miss).summary()),
            {},
            0};
  }

  std::optional<Obtained> ask_layers(const Query& query, Fitness& fitness, bool& damaged) {
    const Stopwatch watch;
    auto found = layers_.find(query.request, query.request_digest, query.search.roots(),
                              std::ref(fitness), damaged);
    if (!found) return std::nullopt;
    ++(found->origin == Origin::memory   ? memory_hits_
       : found->origin == Origin::bundle ? bundle_hits_
                                         : local_hits_);
    reporter_.tell(EventKind::hit, *found->artifact, found->origin, watch.milliseconds(),
                   fitness.remark());
    return Obtained{std::move(found->artifact), found->origin};
  }

  // More programs that begin so are to come.
  void expect(std::set<Digest> beginnings) {
    const std::lock_guard lock(beginnings_mutex_);
    repeated_beginnings_ = std::move(beginnings);
  }

  bool repeats(const Query& query) {
    const std::lock_guard lock(beginnings_mutex_);
    return !repeated_beginnings_.empty() &&
           repeated_beginnings_.contains(beginning_of(query.program, query.target));
  }

  Result<Obtained> compile_and_store(const Query& query, const std::stop_token& stop) {
    const auto& search = compiler_.search();
    if (!search.files) return tl::unexpected(vendor::nvrtc_missing(search));
    const Stopwatch watch;
    auto closure = close_over(query.program, query.search, files_);
    reporter_.tell(EventKind::compile_begin, query.program, query.target, 0);
    ++compiles_;
    auto job = job_of(query, closure);
    job.prelude_repeats = repeats(query);
    auto compiled = service_->run(job, stop);
    if (compiled && stop.stop_requested()) compiled = cancelled(query);
    if (!compiled) {
      reporter_.tell(EventKind::compile_end, query.program, query.target, watch.milliseconds(),
                     compiled.error().message);
      return tl::unexpected(std::move(compiled.error()));
    }
    if (compiled->precompiled) ++precompiled_;
    Artifact& made = compiled->artifact;
    if (compiled->headers_read) {
      closure = narrow(closure, *compiled->headers_read, query.program, query.search, files_);
    }
    record_output_paths(query.program, query.target, query.search, made.image, closure);
    const auto& toolchain = compiler_.search().files->toolchain;
    made.toolchain = toolchain.text;
    made.key = key_of(query.request_digest, digest_of(closure.dependencies.material()),
                      toolchain.identity);
    const auto artifact = std::make_shared<const Artifact>(std::move(made));
    reporter_.tell(EventKind::compile_end, *artifact, Origin::compiled, watch.milliseconds());
    keep(query, closure, toolchain, artifact);
    return Obtained{artifact, Origin::compiled};
  }

  void keep(const Query& query, Closure& closure, const Toolchain& toolchain,
            const std::shared_ptr<const Artifact>& artifact) {
    const auto now = replay(closure.dependencies, query.search, nullptr, files_);
    if (closure.unaccountable.empty() && (!now.difference.empty() || now.trusted != 0)) {
      closure.unaccountable = "while it was compiled, " +
                              (now.difference.empty() ? "a header went away" : now.difference);
    }
    if (!closure.unaccountable.empty()) {
      return reporter_.tell(EventKind::not_stored, *artifact, Origin::compiled, 0,
                            closure.unaccountable);
    }
    if (layers_.writable()) store(query, closure, toolchain, *artifact);
    layers_.remember(query.request_digest, std::move(closure.dependencies), toolchain.identity,
                     artifact);
  }

  void store(const Query& query, const Closure& closure, const Toolchain& toolchain,
             const Artifact& artifact) {
    const Stopwatch watch;
    const Witness witness{query.search.roots(), settled_stamps(closure)};
    NewEntry entry{query.request, closure.dependencies, toolchain, artifact, &witness, {}};
    entry.texts.push_back({query.program.source_digest(), query.program.source()});
    std::set<Digest> known;
    for (const auto& header : closure.texts) {
      if (header && known.insert(header->digest).second) {
        entry.texts.push_back({header->digest, header->text});
      }
    }
    if (const auto stored = layers_.store(entry); !stored) {
      return reporter_.tell(EventKind::not_stored, artifact, Origin::compiled, watch.milliseconds(),
                            stored.error().message);
    }
    ++stores_;
    reporter_.tell(EventKind::store, artifact, Origin::compiled, watch.milliseconds());
  }

  // Writes down what was asked for, also what failed: that is for somebody to mend.
  void record(const Query& query, const Result<Obtained>& obtained) {
    if (!recorder_) return;
    const auto request = digest_of(
        std::string(query.request_digest.view()).append(query.search.surroundings().view()));
    if (!recorder_->wants(request)) return;
    auto closure = close_over(query.program, query.search, files_);
    record_output_paths(query.program, query.target, query.search,
                        obtained ? std::string_view(obtained->artifact->image) : "", closure);
    const auto stored = obtained ? layers_.stored(obtained->artifact->key)
                                 : Result<StoredEntry>(tl::unexpected(obtained.error()));
    recorder_->note(request, list_request(query.program, query.target, closure, stored,
                                          [&](const Digest& text) { return layers_.text(text); }));
  }

  const Settings settings_;
  const Reporter reporter_;
  const std::filesystem::path worker_;
  CompilerOnThisMachine compiler_;
  ToolOnThisMachine<vendor::NvJitLink> linker_;
  ToolOnThisMachine<vendor::NvFatbin> packer_;

  Layers layers_;
  std::atomic<Mode> mode_;
  Combiner combiner_;
  std::optional<Recorder> recorder_;
  HeaderFiles files_;
  SingleFlight<Result<Obtained>> flights_;
  std::shared_mutex memos_mutex_;
  std::map<Memo, std::weak_ptr<const Artifact>> memos_;

  std::mutex beginnings_mutex_;
  std::set<Digest> repeated_beginnings_;

  std::once_flag driver_opened_;
  Result<std::shared_ptr<const vendor::Driver>> driver_ = tl::unexpected(Error{});

  std::mutex modules_mutex_;
  std::map<std::pair<Digest, CUdevice>, std::unique_ptr<const Module>> modules_;
  std::set<Digest> refused_;
  std::set<Digest> final_;
  std::shared_mutex kernels_mutex_;
  std::map<KernelMemo, const KernelRecord*> kernels_;

  std::atomic<std::uint64_t> memory_hits_{0};
  std::atomic<std::uint64_t> local_hits_{0};
  std::atomic<std::uint64_t> bundle_hits_{0};
  std::atomic<std::uint64_t> misses_{0};
  std::atomic<std::uint64_t> compiles_{0};
  std::atomic<std::uint64_t> precompiled_{0};
  std::atomic<std::uint64_t> waits_{0};
  std::atomic<std::uint64_t> stores_{0};
  std::atomic<std::uint64_t> refusals_{0};
  std::atomic<std::uint64_t> loads_{0};

  const std::unique_ptr<CompileService> service_;
  CompileQueue queue_;  ///< The last, so that its threads end before what they use.
};

Runtime::Runtime(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}

Result<Runtime> Runtime::open(RuntimeOptions options) {
  auto settings = resolve_settings(options);
  if (!settings) return tl::unexpected(std::move(settings.error()));
  return Runtime(std::make_shared<Impl>(std::move(*settings), std::move(options)));
}

Result<Artifact> Runtime::compile(const Program& program, const Target& target) {
  return copy_of(impl_->obtain(program, target));
}

Result<Artifact> Runtime::link(LinkSpec spec) { return copy_of(impl_->link(std::move(spec))); }

Result<Artifact> Runtime::fatbin(const Program& program, const std::vector<Target>& targets) {
  return copy_of(impl_->fatbin(program, targets, {}));
}

Compiling Runtime::compile_async(const Program& program, const Target& target,
                                 const CompileOptions& options) {
  return impl_->begin(program, target, {.priority = options.priority});
}

PrefetchReport Runtime::prefetch(const std::vector<PrefetchItem>& items,
                                 const PrefetchProgress& progress, const std::stop_token& stop) {
  return impl_->prefetch(items, progress, stop);
}

Result<Program> Runtime::program_of(const ListedProgram& listed) {
  return impl_->program_of(listed);
}

Result<Kernel> Runtime::kernel(const Program& program, std::string_view expression) {
  return impl_->kernel(program, expression);
}

void Runtime::set_mode(Mode mode) noexcept { impl_->set_mode(mode); }
Mode Runtime::mode() const noexcept { return impl_->mode(); }

Result<Explanation> Runtime::explain(const Program& program, const Target& target) {
  return impl_->explain(program, target);
}

Availability Runtime::compiler() const {
  const auto& search = impl_->compiler().search();
  const auto& opened = impl_->compiler().open();
  if (!opened)
    return {false,
            {},
            opened.error().message,
            search.files ? search.files->library : std::filesystem::path{}};
  return {true,
          fmt::format("{}, {} ({})", opened->text(), search.files->library.string(),
                      search.files->origin),
          {},
          search.files->library};
}

Availability Runtime::driver() const {
  const auto& opened = impl_->driver();
  if (!opened) return {false, {}, opened.error().message, {}};
  const auto version = (*opened)->version();
  const auto device = (*opened)->current_device();
  if (!device) return {false, {}, device.error().message, (*opened)->path()};
  return {true,
          fmt::format("CUDA {}.{}, {} (sm_{}{}), {}", version / 1000, version % 1000 / 10,
                      device->name, device->major, device->minor, (*opened)->path().string()),
          {},
          (*opened)->path()};
}

Availability Runtime::linker() const { return availability_of(impl_->linker()); }
Availability Runtime::packer() const { return availability_of(impl_->packer()); }

const Settings& Runtime::settings() const noexcept { return impl_->settings(); }
std::string Runtime::cache_fault() const { return impl_->cache_fault(); }
RuntimeCounters Runtime::counters() const { return impl_->counters(); }

}  // namespace kiln
