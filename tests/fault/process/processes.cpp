#include "processes.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace kiln::test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

int sized(int ci, int nightly) {
  const char* size = std::getenv("KILN_FAULT_SIZE");
  return size != nullptr && std::string_view(size) == "nightly" ? nightly : ci;
}

void nap(std::chrono::microseconds time) { std::this_thread::sleep_for(time); }

Child::Child(const std::function<int()>& work) : process_(::fork()) {
  // An exception may not unwind into what the parent is doing.
  if (process_ == 0) ::_exit([&]() noexcept { return work(); }());
}

Child::Child(Child&& other) noexcept
    : process_(std::exchange(other.process_, -1)), result_(other.result_) {}

Child::~Child() {
  if (process_ <= 0 || result_) return;
  signal(SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void Child::signal(int number) const { ::kill(process_, number); }

std::optional<int> Child::result(std::chrono::milliseconds limit) {
  const Stopwatch watch;
  while (!result_) {
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) == process_) {
      result_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    } else if (watch.passed() > limit) {
      break;
    } else {
      nap(1ms);
    }
  }
  return result_;
}

bool holds_in_child(const std::function<void()>& work, std::chrono::milliseconds limit) {
  Child child([&] {
    work();
    std::cout << std::flush;
    return ::testing::Test::HasFailure() ? 1 : 0;
  });
  return child.result(limit) == 0;
}

bool own_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool may_mount() {
  return Child([] {
           return own_mounts() && ::mount("none", "/tmp", "tmpfs", 0, "size=64k") == 0 ? 0 : 1;
         }).result(60s) == 0;
}

void obey_modes() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> rights{};
  ASSERT_EQ(::syscall(SYS_capget, &header, rights.data()), 0);
  for (const int right : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH}) {
    auto& word = rights.at(CAP_TO_INDEX(right));
    word.effective &= ~CAP_TO_MASK(right);
    word.permitted &= ~CAP_TO_MASK(right);
  }
  ASSERT_EQ(::syscall(SYS_capset, &header, rights.data()), 0);
}

Look look(Cache& cache, const Sample& sample) {
  const auto artifact = find(cache, sample);
  if (!artifact) return Look::miss;
  return same_artifact(*artifact, as_found(sample)) ? Look::hit : Look::wrong;
}

::testing::AssertionResult serves(Cache& cache, const Sample& sample) {
  if (const auto put = cache.put(sample.entry()); !put) {
    return ::testing::AssertionFailure() << "put: " << put.error().message;
  }
  const Look found = look(cache, sample);
  if (found == Look::hit) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << (found == Look::miss ? "missed" : "another image");
}

std::string integrity(const fs::path& file) {
  sqlite3* database = nullptr;
  std::string answer;
  const auto take = [](void* to, int, char** values, char**) {
    *static_cast<std::string*>(to) += values[0];
    return 0;
  };
  if (sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) {
    sqlite3_busy_timeout(database, 5000);
    sqlite3_exec(database, "PRAGMA integrity_check", take, &answer, nullptr);
  }
  if (answer.empty()) answer = sqlite3_errmsg(database);
  sqlite3_close(database);
  return answer;
}

void expect_in_order(const fs::path& directory) {
  auto cache = Cache::open(directory);
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_TRUE(serves(*cache, make_sample(987'654, 5000)));
  EXPECT_EQ(integrity(cache->file()), "ok");
}

void Marks::leave(char mark) const {
  const int descriptor = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0 || ::write(descriptor, &mark, 1) != 1) std::abort();
  ::close(descriptor);
}

int Marks::count(char mark) const {
  const std::string marks = all();
  return static_cast<int>(std::count(marks.begin(), marks.end(), mark));
}

bool Marks::wait_for(char mark, int how_many, std::chrono::milliseconds limit) const {
  for (const Stopwatch watch; watch.passed() < limit; nap(1ms)) {
    if (count(mark) >= how_many) return true;
  }
  return false;
}

}  // namespace kiln::test
