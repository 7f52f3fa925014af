#include <sys/stat.h>

#include <cstdlib>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  // In memory, where there is such a place: thousands of databases are made, and no disk is tested.
  struct stat status;
  if (::stat("/dev/shm", &status) == 0) ::setenv("TEST_TMPDIR", "/dev/shm", 0);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
