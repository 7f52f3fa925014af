#include "kiln/runtime.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/reporter.h"
#include "combiner.h"
#include "compile/compile_late.h"
#include "compile/in_process.h"
#include "compile/process_end.h"
#include "compile/worker/worker_pool.h"
#include "compile/worker/worker_search.h"
#include "image/fatbin.h"
#include "image/foreign_image.h"
#include "image/link.h"
#include "image/served_artifact.h"
#include "kiln/caller_state.h"
#include "launch/kernels.h"
#include "lookup/layers.h"
#include "manifest/recorded_programs.h"
#include "pipeline.h"
#include "program/image_choice.h"
#include "queue/compile_queue.h"
#include "queue/prefetch.h"
#include "queue/repeated_preludes.h"
#include "source/header_files.h"
#include "source/query.h"
#include "vendor/driver.h"
#include "vendor/installed_compiler.h"
#include "vendor/installed_tool.h"
#include "vendor/nvfatbin.h"
#include "vendor/nvjitlink.h"

namespace kiln {

namespace {

Result<Artifact> copy_of(Result<ServedArtifact> obtained) {
  if (!obtained) return tl::unexpected(std::move(obtained.error()));
  Artifact artifact = *obtained->artifact;
  artifact.origin = obtained->origin;
  return artifact;
}

std::vector<std::string> lines_of(const std::vector<vendor::SearchStep>& steps) {
  std::vector<std::string> lines;
  lines.reserve(steps.size());
  for (const auto& step : steps) lines.push_back(vendor::describe(step));
  return lines;
}

template <class Tool>
Availability availability_of(InstalledTool<Tool>& tool) {
  const auto& search = tool.search();
  const auto path = search.file ? search.file->library : std::filesystem::path{};
  const auto& opened = tool.open();
  if (!opened) return {false, {}, opened.error().message, path, {}};
  return {true,
          fmt::format("{}, {} ({})", opened->text(), path.string(), search.file->origin),
          {},
          path,
          lines_of(search.steps)};
}

/// The headers that a compiler finds without being told where.
std::string headers_in_words(const std::vector<std::filesystem::path>& include_dirs) {
  std::vector<std::string> folders;
  folders.reserve(include_dirs.size());
  for (const auto& folder : include_dirs) folders.push_back(folder.string());
  return folders.empty() ? "headers of CUDA: none found"
                         : fmt::format("headers of CUDA: {}", fmt::join(folders, ", "));
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
        service_([this] { return make_service(); }),
        pipeline_(settings_, {reporter_, compiler_, layers_, service_, files_, mode_}),
        kernels_(
            reporter_,
            [this](const vendor::Device& device, const Program& program) {
              return obtain_for(device, program);
            },
            [this](const Digest& key) { pipeline_.forget(key); }) {}

  Result<ServedArtifact> obtain(const Program& program, const Target& target,
                                const std::stop_token& stop = {}) {
    const auto resolved = resolve(target);
    if (!resolved) return tl::unexpected(resolved.error());
    if (resolved->kind() == ImageKind::fatbin) return fatbin(program, {*resolved}, stop);
    const auto choice = choose(program, *resolved);
    if (auto known = pipeline_.served_before(choice.program(), *resolved)) return std::move(*known);
    return pipeline_.obtain(query(choice.program(), *resolved), {stop});
  }

  // As obtain(), without waiting for a compile: `request` says how that is to be queued. What is there
  // is looked for at once, on this thread, so that a hit is behind no compile.
  Compiling begin(const Program& program, const Target& target, CompileQueue::Request request) {
    const auto at_once = [&request](Result<ServedArtifact> outcome) {
      const auto state = std::make_shared<Compiling::State>(std::move(request.when_ready));
      state->complete(std::move(outcome));
      return Compiling(state);
    };
    const auto resolved = resolve(target);
    if (!resolved) return at_once(tl::unexpected(resolved.error()));
    if (resolved->kind() == ImageKind::fatbin)
      return begin_fatbin(program, *resolved, std::move(request));
    const auto choice = choose(program, *resolved);
    const auto& chosen = choice.program();
    if (auto known = pipeline_.served_before(chosen, *resolved)) return at_once(std::move(*known));
    const auto asked = std::make_shared<const Query>(chosen, *resolved, compiler_.include_dirs());
    if (auto found = pipeline_.at_hand(*asked)) return at_once(std::move(*found));
    request.name = chosen.name();
    request.key = asked->flight();
    request.work = [this, asked](const CompileControl& control) {
      return pipeline_.obtain(*asked, control);
    };
    return queue().add(std::move(request));
  }

  PrefetchReport prefetch(const std::vector<PrefetchItem>& wanted, const PrefetchProgress& progress,
                          const std::stop_token& stop) {
    // Before they are put in order, since variants begin differently.
    auto items = wanted;
    for (auto& item : items) item.program = preferred(item.program);
    const auto begin_item = [this](const PrefetchItem& item, PrefetchNews news) {
      return begin(item.program, item.target,
                   {.priority = prefetch_priority,
                    .bounded = false,
                    .when_compiled = std::move(news.when_compiled),
                    .when_ready = std::move(news.when_ready)});
    };
    const RepeatedPreludes::Scope expecting(pipeline_.expected(), repeated_preludes(items));
    return prefetch_all(items, service_.concurrency(), begin_item, progress, stop);
  }

  Result<ServedArtifact> link(LinkSpec spec) {
    const auto target = resolve(spec.target);
    if (!target) return tl::unexpected(target.error());
    spec.target = *target;
    const auto recipe = link_recipe(spec);
    if (!recipe) return tl::unexpected(recipe.error());
    const auto link = [&](const vendor::NvJitLink& linker) { return link_images(linker, spec); };
    return combine(*recipe, linker_, link, {});
  }

  Result<ServedArtifact> fatbin(const Program& program, const std::vector<Target>& wanted,
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
    const auto& cuda = driver();
    if (!cuda) return tl::unexpected(cuda.error());
    return kernels_.find(*cuda, program, expression);
  }

  // From the image for this target and no other.
  Result<Kernel> kernel(const Program& program, std::string_view expression, const Target& target) {
    if (target.kind() == ImageKind::ltoir || target.kind() == ImageKind::optixir) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{} for {}: the driver loads no {}: ask for cubin, ptx or fatbin",
                              program.name(), target.arch(), to_string(target.kind())));
    }
    const auto& cuda = driver();
    if (!cuda) return tl::unexpected(cuda.error());
    const auto resolved = resolve(target);
    if (!resolved) return tl::unexpected(resolved.error());
    return kernels_.find(*cuda, program, expression,
                         [&](const vendor::Device&, const Program& asked) {
                           return chosen_image(obtain(asked, *resolved), choose(asked, *resolved));
                         });
  }

  Result<Module> module(const Program& program) {
    const auto& cuda = driver();
    if (!cuda) return tl::unexpected(cuda.error());
    const auto image = kernels_.image(*cuda, program);
    if (!image) return tl::unexpected(image.error());
    return Module(**image);
  }

  Result<Module> module(const Artifact& artifact) {
    const auto& cuda = driver();
    if (!cuda) return tl::unexpected(cuda.error());
    const auto image = kernels_.image(*cuda, artifact);
    if (!image) return tl::unexpected(image.error());
    return Module(**image);
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
    const auto choice = choose(program, *resolved);
    auto explanation = pipeline_.explain(query(choice.program(), *resolved));
    if (!program.variants().empty()) explanation.variant = choice.variant();
    return explanation;
  }

  void set_mode(Mode mode) noexcept { mode_ = mode; }
  [[nodiscard]] Mode mode() const noexcept { return mode_; }

  Result<Program> program_of(const ListedProgram& listed) {
    return make_listed(listed, compiler_.include_dirs(), files_);
  }

  InstalledCompiler& compiler() { return compiler_; }
  InstalledTool<vendor::NvJitLink>& linker() { return linker_; }
  InstalledTool<vendor::NvFatbin>& packer() { return packer_; }

  const Result<std::shared_ptr<const vendor::Driver>>& driver() {
    std::call_once(driver_opened_, [this] {
      const CallerState caller;
      driver_ = vendor::open_driver(settings_.cuda_driver);
    });
    return driver_;
  }

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const std::string& cache_fault() const { return layers_.cache_fault(); }

  [[nodiscard]] Availability worker() const {
    if (settings_.compile_workers == 0)
      return {false, {}, "compiles run in this process, since KILN_COMPILE_WORKERS is 0", {}, {}};
    const auto search = find_worker(settings_.worker);
    if (search.executable.empty()) return {false, {}, not_found(search), {}, {}};
    return {true,
            fmt::format("up to {} at a time, {} ({})", workers_for(settings_.compile_workers),
                        search.executable.string(), search.steps.back().origin),
            {},
            search.executable,
            lines_of(search.steps)};
  }

  [[nodiscard]] RuntimeCounters counters() const {
    const auto& counted = pipeline_.counters();
    const auto& programs = counted.look_ups;
    const auto& combined = combiner_.look_ups();
    return {programs.memory_hits + combined.memory_hits,
            programs.local_hits + combined.local_hits,
            programs.bundle_hits + combined.bundle_hits,
            programs.misses + combined.misses,
            counted.compiles,
            counted.precompiled,
            combiner_.made(),
            programs.waits + combined.waits,
            programs.stores + combined.stores,
            kernels_.refusals(),
            layers_.faults(),
            kernels_.loads(),
            counted.not_kept};
  }

 private:
  // Empty where this process compiles: by its settings, or because there is no helper to be found.
  std::filesystem::path worker_to_use() const {
    if (settings_.compile_workers == 0) return {};
    const auto search = find_worker(settings_.worker);
    if (search.executable.empty() && asks_for_workers(settings_)) reporter_.warn(not_found(search));
    return search.executable;
  }

  static std::string not_found(const WorkerSearch& search) {
    return fmt::format(
        "kiln-worker: not found, so everything is compiled in this process. Looked "
        "at:\n{}\nInstall "
        "it beside the library, or name it with KILN_WORKER",
        vendor::describe(search.steps));
  }

  std::unique_ptr<CompileService> make_service() {
    if (worker_.empty())
      return std::make_unique<InProcessCompiler>(compiler_, settings_.compile_timeout,
                                                 settings_.precompiled_max_bytes);
    const auto workers = workers_for(settings_.compile_workers);
    return std::make_unique<WorkerPool>(
        WorkerPoolOptions{worker_, workers, settings_.compile_timeout,
                          memory_for(settings_.compile_memory, workers),
                          settings_.precompiled_max_bytes, settings_.precompiled_large_pages},
        compiler_, reporter_);
  }

  CompileQueue& queue() {
    std::call_once(queue_made_,
                   [this] { queue_.emplace(service_.concurrency(), settings_.compile_queue); });
    return *queue_;
  }

  // What is asked for as this program. REQUIRES: target is not native.
  [[nodiscard]] ProgramChoice choose(const Program& program, const Target& target) const {
    return program.for_target(target, settings_.variant);
  }

  // The same for every target; of a program that has no such variant, itself.
  [[nodiscard]] Program preferred(const Program& program) const {
    if (settings_.variant.empty() || program.is_pinned()) return program;
    return program.with_variant(settings_.variant).value_or(program);
  }

  // "native" is the calling thread's device.
  Result<Target> resolve(const Target& target) {
    if (!target.is_native()) return target;
    const auto& cuda = driver();
    if (!cuda) return tl::unexpected(cuda.error());
    const auto device = (*cuda)->describe_current_device();
    if (!device) return tl::unexpected(device.error());
    return Target::parse(compile_target(device->major, device->minor), target.kind());
  }

  Query query(const Program& program, const Target& target) {
    return {program, target, compiler_.include_dirs()};
  }

  // All of it is queued: it is looked up by its images, which may have to be compiled before.
  Compiling begin_fatbin(const Program& program, const Target& target,
                         CompileQueue::Request request) {
    request.name = program.name();
    request.key = query(program, target).flight();
    request.work = [this, program, target](const CompileControl& control) {
      return fatbin(program, {target}, control.stop);
    };
    return queue().add(std::move(request));
  }

  // The tool is mapped only where something has to be made.
  template <class Tool, class Make>
  Result<ServedArtifact> combine(const Recipe& recipe, InstalledTool<Tool>& tool, const Make& make,
                                 const std::stop_token& stop) {
    const auto make_with_tool = [&]() -> Result<Artifact> {
      ProcessEnd::notice_main_thread();
      const ProcessEnd::Stay stay;
      const auto name = fmt::format("{} for {}", recipe.request.program, recipe.request.arch);
      if (!stay) return fail(ErrorCode::cancelled, name + ": the process is ending");
      if (ProcessEnd::get().forked_amid_calls()) {
        return fail(ErrorCode::compiler_missing,
                    name +
                        ": not made: this process was forked while its parent compiled or "
                        "linked, and has NVIDIA's libraries locked for good; open a runtime in "
                        "a process that was forked before, or started anew");
      }
      const auto& opened = tool.open();
      if (!opened) return tl::unexpected(opened.error());
      return make(*opened);
    };
    auto found = combiner_.obtain(recipe, tool.search(), make_with_tool, stop);
    if (!found) return tl::unexpected(std::move(found.error()));
    return ServedArtifact{std::move(found->artifact), found->origin};
  }

  static Result<ChosenImage> chosen_image(Result<ServedArtifact> obtained,
                                          const ProgramChoice& choice) {
    if (!obtained) return tl::unexpected(std::move(obtained.error()));
    return ChosenImage{std::move(*obtained), choice};
  }

  // The best image there is for the device; only where there is none is one compiled. Each target has its
  // own variant, so that an image of a lesser one that is there goes before a compile, too.
  Result<ChosenImage> obtain_for(const vendor::Device& device, const Program& program) {
    const auto wanted = Target::parse(compile_target(device.major, device.minor));
    if (!wanted) return tl::unexpected(wanted.error());
    const auto choice = choose(program, *wanted);
    const auto asked = query(choice.program(), *wanted);
    const auto cubins = runnable_archs(device.major, device.minor);
    if (auto stored = first_stored(program, cubins, ImageKind::cubin, asked)) return *stored;
    if (settings_.allow_ptx) {
      const auto texts = runnable_ptx(device.major, device.minor);
      if (auto stored = first_stored(program, texts, ImageKind::ptx, asked)) return *stored;
    }
    return chosen_image(pipeline_.obtain(asked, {}), choice);
  }

  // Of these architectures the first that any layer serves with something that the driver takes.
  std::optional<ChosenImage> first_stored(const Program& program,
                                          const std::vector<std::string>& archs, ImageKind kind,
                                          const Query& asked) {
    const Loading loading{(*driver())->version(), to_string(kind)};
    for (const auto& arch : archs) {
      const auto target = Target::parse(arch, kind);
      if (!target) continue;
      const auto choice = choose(program, *target);
      if (auto stored = pipeline_.stored(query(choice.program(), *target), asked, loading))
        return ChosenImage{std::move(*stored), choice};
    }
    return std::nullopt;
  }

  const Settings settings_;
  const Reporter reporter_;
  const std::filesystem::path worker_;
  InstalledCompiler compiler_;
  InstalledTool<vendor::NvJitLink> linker_;
  InstalledTool<vendor::NvFatbin> packer_;

  Layers layers_;
  std::atomic<Mode> mode_;
  Combiner combiner_;
  HeaderFiles files_;

  std::once_flag driver_opened_;
  Result<std::shared_ptr<const vendor::Driver>> driver_ = tl::unexpected(Error{});

  LateCompileService service_;
  Pipeline pipeline_;
  Kernels kernels_;
  std::once_flag queue_made_;
  std::optional<CompileQueue> queue_;  ///< The last, so that its threads end before what they use.
};

