#pragma once

// kiln/runtime.h: the pipeline: asks the cache, compiles a miss, stores, loads.
//
//     auto runtime = kiln::Runtime::open().value();  // needs no GPU, no driver, no NVRTC
//     const kiln::Artifact artifact = runtime.compile(program, "sm_90a").value();
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
#include "kiln/request.h"
#include "kiln/settings.h"
#include "kiln/target.h"

namespace KILN_EXPORT kiln {

struct RemoteState;  // kiln/remote.h

/// What a runtime did since it was opened.
struct RuntimeCounters {
  std::uint64_t memory_hits = 0;
  std::uint64_t local_hits = 0;
  std::uint64_t bundle_hits = 0;
  std::uint64_t misses =
      0;  ///< Not those that were served after all, by a process or a machine that made it meanwhile.
  std::uint64_t compiles = 0;
  std::uint64_t precompiled = 0;  ///< Compiles whose first headers were precompiled.
  std::uint64_t combines = 0;     ///< Links and fatbins that were made here.
  std::uint64_t waits = 0;        ///< For another process that was compiling the same.
  std::uint64_t stores = 0;
  std::uint64_t refusals = 0;      ///< Stored images that the driver refused and kiln dropped.
  std::uint64_t cache_errors = 0;  ///< Faults of the cache that no call failed for.
  std::uint64_t loads = 0;
  std::uint64_t not_kept = 0;  ///< Compiles whose result is not kept: see Artifact::not_kept.
  std::uint64_t remote_hits = 0;
  std::uint64_t lease_waits = 0;  ///< For another machine that was compiling the same.
};

/// What one compile did all the time.
struct TimeTrace {
  /// NVRTC's own: one JSON document of trace events, as Perfetto and chrome://tracing read it. "Processing Header File" is an
  /// event of each header (NVRTC 13.0 and later), with its path or, where it is embedded, its name.
  std::string json;
  std::uint64_t compile_us =
      0;  ///< What the compile took, which is longer than without a trace. Microseconds.
};

/// One tool of the machine: found or not, and why.
struct Availability {
  bool available = false;
  std::string description;     ///< E.g. "NVRTC 13.0, /usr/local/cuda/lib64/libnvrtc.so.13".
  std::string reason;          ///< Why not; empty when available.
  std::filesystem::path path;  ///< The library's file, where it is known.
  /// What else was found, a line each: the places that were searched and what was there, a compiler's
  /// builtins and headers, a driver's devices.
  std::vector<std::string> details = {};
  /// Of the compiler: the folders of CUDA's own headers, which are searched after all others. Some machines have these
  /// and no compiler.
  std::vector<std::filesystem::path> include_dirs = {};
};

/// The pipeline: asks the cache, compiles on a miss, stores, loads.
///
/// A handle: cheap to copy, all copies share one runtime, which ends with the last of them. Safe to use from
/// any thread. Opening needs no GPU, no driver and no NVRTC: the runtime looks for each of them once, when it
/// first needs it, and remembers what it found, or why it found nothing. No fault of the cache fails a call.
/// When a runtime ends, compiles that are not done become ready with `cancelled`, and it waits a short time
/// for its threads. It must not end in one of its own callbacks. A compile that NVRTC cannot stop runs on
/// alone, and its result is dropped.
///
/// In a child that was forked after it was opened a runtime begins anew, with the same settings and callbacks: it
/// has in memory only what the child itself was served, and its counters begin at 0. A child has none of its
/// parent's threads: a Compiling that was not ready is `cancelled` there, and callbacks must not wait for what they
/// hold. CUDA does not work in a child of a process that has used it. A child that was forked while its parent
/// linked, or compiled in its own process, compiles nothing in its own process and links nothing, which its errors
/// say; if it ends by exit() it leaves out the handlers that its parent had registered: NVIDIA's hang in it.
class Runtime {
 public:
  /// Errors: invalid_setting, naming the variable or field whose value makes no sense.
  [[nodiscard]] static Result<Runtime> open(RuntimeOptions options = {});

  /// The artifact of this program for this target: from memory, from the cache, or compiled and stored. Needs
  /// no GPU, except for "native". Threads and processes that ask for the same artifact share one compile. A
  /// Program that was served once is served the same artifact as long as this process keeps that; a new
  /// Program looks at the headers again. Of a program with variants the one for this target is compiled
  /// (Program::for_target()), here and wherever a target is given, and the artifact names the variant's
  /// kernels.
  /// Errors: compile_failed, header_not_found, unknown_kernel, unknown_arch, invalid_option,
  /// compiler_missing, timed_out; driver_missing for "native" without a device; not_cached in the mode
  /// cache_only.
  [[nodiscard]] Result<Artifact> compile(const Program& program, const Target& target);

