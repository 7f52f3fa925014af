// The name under which every library of this process, NVRTC too, opens a header: the program's own goes before
// the C library's.

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdio>
#include <string_view>

#include "opened_files.h"

namespace {

// A folder is opened as well, and found to be none to read from.
bool is_folder(std::FILE* file) {
  struct stat status;
  return ::fstat(::fileno(file), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

extern "C" std::FILE* fopen(const char* path, const char* mode) {
  static const auto open = reinterpret_cast<decltype(&std::fopen)>(::dlsym(RTLD_NEXT, "fopen"));
  std::FILE* const file = open(path, mode);
  if (file != nullptr && std::string_view(mode) == "r" && !is_folder(file)) {
    kiln::opened_files().note(path);
  }
  return file;
}
