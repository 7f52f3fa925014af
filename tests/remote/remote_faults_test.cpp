// The server of a store fails, or the network before it: no compile fails for that, no image is a wrong one, and nobody waits for
// long.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/build_identity.h"
#include "http_server.h"
#include "kiln/digest.h"
#include "kiln/remote.h"
#include "machines_fixture.h"
#include "redis_connection.h"
#include "redis_server.h"
#include "remote/helper_connections.h"
#include "remote/helper_environment.h"
#include "remote/remote_store.h"
#include "tcp_proxy.h"
#include "vendor/helper_search.h"

namespace kiln::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Kind = TcpProxy::Kind;

int port_of(const std::string& url) { return std::stoi(url.substr(url.rfind(':') + 1)); }

class RemoteFaults : public MachinesFixture {
 protected:
  /// Compiles one program after the other until the server is left alone.
  void compile_until_it_rests(Runtime& runtime) {
    for (next_ = 0; next_ < 40; ++next_) {
      ASSERT_TRUE(compile(runtime, next_));
      const auto status = runtime.remotes(false).at(0).status;
      // On a busy machine the helper may not tell in time.
      ASSERT_TRUE(status || status.error().code == ErrorCode::timed_out) << status.error().message;
      if (status && status->resting) return;
      std::this_thread::sleep_for(50ms);
    }
    FAIL() << "it is asked again and again";
  }

  int next_ = 0;
};

struct BadNetwork {
  const char* name;
  TcpProxy::Fault fault;
  bool is_http = false;
};
void PrintTo(const BadNetwork& network, std::ostream* out) { *out << network.name; }

class RemoteNetwork : public RemoteFaults, public ::testing::WithParamInterface<BadNetwork> {
 protected:
  void SetUp() override {
    if (!GetParam().is_http) {
      if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
      proxy_.emplace(port_of(redis_.emplace().url()));
    } else {
      if (!HttpServer::is_installed()) GTEST_SKIP() << "there is no nginx on this machine";
      http_.start();
      proxy_.emplace(http_.port());
    }
    proxy_->set(GetParam().fault);
  }

  [[nodiscard]] std::string url() const {
    const auto host = fmt::format("127.0.0.1:{}", proxy_->port());
    return GetParam().is_http ? "http://" + host + "/free/" : "redis://" + host;
  }

  std::optional<RedisServer> redis_;
  HttpServer http_;
  std::optional<TcpProxy> proxy_;
};

TEST_P(RemoteNetwork, CostsLittleAndFailsNothing) {
  auto runtime = Runtime::open(machine("a", url())).value();
  compile_until_it_rests(runtime);
  // What was on its way may still come. From then on nobody but a probe asks.
  std::this_thread::sleep_for(100ms);
  const auto questions = proxy_->questions();
  for (int more = 1; more <= 5; ++more) {
    const auto artifact = compile(runtime, next_ + more);
    ASSERT_TRUE(artifact);
    EXPECT_EQ(artifact->image, image_of(next_ + more));
  }
  EXPECT_LE(proxy_->questions(), questions + 8) << "two dozen are not asked";
  EXPECT_EQ(runtime.counters().remote_hits, 0U);
  EXPECT_LE(warnings_with("going on without"), 1);
  EXPECT_LE(warnings_with("asked less often"), 1);
  EXPECT_LE(warnings_with(""), 2) << "and nothing else";
}

