// kiln-remote: talks to one store's server for all of a user's processes that use kiln. The first of them that needs it starts it,
// with the socket that it listens at. It reads no settings; what it needs to know it is told.

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <fstream>

#include "base/spawn.h"
#include "connections.h"

namespace kiln::remote {
namespace {

#ifndef KILN_SANITIZED
constexpr rlim_t most_memory = rlim_t{4} << 30;
#endif
// Address space is bounded, and there may be a thousand threads: what the C library would set aside for each is too much.
constexpr std::size_t stack_of_a_thread = std::size_t{1} << 20;
constexpr int most_arenas = 4;

bool has_socket() {
  int listens = 0;
  socklen_t size = sizeof listens;
  return ::getsockopt(helper_socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
         listens != 0;
}

// The host's other files are none of its business.
void close_all_others() { ::syscall(SYS_close_range, helper_socket + 1, ~0U, 0); }

// No child of whoever started it, so that nobody has to wait for it; and in nobody's session.
void leave_the_host() {
  if (::fork() != 0) ::_exit(0);
  ::setsid();
}

void keep_out_of_the_way() {
  ::signal(SIGPIPE, SIG_IGN);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // A thousand processes may be connected, and files of the store are opened beside them.
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
#ifndef KILN_SANITIZED
  const rlimit memory{most_memory, most_memory};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
  pthread_attr_t of_threads;
  ::pthread_attr_init(&of_threads);
  ::pthread_attr_setstacksize(&of_threads, stack_of_a_thread);
  ::pthread_setattr_default_np(&of_threads);
  ::mallopt(M_ARENA_MAX, most_arenas);
  if (::chdir("/") != 0) return;
  std::ofstream("/proc/self/oom_score_adj") << "500";
}

}  // namespace
}  // namespace kiln::remote

int main() {
  using namespace kiln::remote;
  if (!has_socket()) {
    std::fputs("kiln-remote is started by programs that use kiln, and not by people.\n", stderr);
    return 2;
  }
  leave_the_host();
  close_all_others();
  keep_out_of_the_way();
  Connections(kiln::helper_socket).serve();
  // Its threads may wait for ever, for a filesystem that hangs.
  ::_exit(0);
}
