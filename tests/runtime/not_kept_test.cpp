// Programs that the cache is not to keep.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile_fixture.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class NotKept : public CompileFixture {
 protected:
  ProgramSpec spec(bool keep = false) {
    return {
        .name = "secret.cu",
        .source = "#include <secret.h>\nextern \"C\" __global__ void k(int* x) { *x = SECRET; }",
        .headers = {HeaderSet::from_texts({{"secret.h", "#define SECRET 424242\n"}})},
        .kernels = {"k"},
        .keep = keep};
  }
};

TEST_F(NotKept, IsOnNoDisk) {
  auto with = options();
  with.record = scratch_ / "record.json";
  with.sources_directory = scratch_ / "sources";
  auto runtime = Runtime::open(with).value();
  for (int time = 0; time < 3; ++time) {
    const auto program = Program::make(spec()).value();
    const auto artifact = runtime.compile(program, "sm_80").value();
    EXPECT_EQ(artifact.origin, time == 0 ? Origin::compiled : Origin::memory);
    EXPECT_EQ(artifact.not_kept, "");
  }
  EXPECT_EQ(runtime.counters().stores, 0U);
  for (const auto& file : fs::recursive_directory_iterator(scratch_.path())) {
    if (!file.is_regular_file()) continue;
    EXPECT_THAT(read_file(file.path()), Not(HasSubstr("secret.cu"))) << file.path();
  }
  EXPECT_FALSE(fs::exists(*with.record));
  EXPECT_FALSE(fs::exists(*with.sources_directory / "kiln/secret.cu"));
}

TEST_F(NotKept, IsCompiledAgainByTheNextProcess) {
  EXPECT_EQ(origin_of(spec()), Origin::compiled);
  EXPECT_EQ(origin_of(spec()), Origin::compiled);
}

TEST_F(NotKept, IsServedWhatSomebodyElseKept) {
  EXPECT_EQ(origin_of(spec(true)), Origin::compiled);
  EXPECT_EQ(origin_of(spec(false)), Origin::local);
}

TEST_F(NotKept, LeavesNoFailureToOtherProcesses) {
  auto broken = spec();
  broken.source = "424242 is no CUDA";
  EXPECT_EQ(try_compile(broken).error().code, ErrorCode::compile_failed);
  for (const auto& file : fs::recursive_directory_iterator(scratch_.path())) {
    if (!file.is_regular_file()) continue;
    EXPECT_THAT(read_file(file.path()), Not(HasSubstr("424242"))) << file.path();
  }
}

}  // namespace
}  // namespace kiln::test
