// Leases on an nginx, by WebDAV's MKCOL.

#include "http_leases.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http_client.h"
#include "http_server.h"

namespace kiln::remote {
namespace {

using namespace std::chrono_literals;

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;

const std::string some_name(64, 'a');
const std::string other_name(64, 'b');

class HttpLeasesTest : public testing::Test {
 protected:
  static constexpr milliseconds lasts = 300ms;
  static constexpr milliseconds tells = 150ms;

  void SetUp() override {
    if (!test::HttpServer::is_installed()) GTEST_SKIP() << "there is no nginx on this machine";
    server_.start();
  }

  /// Of one machine.
  [[nodiscard]] HttpLeases leases(const std::string& place = "free/") const {
    return HttpLeases(HttpClient::open(server_.address(place)).value(), lasts, tells);
  }

  test::HttpServer server_;
  const std::string ours_ = std::string(32, '1');
  const std::string theirs_ = std::string(32, '2');
  const std::string thirds_ = std::string(32, '3');
};

template <class Outcome>
void expect_error(const Outcome& result, ErrorCode code, const std::string& text) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("http://127.0.0.1:"), HasSubstr(text)));
}

TEST_F(HttpLeasesTest, OneHasIt) {
  auto us = leases("free/not/there/yet/");
  auto them = leases("free/not/there/yet/");
  EXPECT_EQ(us.take(some_name, ours_).value(), LeaseAnswer::taken);
  EXPECT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::held);
  EXPECT_EQ(them.take(other_name, theirs_).value(), LeaseAnswer::taken);
  EXPECT_TRUE(us.prolong(some_name, ours_).value());
  EXPECT_FALSE(them.prolong(some_name, theirs_).value());
  ASSERT_TRUE(them.release(some_name, theirs_, false));
  EXPECT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::held);
  ASSERT_TRUE(us.release(some_name, ours_, false));
  EXPECT_FALSE(us.prolong(some_name, ours_).value());
  EXPECT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::taken);
  ASSERT_TRUE(them.release(some_name, theirs_, false));
  EXPECT_FALSE(std::filesystem::exists(server_.file("free/not/there/yet/l/" + some_name)));
}

TEST_F(HttpLeasesTest, LastsAsLongAsItIsProlonged) {
  auto us = leases();
  auto them = leases();
  ASSERT_EQ(us.take(some_name, ours_).value(), LeaseAnswer::taken);
  for (const auto began = steady_clock::now(); steady_clock::now() - began < 2 * lasts;) {
    ASSERT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::held);
    ASSERT_TRUE(us.prolong(some_name, ours_).value());
    std::this_thread::sleep_for(20ms);
  }
}

TEST_F(HttpLeasesTest, OneOfSeveralTakesItOver) {
  auto us = leases();
  auto them = leases();
  auto thirds = leases();
  ASSERT_EQ(us.take(some_name, ours_).value(), LeaseAnswer::taken);
  const auto began = steady_clock::now();
  EXPECT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::held);
  EXPECT_EQ(thirds.take(some_name, thirds_).value(), LeaseAnswer::held);
  std::this_thread::sleep_for(lasts + 10ms);
  EXPECT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::taken);
  EXPECT_GE(steady_clock::now() - began, lasts);
  EXPECT_EQ(thirds.take(some_name, thirds_).value(), LeaseAnswer::held);
  EXPECT_FALSE(us.prolong(some_name, ours_).value());
  ASSERT_TRUE(us.release(some_name, ours_, false));
  EXPECT_TRUE(them.prolong(some_name, theirs_).value());
  ASSERT_TRUE(them.release(some_name, theirs_, false));
  EXPECT_EQ(thirds.take(some_name, thirds_).value(), LeaseAnswer::taken);
}

