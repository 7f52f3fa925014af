// kiln_false_helper: stands in for a kiln-remote that is broken. It says what its argument names to whoever connects.

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int helper_socket = 3;

std::string answer_of(std::string_view kind) {
  if (kind == "garbage") return std::string(1000, '\xa5');
  // Of eight bytes each, first the length: a message that is none, and ones that never come.
  if (kind == "strange") return std::string("\5\0\0\0\0\0\0\0\7\7\7\7\7", 13);
  if (kind == "endless") return std::string("\0\0\0\0\1\0\0\0\1", 9);
  if (kind == "huge") return std::string(8, '\xff');
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (::fork() != 0) ::_exit(0);
  const std::string_view kind = argc > 1 ? argv[1] : "";
  std::vector<int> silent;
  // As long as somebody may come.
  for (pollfd event{helper_socket, POLLIN, 0}; ::poll(&event, 1, 20'000) == 1;) {
    const int socket = ::accept(helper_socket, nullptr, nullptr);
    const auto answer = answer_of(kind);
    if (!answer.empty()) ::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL);
    kind == "hangs-up" ? static_cast<void>(::close(socket)) : silent.push_back(socket);
  }
  return 0;
}
