// What a server gives is large, and many ask for it.

#include <chrono>
#include <cstddef>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/build_identity.h"
#include "machines_fixture.h"
#include "redis_connection.h"
#include "redis_server.h"
#include "remote/helper_connections.h"
#include "support/sanitized.h"
#include "vendor/helper_search.h"

namespace kiln::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t mebi = std::size_t{1} << 20;

class RemoteMemory : public MachinesFixture {
 protected:
  /// In MiB: the most that this process ever had, for "VmHWM"; what it has now, for "VmRSS".
  static int memory(pid_t process, const std::string& what) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(what + ":")) return std::stoi(line.substr(what.size() + 1)) / 1024;
    return -1;
  }
};

TEST_F(RemoteMemory, IsTakenByOneLargeAnswerAtATime) {
  if (is_sanitized) GTEST_SKIP() << "the sanitizers keep memory that was freed";
  if (!RedisServer::is_installed()) GTEST_SKIP() << "there is no redis-server on this machine";
  const RedisServer server;
  const auto address = parse_remote(server.url() + "?timeout=20000").value();
  const std::string name(64, 'a');
  const auto key = "kiln:o:" + name;
  const std::string large(48 * mebi, 'x');
  const auto connection = remote::RedisConnection::make(address).value();
  ASSERT_TRUE(connection->run({"SET", key, large}, connection->begin_call()));
  remote::HelperConnections helper(find_helper("kiln-remote", "", std::nullopt).executable,
                                   "there is none",
                                   {std::string(build_identity()), address, {}, {}});
  const remote::GetObject question{
      .name = name, .most_bytes = 256 * mebi, .budget_us = 20'000'000, .hasty = false};
  std::vector<std::future<std::size_t>> sizes;
  for (int number = 0; number < 8; ++number) {
    sizes.push_back(std::async(std::launch::async, [&]() -> std::size_t {
      const auto answer = helper.ask(question, 30s);
      return answer && *answer ? (*answer)->size() : 0;
    }));
  }
  for (auto& size : sizes) EXPECT_EQ(size.get(), large.size());
  const auto process = helpers().at(0);
  EXPECT_LT(memory(process, "VmHWM"), 250);
  RecordProperty("most_mebibytes", memory(process, "VmHWM"));
  // The last of them is forgotten a moment after it was sent.
  for (int step = 0; step < 500 && memory(process, "VmRSS") >= 100; ++step)
    std::this_thread::sleep_for(10ms);
  EXPECT_LT(memory(process, "VmRSS"), 100) << "what was given is kept";
}

}  // namespace
}  // namespace kiln::test
