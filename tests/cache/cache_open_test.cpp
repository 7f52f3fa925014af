#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "kiln/cache.h"
#include "support.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

using test::mode_of;

constexpr auto read_write = Cache::Access::read_write;
constexpr auto read_only = Cache::Access::read_only;

class CacheOpen : public ::testing::Test {
 protected:
  /// Opening must fail with this code and a message that has these words and the path.
  void expect_refused(const fs::path& directory, std::string_view words, const fs::path& named,
                      ErrorCode code = ErrorCode::cache_unusable) {
    for (const auto access : {read_write, read_only}) {
      const auto cache = Cache::open(directory, {access});
      ASSERT_FALSE(cache);
      EXPECT_EQ(cache.error().code, code) << cache.error().message;
      EXPECT_NE(cache.error().message.find(words), std::string::npos) << cache.error().message;
      EXPECT_NE(cache.error().message.find(named.string()), std::string::npos)
          << cache.error().message;
    }
  }

  /// A file in the database's place is refused to readers, and left as it is by writers, for whom a new
  /// generation takes its place.
  void expect_set_aside(std::string_view bytes, std::string_view words) {
    const fs::path directory = folder_.path() / std::to_string(set_aside_++);
    fs::create_directory(directory);
    fs::permissions(directory, fs::perms::owner_all);
    const fs::path file = directory / "kernels.v1.db";
    test::write_file(file, bytes);
    const auto refused = Cache::open(directory, {read_only});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::cache_unusable);
    EXPECT_NE(refused.error().message.find(words), std::string::npos) << refused.error().message;
    EXPECT_NE(refused.error().message.find(file.string()), std::string::npos);
    EXPECT_NE(refused.error().message.find("new generation"), std::string::npos);

    std::vector<std::string> told;
    const auto tell = [&](std::string_view line) { told.emplace_back(line); };
    auto cache = Cache::open(directory, {.on_fault = tell});
    ASSERT_TRUE(cache) << cache.error().message;
    EXPECT_EQ(cache->file(), directory / "kernels.v1.g2.db");
    EXPECT_TRUE(cache->put(test::make_sample(1).entry()));
    EXPECT_TRUE(test::find(*cache, test::make_sample(1)));
    EXPECT_EQ(cache->counters()[Counter::generations], 1u);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_NE(told[0].find(words), std::string::npos) << told[0];
    EXPECT_NE(told[0].find(file.string()), std::string::npos) << told[0];
    EXPECT_EQ(test::read_file(file), bytes);
    EXPECT_TRUE(Cache::open(directory, {read_only}));
    EXPECT_EQ(Cache::open(directory)->counters()[Counter::generations], 0u);
  }

  int set_aside_ = 0;
  test::TemporaryFolder folder_;
};

TEST_F(CacheOpen, MakesAPrivateDirectoryAndFile) {
  const fs::path directory = folder_.path() / "a" / "b" / "kiln";
  const mode_t old_mask = ::umask(0);
  const auto cache = Cache::open(directory);
  ::umask(old_mask);
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ(cache->file(), directory / "kernels.v1.db");
  for (const fs::path& made : {folder_.path() / "a", folder_.path() / "a" / "b", directory}) {
    EXPECT_EQ(mode_of(made), 0700u) << made;
  }
  EXPECT_EQ(mode_of(cache->file()), 0600u);
}

TEST_F(CacheOpen, StampsTheFileAsDocumented) {
  const Cache cache = Cache::open(folder_.path()).value();
  const std::string bytes = test::read_file(cache.file());
  EXPECT_EQ(bytes.substr(68, 4), "kiln") << "application_id";
  EXPECT_EQ(bytes.substr(60, 4), std::string("\0\0\0\1", 4)) << "user_version";
  EXPECT_EQ(bytes.substr(64, 4), std::string("\0\0\0\1", 4)) << "incremental vacuum";
  EXPECT_EQ(bytes.substr(18, 2), "\1\1") << "rollback journal";
}

// Where this changes, the schema's version and file name must, or older kilns misread the file.
TEST_F(CacheOpen, TheSchemaIsPinned) {
  ASSERT_TRUE(Cache::open(folder_.path()));
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open((folder_.path() / "kernels.v1.db").c_str(), &handle), SQLITE_OK);
  std::string definition;
  const auto append = [](void* to, int, char** values, char**) {
    static_cast<std::string*>(to)->append(values[0]).append("\n");
    return 0;
  };
  sqlite3_exec(handle, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name", append,
               &definition, nullptr);
  sqlite3_close(handle);
  EXPECT_EQ(digest_of(definition).hex(), "bd85a9145528254fc9dc717a628d4a2f");
}

