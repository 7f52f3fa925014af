// Leases when their holders end, stop, come late, or live on machines whose clocks are wrong.

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/build_identity.h"
#include "broker.h"
#include "file_leases.h"
#include "kiln/exchange.h"
#include "lease_book.h"
#include "machines_fixture.h"
#include "remote/helper_connections.h"
#include "vendor/helper_search.h"
#ifdef KILN_WITH_REDIS
#include "redis_connection.h"
#include "redis_leases.h"
#include "redis_server.h"
#endif

namespace {
/// Done once, by whoever is about to make a folder of this name.
std::pair<std::string, std::function<void()>> before_making;
bool disk_is_full = false;
}  // namespace

// In the place of the C library's.
extern "C" int mkdirat(int folder, const char* name, mode_t mode) noexcept {
  if (name == before_making.first) std::exchange(before_making, {}).second();
  return static_cast<int>(::syscall(SYS_mkdirat, folder, name, mode));
}

extern "C" int fsync(int file) {
  if (disk_is_full) {
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, file));
}

namespace kiln::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using remote::LeaseAnswer;
using remote::LeaseBook;
using remote::LeaseState;

const std::string name_of_lease(64, 'a');
const std::string one(32, '1');
const std::string two(32, '2');

class FileLeaseClocks : public ::testing::Test {
 protected:
  FileLeaseClocks() {
    address_.url = "file://" + scratch_.path().string();
    static_cast<void>(open_file_store(scratch_.path(), {.create = true}));
  }

  /// As if whoever wrote last had a clock that is wrong by so much.
  void set_back(std::chrono::hours hours) {
    namespace fs = std::filesystem;
    for (const auto& entry : fs::recursive_directory_iterator(scratch_.path()))
      fs::last_write_time(entry.path(), fs::file_time_type::clock::now() + hours);
  }

  ScratchDirectory scratch_;
  RemoteAddress address_;
};

TEST_F(FileLeaseClocks, AreNeverCompared) {
  for (const auto wrong : {-1h, 1h}) {
    const auto name = std::string(64, wrong < 0h ? 'b' : 'c');
    const auto mine = remote::open_file_leases(address_, true, 300ms).value();
    const auto theirs = remote::open_file_leases(address_, false, 300ms).value();
    ASSERT_EQ(mine->take(name, one), LeaseAnswer::taken);
    // It lives as long as its beat changes, whatever the times of files say.
    for (int beat = 0; beat < 10; ++beat) {
      set_back(wrong);
      EXPECT_EQ(theirs->take(name, two), LeaseAnswer::held);
      ASSERT_EQ(mine->prolong(name, one), true);
      std::this_thread::sleep_for(50ms);
    }
    set_back(wrong);
    EXPECT_EQ(theirs->take(name, two), LeaseAnswer::held);
    std::this_thread::sleep_for(350ms);
    set_back(wrong);
    EXPECT_EQ(theirs->take(name, two), LeaseAnswer::taken);
    EXPECT_EQ(mine->prolong(name, one), false);
  }
}

// Others may write there, and mean harm.
TEST_F(FileLeaseClocks, ForgedNumbersStandInNobodysWay) {
  const auto leases = remote::open_file_leases(address_, true, 100ms).value();
  const auto place = [&](const std::string& name) {
    return scratch_.path() / "kiln-store.v1" / "leases" / name.substr(0, 2) / name;
  };
  std::filesystem::create_directories(place(name_of_lease) / "ffffffff");
  const auto refused = leases->take(name_of_lease, one);
  ASSERT_FALSE(refused) << "it is nobody's, and is never to be had";
  EXPECT_EQ(refused.error().code, ErrorCode::cache_unusable);
  const std::string other(64, 'd');
  std::filesystem::create_directories(place(other) / "fffffffe");
  EXPECT_EQ(leases->take(other, one), LeaseAnswer::held);
  std::this_thread::sleep_for(150ms);
  EXPECT_EQ(leases->take(other, one), LeaseAnswer::taken);
  EXPECT_EQ(leases->prolong(other, one), true);
  ASSERT_TRUE(leases->release(other, one, false));
  EXPECT_FALSE(leases->take(other, two));
}

