#pragma once

// kiln/compiling.h: a compile that nobody waits for, and many compiles at once.
//
//     const kiln::Compiling compiling = runtime.compile_async(program, target, {.priority = 1});
//     if (compiling.succeeded()) std::puts("ready");
//     const auto report = runtime.prefetch({{program, target}});
//     std::printf("%zu compiled, %zu failed\n", report.compiled, report.failures.size());

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/error.h"
#include "kiln/export.h"
#include "kiln/program.h"
#include "kiln/target.h"

namespace KILN_EXPORT kiln {

/// A compile that is queued, running or done. A handle, cheap to copy; all copies mean the same compile. Safe
/// to use from any thread, also after the runtime has ended. When the last copy is destroyed, the compile
/// goes on, and its result is stored.
class Compiling {
 public:
  class KILN_INTERNAL State;
  explicit Compiling(std::shared_ptr<State> state) noexcept;

  [[nodiscard]] bool ready() const;

  /// Whether it is ready and has an artifact. An engine asks this before it goes over to the new kernel.
  /// Costs nothing.
  [[nodiscard]] bool succeeded() const;

  /// Waits until it is ready, but no longer than `time`. Gives whether it is ready then.
  bool wait_for(std::chrono::milliseconds time) const;

  /// Waits until it is ready, and gives the artifact or the error. May be called again. Errors: those of
  /// Runtime::compile(), and cancelled.
  [[nodiscard]] Result<Artifact> get() const;

  /// Makes it ready at once with the error `cancelled`, unless it is ready already. If nobody else asked for
  /// the same compile, kiln drops it from the queue, or stops it and stores nothing. A compiler that cannot
  /// be stopped runs on alone, and holds no lock of kiln's. If the compiler had already finished, its result
  /// may still be stored.
  void cancel() const;

 private:
  std::shared_ptr<State> state_;
};

/// Options of Runtime::compile_async().
struct CompileOptions {
  int priority =
      0;  ///< Higher ones go first, equal ones in the order in which they were asked for.
};

/// A program and a target for Runtime::prefetch().
struct PrefetchItem {
  Program program;
  Target target;
};

/// Tells that one item of a prefetch is done.
struct PrefetchStep {
  std::size_t index;                ///< Of the item.
  const Result<Artifact>& outcome;  ///< Valid during the call.
  std::size_t done;                 ///< How many are done, including this one.
  std::size_t total;
};

/// Called when an item is done, one call at a time, on the thread that called Runtime::prefetch(). kiln drops
/// what it throws.
using PrefetchProgress = std::function<void(const PrefetchStep&)>;

/// The result of a prefetch.
struct PrefetchReport {
  struct Failure {
    std::size_t index;  ///< Of the item.
    Error error;
  };
  std::size_t hits = 0;
  std::size_t compiled = 0;
  std::vector<Failure> failures =
      {};  ///< In the items' order, including those that were cancelled.
};

}  // namespace kiln
