// kiln-remote fails: it is missing, broken, killed or stopped. No compile fails for that, no image is a wrong one, nobody waits for
// long, and the next call starts it anew.

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/build_identity.h"
#include "machines_fixture.h"
#include "remote/helper_connections.h"
#include "remote/helper_environment.h"
#include "system/descriptor.h"
#include "vendor/helper_search.h"

namespace kiln::test {
namespace {

using namespace std::chrono_literals;

using RemoteHelper = MachinesFixture;

TEST_F(RemoteHelper, HelpersAreKilledAgainAndAgainWhileEightMachinesWork) {
  std::mt19937 random(9);
  int killed = 0;
  const int artifacts =
      work_together([&](int) { return folder_url(); },
                    [&] {
                      for (int kill = kills(20); kill > 0; --kill) {
                        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 200));
                        killed += kill_helpers(SIGKILL);
                      }
                    });
  EXPECT_GT(artifacts, 8);
  EXPECT_GT(killed, 0);
  RecordProperty("artifacts", artifacts);
}

TEST_F(RemoteHelper, TheNextCallStartsAHelperAnew) {
  auto runtime = Runtime::open(machine("a", folder_url())).value();
  ASSERT_TRUE(compile(runtime, 1));
  settled(runtime);
  EXPECT_EQ(kill_helpers(SIGKILL), 1);
  ASSERT_TRUE(compile(runtime, 2));
  settled(runtime);
  EXPECT_EQ(helpers().size(), 1U);
  auto other = Runtime::open(machine("b", folder_url())).value();
  EXPECT_EQ(compile(other, 1).value().origin, Origin::remote);
  EXPECT_EQ(compile(other, 2).value().origin, Origin::remote);
}

TEST_F(RemoteHelper, WhatWasMadeWithALeaseIsPutThoughTheHelperEnded) {
  auto options = machine("a", folder_url());
  options.observer = [&](const Event& event) {
    if (event.kind == EventKind::compile_begin) kill_helpers(SIGKILL);
  };
  auto runtime = Runtime::open(options).value();
  ASSERT_TRUE(compile(runtime, 1));
  EXPECT_EQ(settled(runtime).pushed, 1U);
}

TEST_F(RemoteHelper, AStoppedHelperIsLeftAlone) {
  auto runtime = Runtime::open(machine("a", folder_url())).value();
  ASSERT_TRUE(compile(runtime, 1));
  settled(runtime);
  ASSERT_EQ(kill_helpers(SIGSTOP), 1);
  for (int number = 2; number < 12; ++number) {
    const auto artifact = compile(runtime, number);
    ASSERT_TRUE(artifact);
    EXPECT_EQ(artifact->image, image_of(number));
  }
  // One that opens now does not know that it ever ran.
  auto other = Runtime::open(machine("b", folder_url())).value();
  for (int number = 2; number < 12; ++number) ASSERT_TRUE(compile(other, number));
  EXPECT_EQ(warnings_with("going on without"), 2) << "one of each runtime";
}

struct BrokenHelper {
  const char* name;
  const char* script;  ///< nullptr where there is none.
  std::filesystem::perms rights = std::filesystem::perms::owner_all;
};
void PrintTo(const BrokenHelper& helper, std::ostream* out) { *out << helper.name; }

class BrokenRemoteHelper : public MachinesFixture,
                           public ::testing::WithParamInterface<BrokenHelper> {};

