#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/reporter.h"
#include "compile/compile_late.h"
#include "compile/compile_service.h"
#include "compile/worker/worker_search.h"
#include "image/served_artifact.h"
#include "kiln/runtime.h"
#include "launch/kernels.h"
#include "lookup/layers.h"
#include "manifest/recorded_trees.h"
#include "obtainer.h"
#include "pipeline.h"
#include "queue/compile_queue.h"
#include "source/header_files.h"
#include "source/query.h"
#include "vendor/driver.h"
#include "vendor/installed_compiler.h"
#include "vendor/installed_tool.h"
#include "vendor/nvfatbin.h"
#include "vendor/nvjitlink.h"
#include "vendor/toolkit_program.h"

namespace kiln {

/// What the copies of a Runtime share: what it was opened with, and its parts, of which each process has its own. Locks
/// that a parent's threads held when it forked are never released in the child, and nothing there touches them.
class Runtime::Opened {
 public:
  Opened(Settings with, RuntimeOptions options);
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened();

  /// Makes them in a child's first call. Safe from any thread.
  Impl& parts();

  const Settings settings;
  const Reporter reporter;
  std::atomic<Mode> mode;
  /// Once this process, or one that it was forked from, has opened the driver.
  std::atomic<bool> uses_driver = false;

 private:
  struct Parts;
  std::atomic<Parts*> parts_;  ///< A parent's stay where they are in its child.
};

/// The parts of a runtime, and the ways through them that several of its calls take.
class Runtime::Impl {
  // Before the kernels, which it outlives.
  std::once_flag driver_opened_;
  std::atomic<bool> driver_is_open_{false};
  Result<std::shared_ptr<const vendor::Driver>> driver_ = tl::unexpected(Error{});
  std::atomic<bool>& uses_driver_;
  const bool parent_uses_driver_;

 public:
  /// Borrows it.
  explicit Impl(Opened& opened);

  /// Opened when first needed.
  const Result<std::shared_ptr<const vendor::Driver>>& driver();

  /// "native" is the calling thread's device.
  Result<Target> resolve(const Target& target);
  /// The same for who asks about one image. Errors: also invalid_argument for a fatbin.
  Result<Target> resolve_single(const Program& program, const Target& target);

  /// What is asked for as this program. REQUIRES: target is not native.
  [[nodiscard]] ProgramChoice choose(const Program& program, const Target& target) const {
    return program.for_target(target, settings.variant);
  }

  /// The toolkit's disassembler, looked for anew. Errors: compiler_missing.
  [[nodiscard]] Result<vendor::ToolkitProgram> nvdisasm() {
    const auto& nvrtc = compiler.search().files;
    return vendor::find_nvdisasm(settings.nvdisasm,
                                 nvrtc ? nvrtc->library.parent_path() : std::filesystem::path{});
  }

  /// The best image there is for the device; only where there is none is one compiled.
  Result<ChosenImage> obtain_for(const vendor::Device& device, const Program& program);

  /// The same for every target; of a program that has no such variant, itself.
  [[nodiscard]] Program preferred(const Program& program) const;

  [[nodiscard]] const std::string& engine_of(const Program& program) const {
    return program.engine().empty() ? settings.engine : program.engine();
  }

  Query query(const Program& program, const Target& target) {
    return {program, target, compiler.include_dirs(), engine_of(program)};
  }

  Result<ServedArtifact> obtain(const Program& program, const Target& target,
                                const std::stop_token& stop = {});

  /// As obtain(), without waiting for a compile: `request` says how that is to be queued. What is there
  /// is looked for at once, on this thread, so that a hit is behind no compile.
  Compiling begin(const Program& program, const Target& target, CompileQueue::Request request);

  /// What there is without a compiler, of a target that is neither native nor a fatbin.
  std::optional<ServedArtifact> at_hand(const PrefetchItem& item);

  /// Runtime::prefetch(), of what there is not.
  PrefetchReport compile_ahead(const std::vector<PrefetchItem>& items,
                               const PrefetchProgress& progress, const std::stop_token& stop);

  Result<ServedArtifact> fatbin(const Program& program, const std::vector<Target>& wanted,
                                const std::stop_token& stop);

  /// The image of a program, or of an artifact, in the driver.
  template <class Image>
  Result<Module> module(const Image& image);

  const Settings& settings;
  const Reporter& reporter;
  const std::filesystem::path worker;  ///< Empty where this process compiles.
  InstalledCompiler compiler;
  InstalledTool<vendor::NvJitLink> linker;
  InstalledTool<vendor::NvFatbin> packer;

  Layers layers;
  Obtainer obtainer;
  HeaderFiles files;
  RecordedTrees recorded;
  LateCompileService service;
  Pipeline pipeline;
  Kernels kernels;

 private:
  [[nodiscard]] std::filesystem::path worker_to_use() const;
  std::unique_ptr<CompileService> make_service();
  CompileQueue& queue();
  Compiling begin_fatbin(const Program& program, const Target& target,
                         CompileQueue::Request request);
  std::optional<ChosenImage> first_stored(const Program& program,
                                          const std::vector<std::string>& archs, ImageKind kind,
                                          const Query& asked);

  std::once_flag queue_made_;
  std::optional<CompileQueue> queue_;  ///< The last, so that its threads end before what they use.
};

}  // namespace kiln
