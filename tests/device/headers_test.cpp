// Each of kiln's device headers compiles alone, from the oldest architecture to the newest.

#include <string>

#include <gtest/gtest.h>

#include "kiln/kiln.h"

namespace kiln::test {
namespace {

struct Setting {
  const char* arch;
  const char* standard;
};

TEST(DeviceHeaders, EachCompilesAloneWithoutAWarning) {
  RuntimeOptions options;
  options.cache_disabled = true;
  auto runtime = Runtime::open(options).value();
  for (const auto& header : device_headers().headers()) {
    for (const auto& [arch, standard] :
         {Setting{"sm_75", "--std=c++17"}, Setting{"sm_80", "--std=c++20"},
          Setting{"sm_90a", "--std=c++17"}, Setting{"sm_100", "--std=c++20"}}) {
      SCOPED_TRACE(std::string(header.name) + " " + arch);
      const auto program = Program::make({.name = "alone.cu",
                                          .source = "#include <" + std::string(header.name) +
                                                    ">\nextern \"C\" __global__ void k() {}",
                                          .headers = {device_headers()},
                                          .options = {standard}});
      const auto artifact = runtime.compile(program.value(), Target::parse(arch).value());
      ASSERT_TRUE(artifact) << artifact.error().message << artifact.error().log;
      EXPECT_EQ(artifact->log, "");
    }
  }
}

TEST(DeviceHeaders, AllTogether) {
  RuntimeOptions options;
  options.cache_disabled = true;
  std::string source;
  for (const auto& header : device_headers().headers())
    source += "#include <" + std::string(header.name) + ">\n";
  ASSERT_FALSE(source.empty());
  const auto program = Program::make({.name = "all.cu",
                                      .source = source + "extern \"C\" __global__ void k() {}",
                                      .headers = {device_headers()}});
  const auto artifact =
      Runtime::open(options).value().compile(program.value(), Target::parse("sm_90a").value());
  ASSERT_TRUE(artifact) << artifact.error().message << artifact.error().log;
}

}  // namespace
}  // namespace kiln::test