Runtime::Runtime(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}

Result<Runtime> Runtime::open(RuntimeOptions options) {
  const CallerState caller;
  auto settings = resolve_settings(options);
  if (!settings) return tl::unexpected(std::move(settings.error()));
  const auto end = [](Impl* impl) {
    const CallerState caller;
    delete impl;
  };
  return Runtime(std::shared_ptr<Impl>(new Impl(std::move(*settings), std::move(options)), end));
}

Result<Artifact> Runtime::compile(const Program& program, const Target& target) {
  const CallerState caller;
  return copy_of(impl_->obtain(program, target));
}

Result<Artifact> Runtime::link(LinkSpec spec) {
  const CallerState caller;
  return copy_of(impl_->link(std::move(spec)));
}

Result<Artifact> Runtime::fatbin(const Program& program, const std::vector<Target>& targets) {
  const CallerState caller;
  return copy_of(impl_->fatbin(program, targets, {}));
}

Compiling Runtime::compile_async(const Program& program, const Target& target,
                                 const CompileOptions& options) {
  const CallerState caller;
  return impl_->begin(program, target, {.priority = options.priority});
}

PrefetchReport Runtime::prefetch(const std::vector<PrefetchItem>& items,
                                 const PrefetchProgress& progress, const std::stop_token& stop) {
  const CallerState caller;
  return impl_->prefetch(items, progress, stop);
}

