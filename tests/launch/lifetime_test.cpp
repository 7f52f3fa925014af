// What happens around a launch: captures, contexts that go, forks, many threads.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiled.h"
#include "fake_driver.h"
#include "kiln/graph.h"
#include "kiln/runtime.h"
#include "launch/access.h"

namespace kiln {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Program fill_program() {
  return make_program("template <class T> __global__ void fill(T* out, T value) { *out = value; }",
                      {"fill<float>", "fill<int>"});
}

class LifetimeTest : public FakeDriverTest {
 protected:
  void SetUp() override {
    // As an engine has it that launches already: there is a context.
    ASSERT_TRUE(warm_.kernel(fill_program(), "fill<int>").value().launch(nullptr, {}, pointer_, 1));
  }

  float* const pointer_ = nullptr;
  Runtime warm_ = open_runtime();
  Runtime runtime_ = open_runtime();
};

TEST_F(LifetimeTest, AHandleThatOutlivesItsRuntimeFindsAnError) {
  const auto program = make_program(
      "__device__ int counter; template <class T> __global__ void fill(T* out, T value) "
      "{ *out = value; counter = 1; }",
      {"fill<float>", "&counter"});
  std::optional<Runtime> runtime = open_runtime();
  const auto kernel = runtime->kernel(program, "fill<float>").value();
  const auto module = runtime->module(program).value();
  const auto counter = module.variable("&counter").value();
  const LaunchConfig config{.block = {32}};
  ASSERT_TRUE(kernel.launch(nullptr, config, pointer_, 1.0F));
  const auto* record = &KernelAccess::record(kernel);
  runtime.reset();

  const auto launches = launch_count_();
  const auto says_so = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(result.error().message, HasSubstr("has ended"));
  };
  says_so(kernel.launch(nullptr, config, pointer_, 1.0F));
  says_so(kernel.launch<std::false_type>(nullptr, config, pointer_, 1.0F));
  says_so(kernel.launch(nullptr, config, Args(pointer_, 1.0F)));
  says_so(kernel.launch(nullptr, {.block = {32}, .cooperative = true}, pointer_, 1.0F));
  says_so(kernel.attributes());
  says_so(kernel.blocks_per_multiprocessor(32, 0));
  says_so(kernel.best_block_size());
  says_so(kernel.max_active_clusters({.cluster = {1}}));
  says_so(add_kernel_node(nullptr, {}, kernel, config, Args(pointer_, 1.0F)));
  says_so(module.kernel("fill<float>"));
  says_so(module.variable("&counter"));
  says_so(counter.set(1));
  says_so(counter.get<int>());
  EXPECT_EQ(launch_count_(), launches);
  EXPECT_EQ(kernel.info().expression, "fill<float>") << "what is known of it stays";
  EXPECT_EQ(module.kernels().size(), 1U);

  // The same image again, in another runtime: its object serves anew, so that there is never more than one.
  runtime = open_runtime();
  const auto again = runtime->kernel(program, "fill<float>").value();
  EXPECT_EQ(&KernelAccess::record(again), record);
  EXPECT_TRUE(again.launch(nullptr, config, pointer_, 1.0F));
  EXPECT_TRUE(kernel.launch(nullptr, config, pointer_, 1.0F));
  EXPECT_TRUE(module.variable("&counter"));
  says_so(counter.set(1));

  // Two at one time have one each.
  auto other = open_runtime();
  const auto others = other.kernel(program, "fill<float>").value();
  EXPECT_NE(&KernelAccess::record(others), record);
  runtime.reset();
  says_so(kernel.launch(nullptr, config, pointer_, 1.0F));
  EXPECT_TRUE(others.launch(nullptr, config, pointer_, 1.0F));
}

TEST_F(LifetimeTest, SpacesInAnExpressionDoNotMatter) {
  const auto program = fill_program();
  const auto kernel = runtime_.kernel(program, "fill<float>").value();
  for (const char* spelling : {"fill< float >", " fill <float>", "fill< float >"}) {
    const auto same = runtime_.kernel(program, spelling);
    ASSERT_TRUE(same) << same.error().message;
    EXPECT_EQ(same->info().symbol, kernel.info().symbol);
  }
  const auto module = runtime_.module(program).value();
  EXPECT_EQ(module.kernel("fill< int >")->info().expression, "fill<int>");
  const auto target = Target::parse("sm_90").value();
  EXPECT_TRUE(runtime_.kernel(program, "fill <int>", target));
  EXPECT_EQ(runtime_.kernel(program, "fill< double >").error().code, ErrorCode::unknown_kernel);
  EXPECT_EQ(runtime_.counters().compiles, 2) << "one for the device, one for the target";
}

