// Names and images in another process than the one that compiled.

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "support/child.h"

namespace kiln::test {
namespace {

class RoundTrip : public CompileFixture {
 protected:
  static ProgramSpec names() {
    return {.name = "names.cu",
            .source = R"(
              namespace engine { namespace { struct Tag {}; }
              template <class T, int n> __global__ void attention(T* x) { x[n] = T(n); } }
              template <class T> __global__ void sized(T* x) { *x = sizeof(T); }
              extern "C" __global__ void plain(int* x) { *x = 1; }
              namespace engine { __global__ void nested(float* x) { *x = 2; } })",
            .kernels = {"engine::attention<float, 128>", "engine::attention<double, (1 << 3)>",
                        "plain", "sized<size_t>", "sized<unsigned long>", "&engine::nested"}};
  }

  void compile_in_another_process(const ProgramSpec& spec) {
    ASSERT_EQ(run_in_child([&] {
                const auto artifact = try_compile(spec);
                return artifact && artifact->origin == Origin::compiled ? 0 : 1;
              }),
              0);
  }
};

TEST_F(RoundTrip, LoweredNamesSurvive) {
  compile_in_another_process(names());
  const auto artifact = try_compile(names());
  ASSERT_TRUE(artifact) << artifact.error().message;
  EXPECT_EQ(artifact->origin, Origin::local);
  const auto symbol_of = [&](const char* expression) {
    const auto* kernel = artifact->find(expression);
    return kernel != nullptr ? kernel->symbol : "(none)";
  };
  EXPECT_EQ(symbol_of("engine::attention<float, 128>"), "_ZN6engine9attentionIfLi128EEEvPT_");
  EXPECT_EQ(symbol_of("engine::attention<double, (1 << 3)>"), "_ZN6engine9attentionIdLi8EEEvPT_");
  EXPECT_EQ(symbol_of("plain"), "plain");
  EXPECT_EQ(symbol_of("&engine::nested"), "_ZN6engine6nestedEPf");
  EXPECT_EQ(symbol_of("sized<size_t>"), "_Z5sizedImEvPT_");
  EXPECT_EQ(symbol_of("sized<unsigned long>"), "_Z5sizedImEvPT_");
  for (const auto& kernel : artifact->kernels) {
    EXPECT_NE(artifact->image.string().find(kernel.symbol), std::string::npos) << kernel.symbol;
    EXPECT_TRUE(kernel.params_known);
    EXPECT_EQ(kernel.params, (std::vector<Parameter>{{0, 8}})) << kernel.expression;
  }
}

TEST_F(RoundTrip, SpacesInExpressionsDoNotMatter) {
  compile_in_another_process(names());
  auto spec = names();
  spec.kernels = {
      "&engine::nested",      "engine::attention<double,(1<<3)>", "plain",
      "sized<size_t >",       "engine :: attention< float,128 >", "engine::attention<float, 128>",
      "sized<unsigned  long>"};
  const auto artifact = try_compile(spec);
  ASSERT_TRUE(artifact) << artifact.error().message;
  EXPECT_EQ(artifact->origin, Origin::local);
  EXPECT_EQ(artifact->kernels.size(), names().kernels.size()) << "each is listed once";
  for (const auto& expression : spec.kernels) {
    EXPECT_NE(artifact->find(expression), nullptr) << expression;
  }
}

TEST_F(RoundTrip, AProgramWithoutExpressionsHasTheKernelsOfItsImage) {
  const ProgramSpec spec{.name = "c.cu",
                         .source =
                             "extern \"C\" __global__ void a(int x, double y) {}\n"
                             "extern \"C\" __global__ void b() {}"};
  compile_in_another_process(spec);
  const auto artifact = try_compile(spec).value();
  EXPECT_EQ(artifact.origin, Origin::local);
  ASSERT_EQ(artifact.kernels.size(), 2U);
  EXPECT_EQ(artifact.kernels[0].expression, "a");
  EXPECT_EQ(artifact.kernels[0].params, (std::vector<Parameter>{{0, 4}, {8, 8}}));
  EXPECT_TRUE(artifact.kernels[1].params.empty());
}

TEST_F(RoundTrip, WarningsComeBackWithAHit) {
  const ProgramSpec spec{.name = "w.cu",
                         .source = "__global__ void k(int* x) { int unused; *x = 1; }",
                         .kernels = {"k"}};
  compile_in_another_process(spec);
  const auto artifact = try_compile(spec).value();
  EXPECT_EQ(artifact.origin, Origin::local);
  EXPECT_NE(artifact.log.find("\"unused\" was declared but never referenced"), std::string::npos)
      << artifact.log;
}

TEST_F(RoundTrip, EveryImageKind) {
  for (const auto kind : {ImageKind::cubin, ImageKind::ptx, ImageKind::ltoir, ImageKind::optixir}) {
    const auto fresh = try_compile(names(), "sm_90", kind);
    ASSERT_TRUE(fresh) << fresh.error().message << fresh.error().log;
    const auto hit = try_compile(names(), "sm_90", kind).value();
    EXPECT_EQ(fresh->origin, Origin::compiled) << to_string(kind);
    EXPECT_EQ(hit.origin, Origin::local) << to_string(kind);
    EXPECT_FALSE(hit.image.empty());
    EXPECT_EQ(hit.image, fresh->image);
    EXPECT_EQ(hit.kernels, fresh->kernels);
    EXPECT_EQ(hit.kind, to_string(kind));
  }
}

TEST_F(RoundTrip, KernelsWithKilnsOwnHeaders) {
  const ProgramSpec spec{
      .name = "own.cu",
      .source = "#include <kiln/reduce.cuh>\n__global__ void k(float* x) { *x = *x; }",
      .headers = {device_headers()},
      .kernels = {"k"}};
  EXPECT_EQ(origin_of(spec), Origin::compiled);
  EXPECT_EQ(origin_of(spec), Origin::local);
}

TEST_F(RoundTrip, ASecondHandleIsServedFromMemory) {
  auto runtime = Runtime::open(options()).value();
  const auto target = Target::parse("sm_80").value();
  const auto program = Program::make(names()).value();
  EXPECT_EQ(runtime.compile(program, target).value().origin, Origin::compiled);
  EXPECT_EQ(runtime.compile(program, target).value().origin, Origin::memory);
  EXPECT_EQ(runtime.compile(Program::make(names()).value(), target).value().origin, Origin::memory);
  EXPECT_EQ(runtime.counters().compiles, 1U);
}

TEST_F(RoundTrip, ThreadsThatAskForOneKeyShareOneCompile) {
  auto runtime = Runtime::open(options()).value();
  const auto target = Target::parse("sm_80").value();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int index = 0; index < 8; ++index) {
    threads.emplace_back([&] {
      const auto program = Program::make(names());
      if (program && runtime.compile(*program, target)) ++right;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
  EXPECT_EQ(runtime.counters().compiles, 1U);
}

TEST_F(RoundTrip, AFailureIsSharedAndNotCached) {
  auto runtime = Runtime::open(options()).value();
  const auto target = Target::parse("sm_80").value();
  const auto program =
      Program::make({.name = "bad.cu", .source = "__global__ void k() { nonsense }"}).value();
  for (int round = 0; round < 2; ++round) {
    const auto failed = runtime.compile(program, target);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::compile_failed);
    EXPECT_NE(failed.error().log.find("identifier \"nonsense\" is undefined"), std::string::npos);
  }
  EXPECT_EQ(runtime.counters().compiles, 2U);
  EXPECT_EQ(runtime.counters().stores, 0U);
}

TEST_F(RoundTrip, ARuntimeWithoutAUsableCacheGoesOnAndSaysSoOnce) {
  auto settings = options();
  write_file(scratch_ / "a-file", "");
  settings.cache_directory = scratch_ / "a-file";
  std::vector<std::string> said;
  settings.log = [&](LogLevel level, std::string_view line) {
    if (level == LogLevel::warn) said.emplace_back(line);
  };
  auto runtime = Runtime::open(settings).value();
  const auto program = Program::make(names()).value();
  const auto target = Target::parse("sm_80").value();
  EXPECT_EQ(runtime.compile(program, target).value().origin, Origin::compiled);
  EXPECT_EQ(runtime.compile(Program::make(names()).value(), target).value().origin, Origin::memory);
  EXPECT_FALSE(runtime.cache_fault().empty());
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find((scratch_ / "a-file").string()), std::string::npos) << said[0];
}

TEST_F(RoundTrip, AReadOnlyCacheServesAndKeepsNothing) {
  compile_in_another_process(names());
  auto settings = options();
  settings.cache_read_only = true;
  auto runtime = Runtime::open(settings).value();
  const auto target = Target::parse("sm_80").value();
  EXPECT_EQ(runtime.compile(Program::make(names()).value(), target).value().origin, Origin::local);
  auto other = names();
  other.source += "// other\n";
  EXPECT_EQ(runtime.compile(Program::make(other).value(), target).value().origin, Origin::compiled);
  EXPECT_EQ(runtime.counters().stores, 0U);
}

TEST_F(RoundTrip, EventsTellWhatWasDone) {
  std::vector<std::string> told;
  auto settings = options();
  settings.observer = [&](const Event& event) {
    told.push_back(std::string(to_string(event.kind)) + " " + std::string(event.program) + " " +
                   std::string(event.arch) + " " + to_string(event.origin));
  };
  const auto target = Target::parse("sm_80").value();
  (void)Runtime::open(settings).value().compile(Program::make(names()).value(), target);
  (void)Runtime::open(settings).value().compile(Program::make(names()).value(), target);
  EXPECT_EQ(told, (std::vector<std::string>{
                      "miss names.cu sm_80 compiled", "compile_begin names.cu sm_80 compiled",
                      "compile_end names.cu sm_80 compiled", "store names.cu sm_80 compiled",
                      "hit names.cu sm_80 local"}));
}

TEST_F(RoundTrip, ACallbackThatThrowsHarmsNothing) {
  auto settings = options();
  settings.log_level = LogLevel::debug;
  settings.observer = [](const Event&) { throw std::runtime_error("observer"); };
  settings.log = [](LogLevel, std::string_view) { throw 1; };
  auto runtime = Runtime::open(settings).value();
  const auto target = Target::parse("sm_80").value();
  EXPECT_EQ(runtime.compile(Program::make(names()).value(), target).value().origin,
            Origin::compiled);
  EXPECT_EQ(runtime.compile(Program::make(names()).value(), target).value().origin, Origin::memory);
}

}  // namespace
}  // namespace kiln::test
