#include "exchange/store_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support.h"

namespace {

std::atomic<bool> renaming_always_replaces = false;
std::atomic<bool> others_are_not_replaced = false;  ///< Nor told apart: as in a sticky folder.
std::atomic<ino_t> of_another_group = 0;            ///< The folder of this number.
std::atomic<bool> groups_are_refused = false;
std::atomic<bool> modes_are_refused = false;
std::atomic<bool> opening_finds_nothing = false;

/// Names that were not there when they were looked at, for as long as nobody opens a folder by ".".
class Absences {
 public:
  void remember(std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (remembers_) names_.emplace(name);
  }
  bool know(std::string_view name) {
    const std::lock_guard lock(mutex_);
    return names_.contains(name);
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    names_.clear();
  }
  void turn(bool on) {
    forget();
    const std::lock_guard lock(mutex_);
    remembers_ = on;
  }

 private:
  std::mutex mutex_;
  bool remembers_ = false;
  std::set<std::string, std::less<>> names_;
};

Absences absences;

/// As a client of NFS answers, which asks its server about a folder that is opened and of names believes what it knew.
template <class Ask>
int answer(const char* name, const Ask& ask) {
  const std::string_view asked = name;
  if (asked == ".") absences.forget();
  if (absences.know(asked)) {
    errno = ENOENT;
    return -1;
  }
  const int answered = ask();
  if (answered < 0 && errno == ENOENT) absences.remember(asked);
  return answered;
}

}  // namespace

// In the place of the C library's: NFS knows no flags of it.
extern "C" int renameat2(int old_folder, const char* old_name, int new_folder, const char* new_name,
                         unsigned flags) noexcept {
  if (flags != 0 && renaming_always_replaces) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<int>(
      ::syscall(SYS_renameat2, old_folder, old_name, new_folder, new_name, flags));
}

extern "C" int renameat(int old_folder, const char* old_name, int new_folder,
                        const char* new_name) noexcept {
  if (others_are_not_replaced && ::faccessat(new_folder, new_name, F_OK, 0) == 0) {
    errno = EPERM;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_renameat, old_folder, old_name, new_folder, new_name));
}

extern "C" int fstat(int file, struct stat* status) noexcept {
  const auto done = static_cast<int>(::syscall(SYS_fstat, file, status));
  if (done == 0 && status->st_ino == of_another_group) ++status->st_gid;
  // As on a mount that gives every folder one owner and one mode.
  if (done == 0 && modes_are_refused && S_ISDIR(status->st_mode)) {
    status->st_uid = 65534;
    status->st_mode = S_IFDIR | 0755;
  }
  return done;
}

extern "C" int fchown(int file, uid_t user, gid_t group) noexcept {
  if (groups_are_refused) {
    errno = EPERM;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fchown, file, user, group));
}

extern "C" int fchmod(int file, mode_t mode) noexcept {
  if (modes_are_refused) {
    errno = EPERM;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fchmod, file, mode));
}

extern "C" int openat(int folder, const char* name, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (opening_finds_nothing && (flags & (O_CREAT | O_DIRECTORY)) == 0) {
    errno = ENOENT;
    return -1;
  }
  return answer(name,
                [&] { return static_cast<int>(::syscall(SYS_openat, folder, name, flags, mode)); });
}

extern "C" int fstatat(int folder, const char* name, struct stat* status, int flags) noexcept {
  return answer(name, [&] {
    return static_cast<int>(::syscall(SYS_newfstatat, folder, name, status, flags));
  });
}

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

constexpr int names = 40;
constexpr int makers = 4;

/// What renaming does to what is there.
enum class Renaming { spares, replaces, refuses };

class StoreFolders : public testing::TestWithParam<Renaming> {
 protected:
  StoreFolders() {
    renaming_always_replaces = GetParam() != Renaming::spares;
    others_are_not_replaced = GetParam() == Renaming::refuses;
  }
  ~StoreFolders() override {
    renaming_always_replaces = false;
    others_are_not_replaced = false;
  }

  /// Several make the same folders at one time, and each puts something of its own into the one that it got.
  void make_together() const {
    std::vector<std::jthread> threads;
    for (int maker = 0; maker < makers; ++maker) {
      threads.emplace_back([this, maker] {
        const auto parent = StoreFolder::open(scratch_.path()).value().value();
        for (int number = 0; number < names; ++number) {
          const auto made = parent.make_folder(std::to_string(number));
          ASSERT_TRUE(made) << made.error().message;
          ASSERT_TRUE(made->write(std::to_string(maker), "x", {.of_anybody = true}));
        }
      });
    }
  }

  const kiln::test::TemporaryFolder scratch_;
};

INSTANTIATE_TEST_SUITE_P(, StoreFolders,
                         testing::Values(Renaming::spares, Renaming::replaces, Renaming::refuses),
                         [](const auto& info) {
                           return info.param == Renaming::spares     ? "WhereRenamingMaySpare"
                                  : info.param == Renaming::replaces ? "WhereRenamingReplaces"
                                                                     : "WhereRenamingIsRefused";
                         });

TEST_P(StoreFolders, AreMadeOnceByAllWhoMakeThem) {
  make_together();
  for (int number = 0; number < names; ++number) {
    for (int maker = 0; maker < makers; ++maker)
      EXPECT_TRUE(fs::exists(scratch_.path() / std::to_string(number) / std::to_string(maker)))
          << "it was put into a folder that another one replaced";
  }
}

