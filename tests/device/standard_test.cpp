// The standard headers, forwarded to libcu++ and kiln's own.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/kiln.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kernel = "extern \"C\" __global__ void k() {}\n";

std::string include(std::string_view name) { return "#include <" + std::string(name) + ">\n"; }

Result<Artifact> compile(Runtime& runtime, ProgramSpec spec, const char* arch = "sm_80") {
  const auto program = Program::make(std::move(spec));
  if (!program) return tl::unexpected(program.error());
  return runtime.compile(*program, Target::parse(arch).value());
}

Runtime without_cache() {
  RuntimeOptions options;
  options.cache_disabled = true;
  return Runtime::open(options).value();
}

struct Setting {
  const char* arch;
  const char* standard;
  bool libcudacxx;
};

std::string name_of(const testing::TestParamInfo<Setting>& info) {
  return std::string(info.param.arch) + (info.param.libcudacxx ? "_libcudacxx" : "_own");
}

class StandardHeaders : public testing::TestWithParam<Setting> {
 protected:
  void expect_compiles(const std::string& source) {
    const auto artifact = compile(runtime_,
                                  {.name = "standard.cu",
                                   .source = source,
                                   .headers = {standard_headers()},
                                   .options = {GetParam().standard},
                                   .toolkit_headers = GetParam().libcudacxx},
                                  GetParam().arch);
    ASSERT_TRUE(artifact) << artifact.error().message << artifact.error().log;
    EXPECT_EQ(artifact->log, "");
  }

 private:
  Runtime runtime_ = without_cache();
};

INSTANTIATE_TEST_SUITE_P(Device, StandardHeaders,
                         testing::Values(Setting{"sm_80", "--std=c++17", false},
                                         Setting{"sm_80", "--std=c++17", true},
                                         Setting{"sm_100", "--std=c++20", false},
                                         Setting{"sm_100", "--std=c++20", true}),
                         name_of);

TEST_P(StandardHeaders, EachCompilesAlone) {
  for (const auto& header : standard_headers().headers()) {
    SCOPED_TRACE(header.name);
    expect_compiles(include(header.name) + kernel);
  }
}

TEST_P(StandardHeaders, AllTogether) {
  std::string source;
  for (const auto& header : standard_headers().headers()) source += include(header.name);
  expect_compiles(source + kernel);
}

TEST_P(StandardHeaders, NamesAreInStd) { expect_compiles(read_file(STANDARD_FOLDER "/names.cu")); }

TEST_P(StandardHeaders, NamesStandForOneThingEach) {
  expect_compiles(read_file(STANDARD_FOLDER "/using_namespace.cu"));
}

// Each defines types and macros that the other one does, too.
TEST(StandardHeader, GoWithTheToolkitInEitherOrder) {
  auto runtime = without_cache();
  const auto names = read_file(STANDARD_FOLDER "/names.cu");
  const std::string toolkit = include("cub/block/block_reduce.cuh") + include("cuda_fp16.h");
  for (const auto& source : {toolkit + names, names + toolkit}) {
    const auto artifact = compile(
        runtime, {.name = "standard.cu", .source = source, .headers = {standard_headers()}});
    ASSERT_TRUE(artifact) << artifact.error().message << artifact.error().log;
    EXPECT_EQ(artifact->log, "");
  }
}

TEST(StandardHeader, EntriesOfTheTwoKindsAreApart) {
  const ScratchDirectory scratch;
  RuntimeOptions options;
  options.cache_directory = scratch / "cache";
  ProgramSpec own{.name = "standard.cu",
                  .source = include("cstdint") + kernel,
                  .headers = {standard_headers()},
                  .toolkit_headers = false};
  auto forwarded = own;
  forwarded.toolkit_headers = true;
  {
    auto runtime = Runtime::open(options).value();
    EXPECT_EQ(compile(runtime, own).value().origin, Origin::compiled);
    EXPECT_EQ(compile(runtime, forwarded).value().origin, Origin::compiled);
  }
  auto runtime = Runtime::open(options).value();
  EXPECT_EQ(compile(runtime, own).value().origin, Origin::local);
  EXPECT_EQ(compile(runtime, forwarded).value().origin, Origin::local);
}

TEST(StandardHeader, OthersAreNotThere) {
  auto runtime = without_cache();
  const std::string source = "#if __has_include(<vector>)\n#error found\n#endif\n";
  EXPECT_TRUE(
      compile(runtime,
              {.name = "standard.cu", .source = source + kernel, .headers = {standard_headers()}}));
}

TEST(StandardHeader, ErrorsTellTheRemedy) {
  auto runtime = without_cache();
  const auto error = [&](const char* name, std::vector<HeaderSet> headers) {
    const auto artifact = compile(
        runtime,
        {.name = "standard.cu", .source = include(name) + kernel, .headers = std::move(headers)});
    EXPECT_EQ(artifact.error().code, ErrorCode::header_not_found);
    return artifact.error().message;
  };
  EXPECT_THAT(error("cstdint", {}), HasSubstr("NVRTC has no <cstdint> of its own: add "
                                              "kiln::standard_headers()"));
  const auto of_vector = error("vector", {standard_headers()});
  EXPECT_THAT(of_vector, HasSubstr("NVRTC has no <vector> of its own"));
  EXPECT_THAT(of_vector, HasSubstr("#ifndef __CUDACC_RTC__"));
  EXPECT_THAT(of_vector, Not(HasSubstr("libcu++")));
  EXPECT_THAT(error("optional", {standard_headers()}), HasSubstr("include <cuda/std/optional>"));
  EXPECT_THAT(error("engine", {standard_headers()}), HasSubstr("Add its folder"));
}

}  // namespace
}  // namespace kiln::test
