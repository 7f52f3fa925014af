#include "kiln/runtime.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "combination.h"
#include "compile/in_process.h"
#include "compile/process_end.h"
#include "compile/worker/worker_pool.h"
#include "image/fatbin.h"
#include "image/link.h"
#include "kiln/caller_state.h"
#include "manifest/recorded_programs.h"
#include "program/image_choice.h"
#include "queue/find_ahead.h"
#include "queue/prefetch.h"
#include "queue/repeated_preludes.h"
#include "runtime_impl.h"
#include "system/process_id.h"

namespace kiln {

namespace {

// Made where it is returned to.
Result<Artifact> copy_of(const ServedArtifact& served) {
  Result<Artifact> artifact(*served.artifact);
  artifact->origin = served.origin;
  return artifact;
}

Result<Artifact> copy_of(Result<ServedArtifact> obtained) {
  if (!obtained) return tl::unexpected(std::move(obtained.error()));
  return copy_of(*obtained);
}

// As with an observer, what it throws goes no further.
void tell(const PrefetchProgress& progress, const PrefetchStep& step) {
  try {
    progress(step);
  } catch (...) {  // NOLINT(bugprone-empty-catch)
  }
}

// Asks NVIDIA's library for what is made of images. It is mapped only where something has to be made.
template <class Tool, class Make>
Result<Artifact> make_with(InstalledTool<Tool>& tool, const Recipe& recipe, const Make& make) {
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
  ProcessEnd::get().go_before(tool.search().files->library);
  return make(*opened);
}

template <class Tool, class Make>
Result<ServedArtifact> combine(Layers& layers, Obtainer& obtainer, const Recipe& recipe,
                               InstalledTool<Tool>& tool, const Make& make, bool keep,
                               const std::stop_token& stop) {
  const Combination::Make make_now = [&] { return make_with(tool, recipe, make); };
  Combination combination(recipe, layers, tool.identity(), make_now, keep);
  return obtainer.obtain(combination, stop);
}

// Spaces in expressions do not matter; those of an artifact made by hand may be spelled in any way.
void canonicalise(LinkSpec& spec) {
  for (auto& expression : spec.kernels) expression = canonical_expression(expression);
  for (auto& input : spec.inputs) {
    for (auto& kernel : input.kernels) kernel.expression = canonical_expression(kernel.expression);
  }
}

// Whether this thread makes a runtime's parts.
class MakingParts {
 public:
  MakingParts() noexcept { under_way = true; }
  MakingParts(const MakingParts&) = delete;
  MakingParts& operator=(const MakingParts&) = delete;
  ~MakingParts() { under_way = false; }

