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

/// What is to be compiled and waited for by nobody, in the order of its priority, on threads of its own:
/// started when there is something to do, ended with the queue. Requests of one key share one task. Safe
/// to use from any thread.
class CompileQueue {
 public:
  /// One task. Looks up or compiles, and returns soon once `control` is stopped.
  using Work = std::function<Result<ServedArtifact>(const CompileControl&)>;

  struct Request {
    std::string name = {};  ///< For messages.
    Digest key = {};
    int priority = 0;
    bool bounded = true;  ///< Whether it is refused when the queue is full.
    Work work = {};
    /// As CompileControl has it, on the queue's thread; not called for a request that joins another.
    std::function<void()> when_compiled = {};
    std::function<void()> when_ready = {};  ///< As Compiling::State has it.
  };

  /// At most `compiles` tasks are at the compiler at one time, as many more have what it gave them stored (or
  /// are asked once more, by somebody who came late), and `bound` wait.
  CompileQueue(std::size_t compiles, std::size_t bound);

  /// What is there becomes ready with `cancelled`; what runs is stopped and waited for.
  ~CompileQueue();
  CompileQueue(const CompileQueue&) = delete;
  CompileQueue& operator=(const CompileQueue&) = delete;

  /// Never waits. One that is not taken is ready at once, with the error queue_full. A request that finds its
  /// key waiting joins it and may bring it forward; one that finds it running has its failure, or is
  /// served by `work` once more when it is done: it may have asked for something newer.
  [[nodiscard]] Compiling add(Request request);

 private:
  class Core;

  const int process_;
  const std::shared_ptr<Core> core_;
};

}  // namespace kiln
