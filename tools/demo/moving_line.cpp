#include "moving_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "system/environment.h"

namespace demo {

namespace {

std::size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

bool moves(int descriptor) {
  const char* terminal = kiln::system::variable("TERM");
  return isatty(descriptor) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

MovingLine::MovingLine() : moves_(moves(STDERR_FILENO)) {}

MovingLine::~MovingLine() {
  if (moves_ && shown_) std::fputs("\r\x1b[K", stderr);
}

void MovingLine::show(const std::string& text) {
  if (moves_) {
    // A line that wraps could not be written over.
    std::fprintf(stderr, "\r%s\x1b[K", text.substr(0, columns() - 1).c_str());
  } else if (!shown_) {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
  shown_ = true;
}

}  // namespace demo
