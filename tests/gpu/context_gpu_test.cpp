// What happens to kernels on a real GPU beside contexts of the engine's own, resets, forks, threads and the end of the process.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu.h"
#include "kiln/launch.h"
#include "kiln/module.h"

namespace kiln {
namespace {

using gpu::check;
using gpu::DeviceBytes;

class ContextGpuTest : public gpu::GpuTest {
 protected:
  static constexpr const char* counting =
      "__device__ int count;\n"
      "extern \"C\" __global__ void add(int* x, int y) { *x += y; atomicAdd(&count, 1); }";

  static void expect_added(const Kernel& add) {
    const DeviceBytes out(sizeof(int));
    const auto launched = add.launch(nullptr, {}, out.as<int>(), 5);
    ASSERT_TRUE(launched.has_value()) << launched.error().message;
    EXPECT_EQ(out.read<int>(1)[0], 5);
  }
};

// A context of the engine's own, current while the body runs.
class OwnContext {
 public:
  OwnContext() {
    CUdevice device = 0;
    check(functions_.ctx_get_current(&before_));
    check(functions_.device_get(&device, 0));
    check(functions_.ctx_create(&context_, 0, device));
  }
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;
  ~OwnContext() {
    static_cast<void>(functions_.ctx_destroy(context_));
    static_cast<void>(functions_.ctx_set_current(before_));
  }

 private:
  const gpu::Functions& functions_ = gpu::Machine::get().functions;
  CUcontext before_ = nullptr;
  CUcontext context_ = nullptr;
};

TEST_F(ContextGpuTest, OneKernelServesEachContextWithVariablesOfItsOwn) {
  const auto asked = program(counting, {"add", "&count"});
  const Module module = runtime().module(asked).value();
  const Kernel add = module.kernel("add").value();
  expect_added(add);
  {
    const OwnContext own;
    EXPECT_EQ(module.variable("count")->get<int>().value(), 0);
    expect_added(add);
    expect_added(add);
    EXPECT_EQ(module.variable("count")->get<int>().value(), 2);
  }
  EXPECT_EQ(module.variable("count")->get<int>().value(), 1);
  expect_added(add);
}

TEST_F(ContextGpuTest, OneThatIsLoadedInAContextOutlivesIt) {
  std::optional<Kernel> add;
  {
    const OwnContext own;
    add = kernel(counting, "add");
    expect_added(*add);
  }
  expect_added(*add);
}

TEST_F(ContextGpuTest, AReadOfADestroyedContextsVariableIsAnError) {
  const Module module = runtime().module(program(counting, {"add", "&count"})).value();
  std::optional<Variable> count;
  {
    const OwnContext own;
    count = module.variable("count").value();
    EXPECT_TRUE(count->set(1).has_value());
  }
  // Its address is nobody's in the context that is current now.
  EXPECT_FALSE(count->get<int>().has_value());
}

TEST_F(ContextGpuTest, AResetIsAnErrorOrHarmlessAndLaunchesGoOn) {
  const Kernel add = kernel(counting, "add");
  expect_added(add);
  CUdevice device = 0;
  check(functions().device_get(&device, 0));
  check(functions().primary_ctx_reset(device));
  const auto launched = add.launch(nullptr, {}, static_cast<int*>(nullptr), 1);
  if (!launched) {
    EXPECT_NE(launched.error().message.find("the context was destroyed or its device reset"),
              std::string::npos)
        << launched.error().message;
  }
  check(functions().ctx_set_current(nullptr));
  CUcontext fresh = nullptr;
  check(functions().primary_ctx_retain(&fresh, device));
  check(functions().ctx_set_current(fresh));
  expect_added(add);
  expect_added(kernel("extern \"C\" __global__ void add(int* x, int y) { *x = y; }", "add"));
}

TEST_F(ContextGpuTest, AThreadWithoutAContextLaunches) {
  const Kernel add = kernel(counting, "add");
  const DeviceBytes out(sizeof(int));
  std::thread([&] {
    CUcontext context = nullptr;
    check(functions().ctx_get_current(&context));
    EXPECT_EQ(context, nullptr);
    const auto launched = add.launch(per_thread_default_stream, {}, out.as<int>(), 5);
    EXPECT_TRUE(launched.has_value()) << launched.error().message;
  }).join();
  EXPECT_EQ(out.read<int>(1)[0], 5);
}

TEST_F(ContextGpuTest, ThreadsCompileLoadAndLaunchAtOnce) {
  constexpr int threads = 16;
  constexpr int programs = 6;
  std::vector<Program> all;
  for (int index = 0; index < programs; ++index) {
    all.push_back(program("extern \"C\" __global__ void add(int* x, int y) { atomicAdd(x, y * " +
                              std::to_string(index + 1) + "); }",
                          {"add"}));
  }
  const DeviceBytes sums(programs * sizeof(int));
  std::atomic<int> failures{0};
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      for (int round = 0; round < programs * 10; ++round) {
        const int index = (thread + round) % programs;
        const auto add = runtime().kernel(all[index], "add");
        if (!add ||
            !add->launch(per_thread_default_stream, {.block = {32}}, sums.as<int>() + index, 1))
          ++failures;
      }
    });
  }
  for (auto& thread : running) thread.join();
  EXPECT_EQ(failures, 0);
  const auto seen = sums.read<int>(programs);
  for (int index = 0; index < programs; ++index)
    EXPECT_EQ(seen[index], threads * 10 * 32 * (index + 1));
  EXPECT_EQ(runtime().counters().loads, programs);
}