// How long, is written into the report: milliseconds until it rests, and microseconds of a look-up from then on.
TEST_P(RemoteNetwork, IsWaitedForByManyTogether) {
  constexpr int processes = 8;
  constexpr int look_ups = 200;
  const auto address = parse_remote(url()).value();
  const auto helper = [&] {
    return std::make_shared<remote::HelperConnections>(
        find_helper("kiln-remote", "", std::nullopt).executable, "there is none",
        remote::Introduction{
            std::string(build_identity()), address, {}, {}, remote::environment_for(address)});
  };
  const auto first = helper()->take();
  ASSERT_TRUE(first) << first.error().message;
  // As a process that looks one kernel up after the other: how long it waited before the server was left alone, and since.
  struct Waited {
    Clock::duration before{};
    Clock::duration since{};
  };
  std::vector<std::future<Waited>> all;
  for (int process = 0; process < processes; ++process) {
    all.push_back(std::async(std::launch::async, [connections = helper(), process] {
      Waited waited;
      bool rests = false;
      for (int at = 0; at < look_ups; ++at) {
        remote::RemoteStore store(connections, {}, remote::RemoteStore::Haste{250ms});
        const auto began = Clock::now();
        const auto hints = store.hints(digest_of(fmt::format("{} {}", process, at)), 1);
        (rests ? waited.since : waited.before) += Clock::now() - began;
        rests |= !hints && hints.error().code == ErrorCode::cache_unusable;
      }
      return waited;
    }));
  }
  Waited longest;
  for (auto& one : all) {
    const auto waited = one.get();
    longest.before = std::max(longest.before, waited.before);
    longest.since = std::max(longest.since, waited.since);
  }
  using Microseconds = std::chrono::duration<double, std::micro>;
  RecordProperty("milliseconds_before",
                 fmt::format("{:.1f}", Microseconds(longest.before).count() / 1000));
  RecordProperty("microseconds_since",
                 fmt::format("{:.0f}", Microseconds(longest.since).count() / look_ups));
  EXPECT_LE(proxy_->questions(), 64U) << "of 1600 look-ups";
}

constexpr std::array bad_networks{BadNetwork{"BlackHole", {.kind = Kind::black_hole}},
                                  BadNetwork{"TwoSecondsLate", {.delay = 2s}},
                                  BadNetwork{"OneByteASecond", {.bytes_per_second = 1}},
                                  BadNetwork{"Reset", {.kind = Kind::reset}},
                                  BadNetwork{"HalfClose", {.kind = Kind::half_close}},
                                  BadNetwork{"Garbage", {.kind = Kind::garbage}},
                                  BadNetwork{"Cut", {.cut_after = 2}}};

std::string name_of_network(const ::testing::TestParamInfo<BadNetwork>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Redis, RemoteNetwork, ::testing::ValuesIn(bad_networks), name_of_network);
#ifdef KILN_WITH_HTTP
std::vector<BadNetwork> before_http() {
  std::vector<BadNetwork> all(bad_networks.begin(), bad_networks.end());
  for (auto& each : all) each.is_http = true;
  return all;
}
INSTANTIATE_TEST_SUITE_P(Http, RemoteNetwork, ::testing::ValuesIn(before_http()), name_of_network);
#endif

TEST_F(RemoteFaults, WhateverByteOfAnAnswerIsWrongTheImageIsNot) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
  const RedisServer server;
  TcpProxy proxy(port_of(server.url()));
  auto first = Runtime::open(machine("first", server.url())).value();
  const auto image = compile(first, 1).value().image;
  settled(first);
  std::mt19937 random(3);
  for (int round = 0; round < 24; ++round) {
    TcpProxy::Fault fault;
    const auto at = random() % (round % 3 == 0 ? 40 : 4000);
    (round % 2 == 0 ? fault.corrupt_at : fault.cut_after) = at;
    proxy.set(fault);
    // Another timeout is another helper, which has not heard of the object. Who only reads asks for no lease.
    auto runtime = Runtime::open(machine(fmt::format("m{}", round),
                                         fmt::format("redis://127.0.0.1:{}?read-only&timeout={}",
                                                     proxy.port(), 2000 + round)))
                       .value();
    const auto artifact = compile(runtime, 1);
    ASSERT_TRUE(artifact) << "byte " << at;
    EXPECT_EQ(artifact->image, image) << "byte " << at;
    kill_helpers(SIGKILL);
  }
}