Result<Program> Runtime::program_of(const ListedProgram& listed) {
  const CallerState caller;
  return impl_->program_of(listed);
}

Result<Kernel> Runtime::kernel(const Program& program, std::string_view expression) {
  return impl_->kernel(program, expression);
}

Result<Kernel> Runtime::kernel(const Program& program, std::string_view expression,
                               const Target& target) {
  const CallerState caller;
  return impl_->kernel(program, expression, target);
}

Result<Module> Runtime::module(const Program& program) {
  const CallerState caller;
  return impl_->module(program);
}

Result<Module> Runtime::module(const Artifact& artifact) {
  const CallerState caller;
  return impl_->module(artifact);
}

Result<Module> Runtime::module_of_image(std::string image, std::string name) {
  const CallerState caller;
  const auto artifact = artifact_of_image(std::move(image), std::move(name));
  if (!artifact) return tl::unexpected(artifact.error());
  return impl_->module(*artifact);
}

Result<void> Runtime::load_all(std::span<const Program> programs) {
  const CallerState caller;
  std::vector<std::string> failures;
  Error first;
  for (const auto& program : programs) {
    const auto loaded = impl_->module(program);
    if (loaded) continue;
    if (failures.empty()) first = loaded.error();
    failures.push_back(loaded.error().message);
  }
  if (failures.empty()) return {};
  if (failures.size() > 1) {
    first.message = fmt::format("{} of {} programs could not be loaded:\n{}", failures.size(),
                                programs.size(), fmt::join(failures, "\n"));
  }
  return tl::unexpected(std::move(first));
}