// As in an export that everybody may write.
TEST_P(StoreFolders, HaveTheRightsOfTheirParentWhateverTheUmask) {
  ASSERT_EQ(::chmod(scratch_.path().c_str(), 01777), 0);
  const auto before = ::umask(077);
  make_together();
  ::umask(before);
  for (int number = 0; number < names; ++number) {
    struct stat status = {};
    ASSERT_EQ(::stat((scratch_.path() / std::to_string(number)).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 01777U);
  }
}

// Else a store only grows.
TEST_P(StoreFolders, GoWhenTheyAreOldAndEmpty) {
  const auto parent = StoreFolder::open(scratch_.path()).value().value();
  for (const auto* name : {"empty", "full", "new"}) {
    const auto made = parent.make_folder("outer").value().make_folder(name).value();
    if (std::string_view(name) == "full")
      kiln::test::write_file(scratch_.path() / "outer/full/x", "x");
  }
  const auto outer = scratch_.path() / "outer";
  const auto two_days_ago = fs::file_time_type::clock::now() - std::chrono::hours(48);
  for (const auto* name : {"empty", "full", ".kiln-made"})
    if (fs::exists(outer / name)) fs::last_write_time(outer / name, two_days_ago);
  parent.folder("outer").value()->remove_old(0);
  EXPECT_FALSE(fs::exists(outer / "empty"));
  EXPECT_TRUE(fs::exists(outer / "full/x"));
  EXPECT_TRUE(fs::exists(outer / "new"));
  EXPECT_EQ(fs::exists(outer / ".kiln-made"), GetParam() != Renaming::spares)
      << "a folder without it may be replaced";
}

class StoreFolderOnMounts : public testing::Test {
 protected:
  ~StoreFolderOnMounts() override {
    of_another_group = 0;
    groups_are_refused = modes_are_refused = opening_finds_nothing = false;
  }

  /// What one has that is made in a folder of another group and of mode 0775.
  [[nodiscard]] struct stat make_in_folder_of_another_group() const {
    struct stat status = {};
    EXPECT_EQ(::chmod(scratch_.path().c_str(), 0775), 0);
    EXPECT_EQ(::stat(scratch_.path().c_str(), &status), 0);
    of_another_group = status.st_ino;
    EXPECT_TRUE(folder_.make_folder("one"));
    EXPECT_EQ(::stat((scratch_.path() / "one").c_str(), &status), 0);
    EXPECT_EQ(folder_.make_new_folder("two"), true);
    struct stat second = {};
    EXPECT_EQ(::stat((scratch_.path() / "two").c_str(), &second), 0);
    EXPECT_EQ(second.st_gid, status.st_gid);
    EXPECT_EQ(second.st_mode, status.st_mode);
    return status;
  }

  const kiln::test::TemporaryFolder scratch_;
  const StoreFolder folder_ = StoreFolder::open(scratch_.path()).value().value();
};

TEST_F(StoreFolderOnMounts, HasTheGroupOfItsParent) {
  if (::chown(scratch_.path().c_str(), -1, ::getegid() + 1) != 0)
    GTEST_SKIP() << "only root may give a folder to any group";
  ASSERT_EQ(::chown(scratch_.path().c_str(), -1, ::getegid()), 0);
  const auto made = make_in_folder_of_another_group();
  EXPECT_EQ(made.st_gid, ::getegid() + 1);
  EXPECT_EQ(made.st_mode & 07777, 0775U);
}

TEST_F(StoreFolderOnMounts, GivesAnotherGroupNoMoreThanAnybody) {
  groups_are_refused = true;
  const auto made = make_in_folder_of_another_group();
  EXPECT_EQ(made.st_mode & 07777, 0755U);
}

// As SMB does, and NFS where root is nobody.
TEST_F(StoreFolderOnMounts, IsMadeWhereAllFoldersHaveOneOwnerAndMode) {
  modes_are_refused = true;
  const auto made = folder_.make_folder("one");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->make_new_folder("two"), true);
  EXPECT_EQ(made->write("object", "x", {.of_anybody = true}), true);
  EXPECT_EQ(made->read("object", 9, {.of_anybody = true}).value(), "x");
}

TEST_F(StoreFolderOnMounts, HasNothingOfWhatGoesWhileItIsLookedAt) {
  kiln::test::write_file(scratch_.path() / "object", "x");
  opening_finds_nothing = true;
  const auto read = folder_.read("object", 9, {.of_anybody = true});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_FALSE(*read);
}

TEST_F(StoreFolderOnMounts, LooksAtNoMoreFilesThanAreWanted) {
  for (const char digit : {'a', 'b', 'c', 'd'})
    kiln::test::write_file(scratch_.path() / std::string(8, digit), "x");
  EXPECT_EQ(folder_.files(8, 3).value().size(), 3U);
  EXPECT_EQ(folder_.files(8, 9).value().size(), 4U);
}

// As on NFS: who looked a moment too early is told otherwise as soon as it is there.
TEST_F(StoreFolderOnMounts, SeesWhatAnotherMachineMadeSinceItWasLookedFor) {
  const auto in_time = [&](const auto& look, const auto& make) {
    absences.turn(true);
    const bool before = look();
    make();
    const bool after = look();
    absences.turn(false);
    return !before && after;
  };
  const auto write = [&](const char* name) { kiln::test::write_file(scratch_.path() / name, "x"); };
  EXPECT_TRUE(in_time([&] { return folder_.folder("inner").value().has_value(); },
                      [&] { fs::create_directory(scratch_.path() / "inner"); }));
  EXPECT_TRUE(
      in_time([&] { return folder_.read("beat", 9, {.of_anybody = true}).value().has_value(); },
              [&] { write("beat"); }));
  EXPECT_TRUE(
      in_time([&] { return folder_.file("object").has_value(); }, [&] { write("object"); }));
}

}  // namespace
}  // namespace kiln::storage