// Whoever looked, and then was so slow that two others had it after one another, finds the place of the first one free again.
TEST_F(FileLeaseClocks, ALeaseIsNotTakenAGenerationLate) {
  const auto late = remote::open_file_leases(address_, true, 10s).value();
  const auto quick = remote::open_file_leases(address_, true, 10s).value();
  const std::string name(64, 'e');
  ASSERT_EQ(quick->take(name, one), LeaseAnswer::taken);
  ASSERT_TRUE(quick->release(name, one, false));
  before_making = {"00000002", [&] {
                     EXPECT_EQ(quick->take(name, one), LeaseAnswer::taken);
                     EXPECT_TRUE(quick->release(name, one, false));
                     EXPECT_EQ(quick->take(name, one), LeaseAnswer::taken);
                   }};
  EXPECT_EQ(late->take(name, two), LeaseAnswer::held);
  EXPECT_FALSE(before_making.second) << "nobody was late";
  EXPECT_EQ(quick->prolong(name, one), true);
}

// Others would wait for somebody who cannot say a word.
TEST_F(FileLeaseClocks, ALeaseOnAFullDiskKeepsNobodyWaiting) {
  const auto mine = remote::open_file_leases(address_, true, 10s).value();
  const auto theirs = remote::open_file_leases(address_, true, 10s).value();
  const std::string name(64, 'f');
  disk_is_full = true;
  const auto taken = mine->take(name, one);
  disk_is_full = false;
  EXPECT_FALSE(taken);
  EXPECT_EQ(theirs->take(name, two), LeaseAnswer::taken);
  disk_is_full = true;
  const auto released = theirs->release(name, two, false);
  disk_is_full = false;
  EXPECT_FALSE(released);
  EXPECT_EQ(mine->take(name, one), LeaseAnswer::taken);
}

#ifdef KILN_WITH_REDIS
TEST(RedisLeaseForgeries, AreReplaced) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
  const RedisServer server;
  const auto connection = remote::RedisConnection::make(parse_remote(server.url()).value()).value();
  const auto leases = remote::redis_leases(connection);
  const auto key = "kiln:l:" + name_of_lease;
  const std::vector<remote::RedisCommand> forgeries{
      {"SET", key, two}, {"SET", key, "failed"}, {"SET", key, two, "PX", "3600000"}};
  for (const auto& forgery : forgeries) {
    ASSERT_TRUE(connection->run(forgery, connection->begin_call()));
    EXPECT_EQ(leases->take(name_of_lease, one), LeaseAnswer::taken) << forgery.back();
    EXPECT_EQ(leases->take(name_of_lease, two), LeaseAnswer::held);
    EXPECT_EQ(leases->prolong(name_of_lease, one), true);
    ASSERT_TRUE(leases->release(name_of_lease, one, false));
  }
}

TEST(RedisLeaseClocks, AreNotTold) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
  const RedisServer server;
  const auto connection = remote::RedisConnection::make(parse_remote(server.url()).value()).value();
  const auto leases = remote::redis_leases(connection);
  ASSERT_EQ(leases->take(name_of_lease, one), LeaseAnswer::taken);
  // The server keeps who has it, and counts the time by its own clock.
  const auto value =
      connection->run({"GET", "kiln:l:" + name_of_lease}, connection->begin_call()).value();
  EXPECT_EQ(std::string(value->str, value->len), one);
  const auto left =
      connection->run({"PTTL", "kiln:l:" + name_of_lease}, connection->begin_call()).value();
  EXPECT_GT(left->integer, 0);
  EXPECT_LE(left->integer, 10'000);
}
#endif

/// A server of leases in this process, on which everything can be slow.
struct LeaseServer {
  std::mutex mutex;
  std::map<std::string, std::string> holders;
  std::atomic<int> delay_ms = 0;
  std::atomic<bool> loses_answers = false;

  [[nodiscard]] std::string holder(const std::string& name) {
    const std::lock_guard lock(mutex);
    return holders[name];
  }
};

class SlowLeases final : public remote::Leases {
 public:
  explicit SlowLeases(LeaseServer& server) : server_(server) {}

