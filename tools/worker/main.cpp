// kiln-worker: compiles for a process that uses kiln, which starts it and talks to it over a socket. It
// holds no cache and reads no settings; what it needs to know it is told.

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/build_identity.h"
#include "base/spawn.h"
#include "base/working_directory.h"
#include "compile/observed_compiler.h"
#include "compile/worker/worker_protocol.h"
#include "memory_limit.h"
#include "memory_map.h"
#include "vendor/installed_compiler.h"

namespace kiln {
namespace {

constexpr int exit_done = 0;
constexpr int exit_usage = 2;
constexpr int exit_nonsense = 3;

void close_all_above(int last) {
  const auto first = static_cast<unsigned>(last) + 1;
  if (::syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  for (int number = last + 1; number < static_cast<int>(::sysconf(_SC_OPEN_MAX)); ++number) {
    ::close(number);
  }
}

// A crash leaves no core file behind. A system that is out of memory kills this process before the program that
// it works for.
void keep_out_of_the_way() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // A file that may not grow is an error, and ends nothing.
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  std::ofstream("/proc/self/oom_score_adj") << "500";
}

// The next compile needs the memory that this one frees. To get it from the system again takes a twentieth of a
// worker's time. The second value is the largest that malloc accepts.
void keep_memory() {
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

// The front end, the optimiser and ptxas each say it in other words, and often with the code of any error.
bool ran_out_of_memory(const Result<CompileOutcome>& outcome) {
  if (outcome) return false;
  const auto& error = outcome.error();
  const auto says = [&](const char* words) { return error.log.find(words) != std::string::npos; };
  return error.vendor_code == NVRTC_ERROR_OUT_OF_MEMORY ||
         says("catastrophic error: out of memory") || says("LLVM ERROR: out of memory") ||
         says("Memory allocation failure") || says("std::bad_alloc");
}

class Worker {
 public:
  // Ends when the other end is closed or talks nonsense, with the status to exit with.
  int serve() {
    std::array<char, 65'536> bytes;
    for (;;) {
      while (const auto message = received_.take()) {
        if (const auto status = handle(*message)) return *status;
      }
      if (received_.broken()) return exit_nonsense;
      const auto size = ::recv(helper_socket, bytes.data(), bytes.size(), 0);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return exit_done;
      received_.add({bytes.data(), static_cast<std::size_t>(size)});
    }
  }

 private:
  // The status to exit with, if this message was the last.
  std::optional<int> handle(const Message& message) {
    switch (message.kind) {
      case MessageKind::hello:
        if (!send(MessageKind::hello, build_identity()) || message.payload != build_identity()) {
          return exit_done;
        }
        return std::nullopt;
      case MessageKind::setup:
        return set_up(message.payload);
      case MessageKind::job:
        return work(message.payload);
      default:
        return exit_nonsense;
    }
  }

  std::optional<int> set_up(std::string_view record) {
    setup_ = decode_setup(record);
    if (!setup_) return exit_nonsense;
    // It may have ended before main() asked the system to kill this process with it.
    if (::getppid() != setup_->runtime_process) return exit_done;
    limit_memory(setup_->memory_bytes);
    if (!setup_->precompiled_large_pages) leave_memory_to_the_system();
    compiler_ = std::make_unique<InstalledCompiler>(setup_->nvrtc);
    service_ = std::make_unique<ObservedCompiler>(setup_->precompiled_max_bytes);
    return std::nullopt;
  }

  std::optional<int> work(std::string_view record) {
    const auto request = decode_request(record);
    if (!request || !service_) return exit_nonsense;
    if (!go_to(request->standing))
      return send(MessageKind::elsewhere, {}) ? std::nullopt : std::optional(exit_done);
    const auto outcome = compile(*request);
    if (ran_out_of_memory(outcome)) end_out_of_memory();
    if (!send(MessageKind::outcome, encode_outcome(outcome))) return exit_done;
    return std::nullopt;
  }

  Result<CompileOutcome> compile(const WorkerRequest& request) {
    const auto& files = compiler_->search().files;
    if (!files || files->toolchain.identity != setup_->toolchain) {
      return fail(ErrorCode::compiler_missing,
                  fmt::format("NVRTC: {} is another one than when the runtime was opened, or gone; "
                              "open a new runtime",
                              setup_->nvrtc));
    }
    const auto& nvrtc = compiler_->open();
    if (!nvrtc) return tl::unexpected(nvrtc.error());
    return service_->run(*nvrtc, request.job);
  }

  static bool go_to(const Standing& wanted) {
    return ::chdir(wanted.path.c_str()) == 0 && standing() == wanted;
  }

  static bool send(MessageKind kind, std::string_view payload) {
    const auto frame = frame_of(kind, payload);
    for (std::string_view rest = frame; !rest.empty();) {
      const auto sent = ::send(helper_socket, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return false;
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  MessageAssembler received_;
  std::optional<WorkerSetup> setup_;
  std::unique_ptr<InstalledCompiler> compiler_;
  std::unique_ptr<ObservedCompiler> service_;
};

// Whether there is a socket where WorkerProcess puts one.
bool has_socket() {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(helper_socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

}  // namespace
}  // namespace kiln

int main() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!kiln::has_socket()) {
    std::fputs("kiln-worker is started by programs that use kiln, not by hand.\n", stderr);
    return kiln::exit_usage;
  }
  kiln::close_all_above(kiln::helper_socket);
  kiln::keep_out_of_the_way();
  kiln::keep_memory();
  // The Worker removes its files at its end: hundreds of megabytes, which the workers remove side by side.
  const int status = kiln::Worker().serve();
  // A compile may have left the compiler in any state: nothing of it is to run at the end.
  ::_exit(status);
}
