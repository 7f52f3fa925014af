#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

#include "image/served_artifact.h"
#include "kiln/compiling.h"
#include "kiln/error.h"

namespace kiln {

/// What the copies of a Compiling share: not ready, then ready for good. Safe to use from any thread.
class Compiling::State {
 public:
  /// `when_ready` is called once, when it has become ready, on the thread that made it so.
  explicit State(std::function<void()> when_ready = {});

  /// Makes it ready; of several outcomes the first stays.
  void complete(Result<ServedArtifact> outcome);

  /// Makes it ready with the error `cancelled`, and tells `when_cancelled`, unless it is ready already.
  void cancel();

  /// REQUIRES: called before the state is shared.
  void set_when_cancelled(std::function<void()> when_cancelled);

  [[nodiscard]] bool ready() const;
  [[nodiscard]] bool succeeded() const;
  bool wait_for(std::chrono::milliseconds time) const;
  [[nodiscard]] Result<Artifact> get() const;

 private:
  bool settle(Result<ServedArtifact> outcome);

  const std::function<void()> when_ready_;
  std::function<void()> when_cancelled_;
  mutable std::mutex mutex_;
  mutable std::condition_variable settled_;
  std::optional<const Result<ServedArtifact>> outcome_;
};

}  // namespace kiln
