// What machines share by a store: here each has a cache of its own, and all are this machine's user.

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "kiln/exchange.h"
#include "kiln/remote.h"

namespace kiln::test {
namespace {

using namespace std::chrono_literals;

class RemoteLayer : public CompileFixture {
 protected:
  RuntimeOptions machine(const std::string& name) {
    auto options = this->options();
    options.cache_directory = scratch_ / name;
    options.remotes = "file://" + (scratch_ / "store").string();
    return options;
  }

  static Program program(int number = 1) {
    const std::string source = "__global__ void k(int* x) { *x = " + std::to_string(number) + "; }";
    return Program::make({.name = "shared.cu", .source = source, .kernels = {"k"}}).value();
  }

  static Artifact compile(Runtime& runtime, int number = 1) {
    return runtime.compile(program(number), "sm_80").value();
  }

  struct Served {
    std::string machine;
    Runtime runtime;
    Artifact artifact;
  };

  /// What a new machine is given. A look-up goes on without a store that does not answer in time, as it may be where this machine has
  /// much to do, and says so: then the next one is asked.
  Served served_in_time() {
    constexpr int most_machines = 5;
    for (int number = 1;; ++number) {
      const auto name = "new" + std::to_string(number);
      const auto said = std::make_shared<std::string>();
      auto options = machine(name);
      options.log = [said](LogLevel, std::string_view line) { *said += line; };
      auto runtime = Runtime::open(options).value();
      auto artifact = compile(runtime);
      const bool was_late = said->find("did not answer in time") != std::string::npos;
      if (!was_late || number == most_machines)
        return {name, std::move(runtime), std::move(artifact)};
    }
  }

  /// Until all is put and kept.
  static RemoteStatus settled(Runtime& runtime) {
    for (int step = 0; step < 500; ++step) {
      const auto status = runtime.remotes(false).at(0).status;
      if (status && status->waiting == 0) return *status;
      std::this_thread::sleep_for(10ms);
    }
    ADD_FAILURE() << "it is not put";
    return {};
  }
};

TEST_F(RemoteLayer, WhatOneMachineCompiledServesAnother) {
  auto first = Runtime::open(machine("a")).value();
  const auto compiled = compile(first);
  EXPECT_EQ(compiled.origin, Origin::compiled);
  EXPECT_EQ(settled(first).pushed, 1U);
  auto second = served_in_time();
  EXPECT_EQ(second.artifact.origin, Origin::remote);
  EXPECT_EQ(second.artifact.image, compiled.image);
  EXPECT_EQ(second.artifact.key, compiled.key);
  EXPECT_EQ(second.runtime.counters().remote_hits, 1U);
  EXPECT_EQ(second.runtime.counters().compiles, 0U);
  settled(second.runtime);
  auto again = Runtime::open(machine(second.machine)).value();
  EXPECT_EQ(compile(again).origin, Origin::local) << "it is kept here from then on";
}

TEST_F(RemoteLayer, IsNamedOnceInAWarning) {
  const std::string url = "redis://127.0.0.1:1";  // Where nobody listens.
  std::vector<std::string> warnings;
  auto options = machine("a");
  options.remotes = url;
  options.log = [&](LogLevel, std::string_view line) { warnings.emplace_back(line); };
  auto runtime = Runtime::open(options).value();
  EXPECT_EQ(compile(runtime).origin, Origin::compiled);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("going on without a store: "), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find(url), std::string::npos) << warnings[0];
  EXPECT_EQ(warnings[0].find(url), warnings[0].rfind(url)) << warnings[0];
}

// Whoever compiles first makes it. Who only reads is told that nothing is there.
TEST_F(RemoteLayer, AStoreThatIsNotThereYetIsNoFaultToWhoMakesIt) {
  std::vector<std::string> warnings;
  auto options = machine("a");
  options.log = [&](LogLevel, std::string_view line) { warnings.emplace_back(line); };
  {
    auto reader = options;
    reader.remotes = options.remotes.value() + "?read-only";
    auto runtime = Runtime::open(reader).value();
    EXPECT_EQ(compile(runtime, 2).origin, Origin::compiled);
    ASSERT_EQ(warnings.size(), 1);
    EXPECT_NE(warnings[0].find("there is no store in"), std::string::npos) << warnings[0];
  }
  warnings.clear();
  auto runtime = Runtime::open(options).value();
  EXPECT_EQ(compile(runtime).origin, Origin::compiled);
  EXPECT_EQ(settled(runtime).pushed, 1U);
  EXPECT_TRUE(warnings.empty()) << warnings[0];
}

TEST_F(RemoteLayer, WhoOnlyLooksMakesNoStoreAnewWhereSomebodyWroteBefore) {
  auto runtime = Runtime::open(machine("a")).value();
  compile(runtime);
  settled(runtime);
  std::filesystem::remove_all(scratch_ / "store");
  auto reader = machine("b");
  reader.cache_read_only = true;
  auto looking = Runtime::open(reader).value();
  for (int number = 2; number < 6; ++number)
    EXPECT_EQ(compile(looking, number).origin, Origin::compiled);
  EXPECT_FALSE(looking.remotes(true).at(0).status);
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "store"));
  compile(runtime, 7);
  settled(runtime);
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "store"));
}

// Nor is it asked: nothing listens on the port 1.
TEST_F(RemoteLayer, AServerThatIsNamedReadOnlyIsNotWritten) {
  const auto settings = resolve_settings(machine("a")).value();
  const auto store = open_store("redis://127.0.0.1:1?read-only", settings).value();
  const std::string name(64, 'a');
  const std::vector<Error> refused{store->put(name, "x").error(),
                                   store->add_hint(Digest(), name, "x").error()};
  for (const auto& error : refused) {
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_NE(error.message.find("read-only"), std::string::npos) << error.message;
  }
}

}  // namespace
}  // namespace kiln::test
