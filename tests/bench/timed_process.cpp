#include "timed_process.h"

#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "timing.h"

extern char** environ;

namespace kiln::bench {

double time_process(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const auto begin = Clock::now();
  pid_t process = 0;
  int status = 0;
  if (posix_spawn(&process, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0 ||
      waitpid(process, &status, 0) != process || status != 0) {
    std::fprintf(stderr, "%s failed\n", arguments[0]);
    std::exit(1);
  }
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace kiln::bench
