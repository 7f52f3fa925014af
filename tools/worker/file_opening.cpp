// The name under which every library of this process, NVRTC too, opens a header: the program's own goes before
// the C library's.

#include <dlfcn.h>

#include <cstdio>
#include <string_view>

#include "opened_files.h"

extern "C" std::FILE* fopen(const char* path, const char* mode) {
  static const auto open = reinterpret_cast<decltype(&std::fopen)>(::dlsym(RTLD_NEXT, "fopen"));
  std::FILE* const file = open(path, mode);
  if (file != nullptr && std::string_view(mode) == "r") kiln::opened_files().note(path);
  return file;
}