TEST_F(RemoteFaults, AServerThatTakesNothingIsStillAsked) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
  const RedisServer server;
  auto first = Runtime::open(machine("first", server.url())).value();
  for (int number = 0; number < 3; ++number) ASSERT_TRUE(compile(first, number));
  settled(first);
  // A replica, whose address does not say that it takes nothing.
  TcpProxy proxy(port_of(server.url()));
  const auto connection = remote::RedisConnection::make(parse_remote(server.url()).value()).value();
  ASSERT_TRUE(connection->run({"CONFIG", "SET", "maxmemory", "1"}, connection->begin_call()));
  const auto url = fmt::format("redis://127.0.0.1:{}", proxy.port());
  auto second = Runtime::open(machine("second", url)).value();
  ASSERT_TRUE(compile(second, 100));
  EXPECT_EQ(settled(second).dropped, 1U);
  EXPECT_FALSE(second.remotes(false).at(0).status.value().resting);
  for (int number = 0; number < 3; ++number)
    EXPECT_EQ(compile(second, number).value().origin, Origin::remote);
}

TEST_F(RemoteFaults, WhoAskTheSameTogetherAskTheServerOnce) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
  const RedisServer server;
  TcpProxy proxy(port_of(server.url()));
  const auto url = fmt::format("redis://127.0.0.1:{}", proxy.port());
  auto first = Runtime::open(machine("first", url)).value();
  ASSERT_TRUE(compile(first, 0));
  const auto asked_before = settled(first).asked;
  std::vector<Runtime> ranks;
  for (int rank = 0; rank < 8; ++rank)
    ranks.push_back(Runtime::open(machine(fmt::format("rank {}", rank), url)).value());
  proxy.set({.delay = 30ms});
  std::atomic<int> served = 0;
  {
    std::vector<std::jthread> threads;
    for (auto& rank : ranks) {
      threads.emplace_back([&served, &rank] {
        const auto artifact = compile(rank, 0);
        if (artifact && artifact->origin == Origin::remote) ++served;
      });
    }
  }
  EXPECT_EQ(served, 8);
  EXPECT_EQ(first.remotes(false).at(0).status.value().asked - asked_before, 1U);
}

// It answers always, and never soon enough: these kernels take less time than its answers.
TEST_F(RemoteFaults, AServerThatDoesNotPayIsAskedLess) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
  const RedisServer server;
  TcpProxy proxy(port_of(server.url()));
  auto first =
      Runtime::open(machine("first", fmt::format("redis://127.0.0.1:{}", proxy.port()))).value();
  ASSERT_TRUE(compile(first, 0));
  settled(first);
  EXPECT_EQ(warnings_with("going on without"), 0);
  proxy.set({.delay = 100ms});
  constexpr int kernels = 24;
  const auto asked_before = first.remotes(false).at(0).status.value().asked;
  for (int number = 1; number <= kernels; ++number) ASSERT_TRUE(compile(first, number));
  const auto status = first.remotes(false).at(0).status.value();
  EXPECT_LT(status.asked - asked_before, kernels) << "two look-ups of each before it is compiled";
  EXPECT_EQ(status.failures, 0U);
  EXPECT_EQ(warnings_with("asked less often"), 1);
  RecordProperty("asked", static_cast<int>(status.asked - asked_before));
  proxy.set({});
  EXPECT_EQ(settled(first).pushed, kernels + 1U) << "others are spared what it costs this one";
}

TEST_F(RemoteFaults, AServerThatDoesNotPayIsAskedLessForWhatDoesNotCompile) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
  const RedisServer server;
  TcpProxy proxy(port_of(server.url()));
  auto runtime =
      Runtime::open(machine("first", fmt::format("redis://127.0.0.1:{}", proxy.port()))).value();
  ASSERT_TRUE(compile(runtime, 0));
  settled(runtime);
  proxy.set({.delay = 100ms});
  constexpr int programs = 24;
  const auto asked_before = runtime.remotes(false).at(0).status.value().asked;
  for (int number = 1; number <= programs; ++number) {
    const auto wrong =
        Program::make(
            {.name = "wrong.cu", .source = fmt::format("#error {}\n", number), .kernels = {"k"}})
            .value();
    EXPECT_EQ(runtime.compile(wrong, "sm_80").error().code, ErrorCode::compile_failed);
  }
  EXPECT_LT(runtime.remotes(false).at(0).status.value().asked - asked_before, programs);
}

