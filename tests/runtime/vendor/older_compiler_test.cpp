// Compilers that lack what newer ones have: the real NVRTC in the guise of older ones (fakes/older_nvrtc.cpp).
// Real ones are in nvrtc_matrix/.

#include <chrono>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async_fixture.h"
#include "compile_fixture.h"
#include "image/toolchains.h"
#include "support/sanitized.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Older {
  int minor;
  const char* library;
  [[nodiscard]] std::string text() const { return "NVRTC 12." + std::to_string(minor); }
};

constexpr Older older_compilers[] = {{0, KILN_NVRTC_12_0},
                                     {4, KILN_NVRTC_12_4},
                                     {6, KILN_NVRTC_12_6},
                                     {8, KILN_NVRTC_12_8},
                                     {9, KILN_NVRTC_12_9}};

struct RealCompiler {
  fs::path path;
  ToolchainVersion version;
};

// Asked for first when no guise is on.
const RealCompiler& real_compiler() {
  static const auto found = [] {
    const auto runtime = Runtime::open({.cache_disabled = true, .log_level = LogLevel::off});
    const auto compiler = runtime->compiler();
    return RealCompiler{fs::canonical(compiler.path), version_of(compiler.description).value()};
  }();
  return found;
}

// The compiler of a process, as long as this lives.
class Guise {
 public:
  Guise(const Older& older, const fs::path& folder)
      : real_("OLDER_NVRTC_REAL", real_compiler().path), found_("KILN_NVRTC", folder / name) {
    const auto builtins = folder / ("libnvrtc-builtins.so.12." + std::to_string(older.minor));
    fs::create_directories(folder);
    fs::create_symlink(older.library, folder / name);
    for (const auto& file : fs::directory_iterator(real_compiler().path.parent_path())) {
      const auto beside = file.path().filename().string();
      if (beside.starts_with("libnvrtc-builtins.so.") && !file.is_symlink())
        fs::create_symlink(file.path(), builtins);
    }
  }

 private:
  // Not NVRTC's own, so that a sanitizer can tell it from the real one.
  static constexpr const char* name = "nvrtc.so.12";

  const ScopedVariable real_;
  const ScopedVariable found_;
};

class OlderCompiler : public CompileFixture, public ::testing::WithParamInterface<Older> {
 protected:
  void SetUp() override {
    const auto real = real_compiler().version;
    if (real.major == 12 && real.minor < GetParam().minor)
      GTEST_SKIP() << "NVRTC 12." << real.minor << " of this machine is older than that";
  }

  static ProgramSpec spec(const std::string& name = "k.cu", const std::string& more = {}) {
    return {.name = name,
            .source = "#include <a.cuh>\n" + more +
                      "static __device__ int hidden; template <class T> __global__ void k(T* x) { "
                      "*x = a(hidden); }",
            .headers = {HeaderSet::from_texts(
                {{"a.cuh", "__device__ inline int a(int x) { return x + 1; }\n"}})},
            .kernels = {"k<int>"}};
  }

  [[nodiscard]] fs::path include_folder() const { return scratch_ / "include"; }
  [[nodiscard]] fs::path unread_header() const { return include_folder() / "unread.cuh"; }

  ProgramSpec with_unread_header() {
    auto asked = spec("k.cu", "#if 0\n#include <unread.cuh>\n#endif\n");
    asked.include_dirs = {include_folder()};
    write_file(unread_header(), "// one\n");
    return asked;
  }

  [[nodiscard]] Error failure(const std::string& arch) {
    const auto artifact = try_compile(spec(), arch);
    EXPECT_FALSE(artifact) << arch;
    return artifact ? Error{} : artifact.error();
  }

  const Guise guise_{GetParam(), scratch_ / "lib"};
};

TEST_P(OlderCompiler, CompilesAndIsServed) {
  const auto artifact = try_compile(spec());
  ASSERT_TRUE(artifact) << artifact.error().message << artifact.error().log;
  EXPECT_EQ(artifact->toolchain, GetParam().text());
  EXPECT_EQ(Runtime::open(options()).value().toolchain(), GetParam().text());
  EXPECT_EQ(origin_of(spec()), Origin::local);
  EXPECT_THAT(not_stored_, testing::IsEmpty());
}

TEST_P(OlderCompiler, IsExplained) {
  ASSERT_EQ(origin_of(spec()), Origin::compiled);
  auto runtime = Runtime::open(options()).value();
  const auto explain = [&](ProgramSpec asked) {
    return runtime.explain(Program::make(std::move(asked)).value(), target()).value();
  };
  EXPECT_TRUE(explain(spec()).hit);
  auto other = spec();
  other.options = {"-DOTHER"};
  const auto missed = explain(other);
  EXPECT_FALSE(missed.hit);
  ASSERT_TRUE(missed.nearest);
  EXPECT_EQ(missed.nearest->differences.at(0).text, "option 1: -DOTHER, not stored");
}

