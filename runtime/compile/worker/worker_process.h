#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "kiln/error.h"
#include "system/descriptor.h"

namespace kiln {

/// A worker process, the socket to it, and what it writes to standard error. The destructor kills the
/// process; only wait() reaps it (see WorkerKeeper). Used by one thread at a time.
///
/// Of the host the process has only the working directory, and the environment without the compiler's
/// variables (NVRTC_*). The host's handling of SIGCHLD and SIGPIPE does not matter.
class WorkerProcess {
 public:
  /// Starts the process. The calling thread must outlive it: the system kills it when that thread ends.
  /// `temporary` is the process's TMPDIR; where it is empty, the host's is.
  /// Errors: worker_failed, with the system's reason.
  [[nodiscard]] static Result<std::unique_ptr<WorkerProcess>> start(
      const std::filesystem::path& executable, const std::filesystem::path& temporary);

  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();

  [[nodiscard]] pid_t id() const noexcept { return process_; }
  /// Neither descriptor blocks.
  [[nodiscard]] int socket() const noexcept { return socket_.get(); }
  [[nodiscard]] int complaints() const noexcept { return complaints_.get(); }

  /// Does nothing in a process that was forked since the start.
  void kill() const noexcept;

  /// Closes the runtime's end of the socket, upon which an idle worker ends.
  void hang_up() noexcept { socket_.reset(); }

  /// Waits for the process to end, and reaps it. Gives whether it has ended.
  bool wait(std::chrono::milliseconds patience);

  /// Reads what the process has written to standard error, and keeps the last of that.
  void listen();

  /// What listen() kept.
  [[nodiscard]] const std::string& last_words() const noexcept { return last_words_; }

  /// How the process ended, once wait() said that it did: "was killed by signal 11 (SIGSEGV)".
  [[nodiscard]] std::string death() const;
  /// Once listen() has read what it said.
  [[nodiscard]] bool ran_out_of_memory() const noexcept;
  /// By SIGKILL, which no program brings upon itself.
  [[nodiscard]] bool was_killed() const noexcept;

  /// Its address space now, in bytes; 0 where the system does not tell.
  [[nodiscard]] std::uint64_t address_space() const;

 private:
  WorkerProcess(pid_t process, system::Descriptor handle, system::Descriptor socket,
                system::Descriptor complaints) noexcept;

  const pid_t owner_;
  const pid_t process_;
  /// Names this process even after its number has gone to another one, which happens where a host ignores
  /// SIGCHLD: the system then reaps its children. Absent on old systems.
  const system::Descriptor handle_;
  system::Descriptor socket_;
  const system::Descriptor complaints_;
  std::string last_words_;
  bool ended_ = false;
  std::optional<int> status_;  ///< As waitpid() gives it; nothing where somebody else took it.
};

}  // namespace kiln
