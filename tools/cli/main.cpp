#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>

#include "grammar/grammar.h"
#include "output.h"

namespace kiln::cli {

namespace {

/// No file that is opened later takes the place of a stream that is closed; using that fails as before.
void hold_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) {
      static_cast<void>(::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
}

ExitCode run(int argc, char** argv) {
  const auto line = parse_command_line(argc, argv);
  const auto status = reported(
      line.globals, [&] { return line.action ? line.action(line.globals) : line.without_action; });
  // Before what may end the process: nobody reads on.
  say_kept_warnings();
  return reported(line.globals, [&] {
    flush_standard_output();
    return status;
  });
}

}  // namespace

}  // namespace kiln::cli

int main(int argc, char** argv) {
  kiln::cli::hold_closed_streams();
  // Beyond a limit on the size of files, writing fails like any other.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return static_cast<int>(kiln::cli::run(argc, argv));
  } catch (const std::exception& error) {
    kiln::cli::say_kept_warnings();
    kiln::cli::say("kiln: error: {}\n", error.what());
    return static_cast<int>(kiln::cli::ExitCode::failure);
  }
}
