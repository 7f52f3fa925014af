#include "base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include <array>
#include <string>

namespace kiln {

namespace {

class Spawn {
 public:
  explicit Spawn(const HelperProgram& program) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, program.output, 1);
    ::posix_spawn_file_actions_adddup2(&actions_, program.output, 2);
    // Where it has that number already, this keeps it open.
    ::posix_spawn_file_actions_adddup2(&actions_, program.socket, helper_socket);
    ::posix_spawnattr_init(&attributes_);
    sigset_t all;
    ::sigfillset(&all);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;
  ~Spawn() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  // The system's error number, or 0.
  int run(const std::filesystem::path& executable, char* const* environment, pid_t& process) const {
    auto name = executable.filename().string();
    std::array<char*, 2> arguments{name.data(), nullptr};
    return ::posix_spawn(&process, executable.c_str(), &actions_, &attributes_, arguments.data(),
                         environment);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

tl::expected<pid_t, int> spawn_helper(const HelperProgram& program, char* const* environment) {
  pid_t process = -1;
  const Spawn spawn(program);
  if (const int error = spawn.run(program.executable, environment, process); error != 0)
    return tl::unexpected(error);
  return process;
}

}  // namespace kiln
