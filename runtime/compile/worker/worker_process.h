#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "kiln/error.h"

namespace kiln {

/// A helper process with a socket to talk over, and what it says on standard error. It is killed at the
/// latest with this object, but reaped only by wait(): see WorkerKeeper. Used by one thread at a time.
///
/// Nothing of the host reaches it but its working directory and its environment, that without the
/// compiler's own variables (NVRTC_*). The host's handling of SIGCHLD and SIGPIPE does not matter.
class WorkerProcess {
 public:
  /// Starts it. The thread that calls must outlive it: the system kills it when that thread ends.
  /// `temporary` is where it keeps its temporary files (TMPDIR); empty for where the host does.
  /// Errors: worker_failed, with the system's reason.
  [[nodiscard]] static Result<std::unique_ptr<WorkerProcess>> start(
      const std::filesystem::path& executable, const std::filesystem::path& temporary);

  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();

  [[nodiscard]] pid_t id() const noexcept { return process_; }
  /// Neither end blocks.
  [[nodiscard]] int socket() const noexcept { return socket_.get(); }
  [[nodiscard]] int complaints() const noexcept { return complaints_.get(); }

  /// Only in the process that started it, not in one forked since.
  void kill() const noexcept;

  /// Closes the runtime's end of the socket, upon which an idle worker ends.
  void hang_up() noexcept { socket_.reset(); }

  /// Waits for its end and reaps it; whether it has ended.
  bool wait(std::chrono::milliseconds patience);

  /// Reads what it has said, and keeps the end of that.
  void listen();

  /// The last lines it said.
  [[nodiscard]] const std::string& last_words() const noexcept { return last_words_; }

  /// How it ended, once wait() said so: "killed by signal 11 (SEGV)".
  [[nodiscard]] std::string death() const;
  [[nodiscard]] bool ran_out_of_memory() const noexcept;
  /// By SIGKILL, which no program brings upon itself.
  [[nodiscard]] bool was_killed() const noexcept;

  /// Its address space now, in bytes; 0 where the system does not tell.
  [[nodiscard]] std::uint64_t address_space() const;

 private:
  WorkerProcess(pid_t process, Descriptor handle, Descriptor socket,
                Descriptor complaints) noexcept;

  const pid_t owner_;
  const pid_t process_;
  /// Names the process even when its number has gone to another one: a host that ignores SIGCHLD has
  /// its children reaped by the system. Absent on old systems.
  const Descriptor handle_;
  Descriptor socket_;
  const Descriptor complaints_;
  std::string last_words_;
  bool ended_ = false;
  std::optional<int> status_;  ///< As waitpid() gives it; nothing where somebody else took it.
};

}  // namespace kiln
