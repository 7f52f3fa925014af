#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "image/served_artifact.h"
#include "kiln/compiling.h"
#include "kiln/digest.h"
#include "kiln/error.h"
#include "queue/compile_control.h"
#include "queue/compiling_state.h"

namespace kiln {

/// Runs compiles that nobody waits for, by priority, on threads of its own. A thread starts when there is
/// something to do, and ends with the queue. Requests of one key share one task. Safe to use from any thread.
class CompileQueue {
 public:
  /// One task. Looks up or compiles, and returns soon once `control` is stopped.
  using Work = std::function<Result<ServedArtifact>(const CompileControl&)>;

  struct Request {
    std::string name = {};  ///< For messages.
    Digest key = {};
    int priority = 0;
    bool bounded = true;  ///< Whether a full queue refuses it.
    Work work = {};
    /// As CompileControl has it, on the queue's thread; not called for a request that joins another.
    std::function<void()> when_compiled = {};
    std::function<void()> when_ready = {};  ///< As Compiling::State has it.
  };

  /// At most `compiles` tasks are at the compiler at one time. As many more store what it gave them, or run once
  /// more for a request that came late. At most `bound` wait.
  CompileQueue(std::size_t compiles, std::size_t bound);

  /// Makes all that wait or run ready with the error `cancelled`. Stops what runs, and waits for it.
  ~CompileQueue();
  CompileQueue(const CompileQueue&) = delete;
  CompileQueue& operator=(const CompileQueue&) = delete;

  /// Never waits. A request that the queue does not take is ready at once, with the error queue_full. A request
  /// whose key waits joins that task, and may bring it forward. For a request whose key runs, `work` runs once more, since it
  /// may have asked for something newer.
  [[nodiscard]] Compiling add(Request request);

 private:
  class Core;

  const int process_;
  const std::shared_ptr<Core> core_;
};

}  // namespace kiln