  inline static thread_local bool under_way = false;
};

// Once a process: the environment is the same for all its runtimes.
void warn_of_slips(const Settings& settings, const Reporter& reporter) {
  static std::once_flag warned;
  std::call_once(warned, [&] {
    for (const auto& [variable, meant, file] : settings.unknown) {
      if (meant.empty()) continue;
      reporter.warn(fmt::format("{}{} is no setting; did you mean {}?", variable,
                                file.empty() ? "" : " in " + file, meant));
    }
    for (const auto& unread : settings.unread_files) reporter.warn(unread);
  });
}

}  // namespace

Runtime::Impl::Impl(Opened& opened)
    : uses_driver_(opened.uses_driver),
      parent_uses_driver_(opened.uses_driver),
      settings(opened.settings),
      reporter(opened.reporter),
      worker(worker_to_use()),
      compiler(settings.nvrtc, worker.empty() ? vendor::NvrtcVariables::inherited
                                              : vendor::NvrtcVariables::cleared),
      linker(vendor::find_nvjitlink, settings.nvjitlink, compiler),
      packer(vendor::find_nvfatbin, settings.nvfatbin, compiler),
      layers(settings, reporter),
      obtainer(layers, reporter, opened.mode, settings.compile_patience),
      service([this] { return make_service(); }),
      pipeline(settings, {reporter, compiler, layers, service, files, recorded, obtainer}),
      kernels(
          reporter,
          [this](const vendor::Device& device, const Program& program) {
            return obtain_for(device, program);
          },
          [this](const Digest& key) { pipeline.forget(key); }) {}

// By its settings, or because there is no helper to be found.
std::filesystem::path Runtime::Impl::worker_to_use() const {
  if (settings.compile_workers == 0) return {};
  const auto search = find_worker(settings.worker);
  if (search.executable.empty() && asks_for_workers(settings))
    reporter.warn(describe_missing(search));
  return search.executable;
}

std::unique_ptr<CompileService> Runtime::Impl::make_service() {
  if (worker.empty())
    return std::make_unique<InProcessCompiler>(compiler, settings.compile_timeout,
                                               settings.precompiled_max_bytes);
  const auto workers = workers_for(settings.compile_workers);
  return std::make_unique<WorkerPool>(
      WorkerPoolOptions{worker, workers, settings.compile_timeout,
                        memory_for(settings.compile_memory, workers),
                        settings.precompiled_max_bytes, settings.precompiled_large_pages},
      compiler, reporter);
}

CompileQueue& Runtime::Impl::queue() {
  std::call_once(queue_made_,
                 [this] { queue_.emplace(service.concurrency(), settings.compile_queue); });
  return *queue_;
}

const Result<std::shared_ptr<const vendor::Driver>>& Runtime::Impl::driver() {
  // Every look-up of a kernel comes here, and a flag costs a tenth of what std::call_once does.
  if (driver_is_open_.load(std::memory_order_acquire)) return driver_;
  std::call_once(driver_opened_, [this] {
    const CallerState caller;
    driver_ = parent_uses_driver_ ? vendor::driver_of_parent()
                                  : vendor::open_driver(settings.cuda_driver);
    if (driver_) uses_driver_ = true;
    driver_is_open_.store(true, std::memory_order_release);
  });
  return driver_;
}

Result<Target> Runtime::Impl::resolve(const Target& target) {
  if (!target.is_native()) return target;
  const auto without_device = [](Error error) {
    error.message.insert(
        0, "native: name an architecture, such as sm_90a, where there is no device: ");
    return tl::unexpected(std::move(error));
  };
  const auto& cuda = driver();
  if (!cuda) return without_device(cuda.error());
  const auto device = (*cuda)->describe_current_device();
  if (!device) return without_device(device.error());
  return Target::parse(compile_target(device->major, device->minor), target.kind());
}

Result<Target> Runtime::Impl::resolve_single(const Program& program, const Target& target) {
  auto resolved = resolve(target);
  if (!resolved || resolved->kind() != ImageKind::fatbin) return resolved;
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} for {}: a fatbin is looked up by its images: ask for those, the "
                          "cubins or PTX that it holds",
                          program.name(), resolved->arch()));
}

Program Runtime::Impl::preferred(const Program& program) const {
  if (settings.variant.empty() || program.is_pinned()) return program;
  return program.with_variant(settings.variant).value_or(program);
}

Result<ServedArtifact> Runtime::Impl::obtain(const Program& program, const Target& target,
                                             const std::stop_token& stop) {
  if (target.is_native()) {
    const auto resolved = resolve(target);
    if (!resolved) return tl::unexpected(resolved.error());
    return obtain(program, *resolved, stop);
  }
  if (target.kind() == ImageKind::fatbin) return fatbin(program, {target}, stop);
  const auto choice = choose(program, target);
  if (auto known = pipeline.served_before(choice.program(), target)) return std::move(*known);
  return pipeline.obtain(query(choice.program(), target), {stop});
}

Compiling Runtime::Impl::begin(const Program& program, const Target& target,
                               CompileQueue::Request request) {
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
  if (auto known = pipeline.served_before(chosen, *resolved)) return at_once(std::move(*known));
  const auto asked = std::make_shared<const Query>(query(chosen, *resolved));
  if (auto found = pipeline.at_hand(*asked)) return at_once(std::move(*found));
  request.name = chosen.name();
  request.key = asked->flight();
  request.work = [this, asked](const CompileControl& control) {
    return pipeline.obtain(*asked, control);
  };
  return queue().add(std::move(request));
}

