#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

#include "compile/worker/worker_process.h"
#include "compile/worker/worker_protocol.h"
#include "system/descriptor.h"

namespace kiln {

/// A descriptor that poll() finds ready as soon as a stop is requested. Where the system gives no
/// descriptor, the caller has to ask requested() from time to time.
class StopSignal {
 public:
  explicit StopSignal(std::stop_token stop);

  [[nodiscard]] bool requested() const noexcept { return stop_.stop_requested(); }
  [[nodiscard]] int descriptor() const noexcept { return event_.get(); }

 private:
  struct Wake {
    int descriptor;
    void operator()() const noexcept;
  };

  std::stop_token stop_;
  system::Descriptor event_;
  std::optional<std::stop_callback<Wake>> callback_;
};

/// How a conversation with a worker went.
enum class Reply {
  answered,  ///< A message came.
  ended,     ///< The worker closed its end, or talks nonsense.
  stopped,   ///< The caller wants no answer any more.
  timed_out,
};

/// Talks to one worker. Used by one thread at a time.
class WorkerLink {
 public:
  explicit WorkerLink(std::unique_ptr<WorkerProcess> process) noexcept;

  /// Sends these bytes, and receives one message into `answer`. After anything but `answered` the caller
  /// must end the worker: its next message would answer the wrong question.
  [[nodiscard]] Reply ask(std::string_view bytes, const StopSignal& stop,
                          std::chrono::steady_clock::time_point deadline, Message& answer);

  /// Whether the worker lives and is silent, as it has to be between two questions.
  [[nodiscard]] bool is_up() const;

  [[nodiscard]] WorkerProcess& process() noexcept { return *process_; }
  [[nodiscard]] std::unique_ptr<WorkerProcess> release() noexcept { return std::move(process_); }

 private:
  [[nodiscard]] bool send_some(std::string_view& bytes);
  [[nodiscard]] bool receive_some();

  std::unique_ptr<WorkerProcess> process_;
  MessageAssembler received_;
};

}  // namespace kiln
