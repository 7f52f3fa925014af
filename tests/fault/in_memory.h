#pragma once

#include <sys/stat.h>

#include <cstdlib>

namespace kiln::test {

/// Puts temporary folders in memory, where there is such a place: thousands of databases are made, and
/// no disk is tested.
inline void work_in_memory() {
  struct stat status;
  if (::stat("/dev/shm", &status) == 0) ::setenv("TEST_TMPDIR", "/dev/shm", 0);
}

}  // namespace kiln::test