// All of it is queued: it is looked up by its images, which may have to be compiled before.
Compiling Runtime::Impl::begin_fatbin(const Program& program, const Target& target,
                                      CompileQueue::Request request) {
  request.name = program.name();
  request.key = query(program, target).flight();
  request.work = [this, program, target](const CompileControl& control) {
    return fatbin(program, {target}, control.stop);
  };
  return queue().add(std::move(request));
}

Result<ServedArtifact> Runtime::Impl::fatbin(const Program& program,
                                             const std::vector<Target>& wanted,
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
  auto recipe = fatbin_recipe(program, images);
  if (!recipe) return tl::unexpected(recipe.error());
  recipe->request.engine = engine_of(program);
  const auto pack = [&](const vendor::NvFatbin& packer) {
    return pack_fatbin(packer, *recipe, images);
  };
  return combine(layers, obtainer, *recipe, packer, pack, program.keep(), stop);
}

struct Runtime::Opened::Parts {
  explicit Parts(Opened& opened) : impl(opened) {}

  const int process = system::process_id();
  Impl impl;
};

Runtime::Opened::Opened(Settings with, RuntimeOptions options)
    : settings(std::move(with)),
      reporter(settings.log_level, std::move(options.log), std::move(options.observer)),
      mode(settings.mode),
      parts_(std::make_unique<Parts>(*this).release()) {}

Runtime::Opened::~Opened() {
  std::unique_ptr<Parts> own(parts_);
  // What a parent's threads waited for cannot be destroyed in a child.
  if (own->process != system::process_id()) static_cast<void>(own.release());
}

Runtime::Impl& Runtime::Opened::parts() {
  auto* known = parts_.load();
  if (known->process == system::process_id()) return known->impl;
  // What is warned of meanwhile reaches the host's callback, which may ask this runtime.
  if (MakingParts::under_way) return known->impl;
  const MakingParts making;
  auto made = std::make_unique<Parts>(*this);
  if (!parts_.compare_exchange_strong(known, made.get())) return known->impl;
  return made.release()->impl;
}

Runtime::Runtime(std::shared_ptr<Opened> opened) noexcept : opened_(std::move(opened)) {}

Runtime::Impl& Runtime::impl() const { return opened_->parts(); }

Result<Runtime> Runtime::open(RuntimeOptions options) {
  const CallerState caller;
  auto settings = resolve_settings(options);
  if (!settings) return tl::unexpected(std::move(settings.error()));
  const auto end = [](Opened* opened) {
    const CallerState caller;
    delete opened;
  };
  std::shared_ptr<Opened> opened(new Opened(std::move(*settings), std::move(options)), end);
  warn_of_slips(opened->settings, opened->reporter);
  return Runtime(std::move(opened));
}

Result<Artifact> Runtime::compile(const Program& program, const Target& target) {
  const CallerState caller;
  return copy_of(impl().obtain(program, target));
}

Result<Artifact> Runtime::link(LinkSpec spec) {
  const CallerState caller;
  const auto target = impl().resolve(spec.target);
  if (!target) return tl::unexpected(target.error());
  spec.target = *target;
  canonicalise(spec);
  auto recipe = link_recipe(spec);
  if (!recipe) return tl::unexpected(recipe.error());
  recipe->request.engine = impl().settings.engine;
  const auto link = [&](const vendor::NvJitLink& linker) { return link_images(linker, spec); };
  return copy_of(
      combine(impl().layers, impl().obtainer, *recipe, impl().linker, link, spec.keep, {}));
}

Result<Artifact> Runtime::fatbin(const Program& program, const std::vector<Target>& targets) {
  const CallerState caller;
  return copy_of(impl().fatbin(program, targets, {}));
}

Compiling Runtime::compile_async(const Program& program, const Target& target,
                                 const CompileOptions& options) {
  const CallerState caller;
  return impl().begin(program, target, {.priority = options.priority});
}

std::optional<ServedArtifact> Runtime::Impl::at_hand(const PrefetchItem& item) {
  const auto& target = item.target;
  if (target.is_native() || target.kind() == ImageKind::fatbin) return std::nullopt;
  const auto choice = choose(item.program, target);
  if (auto known = pipeline.served_before(choice.program(), target)) return known;
  return pipeline.at_hand(query(choice.program(), target));
}

