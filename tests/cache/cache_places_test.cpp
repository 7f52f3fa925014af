// Caches on filesystems whose locks hold on one machine alone, and on systems whose locks are others.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "file/file_lock.h"
#include "file/file_system.h"
#include "kiln/cache.h"
#include "support.h"
#include "support/pretended_file_systems.h"
#include "support/variable.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

using test::make_sample;
using test::nfs;
using test::pretended;
using test::Variable;
using testing::HasSubstr;
using testing::StartsWith;

TEST(FileSystem, TellsWhereLocksMayHoldOnOneMachineAlone) {
  for (const auto& [number, name] :
       {std::pair(0x6969U, "nfs"), std::pair(0xfe534d42U, "smb2"), std::pair(0x0bd00bd0U, "lustre"),
        std::pair(0x47504653U, "gpfs"), std::pair(0x00c36400U, "ceph"),
        std::pair(0x01021997U, "9p"), std::pair(0x5346414fU, "afs")}) {
    const auto found = storage::file_system(number, "");
    EXPECT_EQ(found.name, name);
    EXPECT_TRUE(found.locks_may_be_local) << name;
  }
  for (const auto& [number, name] :
       {std::pair(0xef53U, "ext"), std::pair(0x01021994U, "tmpfs"),
        std::pair(0x794c7630U, "overlay"), std::pair(0x12345678U, "0x12345678")}) {
    const auto found = storage::file_system(number, "");
    EXPECT_EQ(found.name, name);
    EXPECT_FALSE(found.locks_may_be_local) << name;
  }
}

// Where copies are made on write, a page that is written over takes room.
TEST(FileSystem, TellsWhichOverwriteInPlace) {
  for (const auto number : {0xef53U, 0x01021994U})
    EXPECT_TRUE(storage::file_system(number, "").overwrites_in_place) << number;
  for (const auto number : {0x9123683eU, 0x58465342U, 0x794c7630U, 0x6969U, 0x12345678U})
    EXPECT_FALSE(storage::file_system(number, "").overwrites_in_place) << number;
}

TEST(FileSystem, TellsProgramsApartByTheirNames) {
  constexpr std::uint32_t fuse = 0x65735546;
  for (const auto* remote : {"fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "virtiofs", ""})
    EXPECT_TRUE(storage::file_system(fuse, remote).locks_may_be_local) << remote;
  for (const auto* local : {"fuse.fuse-overlayfs", "fuseblk"})
    EXPECT_FALSE(storage::file_system(fuse, local).locks_may_be_local) << local;
  EXPECT_EQ(storage::file_system(fuse, "fuse.sshfs").name, "fuse.sshfs");
}

class CachePlaces : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(run_);
    fs::create_directories(mount_);
    pretended = {{mount_.string(), nfs}, {"/var/tmp", nfs}};
  }
  void TearDown() override { pretended.clear(); }

  Result<Cache> open(const fs::path& directory) {
    return Cache::open(directory, {.on_fault = [this](std::string_view line) { said_ += line; }});
  }

  test::TemporaryFolder folder_;
  const fs::path run_ = folder_.path() / "run";
  const fs::path mount_ = folder_.path() / "mount";
  const Variable session_{"XDG_RUNTIME_DIR", run_.c_str()};
  std::string said_;
};

TEST_F(CachePlaces, NoDatabaseLiesOnANetworksFilesystem) {
  const auto named = mount_ / "kiln";
  {
    auto cache = open(named);
    ASSERT_TRUE(cache) << cache.error().message;
    ASSERT_TRUE(cache->put(make_sample(1).entry()));
    EXPECT_THAT(cache->file().string(), StartsWith((run_ / "kiln").string()));
  }
  EXPECT_TRUE(fs::is_empty(mount_));
  EXPECT_THAT(said_, HasSubstr("cache '" + named.string() +
                               "' lies on nfs, where a lock may hold on one machine alone"));
  EXPECT_THAT(said_, HasSubstr("'" + (run_ / "kiln").string()));
  EXPECT_THAT(said_, HasSubstr("goes through that directory as a store"));

  auto again = open(named);
  EXPECT_TRUE(test::find(*again, make_sample(1))) << "the same name is the same cache";
  fs::create_directory_symlink(mount_, folder_.path() / "link");
  for (const auto& name :
       {folder_.path() / "link/kiln", mount_ / "kiln" / "", mount_ / "x/../kiln"})
    EXPECT_EQ(place_of_cache(name).directory, again->file().parent_path()) << name;
  auto other = open(mount_ / "other");
  EXPECT_FALSE(test::find(*other, make_sample(1))) << "and another is another";
}

TEST_F(CachePlaces, AFolderThatOutlivesTheSessionGoesFirst) {
  if (::access("/var/tmp", W_OK | X_OK) != 0) GTEST_SKIP() << "/var/tmp cannot be written here";
  pretended = {{mount_.string(), nfs}};
  const auto place = place_of_cache(mount_ / "kiln");
  EXPECT_EQ(place.file_system, "nfs");
  EXPECT_THAT(place.directory.string(),
              StartsWith("/var/tmp/kiln-" + std::to_string(::geteuid()) + "/"));
  EXPECT_FALSE(fs::exists(place.directory)) << "who only asks makes nothing";
}

