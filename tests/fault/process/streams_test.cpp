// A host that has closed its standard streams, and goes on using their numbers.

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "processes.h"

namespace kiln {
namespace {

using test::Look;
using test::make_sample;

void close_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
}

/// Whether one of the standard streams leads into the folder.
bool leads_into(const std::filesystem::path& folder) {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    std::error_code not_open;
    const auto file =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(stream), not_open);
    if (file.string().starts_with(folder.string())) return true;
  }
  return false;
}

TEST(ClosedStreams, AreNeverTheCaches) {
  const test::TemporaryFolder folder;
  test::Child child([&] {
    close_streams();
    Cache cache = Cache::open(folder.path()).value();
    if (leads_into(folder.path())) return 1;
    const Turn turn = cache.take_turn(digest_of("x"), std::chrono::milliseconds(100));
    if (!turn.exclusive() || leads_into(folder.path())) return 2;
    if (!cache.put(make_sample(1).entry()) || look(cache, make_sample(1)) != Look::hit) return 3;
    return leads_into(folder.path()) ? 4 : 0;
  });
  EXPECT_EQ(child.result(), 0);
}

TEST(ClosedStreams, WhatTheHostPrintsDoesNotReachTheDatabase) {
  const test::TemporaryFolder folder;
  test::expect_in_order(folder.path());
  test::Child child([&] {
    close_streams();
    Cache cache = Cache::open(folder.path()).value();
    if (!cache.put(make_sample(1).entry())) return 1;
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      [[maybe_unused]] const auto written = ::write(stream, "a line of the host's\n", 21);
    }
    Cache other = Cache::open(folder.path()).value();
    return look(cache, make_sample(1)) == Look::hit && look(other, make_sample(1)) == Look::hit ? 0
                                                                                                : 2;
  });
  EXPECT_EQ(child.result(), 0);
  test::expect_in_order(folder.path());
}

}  // namespace
}  // namespace kiln
