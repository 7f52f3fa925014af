#include "verbs/clang_command.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSubsetOf;
using testing::Not;

std::vector<std::string> command_for(const std::string& arch,
                                     const std::vector<std::string>& options = {}) {
  return clang_command({.file = "/k.cu", .arch = arch, .options = options}, "/prelude.h");
}

// What of a command comes from its options: all that a command without any has not.
std::vector<std::string> carried(const std::vector<std::string>& options) {
  const auto without = command_for("sm_80");
  auto words = command_for("sm_80", options);
  std::erase_if(words, [&](const auto& word) { return std::ranges::count(without, word) > 0; });
  return words;
}

TEST(ClangCommand, CarriesMacrosInTheOrderGiven) {
  EXPECT_THAT(carried({"-DA", "--define-macro=B=1 2", "-D", "C=\"x\"", "-define-macro", "D",
                       "--undefine-macro=A", "-UB", "-D=E"}),
              ElementsAre("-DA", "-DB=1 2", "-DC=\"x\"", "-DD", "-UA", "-UB", "-DE"));
}

TEST(ClangCommand, CarriesTheLanguagesVersion) {
  EXPECT_THAT(command_for("sm_80"), Contains("-std=c++17")) << "NVRTC's own";
  EXPECT_THAT(carried({"--std=c++20"}), ElementsAre("-std=c++20"));
  EXPECT_THAT(carried({"-std", "c++11"}), ElementsAre("-std=c++11"));
  EXPECT_THAT(carried({"-std=c++23"}), ElementsAre("-std=c++2b"));
}

TEST(ClangCommand, TellsBySmallMacrosWhatNvrtcDoesAndLeavesOutTheRest) {
  EXPECT_THAT(
      carried({"-default-device", "-G", "--use_fast_math", "-w", "--builtin-move-forward=false"}),
      ElementsAre("-D__KILN_DEFAULT_DEVICE__", "-D__CUDACC_DEBUG__=1", "-D__USE_FAST_MATH__=1",
                  "-w", "-D__KILN_NO_MOVE_FORWARD__"));
  EXPECT_THAT(carried({"--maxrregcount=32", "-lineinfo", "--fmad=false", "--ptxas-options=-v",
                       "-dopt", "on", "--extra-device-vectorization", "--restrict", "--stdx=y"}),
              ElementsAre());
}

TEST(ClangCommand, AnOptionWithoutItsValueIsLeftOut) {
  EXPECT_THAT(carried({"-D"}), ElementsAre());
  EXPECT_THAT(carried({"--std"}), ElementsAre());
}

TEST(ClangCommand, TheArchitectureIsTheNearestBelowAndItsMacrosAreExact) {
  const auto expect = [](const std::string& arch, const std::vector<std::string>& words) {
    EXPECT_THAT(words, IsSubsetOf(command_for(arch))) << arch;
  };
  expect("sm_75", {"--cuda-gpu-arch=sm_75", "-D__CUDA_ARCH__=750"});
  expect("compute_80", {"--cuda-gpu-arch=sm_80", "-D__CUDA_ARCH__=800"});
  expect("sm_89", {"--cuda-gpu-arch=sm_86", "-D__CUDA_ARCH__=890"});
  expect("sm_90a", {"--cuda-gpu-arch=sm_86", "-D__CUDA_ARCH__=900", "-D__CUDA_ARCH_LIST__=900",
                    "-D__CUDA_ARCH_FEAT_SM90_ALL=1", "-D__CUDA_ARCH_SPECIFIC__=900",
                    "-D__CUDA_ARCH_FAMILY_SPECIFIC__=900"});
  expect("sm_103f", {"-D__CUDA_ARCH__=1030", "-D__CUDA_ARCH_FAMILY_SPECIFIC__=1030"});
  EXPECT_THAT(command_for("sm_103f"), Not(Contains("-D__CUDA_ARCH_SPECIFIC__=1030")));
  EXPECT_THAT(command_for("sm_90"), Not(Contains("-D__CUDA_ARCH_FAMILY_SPECIFIC__=900")));
  // What a damaged entry may hold.
  for (const auto* nonsense : {"", "sm", "sm_", "sm_x", "sm_99999999999"})
    expect(nonsense, {"--", "/k.cu"});
}

TEST(ClangCommand, SearchesInTheOrderOfTheCompiler) {
  const auto words = clang_command({.file = "/src/-k.cu",
                                    .arch = "sm_80",
                                    .include_dirs = {"/a", "/b c"},
                                    .toolkit_dirs = {"/cuda/include"}},
                                   "/prelude.h");
  const auto begin = std::ranges::find(words, "-include");
  EXPECT_THAT(std::vector(begin, words.end()),
              ElementsAre("-include", "/prelude.h", "-I", "/a", "-I", "/b c", "-isystem",
                          "/cuda/include", "--", "/src/-k.cu"));
}

}  // namespace
}  // namespace kiln::cli