TEST_F(CachePlaces, WithoutAPlaceOfTheMachinesOwnThereIsNoCache) {
  const Variable none("XDG_RUNTIME_DIR", nullptr);
  const auto refused = open(mount_ / "kiln");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::cache_unusable);
  EXPECT_THAT(refused.error().message, HasSubstr("lies on nfs"));
  EXPECT_THAT(refused.error().message, HasSubstr("name a directory on a disk of this machine"));
  EXPECT_TRUE(fs::is_empty(mount_));
}

TEST_F(CachePlaces, WhatOthersMakeThereIsNotTakenWhoeverIsTrusted) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to act as other users";
  const auto place = place_of_cache(mount_ / "kiln").directory;
  fs::create_directory(place.parent_path());
  fs::permissions(place.parent_path(), fs::perms(0700));
  ASSERT_TRUE(Cache::open(place).value().put(make_sample(1).entry()));
  for (const auto& made : {place.parent_path(), place, place / "kernels.v1.db"})
    ASSERT_EQ(::chown(made.c_str(), test::nobody, test::nobody), 0);
  for (const CacheTrust& trust :
       {CacheTrust{.any_owner = true}, CacheTrust{.others = true, .owners = {test::nobody}}}) {
    const auto refused = Cache::open(mount_ / "kiln", {.trust = trust});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("belongs to user 65534"));
  }
}

TEST_F(CachePlaces, WhatLiesOnTheNetworkAlreadyCanBeBroughtOver) {
  pretended.clear();
  ASSERT_TRUE(Cache::open(mount_ / "kiln").value().put(make_sample(1).entry()));
  pretended = {{mount_.string(), nfs}, {"/var/tmp", nfs}};
  const auto absent = Cache::open(mount_ / "kiln", {.access = CacheOptions::Access::read_only});
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("lies on nfs"));
  EXPECT_THAT(absent.error().message,
              HasSubstr("kiln import '" + (mount_ / "kiln/kernels.v1.db").string() + "'"));
  auto cache = open(mount_ / "kiln");
  auto source = Cache::open_bundle(mount_ / "kiln/kernels.v1.db");
  ASSERT_TRUE(source) << source.error().message;
  ASSERT_TRUE(cache->import(*source));
  EXPECT_TRUE(test::find(*cache, make_sample(1)));
}

TEST_F(CachePlaces, ABundleIsReadWhereItLies) {
  const auto bundle = mount_ / "b.kiln";
  {
    auto cache = open(folder_.path() / "local");
    ASSERT_TRUE(cache->put(make_sample(1).entry()));
    ASSERT_TRUE(cache->export_bundle(bundle));
  }
  auto opened = Cache::open_bundle(bundle);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(test::find(*opened, make_sample(1)));
  EXPECT_EQ(said_, "");
}

// From here on, this system call fails so for this process, if its second argument lies in the range.
bool refuse(long call, unsigned first, unsigned last, int error) {
  const auto second = static_cast<std::uint32_t>(offsetof(seccomp_data, args[1]));
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, second),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 2),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool can_refuse() {
  const auto results =
      test::run_processes(1, [](int) { return refuse(SYS_flock, 0, 255, ENOLCK) ? 0 : 1; });
  return results == std::vector<int>(1, 0);
}

// Puts and looks up in several processes at once. 0 where all is well.
int share_without_locks_of_open_files(const fs::path& directory) {
  const auto results = test::run_processes(4, [&](int number) {
    if (!refuse(SYS_fcntl, F_OFD_GETLK, F_OFD_SETLKW, EINVAL)) return 9;
    auto cache = Cache::open(directory);
    if (!cache) return 1;
    auto sample = make_sample(number);
    sample.artifact.compile_us = 60'000'000;  // Worth waiting for.
    if (!cache->put(sample.entry())) return 2;
    const auto turn = cache->take_turn(digest_of("a turn"), std::chrono::seconds(60));
    if (turn.exclusive() || turn.waited()) return 3;
    return test::find(*cache, make_sample(number)) ? 0 : 4;
  });
  return *std::ranges::max_element(results);
}

// As on gVisor. In a process of its own, which has not asked yet which locks there are.
TEST_F(CachePlaces, PlainLocksStandInWhereThoseOfOpenFilesAreUnknown) {
  if (!can_refuse()) GTEST_SKIP() << "no system call can be refused here";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(::_exit(share_without_locks_of_open_files(folder_.path() / "local")),
              testing::ExitedWithCode(0), "");
}

TEST_F(CachePlaces, AFilesystemWithoutLocksIsSaidToHaveNone) {
  if (!can_refuse()) GTEST_SKIP() << "no system call can be refused here";
  const auto results = test::run_processes(1, [&](int) {
    if (!refuse(SYS_flock, 0, 255, ENOLCK)) return 9;
    const auto lock = storage::FileLock::acquire(folder_.path() / "lock", std::chrono::seconds(1));
    if (lock) return 1;
    const auto& message = lock.error().message;
    if (message.find("cannot be locked: No locks available") == message.npos) return 2;
    return message.find("another writer") == message.npos ? 0 : 3;
  });
  EXPECT_EQ(results, std::vector<int>(1, 0));
}

}  // namespace
}  // namespace kiln
