#include "file/file_lock.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "support.h"

namespace kiln::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class FileLockTest : public ::testing::Test {
 protected:
  test::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "lock";
};

TEST_F(FileLockTest, IsHeldUntilItsEnd) {
  {
    const auto lock = FileLock::acquire(file_, milliseconds(0));
    ASSERT_TRUE(lock);
    const auto second = FileLock::acquire(file_, milliseconds(0));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::io_failed);
    EXPECT_NE(second.error().message.find(file_.string()), std::string::npos);
  }
  EXPECT_TRUE(FileLock::acquire(file_, milliseconds(0)));
  struct stat status;
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(FileLockTest, WaitsAsLongAsItIsToldAndNoLonger) {
  const auto lock = FileLock::acquire(file_, milliseconds(0));
  ASSERT_TRUE(lock);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(FileLock::acquire(file_, milliseconds(50)));
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(waited, milliseconds(50));
  EXPECT_LT(waited, seconds(5));
}

TEST_F(FileLockTest, IsTakenOverByAWaitingThread) {
  std::optional<Result<FileLock>> lock = FileLock::acquire(file_, milliseconds(0));
  ASSERT_TRUE(lock->has_value());
  std::atomic<bool> taken = false;
  std::thread waiting([&] { taken = FileLock::acquire(file_, seconds(30)).has_value(); });
  std::this_thread::sleep_for(milliseconds(10));
  lock.reset();
  waiting.join();
  EXPECT_TRUE(taken);
}

TEST_F(FileLockTest, EndsWithAKilledHolder) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto lock = FileLock::acquire(file_, seconds(5));
    if (::write(ready[1], "x", 1) != 1 || !lock) ::_exit(1);
    ::pause();
  }
  ::close(ready[1]);
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(FileLock::acquire(file_, milliseconds(0)));
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  EXPECT_TRUE(FileLock::acquire(file_, seconds(5)));
  ::close(ready[0]);
}

TEST_F(FileLockTest, ASymlinkAFifoAndADirectoryAreRefused) {
  test::write_file(folder_.path() / "target", "untouched");
  std::filesystem::create_symlink(folder_.path() / "target", folder_.path() / "link");
  ASSERT_EQ(::mkfifo((folder_.path() / "fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(folder_.path() / "folder");
  for (const char* name : {"link", "fifo", "folder"}) {
    const auto lock = FileLock::acquire(folder_.path() / name, milliseconds(0));
    ASSERT_FALSE(lock) << name;
    EXPECT_EQ(lock.error().code, ErrorCode::cache_unusable) << name;
    EXPECT_NE(lock.error().message.find(name), std::string::npos);
  }
  EXPECT_EQ(test::read_file(folder_.path() / "target"), "untouched");
}

}  // namespace
}  // namespace kiln::storage