TEST_F(HttpLeasesTest, OneAtATimeTakesItOver) {
  auto us = leases();
  ASSERT_EQ(us.take(some_name, ours_).value(), LeaseAnswer::taken);
  constexpr int others = 4;
  std::atomic<int> taken = 0;
  std::barrier all(others);
  std::vector<std::thread> threads;
  threads.reserve(others);
  for (int number = 0; number < others; ++number) {
    threads.emplace_back([&, token = std::string(31, 'a') + std::to_string(number)] {
      auto leases = this->leases();
      EXPECT_EQ(leases.take(some_name, token).value(), LeaseAnswer::held);
      std::this_thread::sleep_for(lasts + 10ms);
      all.arrive_and_wait();
      if (leases.take(some_name, token).value() == LeaseAnswer::taken) ++taken;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(taken, 1);
}

TEST_F(HttpLeasesTest, EndsWhereItsHolderNeverShowed) {
  auto us = leases();
  auto them = leases();
  ASSERT_EQ(us.take(some_name, ours_).value(), LeaseAnswer::taken);
  const auto lease = server_.file("free/l/" + some_name);
  // Somebody took it over, and ended before he said so.
  std::filesystem::create_directory(lease / (ours_ + "-0"));
  ASSERT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::held);
  std::this_thread::sleep_for(lasts + 10ms);
  EXPECT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::held);
  std::this_thread::sleep_for(lasts + 10ms);
  EXPECT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::taken);
  // The same before the first beat.
  std::filesystem::remove(lease / "beat");
  EXPECT_EQ(us.take(some_name, ours_).value(), LeaseAnswer::held);
  std::this_thread::sleep_for(lasts + 10ms);
  EXPECT_EQ(us.take(some_name, ours_).value(), LeaseAnswer::taken);
}

TEST_F(HttpLeasesTest, TellsThatAHolderFailed) {
  auto us = leases();
  auto them = leases();
  ASSERT_EQ(us.take(some_name, ours_).value(), LeaseAnswer::taken);
  ASSERT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::held);
  ASSERT_TRUE(us.release(some_name, ours_, true));
  EXPECT_FALSE(us.prolong(some_name, ours_).value());
  EXPECT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::failed);
  EXPECT_EQ(us.take(some_name, ours_).value(), LeaseAnswer::failed);
  std::this_thread::sleep_for(tells + 10ms);
  EXPECT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::taken);
  EXPECT_EQ(us.take(some_name, ours_).value(), LeaseAnswer::held);
}

TEST_F(HttpLeasesTest, TakesAnyBytesForABeat) {
  auto us = leases();
  ASSERT_EQ(us.take(some_name, ours_).value(), LeaseAnswer::taken);
  const auto beat = server_.file("free/l/" + some_name + "/beat");
  for (const auto& damaged : {std::string(), std::string("../../"), std::string(256, '\xff'),
                              ours_ + "/../..", ours_.substr(1)}) {
    test::write_file(beat, damaged);
    auto them = leases();
    EXPECT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::held);
    EXPECT_EQ(us.prolong(some_name, theirs_).value(), false);
  }
  test::write_file(beat, std::string(257, 'x'));
  expect_error(us.take(some_name, ours_), ErrorCode::too_large, "beat");
}

TEST_F(HttpLeasesTest, AreNotThereWithoutMkcol) {
  auto leases = this->leases("still/");
  expect_error(leases.take(some_name, ours_), ErrorCode::io_failed, "allow MKCOL");
  server_.stop();
  expect_error(leases.take(some_name, ours_), ErrorCode::io_failed, "allow MKCOL");
}

TEST_F(HttpLeasesTest, AreThereOnAServerThatHasSome) {
  ASSERT_EQ(leases().take(some_name, ours_).value(), LeaseAnswer::taken);
  auto them = leases();
  EXPECT_EQ(them.take(some_name, theirs_).value(), LeaseAnswer::held);
  EXPECT_EQ(them.take(other_name, theirs_).value(), LeaseAnswer::taken);
}

}  // namespace
}  // namespace kiln::remote
