// A program that was written for NVRTC, in processes of its own.

#include <sys/wait.h>

#include <cstdio>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scratch.h"

namespace kiln::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class NvrtcProcesses : public ::testing::Test {
 protected:
  NvrtcProcesses() { write_file(scratch_ / "include/on_disk.cuh", "// Nothing.\n"); }

  /// What the program prints, with these variables set before kiln's own. Compiles in its own process, so that NVRTC is seen
  /// in it.
  [[nodiscard]] std::string output_with(const std::string& variables, bool compiles = true) const {
    const auto command = "KILN_CACHE_DIR='" + (scratch_ / "cache").string() +
                         "' KILN_COMPILE_WORKERS=0 " + variables + " '" KILN_NVRTC_SAMPLE "' " +
                         (compiles ? "'" + (scratch_ / "include").string() + "'" : "");
    const auto close = [](std::FILE* pipe) { ::pclose(pipe); };
    const std::unique_ptr<std::FILE, decltype(close)> pipe(::popen(command.c_str(), "r"), close);
    std::string output;
    for (int c = std::getc(pipe.get()); c != EOF; c = std::getc(pipe.get()))
      output += static_cast<char>(c);
    return output;
  }

  ScratchDirectory scratch_;
};

TEST_F(NvrtcProcesses, TheSecondLoadsNothing) {
  const auto first = output_with("");
  EXPECT_THAT(first, AllOf(HasSubstr("raw_module: 0, "), HasSubstr("saxpy: "),
                           HasSubstr("fill: 0 fill\n"), HasSubstr("loaded: NVRTC\n")));
  const auto second = output_with("");
  EXPECT_EQ(second.substr(0, second.find("loaded")), first.substr(0, first.find("loaded")));
  EXPECT_THAT(second, HasSubstr("loaded: nothing\n"));
}

TEST_F(NvrtcProcesses, VersionAndArchitecturesLoadNothing) {
  EXPECT_THAT(output_with("", false),
              AllOf(HasSubstr("version: 0\n"), HasSubstr("architectures: 0\n0\n"),
                    HasSubstr("loaded: nothing\n")));
}

TEST_F(NvrtcProcesses, WithoutACompilerTheCacheServes) {
  const auto compiled = output_with("");
  const auto served = output_with("KILN_NVRTC=/nowhere/libnvrtc.so.13 KILN_LOG=off");
  EXPECT_THAT(served, HasSubstr("version: 11\n"));
  const auto results = [](const std::string& output) {
    return output.substr(output.find("raw_module"),
                         output.find("loaded") - output.find("raw_module"));
  };
  EXPECT_EQ(results(served), results(compiled));
}

TEST_F(NvrtcProcesses, WhatOnlyKilnCanSayIsAnInternalErrorWithALog) {
  EXPECT_THAT(output_with("KILN_MODE=cache-only KILN_LOG=off"),
              AllOf(HasSubstr("raw_module: 11, "), HasSubstr("nothing is stored")));
  EXPECT_THAT(output_with("KILN_MODE=sometimes KILN_LOG=off"),
              AllOf(HasSubstr("version: 11\n"), HasSubstr("raw_module: 11, "), HasSubstr("log: "),
                    HasSubstr("KILN_MODE")));
  EXPECT_THAT(output_with("KILN_NVRTC=/nowhere/libnvrtc.so.13 KILN_LOG=off"),
              AllOf(HasSubstr("raw_module: 11, "), HasSubstr("/nowhere/libnvrtc.so.13"),
                    Not(HasSubstr("loaded: NVRTC"))));
}

}  // namespace
}  // namespace kiln::test
