#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace kiln::test {

/// Runs `work` in a forked process and gives its exit status, or -1 if a signal ended it. To be called
/// before this process has opened what the child shall open for itself.
inline int run_in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace kiln::test