TEST_F(LifetimeTest, AnOlderDriverLoadsNothingWhileAStreamIsCapturedAndNothingIsCompiled) {
  set("FAKE_CUDA_VERSION", "12020");
  const auto program = fill_program();
  const auto libraries = library_count_();
  capture_(true);
  const auto kernel = runtime_.kernel(program, "fill<float>");
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code, ErrorCode::capturing);
  EXPECT_THAT(kernel.error().message,
              AllOf(HasSubstr("test.cu: kernel 'fill<float>' is not loaded"),
                    HasSubstr("a driver before CUDA 12.3: load it beforehand "
                              "(Runtime::load_all())")));
  EXPECT_EQ(runtime_.module(program).error().code, ErrorCode::capturing);
  EXPECT_EQ(runtime_.module_of_image(compile_for(program, "sm_90").image, "x").error().code,
            ErrorCode::capturing);
  EXPECT_EQ(library_count_(), libraries);
  EXPECT_EQ(runtime_.counters().compiles, 0);
}

TEST_F(LifetimeTest, ADriverThatLoadsWhileAStreamIsCapturedIsLetTo) {
  set("FAKE_CUDA_VERSION", "12030");
  capture_(true);
  const auto kernel = runtime_.kernel(fill_program(), "fill<float>");
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_TRUE(kernel->launch(nullptr, {}, pointer_, 1.0F));
  EXPECT_EQ(runtime_.counters().compiles, 1);
}

TEST_F(LifetimeTest, WhatWasLoadedBeforeIsServedAndLaunchedIntoACapture) {
  const auto program = fill_program();
  const auto before = functions_loaded_();
  ASSERT_TRUE(runtime_.load_all(std::vector{program}));
  EXPECT_EQ(functions_loaded_(), before + 2) << "each kernel, at once";
  capture_(true);
  const auto kernel = runtime_.kernel(program, "fill<float>");
  ASSERT_TRUE(kernel) << kernel.error().message;
  const auto launches = launch_count_();
  EXPECT_TRUE(kernel->launch(nullptr, {}, pointer_, 1.0F));
  EXPECT_EQ(launch_count_(), launches + 1);
  EXPECT_EQ(runtime_.counters().loads, 1);
}

TEST_F(LifetimeTest, LoadAllGoesOnAndNamesWhatFails) {
  const auto bad = make_program("__global__ void k() { nothing(); }", {"k"});
  const auto one = runtime_.load_all(std::vector{bad, fill_program()});
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code, ErrorCode::compile_failed);
  EXPECT_EQ(runtime_.counters().loads, 1);
  const auto both = runtime_.load_all(std::vector{bad, bad, fill_program()});
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().message, HasSubstr("2 of 3 programs could not be loaded"));
}

TEST_F(LifetimeTest, ADestroyedContextIsAnErrorWithARemedy) {
  const auto kernel = runtime_.kernel(fill_program(), "fill<float>").value();
  fail_("cuLaunchKernel", CUDA_ERROR_CONTEXT_IS_DESTROYED);
  const auto launched = kernel.launch(nullptr, {}, pointer_, 1.0F);
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().vendor_code, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_THAT(launched.error().message, HasSubstr("the context was destroyed or its device reset"));
  fail_("cuLaunchKernel", 0);
  EXPECT_TRUE(kernel.launch(nullptr, {}, pointer_, 1.0F)) << "in another context";
}

TEST_F(LifetimeTest, AForkedChildGetsErrorsAndEnds) {
  auto runtime = std::make_optional(open_runtime());
  const auto program = fill_program();
  const auto kernel = runtime->kernel(program, "fill<float>").value();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto launched = kernel.launch(nullptr, {}, pointer_, 1.0F);
    const auto asked = runtime->kernel(program, "fill<int>");
    const bool right = !launched && launched.error().vendor_code == CUDA_ERROR_NOT_INITIALIZED &&
                       launched.error().message.find("forked") != std::string::npos && !asked &&
                       asked.error().code == ErrorCode::driver_failed &&
                       asked.error().message.find("forked") != std::string::npos;
    if (!right && !asked) std::fputs(asked.error().message.c_str(), stderr);
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(kernel.launch(nullptr, {}, pointer_, 1.0F)) << "the parent goes on";
}

TEST_F(LifetimeTest, ManyThreadsAskAndLaunchWhileOthersLoad) {
  constexpr int threads = 64;
  const std::vector<Program> programs{
      fill_program(),
      make_program("extern \"C\" __global__ void one(int* x) { *x = 1; }", {"one"})};
  const auto launches = launch_count_();
  std::atomic<int> failures{0};
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread) {
    all.emplace_back([&, thread] {
      for (int round = 0; round < 20; ++round) {
        const bool other = (thread + round) % 2 != 0;
        const auto kernel =
            other ? runtime_.kernel(programs[1], "one") : runtime_.kernel(programs[0], "fill<int>");
        int* const x = nullptr;
        const bool done = kernel && (other ? kernel->launch(nullptr, {}, x)
                                           : kernel->launch(nullptr, {}, x, round))
                                        .has_value();
        if (!done) ++failures;
      }
    });
  }
  for (auto& thread : all) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(launch_count_(), launches + threads * 20);
  EXPECT_EQ(runtime_.counters().loads, 2);
}

}  // namespace
}  // namespace kiln
