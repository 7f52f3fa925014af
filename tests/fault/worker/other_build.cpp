// Stands where kiln-worker does, and speaks as one of another build.

#include <sys/socket.h>

#include "base/spawn.h"
#include "compile/worker/worker_protocol.h"

int main() {
  const auto hello = kiln::frame_of(kiln::MessageKind::hello, "kiln 9.9.9 of another build");
  if (::send(kiln::helper_socket, hello.data(), hello.size(), 0) < 0) return 1;
  char byte = 0;
  while (::recv(kiln::helper_socket, &byte, 1, 0) > 0) {
  }
  return 0;
}
