// F15: a filesystem whose locks or reads fail, as on a network. F18: a clock that is years off.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "processes.h"

namespace kiln {
namespace {

/// Runs the worker with preload.cpp before it.
int work(const char* what, const std::filesystem::path& directory, const char* fault,
         const char* seconds = "0") {
  test::Child worker([&] {
    ::setenv("LD_PRELOAD", KILN_FAULT_PRELOAD, 1);
    ::setenv("KILN_FAULT", fault, 1);
    ::setenv("KILN_FAULT_SECONDS", seconds, 1);
    return ::execl(KILN_FAULT_WORKER, "worker", what, directory.c_str(), nullptr);
  });
  return worker.result().value_or(-1000);
}

TEST(F15, LocksThatDoNotWork) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(work("fault", folder.path(), "nolocks"), 0);
  test::expect_in_order(folder.path());
}

TEST(F15, ReadsOfAStaleFile) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(work("fault", folder.path(), "stale"), 0);
  test::expect_in_order(folder.path());
}

TEST(F18, TenYearsLate) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(work("clock", folder.path(), "clock", "315360000"), 0);
  test::expect_in_order(folder.path());
}

TEST(F18, TenYearsEarly) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(work("clock", folder.path(), "clock", "-315360000"), 0);
  test::expect_in_order(folder.path());
}

TEST(F18, FilesOf1970) {
  const test::TemporaryFolder folder;
  Cache cache = Cache::open(folder.path()).value();
  ASSERT_TRUE(serves(cache, test::make_sample(1)));
  for (const auto& item : std::filesystem::directory_iterator(folder.path())) {
    const timespec times[2] = {};
    ASSERT_EQ(::utimensat(AT_FDCWD, item.path().c_str(), times, 0), 0);
  }
  EXPECT_EQ(look(cache, test::make_sample(1)), test::Look::hit);
  test::expect_in_order(folder.path());
  EXPECT_EQ(cache.statistics().value().entries, 2u);
}

}  // namespace
}  // namespace kiln