TEST_F(CacheOpen, TakesATrailingSlashAndASymlinkOnTheWay) {
  fs::create_directory(folder_.path() / "real");
  fs::create_symlink(folder_.path() / "real", folder_.path() / "link");
  EXPECT_TRUE(Cache::open(folder_.path() / "link" / "kiln" / ""));
  EXPECT_TRUE(fs::exists(folder_.path() / "real" / "kiln" / "kernels.v1.db"));
}

TEST_F(CacheOpen, ReadOnlyFindsNoCacheWhereThereIsNone) {
  const auto expect_none = [&](const fs::path& directory) {
    const auto cache = Cache::open(directory, {read_only});
    ASSERT_FALSE(cache);
    EXPECT_EQ(cache.error().code, ErrorCode::not_found);
    EXPECT_NE(cache.error().message.find("no cache at"), std::string::npos);
  };
  expect_none(folder_.path() / "absent");
  EXPECT_FALSE(fs::exists(folder_.path() / "absent"));
  expect_none(folder_.path());
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  test::write_file(folder_.path() / "kernels.v1.db", "");
  expect_none(folder_.path());
}

TEST_F(CacheOpen, FinishesAFileThatWasNeverFinished) {
  test::write_file(folder_.path() / "kernels.v1.db", "");
  auto cache = Cache::open(folder_.path());
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_TRUE(cache->put(test::make_sample(1).entry()));
}

TEST_F(CacheOpen, ARelativePathIsRefused) {
  expect_refused("relative/kiln", "not absolute", "relative/kiln");
  expect_refused("", "not absolute", "");
}

TEST_F(CacheOpen, APathThatIsAFileIsRefused) {
  const fs::path file = folder_.path() / "file";
  test::write_file(file, "somebody's file");
  expect_refused(file, "is not a directory", file);
  expect_refused(file / "kiln", "Not a directory", file / "kiln");
  EXPECT_EQ(test::read_file(file), "somebody's file");
}

