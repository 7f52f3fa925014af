// kiln-remote fails: it is missing, broken, killed or stopped. No compile fails for that, no image is a wrong one, nobody waits for
// long, and the next call starts it anew.

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/build_identity.h"
#include "machines_fixture.h"
#include "remote/helper_connections.h"
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
  EXPECT_EQ(warnings_, 2) << "one of each runtime";
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
  EXPECT_EQ(warnings_, 1);
  const auto status = runtime.remotes(true).at(0).status;
  ASSERT_FALSE(status);
  EXPECT_FALSE(status.error().message.empty());
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

class RemoteConnections : public MachinesFixture {
 protected:
  std::unique_ptr<remote::HelperConnections> connections() {
    return std::make_unique<remote::HelperConnections>(
        find_helper("kiln-remote", "", std::nullopt).executable, "there is none",
        remote::Introduction{
            std::string(build_identity()), {.url = folder_url(), .timeout = 3s}, {}, {}});
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
  const auto first = connections();
  ASSERT_TRUE(first->take());
  ASSERT_EQ(kill_helpers(SIGSTOP), 1);
  std::vector<std::future<bool>> tries;
  for (int number = 0; number < 150; ++number) {
    tries.push_back(
        std::async(std::launch::async, [this] { return connections()->take().has_value(); }));
  }
  for (auto& one : tries) EXPECT_FALSE(one.get());
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

}  // namespace
}  // namespace kiln::test
