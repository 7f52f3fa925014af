// F14: places where nothing may be written. F16: files that are not what they should be.

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "kiln/cache.h"
#include "processes.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::Look;
using test::make_sample;

class F14 : public ::testing::Test {
 protected:
  F14() { EXPECT_TRUE(Cache::open(directory_).value().put(make_sample(1, 50'000).entry())); }

  /// Lets nobody write here until the process ends: by a mount, else by the directory's mode.
  void make_read_only() const {
    const char* path = directory_.c_str();
    if (test::own_mounts() && ::mount(path, path, nullptr, MS_BIND, nullptr) == 0 &&
        ::mount(nullptr, path, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0) {
      return;
    }
    std::cout
        << "*** NO RIGHT TO MOUNT: a directory of mode 500 in place of a read-only mount ***\n";
    test::obey_modes();
    EXPECT_EQ(::chmod(path, 0500), 0);
    for (const auto& item : fs::directory_iterator(directory_)) {
      EXPECT_EQ(::chmod(item.path().c_str(), 0400), 0);
    }
  }

  static void expect_hits_and_no_puts(Cache& cache) {
    EXPECT_EQ(look(cache, make_sample(1, 50'000)), Look::hit);
    const auto put = cache.put(make_sample(2).entry());
    ASSERT_FALSE(put);
    EXPECT_EQ(put.error().code, ErrorCode::cache_unusable) << put.error().message;
    EXPECT_EQ(look(cache, make_sample(2)), Look::miss);
    EXPECT_FALSE(cache.pin(Digest(), true));
    EXPECT_EQ(look(cache, make_sample(1, 50'000)), Look::hit);
  }

  /// Leaves a journal that has to be rolled back: a transaction whose process died in it.
  void leave_hot_journal() const {
    test::Child dying([&] {
      sqlite3* database = nullptr;
      sqlite3_open((directory_ / "kernels.v1.db").c_str(), &database);
      sqlite3_exec(database,
                   "PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN; "
                   "UPDATE entries SET payload = zeroblob(100000); DELETE FROM texts",
                   nullptr, nullptr, nullptr);
      return ::raise(SIGKILL);
    });
    EXPECT_EQ(dying.result(), -SIGKILL);
    EXPECT_TRUE(fs::exists(directory_ / "kernels.v1.db-journal"));
  }

  test::TemporaryFolder folder_;
  const fs::path directory_ = folder_.path() / "kiln";
};

TEST_F(F14, AReadOnlyMountServesHits) {
  EXPECT_TRUE(test::holds_in_child([&] {
    make_read_only();
    const auto before = test::snapshot(directory_);
    for (const auto access : {Cache::Access::read_write, Cache::Access::read_only}) {
      auto cache = Cache::open(directory_, {.access = access});
      ASSERT_TRUE(cache) << cache.error().message;
      expect_hits_and_no_puts(*cache);
      EXPECT_EQ(cache->counters().errors() > 0, access == Cache::Access::read_write);
    }
    EXPECT_TRUE(test::snapshot(directory_) == before);
  }));
}

TEST_F(F14, ACacheThatBecomesReadOnlyWhileItIsOpen) {
  EXPECT_TRUE(test::holds_in_child([&] {
    Cache cache = Cache::open(directory_).value();
    make_read_only();
    EXPECT_EQ(look(cache, make_sample(1, 50'000)), Look::hit);
    EXPECT_FALSE(cache.put(make_sample(2).entry()));
    EXPECT_EQ(look(cache, make_sample(1, 50'000)), Look::hit);
    EXPECT_EQ(cache.counters()[Counter::errors_denied], 1u);
  }));
}

TEST_F(F14, FilesThatMayOnlyBeRead) {
  if (::geteuid() != 0) {
    for (const auto& item : fs::directory_iterator(directory_)) ::chmod(item.path().c_str(), 0400);
    Cache cache = Cache::open(directory_).value();
    return expect_hits_and_no_puts(cache);
  }
  ASSERT_EQ(::chown(folder_.path().c_str(), test::nobody, test::nobody), 0);
  ASSERT_EQ(::chown(directory_.c_str(), test::nobody, test::nobody), 0);
  for (const auto& item : fs::directory_iterator(directory_)) {
    ASSERT_EQ(::chown(item.path().c_str(), test::nobody, test::nobody), 0);
    ASSERT_EQ(::chmod(item.path().c_str(), 0400), 0);
  }
  for (const mode_t mode : {0700, 0500}) {
    ASSERT_EQ(::chmod(directory_.c_str(), mode), 0);
    EXPECT_TRUE(test::holds_in_child([&] {
      ASSERT_EQ(::setuid(test::nobody), 0);
      auto cache = Cache::open(directory_);
      ASSERT_TRUE(cache) << cache.error().message;
      expect_hits_and_no_puts(*cache);
    })) << mode;
  }
}

TEST_F(F14, AHotJournalInAReadOnlyPlace) {
  leave_hot_journal();
  EXPECT_TRUE(test::holds_in_child([&] {
    make_read_only();
    for (const auto access : {Cache::Access::read_write, Cache::Access::read_only}) {
      const test::Stopwatch watch;
      auto cache = Cache::open(directory_, {.access = access});
      // Served rightly, missed or refused: the file by itself is half of a transaction.
      if (cache) {
        EXPECT_NE(look(*cache, make_sample(1, 50'000)), Look::wrong);
      } else {
        EXPECT_EQ(cache.error().code, ErrorCode::cache_unusable) << cache.error().message;
      }
      EXPECT_LT(watch.passed(), 7s);
    }
  }));
  Cache cache = Cache::open(directory_).value();
  EXPECT_EQ(look(cache, make_sample(1, 50'000)), Look::hit);
  EXPECT_EQ(cache.file().filename(), "kernels.v1.db");
}

TEST_F(F14, AFullHomeServesHits) {
  if (!test::may_mount()) GTEST_SKIP() << "no right to mount a full home; F3 has one by a limit";
  EXPECT_TRUE(test::holds_in_child([&] {
    const auto home = folder_.path() / "home";
    fs::create_directory(home);
    ASSERT_TRUE(test::own_mounts());
    ASSERT_EQ(::mount("none", home.c_str(), "tmpfs", 0, "size=512k,mode=700"), 0);
    fs::create_directory(home / "kiln");
    fs::permissions(home / "kiln", fs::perms::owner_all);
    fs::copy_file(directory_ / "kernels.v1.db", home / "kiln" / "kernels.v1.db");
    const int filler = ::open((home / "filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (::write(filler, "a page would do", 15) > 0) {
    }
    Cache cache = Cache::open(home / "kiln").value();
    EXPECT_EQ(look(cache, make_sample(1, 50'000)), Look::hit);
    const auto put = cache.put(make_sample(2, 50'000).entry());
    ASSERT_FALSE(put);
    EXPECT_EQ(cache.counters()[Counter::errors_full], 1u) << put.error().message;
    EXPECT_EQ(look(cache, make_sample(1, 50'000)), Look::hit);
  }));
}

class F16 : public ::testing::Test {
 protected:
  F16() {
    fs::create_directory(directory_);
    fs::permissions(directory_, fs::perms::owner_all);
    test::write_file(victim_, precious_);
    test::write_file(empty_victim_, "");
  }

  /// Everything that touches a file; what comes of it is no matter, but it ends.
  void use() const {
    const test::Stopwatch watch;
    auto cache = Cache::open(directory_);
    if (cache) {
      static_cast<void>(cache->put(make_sample(1, 50'000).entry()));
      EXPECT_NE(look(*cache, make_sample(1, 50'000)), Look::wrong);
      Turn turn = cache->take_turn(digest_of("x"), 20ms);
      turn.fail({ErrorCode::compile_failed, "no", "", 0});
      static_cast<void>(cache->collect({.max_bytes = 0}));
    }
    EXPECT_LT(watch.passed(), 12s);
  }

  void expect_untouched() const {
    EXPECT_TRUE(test::read_file(victim_) == precious_) << "somebody else's file was written into";
    EXPECT_EQ(test::read_file(empty_victim_), "");
  }

  /// What may be found in the place of a file.
  void place(const fs::path& at, int kind) const {
    std::error_code ignored;
    switch (kind) {
      case 0:
        return fs::create_symlink(victim_, at, ignored);
      case 1:
        return fs::create_hard_link(victim_, at, ignored);
      case fifo:
        ::mkfifo(at.c_str(), 0600);
        return;
      case 3:
        fs::create_directory(at, ignored);
        return;
      case 4:
        return fs::create_symlink(empty_victim_, at, ignored);
      case 5:
        return fs::create_hard_link(empty_victim_, at, ignored);
      case 6:
        return fs::create_symlink(folder_.path() / "nowhere", at, ignored);
      case 7: {
        const int file = ::open(at.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ::fchmod(file, 0666);
        ::close(file);
        return;
      }
      default: {
        const int file = ::open(at.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (::fchown(file, test::nobody, test::nobody) != 0) ::fchmod(file, 0666);
        ::close(file);
      }
    }
  }
  static constexpr int fifo = 2;
  static constexpr int kinds = 9;

  const std::vector<std::string> names_{"kernels.v1.db", "kernels.v1.db-journal", "kernels.v1.lock",
                                        "kernels.v1.flights"};
  test::TemporaryFolder folder_;
  const fs::path directory_ = folder_.path() / "kiln";
  const fs::path victim_ = folder_.path() / "victim";
  const fs::path empty_victim_ = folder_.path() / "empty_victim";
  const std::string precious_ = std::string(50'000, 'p') + "recious";
};

TEST_F(F16, NothingElseIsTakenForAFile) {
  for (const std::string& name : names_) {
    for (int kind = 0; kind < kinds; ++kind) {
      const auto at = directory_ / name;
      for (const bool beforehand : {true, false}) {
        fs::remove_all(directory_);
        fs::create_directory(directory_);
        fs::permissions(directory_, fs::perms::owner_all);
        if (!beforehand) use();
        fs::remove(at);
        place(at, kind);
        use();
        expect_untouched();
        EXPECT_FALSE(fs::exists(folder_.path() / "nowhere"));
        fs::remove_all(at);
        test::expect_in_order(directory_);
        ASSERT_FALSE(HasFailure()) << name << ", kind " << kind << ", beforehand " << beforehand;
      }
    }
  }
}

TEST_F(F16, FilesAreSwappedAllTheWhile) {
  const auto time = std::chrono::seconds(test::sized(6, 60));
  const test::Child swapper([&] {
    for (unsigned n = 0;; ++n) {
      const auto at = directory_ / names_[n / 7 % names_.size()];
      const auto beside = folder_.path() / "beside";
      std::error_code ignored;
      if (n % 7 == 6) {
        fs::remove_all(at, ignored);  // So that now and then all is well.
      } else if (n % kinds != fifo) {
        // SQLite tries once more to read only what it may not create, and to open a FIFO so waits. Only one
        // that comes within microseconds gets there; the test above has those that lie there.
        place(beside, static_cast<int>(n % kinds));
        fs::rename(beside, at, ignored);
        fs::remove_all(beside, ignored);
      }
      test::nap(std::chrono::microseconds(n % 400));
    }
    return 0;
  });
  for (const test::Stopwatch watch; watch.passed() < time && !HasFailure();) use();
  expect_untouched();
}

}  // namespace
}  // namespace kiln