TEST_F(CacheOpen, AFileThatIsNoDatabaseIsSetAside) {
  expect_set_aside("short", "is corrupt");
  expect_set_aside(test::random_bytes(10'000, 1), "is corrupt");
  expect_set_aside(std::string(4096, '\0'), "is corrupt");
}

TEST_F(CacheOpen, AnotherProgramsDatabaseIsSetAside) {
  const fs::path other = folder_.path() / "other.db";
  test::run_sql(other, "CREATE TABLE entries(x)");
  expect_set_aside(test::read_file(other), "is not a kiln cache");
}

TEST_F(CacheOpen, AnotherSchemaIsSetAside) {
  const fs::path other = folder_.path() / "other.db";
  test::run_sql(other,
                "PRAGMA application_id=0x6b696c6e; PRAGMA user_version=2; CREATE TABLE t(x)");
  expect_set_aside(test::read_file(other), "another schema");
}

TEST_F(CacheOpen, ATruncatedDatabaseIsRefusedOrWithoutItsEntries) {
  const test::Sample sample = test::make_sample(1);
  ASSERT_TRUE(Cache::open(folder_.path()).value().put(sample.entry()));
  const fs::path file = folder_.path() / "kernels.v1.db";
  const std::string whole = test::read_file(file);
  for (std::size_t size = 1; size < whole.size(); size += 257) {
    test::write_file(file, std::string_view(whole).substr(0, size));
    auto cache = Cache::open(folder_.path(), {read_only});
    if (!cache) continue;
    const auto artifact = test::find(*cache, sample);
    if (artifact) {
      EXPECT_TRUE(test::same_artifact(*artifact, test::as_found(sample))) << size;
    }
  }
}

TEST_F(CacheOpen, WhatOthersMayWriteIsRefused) {
  const fs::path directory = folder_.path() / "kiln";
  ASSERT_TRUE(Cache::open(directory));
  for (const mode_t mode : {0770, 0702, 0777}) {
    ASSERT_EQ(::chmod(directory.c_str(), mode), 0);
    expect_refused(directory, "chmod go-w", directory);
  }
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  EXPECT_TRUE(Cache::open(directory));
  ASSERT_EQ(::chmod((directory / "kernels.v1.db").c_str(), 0666), 0);
  expect_refused(directory, "can be written by others", directory / "kernels.v1.db");
}

TEST_F(CacheOpen, ASymlinkInPlaceOfDirectoryOrFileIsRefused) {
  const fs::path target = folder_.path() / "target";
  ASSERT_TRUE(Cache::open(target));
  const auto before = test::snapshot(target);
  fs::create_symlink(target, folder_.path() / "link");
  expect_refused(folder_.path() / "link", "is a symbolic link", folder_.path() / "link");
  expect_refused(folder_.path() / "link" / "", "is a symbolic link", folder_.path() / "link");

  const fs::path directory = folder_.path() / "kiln";
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  fs::create_symlink(target / "kernels.v1.db", directory / "kernels.v1.db");
  expect_refused(directory, "is a symbolic link", directory / "kernels.v1.db");
  EXPECT_EQ(test::snapshot(target), before);
}

TEST_F(CacheOpen, ADanglingSymlinkIsNotCreatedThrough) {
  const fs::path directory = folder_.path() / "kiln";
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  fs::create_symlink(folder_.path() / "victim", directory / "kernels.v1.db");
  expect_refused(directory, "is a symbolic link", directory / "kernels.v1.db");
  EXPECT_FALSE(fs::exists(folder_.path() / "victim"));
}

TEST_F(CacheOpen, AFifoOrADirectoryInPlaceOfTheFileIsRefused) {
  const fs::path file = folder_.path() / "kernels.v1.db";
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  expect_refused(folder_.path(), "is not a regular file", file);
  fs::remove(file);
  fs::create_directory(file);
  expect_refused(folder_.path(), "is not a regular file", file);
}

TEST_F(CacheOpen, ASymlinkInPlaceOfTheLockStopsWritesOnly) {
  const test::Sample sample = test::make_sample(1);
  ASSERT_TRUE(Cache::open(folder_.path()).value().put(sample.entry()));
  fs::remove(folder_.path() / "kernels.v1.lock");
  fs::create_symlink(folder_.path() / "victim", folder_.path() / "kernels.v1.lock");
  Cache cache = Cache::open(folder_.path()).value();
  EXPECT_TRUE(test::find(cache, sample));
  const auto put = cache.put(test::make_sample(2).entry());
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::cache_unusable);
  EXPECT_EQ(cache.counters().errors(), 1u);
  EXPECT_FALSE(fs::exists(folder_.path() / "victim"));
}

/// A process that is amid a commit, with the database locked, and the writers' lock where it has one.
class AmidACommit {
 public:
  AmidACommit(const fs::path& directory, bool with_writers_lock, unsigned seconds) {
    int locked[2];
    if (::pipe(locked) != 0) return;
    process_ = ::fork();
    if (process_ == 0) {
      if (!lock(directory, with_writers_lock) || ::write(locked[1], "x", 1) != 1) ::_exit(1);
      ::sleep(seconds);
      ::_exit(0);
    }
    ::close(locked[1]);
    char byte = 0;
    begun_ = ::read(locked[0], &byte, 1) == 1;
    ::close(locked[0]);
  }
  AmidACommit(const AmidACommit&) = delete;
  AmidACommit& operator=(const AmidACommit&) = delete;
  ~AmidACommit() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  [[nodiscard]] bool begun() const { return begun_; }

 private:
  static bool lock(const fs::path& directory, bool with_writers_lock) {
    const int lock = ::open((directory / "kernels.v1.lock").c_str(), O_RDWR | O_CLOEXEC);
    if (with_writers_lock && ::flock(lock, LOCK_EX) != 0) return false;
    sqlite3* database = nullptr;
    sqlite3_open((directory / "kernels.v1.db").c_str(), &database);
    return sqlite3_exec(database, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  pid_t process_ = -1;
  bool begun_ = false;
};

// As while a commit waits for a slow disk.
TEST_F(CacheOpen, WaitsForACommitThatTakesLong) {
  const fs::path directory = folder_.path() / "kiln";
  ASSERT_TRUE(Cache::open(directory)->put(test::make_sample(1).entry()));
  const AmidACommit writer(directory, false, 2);
  ASSERT_TRUE(writer.begun());
  auto cache = Cache::open(directory, {read_only});
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_TRUE(test::find(*cache, test::make_sample(1)));
}

// It does not go on to wait behind the writers' lock, whose holder is stuck as well.
TEST_F(CacheOpen, WaitsOnceForAWriterThatIsStuck) {
  const fs::path directory = folder_.path() / "kiln";
  ASSERT_TRUE(Cache::open(directory)->put(test::make_sample(1).entry()));
  {
    const AmidACommit writer(directory, true, 600);
    ASSERT_TRUE(writer.begun());
    const auto cache = Cache::open(directory);
    ASSERT_FALSE(cache);
    EXPECT_NE(cache.error().message.find("reading failed: database is locked"), std::string::npos)
        << cache.error().message;
  }
  EXPECT_TRUE(Cache::open(directory));
}

// Rights do not bind root, so these have a child give them up.
class CacheRights : public CacheOpen {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to act as another user";
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  }

  static std::string open_as_nobody(const fs::path& directory, Cache::Access access = read_write) {
    return test::run_as({}, [&] {
      const auto cache = Cache::open(directory, {access});
      return cache ? std::string("opened") : cache.error().message;
    });
  }
};

TEST_F(CacheRights, AnotherUsersDirectoryIsRefused) {
  const fs::path directory = folder_.path() / "kiln";
  ASSERT_TRUE(Cache::open(directory));
  EXPECT_EQ(open_as_nobody(directory),
            "cache path '" + directory.string() +
                "' belongs to user 0, not to the user 65534 who runs this; name another cache "
                "directory, or set KILN_CACHE_TRUST_OWNERS=root if that user may say what runs on "
                "the GPU");
}

TEST_F(CacheRights, ADirectoryThatMayNotBeEnteredIsRefused) {
  const fs::path closed = folder_.path() / "closed";
  ASSERT_TRUE(Cache::open(closed / "kiln"));
  const auto before = test::snapshot(closed / "kiln");
  for (const auto access : {read_write, read_only}) {
    const std::string message = open_as_nobody(closed / "kiln", access);
    EXPECT_NE(message.find("Permission denied"), std::string::npos) << message;
    EXPECT_NE(message.find((closed / "kiln").string()), std::string::npos) << message;
    EXPECT_NE(message.find("name another cache directory"), std::string::npos) << message;
  }
  EXPECT_EQ(test::snapshot(closed / "kiln"), before);
}

TEST_F(CacheRights, ADirectoryThatMayNotBeReadIsRefusedAndNotTakenForAnEmptyOne) {
  const fs::path directory = folder_.path() / "kiln";
  ASSERT_TRUE(Cache::open(directory));
  ASSERT_EQ(::chown(directory.c_str(), test::nobody, test::nobody), 0);
  for (const mode_t mode : {0000, 0100, 0300, 0400}) {
    ASSERT_EQ(::chmod(directory.c_str(), mode), 0);
    for (const auto access : {read_write, read_only}) {
      const std::string message = open_as_nobody(directory, access);
      EXPECT_NE(message.find("Permission denied"), std::string::npos) << message;
      EXPECT_NE(message.find(directory.string()), std::string::npos) << message;
    }
  }
}

TEST_F(CacheRights, ADirectoryThatCannotBeMadeIsRefused) {
  const auto directory = folder_.path() / "a" / "kiln";
  const std::string message = open_as_nobody(directory);
  EXPECT_NE(message.find("cache path '" + directory.string() + "' lies below '" +
                         directory.parent_path().string() + "', which cannot be made"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("cannot be made: Permission denied; give the user the right to it"),
            std::string::npos)
      << message;
  EXPECT_FALSE(fs::exists(folder_.path() / "a"));
}

TEST_F(CacheRights, ADirectoryThatMayNotBeWrittenIsRefusedWhileItIsEmpty) {
  const fs::path directory = folder_.path() / "kiln";
  ASSERT_EQ(::mkdir(directory.c_str(), 0500), 0);
  ASSERT_EQ(::chown(directory.c_str(), test::nobody, test::nobody), 0);
  const std::string message = open_as_nobody(directory);
  EXPECT_NE(message.find("Permission denied"), std::string::npos) << message;
  EXPECT_TRUE(fs::is_empty(directory));
}

TEST_F(CacheRights, ADirectoryThatMayNotBeWrittenStillServesHits) {
  const fs::path directory = folder_.path() / "kiln";
  const test::Sample sample = test::make_sample(1);
  ASSERT_TRUE(Cache::open(directory).value().put(sample.entry()));
  for (const fs::path& path : {directory, directory / "kernels.v1.db"}) {
    ASSERT_EQ(::chown(path.c_str(), test::nobody, test::nobody), 0);
  }
  fs::remove(directory / "kernels.v1.lock");
  ASSERT_EQ(::chmod((directory / "kernels.v1.db").c_str(), 0400), 0);
  ASSERT_EQ(::chmod(directory.c_str(), 0500), 0);
  const auto before = test::snapshot(directory);
  const std::string answer = test::run_as({}, [&] {
    auto cache = Cache::open(directory);
    if (!cache) return cache.error().message;
    if (!test::find(*cache, sample)) return std::string("missed");
    const auto put = cache->put(test::make_sample(2).entry());
    return put ? std::string("stored") : put.error().message;
  });
  EXPECT_NE(answer.find("KILN_CACHE_READONLY"), std::string::npos) << answer;
  EXPECT_EQ(test::snapshot(directory), before);
}

}  // namespace
}  // namespace kiln