  /// One image, linked of these inputs: from memory, from the cache, or linked by nvJitLink and stored. Its
  /// kernels keep the expressions of the programs that they came from. Threads and processes that ask for the
  /// same link share it.
  /// Errors: link_failed with the linker's whole log; invalid_argument, also for an image that a link cannot
  /// give; invalid_option, unknown_kernel, unknown_arch; compiler_missing where there is no nvJitLink;
  /// driver_missing for "native" without a device; not_cached in the mode cache_only.
  [[nodiscard]] Result<Artifact> link(LinkSpec spec);

  /// One fatbin of this program for all these targets, which are cubins and PTX. Each image is obtained as by
  /// compile(); nvFatbin packs them, and the fatbin is stored. compile() for a target of the kind fatbin does
  /// the same for one architecture.
  /// Errors: those of compile(); invalid_argument, link_failed; compiler_missing where there is no nvFatbin.
  [[nodiscard]] Result<Artifact> fatbin(const Program& program, const std::vector<Target>& targets);

  /// As compile(), without waiting for the compiler. The calling thread looks into memory and the cache,
  /// which takes microseconds, and longer where it has to read new headers. A hit is ready at once. A miss is
  /// queued, and compiled by priority on threads of the runtime's own, as many as there are workers. Requests
  /// for one program and target share one compile; cancelling one of them does not stop it for the others.
  /// "native" means the calling thread's device. A fatbin is always queued. Errors come through the
  /// Compiling: those of compile(), cancelled (also when the runtime ends), and queue_full at once where
  /// RuntimeOptions::compile_queue are waiting already.
  [[nodiscard]] Compiling compile_async(const Program& program, const Target& target,
                                        const CompileOptions& options = {});

  /// Brings all items into the cache. What is there is looked up first, on as many threads as there are processors, and kept in
  /// memory, up to 256 MiB of images from then on. What is missing is compiled on as many workers as there are, programs that
  /// begin alike one after the other. What compile_async() was asked for goes first. Waits until all are
  /// done; one that fails does not stop the others. `stop` ends it early; items that were not done are then
  /// among the failures.
  PrefetchReport prefetch(const std::vector<PrefetchItem>& items,
                          const PrefetchProgress& progress = {}, const std::stop_token& stop = {});

  /// A program of a manifest, or of a cache's record, as it is compiled on this machine. Where this machine's
  /// toolkit holds the recorded headers alike, the program takes them from there, so that it asks for what
  /// its engine asks for. Where the toolkit holds one of them differently, or has one that was recorded as
  /// absent, the program sees the recorded headers alone: two toolkits are never mixed. Its headers may lie in a folder for
  /// temporary files that goes with the runtime, so it is to be compiled by this one.
  /// Errors: those of Program::make(); invalid_argument where a path of the recorded compile reaches the
  /// output and is another one here, since no engine would ever ask for that result; io_failed where headers are to
  /// be laid out and TMPDIR has no room.
  [[nodiscard]] Result<Program> program_of(const ListedProgram& listed);

  /// The kernel of this expression for the device of the calling thread's current context (the first device's
  /// primary context where there is none). Memoised; the handle is valid as long as the runtime. Takes the
  /// best stored image that the device runs: for its own `a` target, then for `f` targets of its family, then
  /// for plain ones; then PTX, where RuntimeOptions::allow_ptx says so. Only where there is none, it compiles
  /// one for the device's own target. Errors: unknown_kernel (not one of the program's), driver_missing,
  /// driver_failed, capturing, and those of compile().
  [[nodiscard]] Result<Kernel> kernel(const Program& program, std::string_view expression);

  /// The same from the image for exactly this target, whatever else is stored; where that is missing, it is
  /// compiled. The caller has to know that the device runs it. Asking again is a look-up too, but a longer
  /// one: keep the handle. Errors: as above; invalid_argument for LTO-IR and OptiX-IR.
  [[nodiscard]] Result<Kernel> kernel(const Program& program, std::string_view expression,
                                      const Target& target);