// Of several entries none comes along with the hints, and its answer takes longer than a quarter of the compile that it saves.
TEST_F(RemoteFaults, WhoCannotCompileWaitsForWhatWouldNotPay) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
  const RedisServer server;
  const auto program_with = [&](int value) {
    std::filesystem::create_directories(scratch_ / "include");
    write_file(scratch_ / "include/value.h", fmt::format("#define VALUE {}\n", value));
    return Program::make({.name = "two.cu",
                          .source = "#include <value.h>\n__global__ void k(int* x) { *x = VALUE; }",
                          .include_dirs = {scratch_ / "include"},
                          .kernels = {"k"}})
        .value();
  };
  {
    auto first = Runtime::open(machine("first", server.url())).value();
    for (int value = 1; value <= 2; ++value)
      ASSERT_TRUE(first.compile(program_with(value), "sm_80"));
    settled(first);
  }
  TcpProxy proxy(port_of(server.url()));
  proxy.set({.delay = 60ms});
  auto without_compiler =
      machine("second", fmt::format("redis://127.0.0.1:{}?timeout=1900", proxy.port()));
  without_compiler.nvrtc = "/nowhere/libnvrtc.so";
  auto cache_only =
      machine("third", fmt::format("redis://127.0.0.1:{}?timeout=1901", proxy.port()));
  cache_only.mode = Mode::cache_only;
  for (const auto& options : {without_compiler, cache_only}) {
    auto runtime = Runtime::open(options).value();
    const auto artifact = runtime.compile(program_with(1), "sm_80");
    ASSERT_TRUE(artifact) << artifact.error().message;
    EXPECT_EQ(artifact->origin, Origin::remote);
  }
}

// Leases are to be had there, and nothing comes of them.
TEST_F(RemoteFaults, NobodyWaitsForWhatAServerDoesNotTake) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
  const RedisServer server;
  const auto connection = remote::RedisConnection::make(parse_remote(server.url()).value()).value();
  ASSERT_TRUE(connection->run({"ACL", "SETUSER", "default", "resetkeys", "%R~kiln:o:*",
                               "%RW~kiln:l:*", "%RW~kiln:h:*", "%RW~kiln:r:*"},
                              connection->begin_call()));
  auto first = Runtime::open(machine("first", server.url())).value();
  ASSERT_TRUE(compile(first, 0));
  EXPECT_EQ(settled(first).dropped, 1U);
  auto second = Runtime::open(machine("second", server.url())).value();
  for (int number = 1; number < 5; ++number) ASSERT_TRUE(compile(first, number));
  std::this_thread::sleep_for(200ms);
  for (int number = 1; number < 5; ++number) ASSERT_TRUE(compile(second, number));
  EXPECT_EQ(second.counters().lease_waits, 0U);
}

/// One compiles, and several of another machine wait for that. From then on the network is a bad one.
class RemoteWait : public RemoteFaults {
 protected:
  void SetUp() override {
    if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
    proxy_.emplace(port_of(server_.emplace().url()));
  }

  [[nodiscard]] std::string url() const {
    return fmt::format("redis://127.0.0.1:{}", proxy_->port());
  }