TEST_F(ContextGpuTest, AForkedChildGetsAnErrorAndEndsAndTheParentGoesOn) {
  const auto asked = program(counting, {"add"});
  const Kernel add = runtime().kernel(asked, "add").value();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto launched = add.launch(nullptr, {}, static_cast<int*>(nullptr), 1);
    const bool right = !launched && launched.error().message.find("forked") != std::string::npos;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_added(add);
}

// In a process of its own: what outlives main() comes after the driver's own end, or before it.
class EndGpuTest : public ContextGpuTest {
 protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    ContextGpuTest::SetUp();
  }
};

// Made before the driver is started, and so destroyed after it.
struct Outliving {
  std::optional<Runtime> runtime;
  std::optional<Kernel> kernel;
};

TEST_F(EndGpuTest, ARuntimeMayOutliveMain) {
  EXPECT_EXIT(
      {
        static Outliving outliving;
        outliving.runtime =
            Runtime::open({.cache_disabled = true, .log_level = LogLevel::off}).value();
        outliving.kernel = outliving.runtime->kernel(program(counting, {"add"}), "add").value();
        expect_added(*outliving.kernel);
        std::exit(HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(EndGpuTest, AProcessMayEndWhileAKernelRuns) {
  EXPECT_EXIT(
      {
        const Kernel slow = kernel(
            "extern \"C\" __global__ void slow() { for (int i = 0; i < 100000; ++i) "
            "__nanosleep(1000); }",
            "slow");
        const auto launched = slow.launch(nullptr, {});
        std::exit(launched.has_value() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(EndGpuTest, ARuntimeMayEndWhileItsKernelRuns) {
  const DeviceBytes out(sizeof(int));
  {
    Runtime brief = Runtime::open({.cache_disabled = true, .log_level = LogLevel::off}).value();
    const auto late = program(
        "extern \"C\" __global__ void late(int* x) { for (int i = 0; i < 2000; ++i) "
        "__nanosleep(1000); *x = 5; }",
        {"late"});
    ASSERT_TRUE(brief.kernel(late, "late")->launch(nullptr, {}, out.as<int>()).has_value());
  }
  EXPECT_EQ(out.read<int>(1)[0], 5);
}

}  // namespace
}  // namespace kiln
