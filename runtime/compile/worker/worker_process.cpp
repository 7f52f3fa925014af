#include "compile/worker/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/spawn.h"
#include "compile/worker/worker_protocol.h"
#include "system/no_fork.h"
#include "system/standard_streams.h"
#include "vendor/nvrtc.h"

extern char** environ;

namespace kiln {

namespace {

constexpr std::size_t most_last_words = 4096;

struct Ends {
  system::Descriptor runtime;
  system::Descriptor worker;
};

// `make` fills in two descriptors, and gives 0 if it can.
template <class Make>
Ends make_ends(const Make& make) {
  std::array<int, 2> pair{-1, -1};
  if (make(pair.data()) != 0) return {};
  Ends ends{system::Descriptor(system::above_standard_streams(pair[0])),
            system::Descriptor(system::above_standard_streams(pair[1]))};
  if (ends.runtime) ::fcntl(ends.runtime.get(), F_SETFL, O_NONBLOCK);
  return ends;
}

// The host's environment without the compiler's variables. `temporary` is "TMPDIR=…", or empty for the host's.
std::vector<char*> environment_of_worker(std::string& temporary) {
  std::vector<char*> entries;
  if (!temporary.empty()) entries.push_back(temporary.data());
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (vendor::is_compiler_variable(variable)) continue;
    if (!temporary.empty() && variable.starts_with("TMPDIR=")) continue;
    entries.push_back(*entry);
  }
  entries.push_back(nullptr);
  return entries;
}

tl::unexpected<Error> cannot_start(const std::filesystem::path& executable, int error) {
  return fail(ErrorCode::worker_failed,
              fmt::format("the compile worker {} cannot be started: {}", executable.string(),
                          std::generic_category().message(error)));
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(
    const std::filesystem::path& executable, const std::filesystem::path& temporary) {
  // A child that had the worker's ends would keep its death from being noticed.
  const system::NoFork no_fork;
  auto socket = make_ends(
      [](int* pair) { return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair); });
  if (!socket.runtime || !socket.worker) return cannot_start(executable, errno);
  auto complaints = make_ends([](int* pair) { return ::pipe2(pair, O_CLOEXEC); });
  if (!complaints.runtime || !complaints.worker) return cannot_start(executable, errno);
  std::string variable = temporary.empty() ? "" : "TMPDIR=" + temporary.string();
  auto environment = environment_of_worker(variable);
  const auto process =
      spawn_helper({executable, socket.worker.get(), complaints.worker.get()}, environment.data());
  if (!process) return cannot_start(executable, process.error());
  system::Descriptor handle(
      system::above_standard_streams(static_cast<int>(::syscall(SYS_pidfd_open, *process, 0))));
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(
      *process, std::move(handle), std::move(socket.runtime), std::move(complaints.runtime)));
}

WorkerProcess::WorkerProcess(pid_t process, system::Descriptor handle, system::Descriptor socket,
                             system::Descriptor complaints) noexcept
    : owner_(::getpid()),
      process_(process),
      handle_(std::move(handle)),
      socket_(std::move(socket)),
      complaints_(std::move(complaints)) {}

WorkerProcess::~WorkerProcess() { kill(); }

void WorkerProcess::kill() const noexcept {
  if (ended_ || owner_ != ::getpid()) return;
  if (handle_) {
    ::syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0);
  } else {
    ::kill(process_, SIGKILL);
  }
}

bool WorkerProcess::wait(std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!ended_) {
    int status = 0;
    const pid_t answer = ::waitpid(process_, &status, WNOHANG);
    if (answer == process_) {
      status_ = status;
      ended_ = true;
    } else if (answer < 0 && errno == ECHILD) {
      // The host ignores SIGCHLD or waits for every child of its own.
      ended_ = true;
    } else if (std::chrono::steady_clock::now() >= end) {
      break;
    } else {
      ::poll(nullptr, 0, 1);
    }
  }
  return ended_;
}

void WorkerProcess::listen() {
  std::array<char, 4096> bytes;
  // No more than a pipe holds: it may be writing without end.
  for (int chunk = 0; chunk < 16; ++chunk) {
    const auto size = ::read(complaints_.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    last_words_.append(bytes.data(), static_cast<std::size_t>(size));
    if (last_words_.size() > most_last_words) {
      last_words_.erase(0, last_words_.size() - most_last_words);
    }
  }
}

std::string WorkerProcess::death() const {
  if (ran_out_of_memory()) return "ran out of its memory";
  if (!status_) return "ended (how is not known: the program it works for does not keep it)";
  if (WIFSIGNALED(*status_)) {
    const int number = WTERMSIG(*status_);
    const char* name = ::sigabbrev_np(number);
    return fmt::format("was killed by signal {} (SIG{})", number, name != nullptr ? name : "?");
  }
  return fmt::format("exited with status {}", WEXITSTATUS(*status_));
}

bool WorkerProcess::ran_out_of_memory() const noexcept {
  if (!status_) return false;
  if (WIFEXITED(*status_)) return WEXITSTATUS(*status_) == worker_out_of_memory_status;
  // The compiler's back end does not fail: it says so, and ends the process.
  return WTERMSIG(*status_) == SIGABRT && last_words_.find("out of memory") != std::string::npos;
}

bool WorkerProcess::was_killed() const noexcept {
  return status_ && WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGKILL;
}

std::uint64_t WorkerProcess::address_space() const {
  std::ifstream file(fmt::format("/proc/{}/statm", process_));
  std::uint64_t pages = 0;
  file >> pages;
  return file ? pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace kiln