  /// The image of this program in the driver, for the same device; obtained as by kernel(). Loads its kernels
  /// into the current context, if there is one, so that no launch has to. Valid as long as the runtime.
  /// Errors: driver_missing, driver_failed, capturing (a stream is being captured, something would have to
  /// be loaded, and the driver is older than CUDA 12.3, which takes that amiss; nothing was done), and those of compile().
  [[nodiscard]] Result<Module> module(const Program& program);

  /// The same for an artifact that compile(), link() or fatbin() gave. Errors: driver_missing,
  /// driver_failed, capturing.
  [[nodiscard]] Result<Module> module(const Artifact& artifact);

  /// The same for an image that another tool made: a cubin, a fatbin or PTX, `name` for messages. A driver
  /// follows what a damaged image says and may so end the process; therefore a cubin is refused of which an
  /// index, an offset or a size leads out of it. The cubins in a fatbin are not looked at. Errors: those of
  /// module(); invalid_argument for what is no such image.
  [[nodiscard]] Result<Module> module_of_image(std::string image, std::string name);

  /// Calls module() for all of them, so that nothing has to be loaded later, e.g. while a stream is captured.
  /// Goes on after a failure. Errors: that of the first program that failed, with the messages of all that
  /// did.
  [[nodiscard]] Outcome load_all(std::span<const Program> programs);

  /// Says what becomes of a miss from now on. A server may so forbid compiling once it is warm. Compiles that
  /// are running go on.
  void set_mode(Mode mode) noexcept;
  [[nodiscard]] Mode mode() const noexcept;

  /// Whether compile() would be served now, and by whom; if not, why, and how the stored entry that is most
  /// like it differs. Compiles, maps, writes and counts nothing, and needs no GPU, except for "native". Reads
  /// the program's headers, and on a miss the names of all entries.
  /// Errors: driver_missing for "native" without a device; invalid_argument for a fatbin: explain its images.
  [[nodiscard]] Result<Explanation> explain(const Program& program, const Target& target);

  /// What caches and stores know this program and target by, for the variant that the target decides on. Looks at no cache and
  /// no header. Errors: as explain(); those of a source that cannot be made.
  [[nodiscard]] Result<Request> request(const Program& program, const Target& target);

  /// Where the compiler's time goes for this program and target: compiles it for that alone, with NVRTC's own time trace.
  /// Serves and stores nothing, and records nothing. Errors: those of compile(); compiler_missing for an NVRTC before 12.8;
  /// invalid_argument for a fatbin; io_failed where the temporary directory takes no file. A full one ends the process that
  /// compiles.
  [[nodiscard]] Result<TimeTrace> trace(const Program& program, const Target& target);

  /// The compiler of this machine as artifacts name it, e.g. "NVRTC 13.0"; empty where there is none. As the names of its files
  /// tell: nothing of it is loaded, and whether it can be is for compiler() to say.
  [[nodiscard]] std::string toolchain() const;
  /// Whether this machine can compile, and whether it can launch, with the reason.
  [[nodiscard]] Availability compiler() const;
  [[nodiscard]] Availability driver() const;
  /// Whether compiles run in worker processes: kiln-worker, and how many there may be. Where it is not found or not
  /// wanted, they run in this process.
  [[nodiscard]] Availability worker() const;
  /// Whether stores that machines share can be asked: kiln-remote.
  [[nodiscard]] Availability remote_helper() const;
  /// Whether it can link (nvJitLink), and whether it can make fatbins (nvFatbin).
  [[nodiscard]] Availability linker() const;
  [[nodiscard]] Availability packer() const;
  /// Whether images can be taken apart for people: nvdisasm, and cuobjdump for fatbins, which calls it. kiln itself runs
  /// neither.
  [[nodiscard]] Availability disassembler() const;
  [[nodiscard]] Availability unpacker() const;

  /// What the runtime was set up with. Valid as long as the runtime.
  [[nodiscard]] const Settings& settings() const noexcept;
  /// Why the cache cannot be used; empty when it is well or disabled.
  [[nodiscard]] std::string cache_fault() const;
  /// The stores that machines share, in their order. `reach`: asks each server something first, to measure it.
  [[nodiscard]] std::vector<RemoteState> remotes(bool reach) const;
  [[nodiscard]] RuntimeCounters counters() const;

 private:
  class KILN_INTERNAL Impl;
  class KILN_INTERNAL Opened;
  explicit Runtime(std::shared_ptr<Opened> opened) noexcept;
  [[nodiscard]] Impl& impl() const;
  std::shared_ptr<Opened> opened_;
};

}  // namespace kiln