  Result<LeaseAnswer> take(const std::string& name, const std::string& token) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(server_.delay_ms.load()));
    const std::lock_guard lock(server_.mutex);
    auto& holder = server_.holders[name];
    if (!holder.empty()) return LeaseAnswer::held;
    holder = token;
    if (server_.loses_answers) return fail(ErrorCode::io_failed, "the connection ended");
    return LeaseAnswer::taken;
  }
  Result<bool> prolong(const std::string& name, const std::string& token) override {
    return server_.holder(name) == token;
  }
  Outcome release(const std::string& name, const std::string& token, bool) override {
    const std::lock_guard lock(server_.mutex);
    if (server_.holders[name] == token) server_.holders[name].clear();
    return {};
  }

 private:
  LeaseServer& server_;
};

// What the book and its brokers are, for ever: their threads may be asleep when a test ends.
class LeaseBooks : public ::testing::Test {
 protected:
  LeaseBooks() : server_(*new LeaseServer), book_(make()) {}

  LeaseBook& make() {
    // A server that is left alone is probed, by what it has.
    const auto open = [server = &server_, &folder = *new ScratchDirectory](bool) {
      return open_file_store(folder / "store", {.create = true}).map([&](auto objects) {
        return remote::Backend{std::move(objects), std::make_unique<SlowLeases>(*server)};
      });
    };
    return *new LeaseBook(*new remote::Broker(open, 1), *new remote::Broker(open, 1));
  }

  LeaseState take(const std::string& name, const LeaseBook::Holder& holder) {
    return book_.take(name, holder, 200ms);
  }