void Runtime::set_mode(Mode mode) noexcept { impl_->set_mode(mode); }
Mode Runtime::mode() const noexcept { return impl_->mode(); }

Result<Explanation> Runtime::explain(const Program& program, const Target& target) {
  const CallerState caller;
  return impl_->explain(program, target);
}

Availability Runtime::compiler() const {
  const CallerState caller;
  const auto& search = impl_->compiler().search();
  const auto& opened = impl_->compiler().open();
  const auto path = search.files ? search.files->library : std::filesystem::path{};
  if (!opened) return {false, {}, opened.error().message, path, {}};
  auto details = lines_of(search.steps);
  details.push_back(search.files->builtins.empty()
                        ? "builtins: none beside it"
                        : "builtins: " + search.files->builtins.string());
  details.push_back(headers_in_words(impl_->compiler().include_dirs()));
  return {true,
          fmt::format("{}, {} ({})", opened->text(), path.string(), search.files->origin),
          {},
          path,
          std::move(details)};
}

Availability Runtime::driver() const {
  const CallerState caller;
  const auto& opened = impl_->driver();
  if (!opened) return {false, {}, opened.error().message, {}, {}};
  const auto& cuda = **opened;
  const auto device = cuda.describe_current_device();
  const auto all = cuda.describe_devices();
  if (!device) return {false, {}, device.error().message, cuda.path(), {}};
  if (!all) return {false, {}, all.error().message, cuda.path(), {}};
  std::vector<std::string> details;
  details.reserve(all->size());
  for (const auto& each : *all) {
    details.push_back(fmt::format("device {}: {}, compute capability {}.{}", each.handle, each.name,
                                  each.major, each.minor));
  }
  return {
      true,
      fmt::format("CUDA {}.{}, {} (sm_{}{}), {}", cuda.version() / 1000, cuda.version() % 1000 / 10,
                  device->name, device->major, device->minor, cuda.path().string()),
      {},
      cuda.path(),
      std::move(details)};
}

Availability Runtime::linker() const {
  const CallerState caller;
  return availability_of(impl_->linker());
}
Availability Runtime::worker() const {
  const CallerState caller;
  return impl_->worker();
}

Availability Runtime::packer() const {
  const CallerState caller;
  return availability_of(impl_->packer());
}

const Settings& Runtime::settings() const noexcept { return impl_->settings(); }
std::string Runtime::cache_fault() const { return impl_->cache_fault(); }
RuntimeCounters Runtime::counters() const {
  const CallerState caller;
  return impl_->counters();
}

}  // namespace kiln
