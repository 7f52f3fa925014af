#pragma once

// kiln/runtime.h: the pipeline: asks the cache, compiles a miss, stores, loads.
//
//     auto runtime = kiln::Runtime::open().value();  // needs no GPU, no driver, no NVRTC
//     const kiln::Artifact artifact = runtime.compile(program, kiln::Target::parse("sm_90a").value()).value();
//     const kiln::Kernel kernel = runtime.kernel(program, "scale<float>").value();  // here a GPU is needed

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/compiling.h"
#include "kiln/error.h"
#include "kiln/explain.h"
#include "kiln/export.h"
#include "kiln/launch.h"
#include "kiln/link.h"
#include "kiln/manifest.h"
#include "kiln/module.h"
#include "kiln/program.h"
#include "kiln/settings.h"
#include "kiln/target.h"

namespace KILN_EXPORT kiln {

/// What a runtime did since it was opened.
struct RuntimeCounters {
  std::uint64_t memory_hits = 0;
  std::uint64_t local_hits = 0;
  std::uint64_t bundle_hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t compiles = 0;
  std::uint64_t precompiled = 0;  ///< Compiles whose first headers were precompiled.
  std::uint64_t combines = 0;     ///< Links and fatbins that were made here.
  std::uint64_t waits = 0;        ///< For another process that was compiling the same.
  std::uint64_t stores = 0;
  std::uint64_t refusals = 0;  ///< Stored images that the driver did not take, and were dropped.
  std::uint64_t cache_errors = 0;  ///< Faults of the cache that were lived with.
  std::uint64_t loads = 0;
  std::uint64_t not_kept = 0;  ///< Compiles whose result is not kept: see Artifact::not_kept.
};

/// One tool of the machine: found or not, and why.
struct Availability {
  bool available = false;
  std::string description;     ///< E.g. "NVRTC 13.0, /usr/local/cuda/lib64/libnvrtc.so.13".
  std::string reason;          ///< Why not; empty when available.
  std::filesystem::path path;  ///< The library's file, where it is known.
  /// A line each of what else was found: each place that was looked at and what it came to; a compiler's
  /// builtins and headers; a driver's devices.
  std::vector<std::string> details = {};
};

/// The pipeline: asks the cache, compiles on a miss, stores, loads.
///
/// A handle: cheap to copy, all copies share one runtime, which ends with the last of them. Safe to
/// use from any thread. Opening needs no GPU, no driver and no NVRTC; each is looked for when first
/// needed, once, and what was found (or why not) is remembered. No fault of the cache fails a call.
/// A runtime that ends makes what it was asked for and is not done ready with `cancelled`, and waits for
/// its threads, which is soon; it must not end in one of its own callbacks. Compiles that NVRTC does not
/// let go of run out on their own, and what they make is dropped.
/// Not for use in a child that was forked after it was opened: open another one there.
class Runtime {
 public:
  /// Errors: invalid_setting, naming the variable or field whose value makes no sense.
  [[nodiscard]] static Result<Runtime> open(RuntimeOptions options = {});

  /// The artifact of this program for this target: from memory, from the cache, or compiled and
  /// stored. Needs no GPU (but for "native"). Threads and processes that ask for the same one share one
  /// compile. A
  /// handle that was served once is served the same as long as this process keeps the artifact; a new
  /// handle looks at the headers anew. Of a program with variants it is the one for this target
  /// (Program::for_target()), here and wherever a target is asked for, and the artifact names its kernels.
  /// Errors: compile_failed, header_not_found, unknown_kernel, unknown_arch, invalid_option,
  /// compiler_missing, timed_out; driver_missing for "native" without a device; not_cached in the mode
  /// cache_only.
  [[nodiscard]] Result<Artifact> compile(const Program& program, const Target& target);

  /// The images of these inputs linked to one: from memory, from the cache, or linked by nvJitLink and
  /// stored. Kernels are found in it by the expressions of the programs that they came from. Threads and
  /// processes that ask for the same one share one link.
  /// Errors: link_failed with the linker's whole log; invalid_argument, also for an image that a link
  /// cannot give; invalid_option, unknown_kernel, unknown_arch; compiler_missing where there is no
  /// nvJitLink; driver_missing for "native" without a device; not_cached in the mode cache_only.
  [[nodiscard]] Result<Artifact> link(LinkSpec spec);

  /// One fatbin of this program for all these targets, which are cubins and PTX: each image is obtained
  /// as by compile(), and what nvFatbin makes of them is stored. compile() for a target of the kind
  /// fatbin is the same for one architecture.
  /// Errors: those of compile(); invalid_argument, link_failed; compiler_missing where there is no
  /// nvFatbin.
  [[nodiscard]] Result<Artifact> fatbin(const Program& program, const std::vector<Target>& targets);

  /// As compile(), without waiting for the compiler: what is in memory or in the cache is looked for on the
  /// calling thread (microseconds; the time of reading headers where they are new) and is ready at
  /// once; what has to be compiled is queued, and compiled by priority on threads of the runtime's own, as
  /// many as there are workers. Requests for one program and target share one compile, and cancelling
  /// one leaves it to the others. "native" means the calling thread's device. A fatbin is always queued.
  /// Errors come through the Compiling: those of compile(), cancelled (also when the runtime ends), and
  /// queue_full at once where RuntimeOptions::compile_queue are waiting already.
  [[nodiscard]] Compiling compile_async(const Program& program, const Target& target,
                                        const CompileOptions& options = {});

