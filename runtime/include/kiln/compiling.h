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

/// A compile on its way. A handle, cheap to copy; all copies mean the same compile. Safe to use from any
/// thread, and longer than the runtime. When the last one goes, the compile goes on: its result is stored
/// all the same.
class Compiling {
 public:
  class KILN_INTERNAL State;
  explicit Compiling(std::shared_ptr<State> state) noexcept;

  [[nodiscard]] bool ready() const;

  /// Ready, and with an artifact: what an engine asks before it goes over to the new kernel. Costs nothing.
  [[nodiscard]] bool succeeded() const;

  /// Waits for so long at most; whether it is ready then.
  bool wait_for(std::chrono::milliseconds time) const;

  /// Waits, and gives what it came to; as often as asked. Errors: those of Runtime::compile(),
  /// and cancelled.
  [[nodiscard]] Result<Artifact> get() const;

  /// Makes it ready at once with the error `cancelled`, unless it is ready already. Where nobody else
  /// asked for the same, what is queued is dropped, and what runs is stopped and not stored; a compiler
  /// that does not let itself be stopped goes on alone, and holds no lock of kiln's. What the compiler
  /// had already finished may still be stored.
  void cancel() const;

 private:
  std::shared_ptr<State> state_;
};

/// How a compile is asked for that is not waited for.
struct CompileOptions {
  int priority = 0;  ///< The higher, the sooner; equal ones in the order in which they were asked.
};

/// One of many to have ready.
struct PrefetchItem {
  Program program;
  Target target;
};

/// One item is done.
struct PrefetchStep {
  std::size_t index;                ///< Of the item.
  const Result<Artifact>& outcome;  ///< Valid during the call.
  std::size_t done;                 ///< Of all, this one included.
  std::size_t total;
};

/// Called as each is done, one call at a time, on the thread that called Runtime::prefetch(). What it throws
/// goes no further.
using PrefetchProgress = std::function<void(const PrefetchStep&)>;

/// What a prefetch came to.
struct PrefetchReport {
  struct Failure {
    std::size_t index;  ///< Of the item.
    Error error;
  };
  std::size_t hits = 0;
  std::size_t compiled = 0;
  std::vector<Failure> failures = {};  ///< In the items' order; what was cancelled is among them.
};

}  // namespace kiln