TEST_P(OlderCompiler, PrecompilesHeadersWhereItCan) {
  auto options = this->options();
  options.cache_disabled = true;
  options.precompiled_after = std::chrono::milliseconds(0);
  auto runtime = Runtime::open(options).value();
  for (const auto* name : {"a.cu", "b.cu", "c.cu"}) {
    const auto artifact = runtime.compile(Program::make(spec(name)).value(), target());
    ASSERT_TRUE(artifact) << artifact.error().message << artifact.error().log;
  }
  EXPECT_EQ(runtime.counters().precompiled, GetParam().minor >= 8 ? 1U : 0U);
}

TEST_P(OlderCompiler, AHeaderThatIsNotReadCountsNot) {
  const auto asked = with_unread_header();
  ASSERT_EQ(origin_of(asked), Origin::compiled);
  EXPECT_EQ(origin_of(asked), Origin::local);
  write_file(unread_header(), "// another\n");
  EXPECT_EQ(origin_of(asked), Origin::local);
}

TEST_P(OlderCompiler, AHeaderThatAWorkerDoesNotReadCountsNot) {
  compile_workers_ = 1;
  auto asked = with_unread_header();
  const auto read = include_folder() / "read.cuh";
  write_file(read, "// one\n");
  asked.source += "\n#include <read.cuh>\n";
  asked.source.erase(
      0, asked.source.find('\n') + 1);  // The embedded header, of which nothing is seen.
  asked.headers.clear();
  asked.source = "__device__ inline int a(int x) { return x; }\n" + asked.source;
  ASSERT_EQ(origin_of(asked), Origin::compiled);
  EXPECT_EQ(origin_of(asked), Origin::local);
  write_file(unread_header(), "// another\n");
  EXPECT_EQ(origin_of(asked), Origin::local);
  write_file(read, "// another\n");
  EXPECT_EQ(origin_of(asked), Origin::compiled);
}

TEST_P(OlderCompiler, AFamilysTargetNeedsOneThatKnowsIt) {
  if (GetParam().minor >= 9) {
    EXPECT_EQ(origin_of(spec(), "sm_100f"), Origin::compiled);
    return;
  }
  const auto error = failure("sm_100f");
  EXPECT_EQ(error.code, ErrorCode::unknown_arch);
  EXPECT_THAT(error.message, AllOf(HasSubstr(GetParam().text() + " does not know"),
                                   HasSubstr("'sm_100f'"), HasSubstr("came with NVRTC 12.9")));
}

TEST_P(OlderCompiler, ANewerArchitectureIsNamedWithThoseThatItKnows) {
  const auto error = failure("sm_110");
  EXPECT_EQ(error.code, ErrorCode::unknown_arch);
  EXPECT_THAT(error.message, AllOf(HasSubstr(GetParam().text()), HasSubstr("'sm_110'"),
                                   HasSubstr("sm_90"), Not(HasSubstr("sm_88"))));
}

// Before 12.8 a compile that nobody wants is left to itself to its end.
TEST_P(OlderCompiler, ACancelComesAtOnce) {
  Gate gate;
  auto options = this->options();
  options.observer = gate.observer();
  auto runtime = Runtime::open(options).value();
  const auto compiling = runtime.compile_async(long_optimiser(300), target());
  ASSERT_TRUE(gate.wait_for_begun(1));
  ASSERT_FALSE(compiling.wait_for(100ms));
  EXPECT_LT(time_of([&] { compiling.cancel(); }), soon);
  EXPECT_EQ(compiling.get().error().code, ErrorCode::cancelled);
  EXPECT_TRUE(runtime.compile(plain("another.cu"), target()));
}

TEST_P(OlderCompiler, WhatAnotherOneMadeIsAMissThatNamesBoth) {
  const Older& other = older_compilers[GetParam().minor == 0 ? 1 : 0];
  {
    const Guise another(other, scratch_ / "other");
    ASSERT_EQ(origin_of(spec()), Origin::compiled);
  }
  auto runtime = Runtime::open(options()).value();
  const auto missed = runtime.explain(Program::make(spec()).value(), target()).value();
  EXPECT_FALSE(missed.hit);
  EXPECT_EQ(missed.reason, "it was made by another compiler, " + other.text() +
                               " (KILN_TOOLCHAINS says whose entries serve)");
  ASSERT_TRUE(missed.nearest);
  EXPECT_THAT(missed.nearest->differences.at(0).text,
              AllOf(HasSubstr(other.text()), HasSubstr(GetParam().text())));
  EXPECT_EQ(origin_of(spec()), Origin::compiled);
}

INSTANTIATE_TEST_SUITE_P(Versions, OlderCompiler, ::testing::ValuesIn(older_compilers),
                         [](const auto& older) {
                           return "Nvrtc12_" + std::to_string(older.param.minor);
                         });

}  // namespace
}  // namespace kiln::test