  /// Whether nobody has it within the time that a beat takes, and some.
  bool becomes_free(const std::string& name) {
    for (int step = 0; step < 1000; ++step) {
      if (server_.holder(name).empty()) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  LeaseServer& server_;
  LeaseBook& book_;
};

TEST_F(LeaseBooks, OnlyItsHolderGivesALeaseBack) {
  ASSERT_EQ(take(name_of_lease, {1, 0}), LeaseState::taken);
  EXPECT_EQ(take(name_of_lease, {2, 0}), LeaseState::held);
  book_.release(name_of_lease, {2, 0}, false);
  EXPECT_FALSE(book_.keep(name_of_lease, {2, 0}));
  book_.release_all({2, 0});
  EXPECT_EQ(take(name_of_lease, {3, 0}), LeaseState::held);
  book_.release(name_of_lease, {1, 0}, false);
  EXPECT_TRUE(becomes_free(name_of_lease));
}

TEST_F(LeaseBooks, WhatTheHelperKeepsOutlivesWhoAskedForIt) {
  ASSERT_EQ(take(name_of_lease, {1, 0}), LeaseState::taken);
  EXPECT_TRUE(book_.keep(name_of_lease, {1, 0}));
  book_.release_all({1, 0});
  EXPECT_EQ(take(name_of_lease, {2, 0}), LeaseState::held);
  book_.release(name_of_lease, {}, false);
  EXPECT_TRUE(becomes_free(name_of_lease));
}

TEST_F(LeaseBooks, ALeaseThatComesTooLateIsGivenBack) {
  server_.delay_ms = 600;
  EXPECT_EQ(take(name_of_lease, {1, 0}), LeaseState::late);
  for (int step = 0; step < 500 && server_.holder(name_of_lease).empty(); ++step)
    std::this_thread::sleep_for(2ms);
  EXPECT_TRUE(becomes_free(name_of_lease)) << "others would wait for nobody";
}

TEST_F(LeaseBooks, ALeaseWhoseAnswerIsLostIsGivenBack) {
  server_.loses_answers = true;
  EXPECT_EQ(take(name_of_lease, {1, 0}), LeaseState::unavailable);
  EXPECT_TRUE(becomes_free(name_of_lease));
}

TEST_F(LeaseBooks, WhatCostsTooMuchInVainIsLeftAlone) {
  ASSERT_EQ(take(name_of_lease, {1, 0}), LeaseState::taken);
  book_.waited_in_vain(20s);
  EXPECT_EQ(take(name_of_lease, {2, 0}), LeaseState::held) << "a machine may die";
  book_.waited_in_vain(20s);
  EXPECT_EQ(take(name_of_lease, {2, 0}), LeaseState::unavailable);
  EXPECT_EQ(take(std::string(64, 'e'), {2, 0}), LeaseState::unavailable);
  EXPECT_TRUE(book_.keep(name_of_lease, {1, 0})) << "who has one keeps it";
}

TEST_F(LeaseBooks, AStoppedHolderLosesItForThisMachineToo) {
  const pid_t stopped = ::fork();
  if (stopped == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(stopped, nullptr, WUNTRACED), stopped);
  ASSERT_EQ(take(name_of_lease, {1, stopped}), LeaseState::taken);
  EXPECT_TRUE(becomes_free(name_of_lease));
  EXPECT_EQ(take(name_of_lease, {2, 0}), LeaseState::taken);
  book_.release(name_of_lease, {1, stopped}, true);
  EXPECT_FALSE(server_.holder(name_of_lease).empty()) << "it is another's by now";
  ::kill(stopped, SIGKILL);
  ::waitpid(stopped, nullptr, 0);
}

class LeaseHolders : public MachinesFixture {
 protected:
  [[nodiscard]] std::string other_url() const {
    return "file://" + (scratch_.path() / "." / "store").string();
  }

  /// A machine that comes as far as to compile, and then does this.
  pid_t holder(const std::function<void()>& then, int number = 1) {
    const auto compiles = scratch_ / fmt::format("compiles-{}", number);
    const pid_t process = in_a_process([&] {
      auto options = machine(fmt::format("holder-{}", number), folder_url());
      options.observer = [&](const Event& event) {
        if (event.kind != EventKind::compile_begin) return;
        write_file(compiles, "");
        then();
      };
      auto runtime = Runtime::open(options).value();
      return compile(runtime, number) ? 0 : 1;
    });
    while (!std::filesystem::exists(compiles)) std::this_thread::sleep_for(1ms);
    return process;
  }

  /// Another machine compiles the same. Gives how long that took.
  std::chrono::milliseconds take_over(const std::string& url) {
    auto runtime = Runtime::open(machine("other", url)).value();
    const auto began = Clock::now();
    const auto artifact = compile(runtime, 1);
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
    EXPECT_TRUE(artifact);
    if (artifact) {
      EXPECT_EQ(artifact->image, image_of(1));
    }
    EXPECT_EQ(runtime.counters().compiles, 1U);
    RecordProperty("milliseconds", static_cast<int>(time.count()));
    // Less than what anybody waits for another at most.
    EXPECT_LT(time, 50s);
    return time;
  }
};

TEST_F(LeaseHolders, WhoIsKilledIsFollowedAtOnce) {
  const pid_t process = holder([] { std::this_thread::sleep_for(1h); });
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  take_over(other_url());
}

TEST_F(LeaseHolders, WhoIsStoppedIsFollowedByAnotherMachine) {
  const pid_t process = holder([] { ::raise(SIGSTOP); });
  take_over(other_url());
  ::kill(process, SIGCONT);
  EXPECT_EQ(status_of(process), 0) << "it goes on without its lease";
}

TEST_F(LeaseHolders, WhoIsStoppedIsFollowedOnItsOwnMachine) {
  const pid_t process = holder([] { ::raise(SIGSTOP); });
  take_over(folder_url());
  ::kill(process, SIGCONT);
  EXPECT_EQ(status_of(process), 0);
}

TEST_F(LeaseHolders, AMachineThatGoesIsFollowedWhenItsLeaseEnds) {
  const pid_t process = holder([] { std::this_thread::sleep_for(1h); });
  EXPECT_EQ(kill_helpers(SIGKILL), 1);
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  take_over(other_url());
}

TEST_F(LeaseHolders, WhoHangIsWaitedForOnceAndNotForEachKernel) {
  const std::vector<pid_t> hanging{holder([] { std::this_thread::sleep_for(1h); }, 1),
                                   holder([] { std::this_thread::sleep_for(1h); }, 2)};
  auto options = machine("other", other_url());
  options.compile_patience = 2s;
  auto runtime = Runtime::open(options).value();
  // As if others of this machine had waited already.
  remote::HelperConnections helper(
      find_helper("kiln-remote", "", std::nullopt).executable, "there is none",
      {std::string(build_identity()), parse_remote(other_url()).value(), {}, {}});
  ASSERT_TRUE(helper.ask(remote::TellVainWait{29'000'000}, 1s));
  for (const auto& [number, longest] : {std::pair(1, 10s), {2, 1s}}) {
    const auto began = Clock::now();
    ASSERT_TRUE(compile(runtime, number));
    EXPECT_LT(Clock::now() - began, longest) << number;
  }
  EXPECT_EQ(runtime.counters().lease_waits, 1U);
  for (const pid_t process : hanging) {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  }
}

}  // namespace
}  // namespace kiln::test
