// Programs that carry alternatives for architectures: which one a device gets, and who may say otherwise.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_driver.h"
#include "kiln/manifest.h"
#include "kiln/runtime.h"
#include "support/scratch.h"

namespace kiln {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr const char* asked = "scale<4>";

/// Each has parameters of its own, so that a test can tell whose kernel it got.
Program make_scale() {
  return Program::make(
             {.name = "scale.cu",
              .source = "template <int N> __global__ void scale(float* x) { *x *= N; }",
              .kernels = {asked},
              .variants = {{.name = "hopper",
                            .since = "sm_90a",
                            .file = "scale_hopper.cu",
                            .source =
                                "namespace hopper { template <int N, int Stages> __global__ void "
                                "scale(float* x, int) { *x *= N + Stages; } }",
                            .kernels = {{asked, "hopper::scale<4, 2>"}}},
                           {.name = "ampere", .since = "sm_80", .options = {{"-DFAST=1"}}}}})
      .value();
}

class VariantsTest : public FakeDriverTest {
 protected:
  RuntimeOptions options() {
    return {.cache_directory = scratch_ / "cache",
            .cuda_driver = fake_driver_path(),
            .log_level = LogLevel::off,
            .observer = [this](const Event& event) {
              if (event.kind == EventKind::load) loads_.emplace_back(event.detail);
            }};
  }

  Runtime on_device(const std::string& arch, RuntimeOptions options) {
    set("FAKE_CUDA_ARCH", arch);
    return Runtime::open(std::move(options)).value();
  }
  Runtime on_device(const std::string& arch) { return on_device(arch, options()); }

  static std::size_t params_of(Runtime& runtime, const Program& program) {
    const auto kernel = runtime.kernel(program, asked);
    EXPECT_TRUE(kernel) << kernel.error().message << kernel.error().log;
    return kernel ? kernel->info().params.size() : 0;
  }

