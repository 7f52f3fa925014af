#pragma once

// Folders that seem to lie on another filesystem than they do. One file of a program includes this: it defines a function of the C
// library.

#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

namespace kiln::test {

/// The numbers of statfs(2) for a filesystem.
inline constexpr long nfs = 0x6969;

/// What statfs() says of the folders below these.
struct PretendedFileSystem {
  std::string below;
  long number;
};
inline std::vector<PretendedFileSystem> pretended;

}  // namespace kiln::test

// In the place of the C library's, for all that this program and its libraries ask. Large files' may have its name in the source.
extern "C" [[gnu::visibility("default")]] int pretended_statfs(const char* path,
                                                               struct statfs* answer) noexcept
    __asm__("statfs");
int pretended_statfs(const char* path, struct statfs* answer) noexcept {
  const long result = ::syscall(SYS_statfs, path, answer);
  for (const auto& [below, number] : kiln::test::pretended) {
    if (result == 0 && std::string_view(path).starts_with(below)) answer->f_type = number;
  }
  return static_cast<int>(result);
}
