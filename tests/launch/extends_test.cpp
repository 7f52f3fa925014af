// Kernels of a program that does not list them.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_driver.h"
#include "kiln/runtime.h"

namespace kiln {
namespace {

using testing::HasSubstr;

class ExtendsTest : public FakeDriverTest {
 protected:
  static ProgramSpec spec() {
    return {.name = "scale.cu",
            .source = "template <class T> __global__ void scale(T* x) { *x *= 2; }",
            .kernels = {"scale<float>"},
            .extends = true};
  }

  Runtime runtime_ = open_runtime();
};

TEST_F(ExtendsTest, EachIsCompiledByItselfWhenItIsFirstAskedFor) {
  const auto program = Program::make(spec()).value();
  EXPECT_TRUE(runtime_.kernel(program, "scale<float>"));
  EXPECT_EQ(runtime_.counters().compiles, 1U);
  const auto kernel = runtime_.kernel(program, "scale<double>").value();
  EXPECT_EQ(kernel.info().expression, "scale<double>");
  EXPECT_EQ(runtime_.counters().compiles, 2U);
  EXPECT_TRUE(runtime_.kernel(program, "scale< double >"));
  EXPECT_TRUE(runtime_.kernel(program, "scale<double>"));
  EXPECT_TRUE(runtime_.kernel(program, "scale<float>"));
  EXPECT_EQ(runtime_.counters().compiles, 2U);
}

TEST_F(ExtendsTest, OneThatTheSourceDoesNotHaveIsAnError) {
  const auto program = Program::make(spec()).value();
  const auto error = runtime_.kernel(program, "shift<float>").error();
  EXPECT_THAT(error.message + error.log, HasSubstr("shift"));
  EXPECT_TRUE(runtime_.kernel(program, "scale<float>"));
}

TEST_F(ExtendsTest, OnlyWhereTheProgramSaysSo) {
  auto closed = spec();
  closed.extends = false;
  const auto program = Program::make(closed).value();
  EXPECT_EQ(runtime_.kernel(program, "scale<double>").error().code, ErrorCode::unknown_kernel);
}

TEST_F(ExtendsTest, AlsoAProgramThatListsNone) {
  auto none = spec();
  none.kernels.clear();
  EXPECT_TRUE(runtime_.kernel(Program::make(none).value(), "scale<int>"));
}

TEST_F(ExtendsTest, IsTheProgramOfThisKernelForTheCache) {
  const auto program = Program::make(spec()).value();
  const auto alone = program.with_kernels({"scale<double>"}).value();
  EXPECT_TRUE(runtime_.kernel(program, "scale<double>"));
  EXPECT_TRUE(runtime_.kernel(alone, "scale<double>"));
  EXPECT_EQ(runtime_.counters().compiles, 1U);
  EXPECT_EQ(alone.source_digest(), program.source_digest());
  EXPECT_NE(alone.id(), program.id());
}

TEST_F(ExtendsTest, MakesASourceOnDemandOnce) {
  int calls = 0;
  auto made = spec();
  made.make_source = [&calls, source = made.source] {
    ++calls;
    return source;
  };
  made.source.clear();
  made.source_word = "1";
  const auto program = Program::make(made).value();
  EXPECT_TRUE(runtime_.kernel(program, "scale<float>"));
  EXPECT_TRUE(runtime_.kernel(program, "scale<double>"));
  EXPECT_EQ(calls, 1);
}

TEST_F(ExtendsTest, ByAVariantToo) {
  auto various = spec();
  various.variants = {{.name = "hopper",
                       .since = "sm_90",
                       .source = "template <class T> __global__ void fast(T* x) { *x *= 2; }\n"
                                 "template <class T> __global__ void scale(T* x) { *x *= 3; }",
                       .kernels = {{"scale<float>", "fast<float>"}}}};
  const auto program = Program::make(various).value();
  EXPECT_EQ(runtime_.kernel(program, "scale<float>").value().info().expression, "fast<float>");
  EXPECT_EQ(runtime_.kernel(program, "scale<double>").value().info().expression, "scale<double>");
  const auto pinned = program.with_variant("default").value();
  EXPECT_EQ(pinned.with_kernels({"scale<float>"})->is_pinned(), true);
}

}  // namespace
}  // namespace kiln
