#include "kiln/module.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiled.h"
#include "fake_driver.h"
#include "image/symbol_name.h"
#include "kiln/resources.h"
#include "kiln/runtime.h"
#include "support/scratch.h"
#include "support/toolkit_tools.h"
#include "vendor/driver.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* source = R"(
namespace engine {
__constant__ float table[4] = {1, 2, 3, 4};
template <class T, int N> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by * table[N]; }
}
extern "C" __device__ int counter = 7;
extern "C" __global__ void count(int* x) { *x = counter; }
)";

class ModuleTest : public FakeDriverTest {
 protected:
  static Program program() {
    return make_program(source, {"engine::scale<float, 2>", "count", "&engine::table"});
  }

  static std::string cubin() { return compile_for(program(), "sm_90a").image; }

  Runtime runtime_ = open_runtime();
};

TEST_F(ModuleTest, GivesTheDriversOwnHandles) {
  const auto module = runtime_.module(program()).value();
  const auto kernel = module.kernel("count").value();
  EXPECT_NE(module.native_handle(), nullptr);
  EXPECT_NE(kernel.native_handle(), nullptr);
  EXPECT_NE(kernel.native_handle(),
            module.kernel("engine::scale<float, 2>").value().native_handle());
  EXPECT_NE(kernel.native_function().value(), nullptr);
  fail_("cuKernelGetFunction", CUDA_ERROR_INVALID_CONTEXT);
  const auto error = kernel.native_function().error();
  EXPECT_EQ(error.code, ErrorCode::driver_failed);
  EXPECT_EQ(error.vendor_code, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_THAT(error.message, HasSubstr("kernel 'count'"));
}

TEST_F(ModuleTest, HasNoHandlesOfTheDriversAfterItsRuntime) {
  std::optional<Runtime> runtime = open_runtime();
  const auto module = runtime->module(program()).value();
  const auto kernel = module.kernel("count").value();
  runtime.reset();
  EXPECT_EQ(module.native_handle(), nullptr);
  EXPECT_EQ(kernel.native_handle(), nullptr);
  EXPECT_EQ(kernel.native_function().error().code, ErrorCode::invalid_argument);
}

TEST_F(ModuleTest, HoldsTheKernelsAndVariablesOfAProgram) {
  const auto module = runtime_.module(program()).value();
  EXPECT_EQ(module.arch(), "sm_90a");
  EXPECT_EQ(module.kernels().size(), 2);
  EXPECT_EQ(module.kernel("engine::scale<float, 2>").value().info().params.size(), 2);

  const auto table = module.variable("&engine::table").value();
  EXPECT_EQ(table.size(), 4 * sizeof(float));
  EXPECT_NE(table.address(), 0U);
  const std::array<float, 4> written{4, 3, 2, 1};
  ASSERT_TRUE(table.set(written));
  EXPECT_EQ((table.get<std::array<float, 4>>().value()), written);

  const float one = 9;
  ASSERT_TRUE(table.write(std::as_bytes(std::span(&one, 1)), 2 * sizeof(float)));
  EXPECT_THAT((table.get<std::array<float, 4>>().value()), ElementsAre(4, 3, 9, 1));
  ASSERT_TRUE(module.variable("counter").value().set(std::int32_t{11}));
  EXPECT_EQ(module.variable("counter").value().get<std::int32_t>().value(), 11);
}

TEST_F(ModuleTest, RefusesWhatDoesNotFitAVariable) {
  const auto module = runtime_.module(program()).value();
  const auto counter = module.variable("counter").value();
  const auto too_wide = counter.set(std::int64_t{1});
  ASSERT_FALSE(too_wide);
  EXPECT_EQ(too_wide.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(too_wide.error().message,
              HasSubstr("the variable counter has 4 bytes, but 8 were given"));
  std::array<std::byte, 4> bytes{};
  EXPECT_THAT(counter.read(bytes, 1).error().message, HasSubstr("4 bytes from 1 on"));
  EXPECT_EQ(counter.read(bytes, ~std::size_t{0}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(counter.get<std::int32_t>().value(), 0);

  const auto none = module.variable("engine::nothing");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_THAT(none.error().message, HasSubstr("\"&engine::nothing\""));

  fail_("cuMemcpyHtoDAsync", 700);
  const auto failed = counter.set(std::int32_t{1});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().vendor_code, 700);
  EXPECT_THAT(failed.error().message, HasSubstr("writing the variable counter"));
}

// As any other tool's: what made it is not known.
TEST_F(ModuleTest, AnImageFromElsewhereLaunchesWithChecks) {
  const auto module = runtime_.module_of_image(cubin(), "engine.cubin").value();
  EXPECT_EQ(module.arch(), "sm_90a");
  for (const auto* name :
       {"_ZN6engine5scaleIfLi2EEEvPT_S1_", "engine::scale<float, 2>", "engine::scale<float,2>"}) {
    EXPECT_TRUE(module.kernel(name)) << name;
  }
  const auto kernel = module.kernel("engine::scale<float, 2>").value();
  float* const pointer = nullptr;
  ASSERT_TRUE(kernel.launch(nullptr, {}, pointer, 2.0F));
  EXPECT_EQ(launch_count_(), 1);
  const auto wrong = kernel.launch(nullptr, {}, pointer, 2.0);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::argument_mismatch);
  EXPECT_EQ(launch_count_(), 1);

  const auto unknown = module.kernel("engine::scale<double, 2>");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::unknown_kernel);
  EXPECT_THAT(unknown.error().message, HasSubstr("it has: engine::scale<float, 2>; count"));
}

TEST_F(ModuleTest, TheSameImageIsLoadedOnce) {
  const auto before = library_count_();
  const auto image = cubin();
  ASSERT_TRUE(runtime_.module_of_image(image, "one"));
  ASSERT_TRUE(runtime_.module_of_image(image, "two"));
  EXPECT_EQ(library_count_(), before + 1);
  const auto artifact = runtime_.compile(program(), Target::parse("sm_90a").value()).value();
  ASSERT_TRUE(runtime_.module(artifact));
  ASSERT_TRUE(runtime_.module(program()));
  EXPECT_EQ(library_count_(), before + 2);
}

TEST_F(ModuleTest, WhatIsNoSoundImageIsRefusedBeforeTheDriver) {
  const auto before = library_count_();
  const auto whole = cubin();
  const auto refused = [&](std::string image) {
    const auto module = runtime_.module_of_image(std::move(image), "engine.bin");
    EXPECT_FALSE(module);
    EXPECT_EQ(module.error().code, ErrorCode::invalid_argument);
    return module.error().message;
  };
  EXPECT_THAT(refused(""), HasSubstr("engine.bin: neither a cubin nor a fatbin nor PTX"));
  refused(whole.substr(0, whole.size() / 2));
  refused(std::string("\x50\xed\x55\xba\x01\0\x10\0\xff\xff\0\0\0\0\0\0", 16));
  refused(std::string("\x50\xed\x55\xba\x01\0\xff\xff\0\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(library_count_(), before);
}

TEST_F(ModuleTest, ATargetOfTheDriversIsToldInItsOwnWords) {
  const auto module =
      runtime_.module_of_image(compile_for(program(), "sm_80").image, "engine.cubin");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::driver_failed);
  EXPECT_THAT(module.error().message, HasSubstr("engine.cubin for sm_80"));
}

std::string read_all(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What nvcc makes is not known beforehand, so where there is none this cannot be tested.
class Nvcc : public ModuleTest {
 protected:
  void SetUp() override {
    const auto nvcc = test::find_tool("nvcc");
    if (!nvcc) GTEST_SKIP() << "there is no nvcc on this machine";
    test::write_file(
        scratch_ / "engine.cu",
        std::string(source) + "template __global__ void engine::scale<float, 2>(float*, float);\n");
    command_ = "'" + nvcc->string() + "' '" + (scratch_ / "engine.cu").string() + "' ";
  }

  std::string make(const std::string& words) {
    const auto file = scratch_ / "image";
    const auto outcome = test::run_tool(command_ + words + " -o '" + file.string() + "'");
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    return read_all(file);
  }

  test::ScratchDirectory scratch_;
  std::string command_;
};

TEST_F(Nvcc, ItsCubinLaunchesWithChecks) {
  const auto module = runtime_.module_of_image(make("-cubin -arch=sm_90"), "nvcc.cubin").value();
  const auto kernel = module.kernel("engine::scale<float, 2>").value();
  float* const pointer = nullptr;
  ASSERT_TRUE(kernel.launch(nullptr, {.block = {32}}, pointer, 2.0F));
  EXPECT_EQ(launch_count_(), 1);
  EXPECT_FALSE(kernel.launch(nullptr, {.block = {32}}, pointer));
  EXPECT_EQ(launch_count_(), 1);
  EXPECT_EQ(module.variable("counter").value().size(), 4);
}

TEST_F(Nvcc, ItsFatbinLaunchesWithChecks) {
  const auto image = make(
      "-fatbin -gencode arch=compute_80,code=sm_80 -gencode "
      "arch=compute_90,code=[sm_90,compute_90]");
  const auto module = runtime_.module_of_image(image, "nvcc.fatbin").value();
  EXPECT_EQ(module.kernels().size(), 2);
  const auto kernel = module.kernel("engine::scale<float, 2>").value();
  float* const pointer = nullptr;
  ASSERT_TRUE(kernel.launch(nullptr, {.block = {32}}, pointer, 2.0F));
  const auto wrong = kernel.launch(nullptr, {.block = {32}}, pointer, 2.0);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::argument_mismatch);
  EXPECT_EQ(launch_count_(), 1);
}

TEST_F(Nvcc, ItsRelocatableCubinHasToBeLinked) {
  const auto module = runtime_.module_of_image(make("-cubin -rdc=true -arch=sm_90"), "nvcc.cubin");
  ASSERT_FALSE(module);
  EXPECT_THAT(module.error().message, HasSubstr("has to be linked first"));
}

TEST(SymbolName, IsTheNameWithoutTypeAndParameters) {
  EXPECT_EQ(name_of_symbol("_ZN6engine5scaleIfLi2EEEvPT_S1_"), "engine::scale<float, 2>");
  EXPECT_EQ(name_of_symbol("_Z5plainPi"), "plain");
  EXPECT_EQ(name_of_symbol("count"), "count");
  EXPECT_EQ(name_of_symbol("i"), "i");
  EXPECT_EQ(name_of_symbol("_Z"), "_Z");
  EXPECT_EQ(name_of_symbol(""), "");
  EXPECT_TRUE(same_name("a<b, c>", " a<b,c>"));
  EXPECT_TRUE(same_name("", "  "));
  EXPECT_FALSE(same_name("ab", "abc"));
  EXPECT_FALSE(same_name("abc", "ab "));
}

TEST(SymbolName, TellsTheTypesOfTheParameters) {
  using Types = std::vector<std::string>;
  // template <class T> void f(T*, T, std::pair<T, int>, void (*)(T, int)) with T = float
  EXPECT_EQ(parameter_types("_Z1fIfEvPT_S0_St4pairIS0_iEPFvS0_iE"),
            (Types{"float*", "float", "std::pair<float, int>", "void (*)(float, int)"}));
  EXPECT_EQ(parameter_types("_ZN12_GLOBAL__N_11gEi"), Types{"int"});
  EXPECT_EQ(parameter_types("_Z1hv"), Types{});
  EXPECT_EQ(parameter_types("take_pair"), Types{});
  EXPECT_EQ(parameter_types("_ZN6engine5countE"), Types{}) << "a variable";
  EXPECT_EQ(parameter_types("_Z"), Types{});
  EXPECT_EQ(parameter_types("_Z5scaleILi8EEvN11conditionalIXgtT_Li4EEfdE4typeEii"), Types{})
      << "conditional<((8)>(4)), float, double>::type, int, int";
}

TEST(ParameterKinds, AreThoseOfTheTypes) {
  using enum ParameterKind;
  const auto kinds = [](const char* symbol, std::size_t count) {
    return parameter_kinds({.symbol = symbol, .params = std::vector<Parameter>(count)});
  };
  // f<float>(unsigned long, bool, double, E, S, void (*)(int))
  EXPECT_EQ(kinds("_Z1fIfEvmbd1E1SPFviE", 6),
            (std::vector{integer, integer, floating, other, other, other}));
  EXPECT_EQ(kinds("_Z1fPKfPPv", 2), (std::vector{pointer, pointer}));
  EXPECT_EQ(kinds("plain", 2), (std::vector{unknown, unknown}));
  EXPECT_EQ(kinds("_Z1fPKfPPv", 3), (std::vector{unknown, unknown, unknown}))
      << "a symbol that is not its own";
  EXPECT_TRUE(kinds("_Z1fv", 0).empty());
  EXPECT_STREQ(to_string(floating), "floating");
}

}  // namespace
}  // namespace kiln
