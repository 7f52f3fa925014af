// What a profiler is told: ranges around compiles and loads. A process of its own, since NVTX looks for
// the profiler once, with the first range.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiled.h"
#include "fake_driver.h"
#include "support/scratch.h"

namespace kiln {
namespace {

class NvtxTest : public FakeDriverTest {
 protected:
  NvtxTest() {
    set("FAKE_NVTX_LOG", log_);
    set("NVTX_INJECTION64_PATH", KILN_NVTX_RECORDER);
  }

  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    std::ifstream file(log_);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  const kiln::test::ScratchDirectory scratch_;
  const std::filesystem::path log_ = scratch_ / "ranges";
};

TEST_F(NvtxTest, CompilesAndLoadsAreRangesOfKilnsDomain) {
  const auto program = make_program("extern \"C\" __global__ void k(int* x) { *x = 1; }", {"k"});
  Runtime runtime = open_runtime();
  const auto kernel = runtime.kernel(program, "k").value();
  ASSERT_TRUE(kernel.launch(nullptr, {}, nullptr).has_value());
  ASSERT_TRUE(runtime.kernel(program, "k").has_value());
  EXPECT_THAT(lines(), testing::ElementsAre("kiln begin compile test.cu for sm_90a", "kiln end",
                                            "kiln begin load test.cu for sm_90a", "kiln end"));
}

}  // namespace
}  // namespace kiln