  /// All of them compile long before the other one is done, who is of the machine that this url makes him.
  void expect_to_end_soon(const std::string& url_of_maker, Kind kind) {
    constexpr int waiters = 4;
    std::promise<void> begins;
    std::promise<void> goes_on;
    std::latch decided(waiters);
    std::atomic<int> waiting = 0;
    auto maker_options = machine("maker", url_of_maker);
    maker_options.observer = [&](const Event& event) {
      if (event.kind != EventKind::compile_begin) return;
      begins.set_value();
      goes_on.get_future().wait();
      std::this_thread::sleep_for(10s);
    };
    auto maker = Runtime::open(maker_options).value();
    const auto made = std::async(std::launch::async, [&] { return compile(maker, 1).has_value(); });
    begins.get_future().wait();
    std::vector<std::future<void>> compiles;
    for (int number = 0; number < waiters; ++number) {
      compiles.push_back(std::async(std::launch::async, [&, number] {
        std::atomic<bool> waits = false;
        std::atomic<int> warnings = 0;
        auto options = machine(fmt::format("waiter-{}", number), url());
        options.log = [&](LogLevel, std::string_view) { ++warnings; };
        options.observer = [&](const Event& event) {
          if (event.kind != EventKind::lease_wait || waits.exchange(true)) return;
          ++waiting;
          decided.count_down();
        };
        auto runtime = Runtime::open(options).value();
        EXPECT_TRUE(compile(runtime, 1));
        EXPECT_EQ(runtime.counters().compiles, 1U);
        if (waits) return;
        // Where this machine has much to do, a store may answer too late for one.
        EXPECT_GE(warnings, 1);
        decided.count_down();
      }));
    }
    decided.wait();
    proxy_->set({.kind = kind});
    goes_on.set_value();
    for (auto& one : compiles) one.get();
    EXPECT_GE(waiting, 1);
    EXPECT_EQ(made.wait_for(0s), std::future_status::timeout) << "they waited for him";
  }

  std::optional<RedisServer> server_;
  std::optional<TcpProxy> proxy_;
};

TEST_F(RemoteWait, EndsSoonWhereTheServerFallsSilent) {
  expect_to_end_soon(server_->url(), Kind::black_hole);
}

TEST_F(RemoteWait, EndsSoonWhereTheServerFails) { expect_to_end_soon(server_->url(), Kind::reset); }

TEST_F(RemoteWait, EndsSoonForWhoHaveTheOtherOnTheirOwnMachine) {
  expect_to_end_soon(url(), Kind::black_hole);
}

// Both are the same user of this machine, and a helper that let one in for the other would lend him his password.
TEST_F(RemoteFaults, NobodyIsServedWithThePasswordOfAnother) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
  const RedisServer server({"--requirepass", "sesame"});
  const auto state_of = [&](const std::string& name, const std::string& user) {
    return Runtime::open(machine(name, server.url(user))).value().remotes(true).at(0).status;
  };
  for (int round = 0; round < 2; ++round) {
    for (const auto* user : {":guessed@", ""}) EXPECT_FALSE(state_of("stranger", user)) << user;
    const auto known = state_of("known", ":sesame@");
    EXPECT_TRUE(known) << known.error().message;
  }
}

TEST_F(RemoteFaults, AServerThatComesBackIsAskedAgain) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
  RedisServer server;
  auto runtime = Runtime::open(machine("a", server.url())).value();
  server.kill();
  compile_until_it_rests(runtime);
  server.start();
  for (int step = 0; runtime.remotes(false).at(0).status.value().resting; ++step) {
    ASSERT_LT(step, 600) << "nobody probes it";
    std::this_thread::sleep_for(50ms);
  }
  ASSERT_TRUE(compile(runtime, 100));
  EXPECT_GE(settled(runtime).pushed, 1U);
  auto other = Runtime::open(machine("b", server.url())).value();
  EXPECT_EQ(compile(other, 100).value().origin, Origin::remote);
}

TEST_F(RemoteFaults, AServerIsKilledAgainAndAgainWhileEightMachinesWork) {
  if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
  RedisServer server;
  std::mt19937 random(5);
  const auto url = [&](int round) {
    return fmt::format("{}?timeout={}", server.url(), 1000 + round);
  };
  const int artifacts = work_together(url, [&] {
    for (int kill = kills(20); kill > 0; --kill) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 300));
      server.kill();
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
      server.start();
      // Helpers that leave it alone would hide what happens to those that ask.
      if (kill % 4 == 0) kill_helpers(SIGKILL);
    }
  });
  EXPECT_GT(artifacts, 8);
  RecordProperty("artifacts", artifacts);
}

}  // namespace
}  // namespace kiln::test
