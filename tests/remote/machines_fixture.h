#pragma once

// Machines that share a store, as processes of this one see them: each has a cache of its own, and those that spell the store's
// url differently have a kiln-remote each.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "kiln/digest.h"
#include "kiln/remote.h"

namespace kiln::test {

/// How often something is killed: as often as is enough to see that it works, or so often by hand: KILN_REMOTE_KILLS=200.
inline int kills(int few) {
  const char* const text = std::getenv("KILN_REMOTE_KILLS");
  return text != nullptr ? std::atoi(text) : few;
}

/// Ends the helpers that were started during the test, and no others: what is started inherits a mark.
class MachinesFixture : public CompileFixture {
 protected:
  MachinesFixture() : mark_("KILN_TEST_MARK", scratch_.path().string()) { compile_workers_ = 0; }
  ~MachinesFixture() override { kill_helpers(SIGKILL); }

  RuntimeOptions machine(const std::string& name, const std::string& url) {
    auto options = this->options();
    options.cache_directory = scratch_ / name;
    options.remotes = url;
    options.log = [this](LogLevel level, std::string_view text) {
      const std::lock_guard lock(warnings_mutex_);
      if (level == LogLevel::warn) warnings_.emplace_back(text);
    };
    return options;
  }

  /// How many of the warnings so far hold these words. A busy machine may add one that a test is not about: a store is slow there.
  int warnings_with(std::string_view words) {
    const std::lock_guard lock(warnings_mutex_);
    return static_cast<int>(std::ranges::count_if(warnings_, [&](const std::string& warning) {
      return warning.find(words) != std::string::npos;
    }));
  }

  [[nodiscard]] std::string folder_url() const { return "file://" + (scratch_ / "store").string(); }

  static Program program(int number) {
    const std::string source = "__global__ void k(int* x) { *x = " + std::to_string(number) + "; }";
    return Program::make({.name = "shared.cu", .source = source, .kernels = {"k"}}).value();
  }

  static Result<Artifact> compile(Runtime& runtime, int number) {
    return runtime.compile(program(number), "sm_80");
  }

  /// As a machine makes it that shares nothing.
  Bytes image_of(int number) {
    auto options = this->options();
    options.cache_directory = scratch_ / "alone";
    auto runtime = Runtime::open(options).value();
    return compile(runtime, number).value().image;
  }

  /// Until everything is put and kept.
  static RemoteStatus settled(Runtime& runtime) {
    for (int step = 0; step < 2000; ++step) {
      const auto status = runtime.remotes(false).at(0).status;
      if (status && status->waiting == 0) return *status;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "it is not put";
    return {};
  }

  [[nodiscard]] std::vector<pid_t> helpers() const {
    std::vector<pid_t> found;
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", failure)) {
      const auto name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") == std::string::npos && is_helper(entry.path()))
        found.push_back(std::stoi(name));
    }
    return found;
  }

  int kill_helpers(int signal) const {
    int count = 0;
    for (const pid_t helper : helpers()) count += ::kill(helper, signal) == 0 ? 1 : 0;
    return count;
  }

  /// A process that does this work and ends with its status; with this process at the latest.
  static pid_t in_a_process(const std::function<int()>& work) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(work());
  }

  /// -1 where a signal ended it.
  static int status_of(pid_t process) {
    int status = 0;
    ::waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// Eight machines that compile the same programs, until `stopped()`; each program's images of all machines are compared. `url` is
  /// asked again for each few programs. Gives how many artifacts there were.
  int work_together(const std::function<std::string(int round)>& url,
                    const std::function<void()>& meanwhile) {
    constexpr int machines = 8;
    std::vector<pid_t> processes;
    for (int number = 0; number < machines; ++number)
      processes.push_back(in_a_process([&] { return work(number, url); }));
    meanwhile();
    write_file(scratch_ / "stop", "");
    for (const pid_t process : processes) EXPECT_EQ(status_of(process), 0);
    std::map<std::string, std::string> images;
    int artifacts = 0;
    for (int number = 0; number < machines; ++number) {
      std::ifstream file(scratch_ / fmt::format("images-{}", number));
      for (std::string program, image; file >> program >> image; ++artifacts)
        EXPECT_EQ(images.emplace(program, image).first->second, image) << program;
    }
    std::map<std::string, std::string> programs;
    for (const auto& [program, image] : images)
      EXPECT_TRUE(programs.emplace(image, program).second)
          << program << " and " << programs[image] << " have one image";
    return artifacts;
  }

  ScopedVariable mark_;

 private:
  /// Not where it ended meanwhile.
  [[nodiscard]] bool is_helper(const std::filesystem::path& process) const {
    const auto text_of = [&](const char* file) {
      std::ifstream in(process / file, std::ios::binary);
      return std::string(std::istreambuf_iterator<char>(in), {});
    };
    return text_of("comm") == "kiln-remote\n" &&
           text_of("environ").find("KILN_TEST_MARK=" + scratch_.path().string()) !=
               std::string::npos;
  }

  int work(int number, const std::function<std::string(int)>& url) {
    constexpr int programs_of_a_round = 6;
    std::ofstream told(scratch_ / fmt::format("images-{}", number));
    for (int round = 0; !std::filesystem::exists(scratch_ / "stop"); ++round) {
      auto runtime = Runtime::open(machine(fmt::format("m{}-{}", number, round % 2), url(round)));
      if (!runtime) return 1;
      for (int at = 0; at < programs_of_a_round; ++at) {
        // Not all in one order, so that they find what others made and make what others find.
        const int which = round * programs_of_a_round + (at + number) % programs_of_a_round;
        const auto artifact = compile(*runtime, which);
        if (!artifact) {
          write_file(scratch_ / fmt::format("failure-{}", number), artifact.error().message);
          return 2;
        }
        told << which << ' ' << digest_of(std::string_view(artifact->image)).hex() << '\n';
      }
    }
    return 0;
  }

  std::mutex warnings_mutex_;
  std::vector<std::string> warnings_;
};

}  // namespace kiln::test
