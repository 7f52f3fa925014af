#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "image/served_artifact.h"
#include "kiln/compiling.h"
#include "kiln/error.h"

namespace kiln {

/// What the copies of a Compiling share: not ready, then ready for good. Safe to use from any thread. In a child that was
/// forked before it was ready it is `cancelled`: the thread that would make it ready is not there.
class Compiling::State {
 public:
  /// `when_ready` is called once, when it has become ready, on the thread that made it so.
  explicit State(std::function<void()> when_ready = {});
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

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
  struct Waiting {
    std::mutex mutex;
    std::condition_variable settled;
  };

  bool settle(Result<ServedArtifact> outcome);
  /// Takes no lock that a thread of the parent may hold.
  [[nodiscard]] bool is_of_parent() const noexcept;

  const std::function<void()> when_ready_;
  std::function<void()> when_cancelled_;
  const int process_;
  std::unique_ptr<Waiting> waiting_ = std::make_unique<Waiting>();
  std::optional<const Result<ServedArtifact>> outcome_;
  std::atomic<bool> has_outcome_ = false;  ///< It changes no more.
};

}  // namespace kiln