PrefetchReport Runtime::Impl::compile_ahead(const std::vector<PrefetchItem>& items,
                                            const PrefetchProgress& progress,
                                            const std::stop_token& stop) {
  const auto begin_item = [this](const PrefetchItem& item, PrefetchNews news) {
    return begin(item.program, item.target,
                 {.priority = prefetch_priority,
                  .bounded = false,
                  .when_compiled = std::move(news.when_compiled),
                  .when_ready = std::move(news.when_ready)});
  };
  const RepeatedPreludes::Scope expecting(pipeline.repeated_preludes(), repeated_preludes(items));
  return prefetch_all(items, service.concurrency(), begin_item, progress, stop);
}

PrefetchReport Runtime::prefetch(const std::vector<PrefetchItem>& items,
                                 const PrefetchProgress& progress, const std::stop_token& stop) {
  const CallerState caller;
  // Before they are put in order, since variants begin differently.
  auto wanted = items;
  for (auto& item : wanted) {
    item.program = impl().preferred(item.program);
    // Native is what this thread has.
    if (const auto resolved = impl().resolve(item.target)) item.target = *resolved;
  }
  impl().layers.expect_prefetched();
  std::size_t hits = 0;
  // Hits first: whatever is served needs no order, and waits for no compile.
  const auto left = find_ahead(
      wanted, std::max(1U, std::thread::hardware_concurrency()),
      [this](const PrefetchItem& item) { return impl().at_hand(item); },
      [&](std::size_t index, const ServedArtifact& found) {
        ++hits;
        if (progress) tell(progress, {index, copy_of(found), hits, wanted.size()});
      },
      stop);
  if (left.empty()) return {.hits = hits};
  std::vector<PrefetchItem> missing;
  missing.reserve(left.size());
  for (const auto index : left) missing.push_back(wanted[index]);
  PrefetchProgress of_all;
  if (progress) {
    of_all = [&](const PrefetchStep& step) {
      progress({left[step.index], step.outcome, hits + step.done, wanted.size()});
    };
  }
  auto report = impl().compile_ahead(missing, of_all, stop);
  report.hits += hits;
  for (auto& failure : report.failures) failure.index = left[failure.index];
  return report;
}

Result<Program> Runtime::program_of(const ListedProgram& listed) {
  const CallerState caller;
  return make_listed(listed, impl().compiler.include_dirs(), impl().files, impl().recorded);
}

void Runtime::set_mode(Mode mode) noexcept { opened_->mode = mode; }
Mode Runtime::mode() const noexcept { return opened_->mode; }

Result<Explanation> Runtime::explain(const Program& program, const Target& target) {
  const CallerState caller;
  const auto resolved = impl().resolve_single(program, target);
  if (!resolved) return tl::unexpected(resolved.error());
  const auto choice = impl().choose(program, *resolved);
  auto explanation = impl().pipeline.explain(impl().query(choice.program(), *resolved));
  if (!program.variants().empty()) explanation.variant = choice.variant();
  return explanation;
}

Result<Request> Runtime::request(const Program& program, const Target& target) {
  const CallerState caller;
  const auto resolved = impl().resolve_single(program, target);
  if (!resolved) return tl::unexpected(resolved.error());
  return impl().query(impl().choose(program, *resolved).program(), *resolved).request;
}

const Settings& Runtime::settings() const noexcept { return opened_->settings; }
std::string Runtime::cache_fault() const { return impl().layers.cache_fault(); }

std::vector<RemoteState> Runtime::remotes(bool reach) const {
  const CallerState caller;
  return impl().layers.remotes(reach);
}

RuntimeCounters Runtime::counters() const {
  const CallerState caller;
  const auto& counted = impl().obtainer.counters();
  return {counted.memory_hits,    counted.local_hits,
          counted.bundle_hits,    counted.misses,
          counted.compiles,       counted.precompiled,
          counted.combined,       counted.waits,
          counted.stores,         impl().kernels.refusals(),
          impl().layers.faults(), impl().kernels.loads(),
          counted.not_kept,       counted.remote_hits,
          counted.lease_waits};
}

}  // namespace kiln