  const kiln::test::ScratchDirectory scratch_;
  const Program scale_ = make_scale();
  std::vector<std::string> loads_;
};

TEST_F(VariantsTest, TheDeviceDecides) {
  for (const auto& [arch, variant] : {std::pair("75", "default"), std::pair("86", "ampere"),
                                      std::pair("90", "hopper"), std::pair("120", "ampere")}) {
    loads_.clear();
    Runtime runtime = on_device(arch);
    EXPECT_EQ(params_of(runtime, scale_), std::string(variant) == "hopper" ? 2U : 1U);
    EXPECT_THAT(loads_, ElementsAre(HasSubstr(std::string("cubin of variant ") + variant +
                                              " on device 0, Fake GPU sm_" + arch)));
  }
}

TEST_F(VariantsTest, TheVariantsKernelIsLaunched) {
  Runtime runtime = on_device("90");
  const auto kernel = runtime.kernel(scale_, asked).value();
  EXPECT_EQ(kernel.info().expression, "hopper::scale<4, 2>");
  float* x = nullptr;
  ASSERT_TRUE(kernel.launch(nullptr, {}, x, 7).has_value());
  EXPECT_EQ(received(0, 1), bytes_of(7));
  // A variant's own expression is not what callers ask for.
  EXPECT_EQ(runtime.kernel(scale_, "hopper::scale<4, 2>").error().code, ErrorCode::unknown_kernel);
}

TEST_F(VariantsTest, AHandleObeysItsOverride) {
  Runtime runtime = on_device("90");
  EXPECT_EQ(params_of(runtime, scale_), 2U);
  EXPECT_EQ(params_of(runtime, scale_.with_variant("ampere").value()), 1U);
  EXPECT_EQ(params_of(runtime, scale_.with_variant("default").value()), 1U);
  EXPECT_THAT(loads_, ElementsAre(HasSubstr("variant hopper"), HasSubstr("variant ampere"),
                                  HasSubstr("variant default")));
  // Also one for which the device is not meant.
  Runtime ampere = on_device("80");
  EXPECT_EQ(params_of(ampere, scale_.with_variant("hopper").value()), 2U);
}

TEST_F(VariantsTest, ARuntimeMayPreferOne) {
  auto preferring = options();
  preferring.variant = "ampere";
  Runtime runtime = on_device("90", preferring);
  EXPECT_EQ(params_of(runtime, scale_), 1U);
  EXPECT_EQ(params_of(runtime, scale_.with_variant("hopper").value()), 2U)
      << "the handle's word goes before the runtime's";
  const auto plain =
      Program::make({.name = "plain.cu",
                     .source = "template <int N> __global__ void scale(float* x) { *x *= N; }",
                     .kernels = {asked}});
  EXPECT_EQ(params_of(runtime, *plain), 1U) << "a program that has none of this name is as ever";

  set("KILN_VARIANT", "default");
  loads_.clear();
  Runtime by_environment = on_device("90");
  EXPECT_EQ(params_of(by_environment, scale_), 1U);
  EXPECT_THAT(loads_, ElementsAre(HasSubstr("variant default")));
}

TEST_F(VariantsTest, APrefetchHasEachTargetsOwn) {
  std::vector<PrefetchItem> items;
  for (const auto* arch : {"sm_75", "sm_80", "sm_90a"})
    items.push_back({scale_, Target::parse(arch).value()});
  {
    Runtime farm = Runtime::open(options()).value();
    EXPECT_EQ(farm.prefetch(items).compiled, 3U);
    EXPECT_EQ(farm.prefetch(items).hits, 3U);
  }
  for (const auto* arch : {"75", "80", "90"}) {
    Runtime runtime = on_device(arch);
    runtime.set_mode(Mode::cache_only);
    EXPECT_EQ(params_of(runtime, scale_), std::string(arch) == "90" ? 2U : 1U);
    const auto explanation = runtime.explain(scale_, Target::parse("native").value()).value();
    EXPECT_TRUE(explanation.hit);
    EXPECT_EQ(explanation.variant, std::string(arch) == "90"   ? "hopper"
                                   : std::string(arch) == "80" ? "ampere"
                                                               : "default");
  }
}

TEST_F(VariantsTest, APrefetchObeysTheRuntimesOverride) {
  auto preferring = options();
  preferring.variant = "default";
  Runtime runtime = on_device("90", preferring);
  const std::vector<PrefetchItem> items{{scale_, Target::parse("sm_90a").value()}};
  ASSERT_EQ(runtime.prefetch(items).compiled, 1U);
  runtime.set_mode(Mode::cache_only);
  EXPECT_EQ(params_of(runtime, scale_), 1U);
}

// The farm compiled for plain sm_90, which no exact variant is for: that image runs, so it is taken.
TEST_F(VariantsTest, AnImageOfALesserVariantGoesBeforeACompile) {
  ASSERT_TRUE(Runtime::open(options()).value().compile(scale_, Target::parse("sm_90").value()));
  Runtime runtime = on_device("90");
  EXPECT_EQ(params_of(runtime, scale_), 1U);
  EXPECT_EQ(runtime.counters().compiles, 0U);
  EXPECT_THAT(loads_, ElementsAre(HasSubstr("variant ampere")));
}

TEST_F(VariantsTest, EveryWayToCompileTakesTheTargetsOwn) {
  Runtime runtime = Runtime::open(options()).value();
  const auto target = Target::parse("sm_90a").value();
  const auto later = runtime.compile_async(scale_, target).get().value();
  EXPECT_EQ(later.program, "scale_hopper.cu");
  ASSERT_NE(later.find("hopper::scale<4, 2>"), nullptr);
  const auto own = scale_.for_target(target);
  EXPECT_EQ(own.expression(asked), "hopper::scale<4, 2>");
  EXPECT_EQ(runtime.compile(own.program(), target).value().key, later.key)
      << "a variant is a program like any other";
  EXPECT_EQ(runtime.compile(scale_, Target::parse("compute_80", ImageKind::ptx).value())->program,
            "scale.cu");
}

TEST_F(VariantsTest, ARecordHoldsTheChosenOneAsAnOrdinaryProgram) {
  auto recording = options();
  recording.record = scratch_ / "record.json";
  Runtime runtime = on_device("90", recording);
  ASSERT_EQ(params_of(runtime, scale_), 2U);
  const auto listed = read_manifest(scratch_ / "record.json").value();
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].spec.name, "scale_hopper.cu");
  EXPECT_THAT(listed[0].spec.kernels, ElementsAre("hopper::scale<4, 2>"));
  EXPECT_TRUE(listed[0].spec.variants.empty());
}

}  // namespace
}  // namespace kiln