  /// Has all of them in the cache, compiling what is missing: programs that begin alike after each other,
  /// on as many workers as there are, behind whatever compile_async() was asked for. Waits until all are
  /// done. One that fails does not keep the others. `stop` ends it early, and what was not done is
  /// among the failures.
  PrefetchReport prefetch(const std::vector<PrefetchItem>& items,
                          const PrefetchProgress& progress = {}, const std::stop_token& stop = {});

  /// A program of a manifest, or of a cache's record, as it is compiled on this machine. Recorded
  /// headers that this machine's toolkit holds alike are taken from there, so that the program asks for
  /// what its engine asks for; where the toolkit holds one differently (or one that was recorded as
  /// absent), the program sees the recorded headers alone, and two toolkits are never mixed.
  /// Errors: those of Program::make(); invalid_argument where a path of the recorded compile reaches the
  /// output and is another one here, so that no engine would ever ask for the result.
  [[nodiscard]] Result<Program> program_of(const ListedProgram& listed);

  /// The kernel of this expression for the device of the calling thread's current context (the
  /// first device's primary context where there is none). Memoised; the handle is valid as long as
  /// the runtime. The best stored image is taken that the device runs: its own `a` target, then `f` targets
  /// of its family, then plain ones; then, where RuntimeOptions::allow_ptx says so, PTX. Only where there is
  /// none is one compiled, for the device's own target. Errors: unknown_kernel (not one of the program's),
  /// driver_missing, driver_failed, capturing, and those of compile().
  [[nodiscard]] Result<Kernel> kernel(const Program& program, std::string_view expression);

  /// The same from the image for this target and no other, whatever else is stored; compiled where it is
  /// missing. It is for the caller to know that the device runs it. Asking again is a look-up too, but a
  /// longer one: keep the handle. Errors: as above; invalid_argument for LTO-IR and OptiX-IR.
  [[nodiscard]] Result<Kernel> kernel(const Program& program, std::string_view expression,
                                      const Target& target);

  /// The image of this program in the driver, for the same device; obtained as by kernel(). Loads its kernels
  /// into the current context, if there is one, so that no launch has to. Valid as long as the runtime.
  /// Errors: driver_missing, driver_failed, capturing (a stream is being captured and something would have to
  /// be loaded; nothing was done), and those of compile().
  [[nodiscard]] Result<Module> module(const Program& program);

  /// The same for an artifact that compile(), link() or fatbin() gave. Errors: driver_missing,
  /// driver_failed, capturing.
  [[nodiscard]] Result<Module> module(const Artifact& artifact);

  /// The same for an image that another tool made: a cubin, a fatbin or PTX, `name` for messages. What
  /// is damaged so that a driver would read beyond its end is refused. Errors: those of module();
  /// invalid_argument for what is no such image.
  [[nodiscard]] Result<Module> module_of_image(std::string image, std::string name);

  /// module() for all of them: so that nothing has to be loaded later, as while streams are captured.
  /// Goes on after a failure. Errors: that of the one that failed; of several the first, and all of their
  /// messages.
  [[nodiscard]] Result<void> load_all(std::span<const Program> programs);

  /// What becomes of a miss from now on: so that a server may forbid compiling once it is warm. What is
  /// being compiled goes on.
  void set_mode(Mode mode) noexcept;
  [[nodiscard]] Mode mode() const noexcept;

  /// Whether compile() would be served now, and by whom; if not, why, and in what the stored entry that
  /// is most like it differs. Compiles, maps, writes and counts nothing, and needs no GPU (but for
  /// "native"). Reads the program's headers, and on a miss the names of all entries.
  /// Errors: driver_missing for "native" without a device; invalid_argument for a fatbin, of which the
  /// images can be explained.
  [[nodiscard]] Result<Explanation> explain(const Program& program, const Target& target);

  /// Can this machine compile, can it launch: answered at run time, each with the reason.
  [[nodiscard]] Availability compiler() const;
  [[nodiscard]] Availability driver() const;
  /// Whether compiles run in worker processes: kiln-worker, and how many there may be. Where it is not found or not
  /// wanted, they run in this process.
  [[nodiscard]] Availability worker() const;
  /// Can it link, can it make fatbins: nvJitLink and nvFatbin.
  [[nodiscard]] Availability linker() const;
  [[nodiscard]] Availability packer() const;

  /// What the runtime was set up with. Valid as long as the runtime.
  [[nodiscard]] const Settings& settings() const noexcept;
  /// Why the cache cannot be used, where it cannot; empty when it is well or disabled.
  [[nodiscard]] std::string cache_fault() const;
  [[nodiscard]] RuntimeCounters counters() const;

 private:
  class KILN_INTERNAL Impl;
  explicit Runtime(std::shared_ptr<Impl> impl) noexcept;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kiln
