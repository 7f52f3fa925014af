#pragma once

#include <cstdio>

namespace kiln::bench {

/// Kilobytes of this process that lie in memory, its libraries' pages included (`VmRSS`, proc(5)).
inline long resident_kilobytes() {
  long kilobytes = 0;
  std::FILE* status = std::fopen("/proc/self/status", "re");
  char line[256];
  while (std::fgets(line, sizeof line, status) != nullptr) {
    if (std::sscanf(line, "VmRSS: %ld", &kilobytes) == 1) break;
  }
  std::fclose(status);
  return kilobytes;
}

}  // namespace kiln::bench
