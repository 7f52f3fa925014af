// F3: the disk is full, and has room again.

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "processes.h"

namespace kiln {
namespace {

using test::Look;
using test::make_sample;

/// Makes writing fail, and work again.
class Shortage {
 public:
  virtual ~Shortage() = default;
  virtual void begin() = 0;
  virtual void end() = 0;
};

class FullDisk : public Shortage {
 public:
  explicit FullDisk(const std::filesystem::path& directory) : filler_(directory / "filler") {}
  void begin() override {
    const int file = ::open(filler_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const std::string page(4096, 'f');
    while (::write(file, page.data(), page.size()) > 0) {
    }
    ::close(file);
  }
  void end() override { std::filesystem::remove(filler_); }

 private:
  std::filesystem::path filler_;
};

/// The system ends a process that writes beyond this, unless the signal is held back.
class SizeLimit : public Shortage {
 public:
  void begin() override { set(4096); }
  void end() override { set(RLIM_INFINITY); }

 private:
  static void set(rlim_t bytes) {
    const rlimit limit{bytes, RLIM_INFINITY};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
};

void live_through(Shortage& shortage, const std::filesystem::path& directory, Counter counted_as) {
  int told = 0;
  Cache cache = Cache::open(directory, {.on_fault = [&](std::string_view) { ++told; }}).value();
  for (int number = 0; number < 5; ++number) {
    ASSERT_TRUE(cache.put(make_sample(number, 20'000).entry()));
  }
  for (int round = 0; round < 3; ++round) {
    shortage.begin();
    for (int number = 10; number < 20; ++number) {
      EXPECT_FALSE(cache.put(make_sample(number, 200'000).entry()));
      EXPECT_EQ(look(cache, make_sample(number, 200'000)), Look::miss);
      EXPECT_EQ(look(cache, make_sample(number % 5, 20'000)), Look::hit);
    }
    // Who comes now reads as well.
    auto other = Cache::open(directory);
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(look(*other, make_sample(1, 20'000)), Look::hit);
    EXPECT_TRUE(cache.take_turn(digest_of("x"), std::chrono::milliseconds(100)).exclusive());
    shortage.end();
    EXPECT_TRUE(serves(cache, make_sample(100 + round, 200'000)));
  }
  EXPECT_EQ(told, 1);
  EXPECT_EQ(cache.counters()[counted_as], 30u);
  EXPECT_EQ(cache.counters().errors(), 30u);
  EXPECT_EQ(cache.counters()[Counter::generations], 0u);
  EXPECT_EQ(test::integrity(cache.file()), "ok");
}

TEST(F3, AFullDiskThatHasRoomAgain) {
  const test::TemporaryFolder folder;
  EXPECT_TRUE(test::holds_in_child([&] {
    if (!test::own_mounts() ||
        ::mount("none", folder.path().c_str(), "tmpfs", 0, "size=2m,mode=700") != 0) {
      std::cout
          << "*** NO RIGHT TO MOUNT: a limit on the size of files in place of a full disk ***\n";
      SizeLimit limit;
      live_through(limit, folder.path(), Counter::errors_io);
      return;
    }
    FullDisk disk(folder.path());
    live_through(disk, folder.path(), Counter::errors_full);
  }));
}

/// Does the work in a child, with a tmpfs of this limit.
void on_tmpfs(const std::string& limit,
              const std::function<void(const std::filesystem::path& folder)>& work) {
  const test::TemporaryFolder folder;
  EXPECT_TRUE(test::holds_in_child([&] {
    ASSERT_TRUE(test::own_mounts());
    ASSERT_EQ(::mount("none", folder.path().c_str(), "tmpfs", 0, (limit + ",mode=700").c_str()), 0);
    work(folder.path());
  }));
}

// Room is what they are asked for, there above all.
TEST(F3, GcAndClearMakeRoomOnAFullDisk) {
  if (!test::may_mount()) GTEST_SKIP() << "no right to mount";
  on_tmpfs("size=2m", [](const std::filesystem::path& folder) {
    int told = 0;
    Cache cache = Cache::open(folder, {.on_fault = [&](std::string_view) { ++told; }}).value();
    for (int number = 0; number < 40; ++number)
      ASSERT_TRUE(cache.put(make_sample(number, 20'000).entry()));
    FullDisk disk(folder);
    for (const std::uint64_t most : {500'000, 100'000}) {
      disk.begin();
      ASSERT_FALSE(cache.put(make_sample(99, 20'000).entry()));
      const auto collected = cache.collect({.max_bytes = most});
      ASSERT_TRUE(collected) << collected.error().message;
      EXPECT_GT(collected->entries, 0U);
      EXPECT_LE(cache.statistics().value().file_bytes, most);
      EXPECT_TRUE(serves(cache, make_sample(99, 20'000))) << "there is room again";
    }
    for (int number = 200; number < 280; ++number)
      ASSERT_TRUE(cache.put(make_sample(number, 200).entry()));
    std::vector<Digest> keys;
    const auto entries = cache.list().value();
    for (const auto& entry : entries) keys.push_back(entry.key);
    disk.begin();
    EXPECT_FALSE(cache.pin(keys.front(), true)) << "of all else the journal is on the disk";
    const auto all_but_one = std::span(keys).subspan(1);
    EXPECT_EQ(cache.remove(all_but_one).value().entries, all_but_one.size());
    disk.begin();
    ASSERT_TRUE(cache.clear());
    EXPECT_EQ(cache.list().value().size(), 0U);
    EXPECT_EQ(told, 1);
    EXPECT_EQ(cache.counters()[Counter::errors_full], 3U) << "two puts and a pin";
    EXPECT_EQ(cache.counters()[Counter::generations], 0U);
    EXPECT_EQ(test::integrity(cache.file()), "ok");
  });
}

// Then a journal cannot be made, however many bytes there are.
TEST(F3, GcMakesRoomWhereNoFileCanBeMade) {
  if (!test::may_mount()) GTEST_SKIP() << "no right to mount";
  on_tmpfs("nr_inodes=16", [](const std::filesystem::path& folder) {
    Cache cache = Cache::open(folder).value();
    for (int number = 0; number < 10; ++number)
      ASSERT_TRUE(cache.put(make_sample(number, 20'000).entry()));
    for (int number = 0; std::ofstream(folder / std::to_string(number)); ++number) {
    }
    const auto put = cache.put(make_sample(99, 20'000).entry());
    ASSERT_FALSE(put);
    EXPECT_NE(put.error().message.find("is full"), std::string::npos) << put.error().message;
    const auto collected = cache.collect({.max_bytes = 100'000});
    ASSERT_TRUE(collected) << collected.error().message;
    EXPECT_GT(collected->entries, 0U);
    EXPECT_EQ(test::integrity(cache.file()), "ok");
  });
}

TEST(F3, ALimitOnTheSizeOfFiles) {
  const test::TemporaryFolder folder;
  EXPECT_TRUE(test::holds_in_child([&] {
    SizeLimit limit;
    live_through(limit, folder.path(), Counter::errors_io);
  }));
}

}  // namespace
}  // namespace kiln