TEST_P(BrokenRemoteHelper, FailsNoCompileAndIsToldOfOnce) {
  const auto& [name, script, rights] = GetParam();
  const auto file = scratch_ / "kiln-remote";
  if (script != nullptr) {
    write_file(file, fmt::format(fmt::runtime(script), KILN_FALSE_HELPER));
    std::filesystem::permissions(file, rights);
  }
  auto options = machine("a", folder_url());
  options.remote_helper = file;
  auto runtime = Runtime::open(options).value();
  for (int number = 0; number < 5; ++number) {
    const auto artifact = compile(runtime, number);
    ASSERT_TRUE(artifact);
    EXPECT_EQ(artifact->image, image_of(number));
  }
  EXPECT_EQ(warnings_with("going on without"), 1);
  const auto status = runtime.remotes(true).at(0).status;
  ASSERT_FALSE(status);
  EXPECT_FALSE(status.error().message.empty());
  if (std::string_view(name).ends_with("AtOnce")) {
    EXPECT_THAT(status.error().message, testing::AllOf(testing::HasSubstr(file.string()),
                                                       testing::HasSubstr("KILN_REMOTE_HELPER")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenRemoteHelper,
    ::testing::Values(BrokenHelper{"Missing", nullptr},
                      BrokenHelper{"NotExecutable", "#!/bin/sh\nexit 0\n",
                                   std::filesystem::perms::owner_read},
                      BrokenHelper{"NoProgram", "no program\n"},
                      BrokenHelper{"EndsAtOnce", "#!/bin/sh\nexit 0\n"},
                      BrokenHelper{"FailsAtOnce", "#!/bin/sh\nexit 3\n"},
                      BrokenHelper{"HangsAtStart", "#!/bin/sh\nsleep 60\n"},
                      BrokenHelper{"HangsWhenAsked", "#!/bin/sh\nexec {} silent\n"},
                      BrokenHelper{"HangsUp", "#!/bin/sh\nexec {} hangs-up\n"},
                      BrokenHelper{"AnswersGarbage", "#!/bin/sh\nexec {} garbage\n"},
                      BrokenHelper{"AnswersSomethingElse", "#!/bin/sh\nexec {} strange\n"},
                      BrokenHelper{"AnswersWithoutEnd", "#!/bin/sh\nexec {} endless\n"},
                      BrokenHelper{"AnswersTooMuch", "#!/bin/sh\nexec {} huge\n"}),
    [](const auto& info) { return std::string(info.param.name); });

struct AbstractAddress {
  explicit AbstractAddress(const std::string& name)
      : size(static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) {
    text.sun_family = AF_UNIX;
    name.copy(text.sun_path + 1, sizeof text.sun_path - 1);
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&text); }

  sockaddr_un text{};
  socklen_t size;
};

class RemoteConnections : public MachinesFixture {
 protected:
  std::unique_ptr<remote::HelperConnections> connections() {
    return connections({.url = folder_url(), .timeout = 3s});
  }
  static std::unique_ptr<remote::HelperConnections> connections(
      const RemoteAddress& address, const std::filesystem::path& helper =
                                        find_helper("kiln-remote", "", std::nullopt).executable) {
    return std::make_unique<remote::HelperConnections>(
        helper, "there is none",
        remote::Introduction{
            std::string(build_identity()), address, {}, {}, remote::environment_for(address)});
  }

  /// Of a store that no other test has: they run at one time, and a user's processes share the helpers.
  [[nodiscard]] RemoteAddress redis(const std::string& user) const {
    return {.kind = RemoteAddress::Kind::redis,
            .url = "redis://" + user + scratch_.path().filename().string()};
  }

  /// Without the byte 0 that it begins with; empty where it has none.
  static std::string socket_name_of(pid_t helper) {
    const auto link = std::filesystem::read_symlink(fmt::format("/proc/{}/fd/3", helper)).string();
    const auto inode = link.substr(0, link.find(']')).substr(link.find('[') + 1);
    std::ifstream sockets("/proc/net/unix");
    for (std::string line; std::getline(sockets, line);) {
      if (const auto at = line.find(" " + inode + " @"); at != std::string::npos)
        return line.substr(line.find('@', at) + 1);
    }
    return {};
  }

  /// By a process that did not start the helper. Gives why.
  std::string expect_given_up_soon() {
    const auto pool = connections();
    const auto began = std::chrono::steady_clock::now();
    const auto connection = pool->take();
    EXPECT_LT(std::chrono::steady_clock::now() - began, 1s);
    EXPECT_FALSE(connection);
    return connection ? "" : connection.error().message;
  }

  /// Of the only helper, which ends. The name is free.
  std::string last_socket_name() {
    auto name = socket_name_of(helpers().at(0));
    kill_helpers(SIGKILL);
    while (read_file("/proc/net/unix").find('@' + name) != std::string::npos)
      std::this_thread::sleep_for(1ms);
    return name;
  }
};

TEST_F(RemoteConnections, AreServedByTheHundred) {
  const auto pool = connections();
  std::vector<remote::HelperConnection> held;
  for (int number = 0; number < 700; ++number) {
    auto connection = pool->take();
    ASSERT_TRUE(connection) << number << ": " << connection.error().message;
    held.push_back(std::move(*connection));
  }
  for (auto& connection : held) ASSERT_TRUE(connection.ask(remote::AskStatus(), 10s));
  EXPECT_EQ(helpers().size(), 1U);
}

TEST_F(RemoteConnections, ToAHelperWhoseQueueIsFullAreGivenUp) {
  ASSERT_TRUE(connections()->take());
  const AbstractAddress address(socket_name_of(helpers().at(0)));
  ASSERT_EQ(kill_helpers(SIGSTOP), 1);
  std::vector<system::Descriptor> queue;
  do {
    queue.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ASSERT_LE(queue.size(), 2000U);
  } while (::connect(queue.back().get(), address.get(), address.size) == 0);
  ASSERT_EQ(errno, EAGAIN);
  expect_given_up_soon();
}

TEST_F(RemoteConnections, OfManyWhoComeTogetherStartOneHelper) {
  for (int round = 0; round < 5; ++round) {
    std::vector<std::future<bool>> tries;
    for (int number = 0; number < 16; ++number) {
      tries.push_back(
          std::async(std::launch::async, [this] { return connections()->take().has_value(); }));
    }
    for (auto& one : tries) EXPECT_TRUE(one.get());
    EXPECT_EQ(helpers().size(), 1U);
    kill_helpers(SIGKILL);
  }
}

// Everybody reads it in /proc/net/unix.
TEST_F(RemoteConnections, NameTheirSocketWithoutPassword) {
  const auto name_for = [&](const std::string& user) {
    const auto pool = connections({.kind = RemoteAddress::Kind::s3,
                                   .url = "s3://" + user + "bucket",
                                   .endpoint = "http://" + user + "host"});
    EXPECT_TRUE(pool->take());
    return last_socket_name();
  };
  const auto name = name_for("farm:sesame@");
  EXPECT_FALSE(name.empty());
  EXPECT_EQ(name_for("press:open@"), name);
}

TEST_F(RemoteConnections, WithThePasswordsOfEachUserAreServedByOneHelper) {
  std::vector<remote::HelperConnection> held;
  for (int round = 0; round < 2; ++round) {
    for (const auto* user : {"", ":sesame@", "farm:sesame@"}) {
      auto connection = connections(redis(user))->take();
      ASSERT_TRUE(connection) << connection.error().message;
      held.push_back(std::move(*connection));
    }
  }
  EXPECT_EQ(helpers().size(), 3U);
  for (auto& connection : held) EXPECT_TRUE(connection.ask(remote::AskStatus(), 10s));
}

TEST_F(RemoteConnections, WithManyPasswordsAtOnceAreServed) {
  std::vector<std::future<Result<remote::HelperConnection>>> tries;
  for (int user = 0; user < 24; ++user) {
    tries.push_back(std::async(std::launch::async, [this, user] {
      return connections(redis(fmt::format(":word{}@", user % 8)))->take();
    }));
  }
  std::vector<remote::HelperConnection> held;
  for (auto& one : tries) {
    auto connection = one.get();
    ASSERT_TRUE(connection) << connection.error().message;
    held.push_back(std::move(*connection));
  }
  EXPECT_EQ(helpers().size(), 8U);
}

TEST_F(RemoteConnections, WithMorePasswordsThanThereArePlacesAreRefused) {
  std::vector<remote::HelperConnection> held;
  const auto is_refused = [](const Result<remote::HelperConnection>& connection) {
    return !connection &&
           connection.error().message.find("each with other passwords") != std::string::npos;
  };
  for (int user = 0;; ++user) {
    auto connection = connections(redis(fmt::format(":word{}@", user)))->take();
    // On a busy machine one of them may not answer in time, which is said instead.
    for (int tries = 0; tries < 20 && !connection && !is_refused(connection); ++tries)
      connection = connections(redis(fmt::format(":word{}@", user)))->take();
    if (!connection) {
      EXPECT_EQ(user, 32);
      EXPECT_TRUE(is_refused(connection)) << connection.error().message;
      return;
    }
    held.push_back(std::move(*connection));
  }
}

TEST_F(RemoteConnections, ToOneThatHangsAreGivenUpSoonByWhoDidNotStartIt) {
  ASSERT_TRUE(connections()->take());
  ASSERT_EQ(kill_helpers(SIGSTOP), 1);
  expect_given_up_soon();
}

// As on a machine that does much else, or reads the program for the first time.
TEST_F(RemoteConnections, WaitForOneThatSomebodyElseIsStarting) {
  const auto file = scratch_ / "kiln-remote";
  write_file(file, fmt::format("#!/bin/sh\nsleep 0.7\nexec {}\n",
                               find_helper("kiln-remote", "", std::nullopt).executable.string()));
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  std::vector<std::future<bool>> tries;
  for (int number = 0; number < 4; ++number) {
    tries.push_back(std::async(std::launch::async, [&] {
      return connections({.url = folder_url()}, file)->take().has_value();
    }));
  }
  for (auto& one : tries) EXPECT_TRUE(one.get());
  EXPECT_EQ(helpers().size(), 1U);
}

// As another user may, whom nobody can send away.
TEST_F(RemoteConnections, AreGivenUpSoonWhereAStrangerHoldsTheName) {
  ASSERT_TRUE(connections()->take());
  const AbstractAddress address(last_socket_name());
  const system::Descriptor stranger(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(stranger.get(), address.get(), address.size), 0);
  EXPECT_NE(expect_given_up_soon().find("does not listen"), std::string::npos);
}

}  // namespace
}  // namespace kiln::test
