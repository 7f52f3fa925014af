// What kiln answers in the place of NVRTC, beside what NVRTC answers.

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calls.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int success = 0;
constexpr int invalid_option = 5;
constexpr int compilation = 6;

/// The cache of the process, whose runtime is opened once.
class OneCache : public ::testing::Environment {
 public:
  void SetUp() override { ::setenv("KILN_CACHE_DIR", (scratch_ / "cache").c_str(), 1); }

 private:
  ScratchDirectory scratch_;
};

const auto* const one_cache = ::testing::AddGlobalTestEnvironment(new OneCache);

/// In a working directory of its own.
class NvrtcShim : public ::testing::Test {
 protected:
  NvrtcShim() { std::filesystem::current_path(scratch_.path()); }
  ~NvrtcShim() override { std::filesystem::current_path(before_); }

  static constexpr const char* kernel = "extern \"C\" __global__ void one(int* x) { *x = 1; }\n";

  const std::filesystem::path before_ = std::filesystem::current_path();
  ScratchDirectory scratch_;
};

/// Compiles on both sides and expects the same results, names and kinds of images.
Outcome expect_same(const Given& given) {
  const auto real = plain.compile(given);
  auto own = shim.compile(given);
  EXPECT_EQ(own.created, real.created);
  EXPECT_EQ(own.compiled, real.compiled) << real.log << '\n' << own.log;
  EXPECT_EQ(own.lowered, real.lowered) << own.log;
  EXPECT_EQ(own.cubin.empty(), real.cubin.empty());
  EXPECT_EQ(own.ptx.size() > 1, real.ptx.size() > 1);
  EXPECT_EQ(own.ltoir.empty(), real.ltoir.empty());
  EXPECT_EQ(own.optixir.empty(), real.optixir.empty());
  return own;
}

TEST_F(NvrtcShim, AnswersAsNvrtcDoes) { EXPECT_EQ(shim.answers(), plain.answers()); }

TEST_F(NvrtcShim, MisusesGiveWhatNvrtcGives) {
  const auto real = plain.misuses();
  EXPECT_GE(real.size(), 60);
  EXPECT_EQ(shim.misuses(), real);
}

TEST_F(NvrtcShim, TheSampleGivesTheSamePtx) {
  std::string real_log;
  std::string log;
  EXPECT_EQ(shim.saxpy(log), plain.saxpy(real_log));
  EXPECT_EQ(log, real_log);
}

TEST_F(NvrtcShim, ARawModuleGivesTheSameImagesAndNames) {
  write_file(scratch_ / "include/on_disk.cuh", "#include \"beside.cuh\"\n");
  write_file(scratch_ / "include/beside.cuh", "__device__ int beside;\n");
  for (const std::string include_dir : {"include", " include", "=include"}) {
    const auto real = plain.raw_module(include_dir);
    const auto own = shim.raw_module(include_dir);
    ASSERT_EQ(real.compiled, success) << real.log;
    ASSERT_EQ(own.compiled, success) << own.log;
    EXPECT_EQ(own.lowered, real.lowered);
    EXPECT_EQ(own.lowered.at("scale<float, 4>").second, "_Z5scaleIfLi4EEvPT_S0_");
    EXPECT_EQ(own.cubin, real.cubin);
    EXPECT_EQ(own.ptx, real.ptx);
    EXPECT_EQ(own.log, real.log);
  }
}

TEST_F(NvrtcShim, EveryKindOfImageIsNvrtcs) {
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{},
                                             {"-arch=sm_90a"},
                                             {"-arch", "sm_80"},
                                             {"--gpu-architecture", "compute_90"},
                                             {" --gpu-architecture=sm_100f "},
                                             {"-arch=sm_80", "-dlto"},
                                             {"--dlink-time-opt", "--gpu-architecture=compute_90"},
                                             {"-arch=sm_80", "--optix-ir"}}) {
    const Given given{.source = kernel, .options = options};
    const auto own = expect_same(given);
    const auto real = plain.compile(given);
    EXPECT_EQ(own.compiled, success) << own.log;
    EXPECT_EQ(own.cubin, real.cubin);
    EXPECT_EQ(own.ptx, real.ptx);
    // These hold the program's name and the working directory.
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path("/");
    const auto named =
        plain.compile({.name = "/kiln/program.cu", .source = kernel, .options = options});
    std::filesystem::current_path(before);
    EXPECT_EQ(own.ltoir, named.ltoir);
    EXPECT_EQ(own.optixir, named.optixir);
    EXPECT_EQ(own.log, real.log);
  }
}

TEST_F(NvrtcShim, OptionsAreTakenAndRefusedAsByNvrtc) {
  const auto result_of = [](const std::vector<std::string>& options) {
    const auto own = expect_same({.source = kernel, .options = options});
    EXPECT_EQ(own.log.empty() || own.log.size() == 1, own.compiled == success) << own.log;
    return own.compiled;
  };
  using Options = std::vector<std::string>;
  for (const auto& taken :
       {Options{"-D", "X=1"}, Options{"-D X=1"}, Options{"--define-macro", "X=1"},
        Options{"-DX", "-UX"}, Options{"-I"}, Options{"-I="}, Options{"-I", "here"},
        Options{"--include-path=here"}, Options{"--include-path", "here"}, Options{"-no-cache"},
        Options{"--std=c++20"}, Options{"-frandom-seed=7"}, Options{"--pch"}, Options{"-w", "-w"},
        Options{"--use_fast_math", "-lineinfo"}, Options{"-arch=sm_90", "-rdc=true"},
        Options{"-no-source-include"}}) {
    EXPECT_EQ(result_of(taken), success) << taken.front();
  }
  for (const auto& refused :
       {Options{"-arch sm_80"}, Options{"--arch=sm_80"}, Options{"-gpu-architecture=sm_80"},
        Options{"-arch"}, Options{"-arch="}, Options{"-arch=native"}, Options{"-arch=sm_12"},
        Options{"-arch= sm_80"}, Options{"-arch=lto_80"}, Options{""}, Options{" "},
        Options{"--no-such-option"}, Options{"word"}, Options{"--std=c++99"}, Options{"--dlto"},
        Options{"-dlto", "-optix-ir"}, Options{"--Ihere"}, Options{"-include-path=here"},
        Options{"-frandom-seed", "7"}}) {
    EXPECT_EQ(result_of(refused), invalid_option) << refused.front();
  }
  for (const auto& failing : {Options{"-D"}, Options{"-arch=sm_80a"}})
    EXPECT_EQ(result_of(failing), compilation) << failing.front();
}

TEST_F(NvrtcShim, LogsAreNvrtcs) {
  for (const auto* source : {"__global__ void broken( {", "__global__ void k() { int unused; }",
                             "#include \"missing.h\"\n", "#include <missing.h>\n", ""}) {
    for (const auto* name :
         {"program.cu", "sub/program.cu", "/nowhere/program.cu", "../up.cu", ""}) {
      const Given given{.name = name, .source = source, .options = {"-I."}};
      EXPECT_EQ(expect_same(given).log, plain.compile(given).log) << source << " in " << name;
    }
  }
  const auto refused = expect_same({.source = kernel, .options = {"--no-such-option"}});
  EXPECT_EQ(refused.log, plain.compile({.source = kernel, .options = {"--no-such-option"}}).log);
}

TEST_F(NvrtcShim, ExpressionsAreLookedUpAsTheyWereAdded) {
  const Given given{
      .source =
          "template <class T> __global__ void t(T* x) { *x = 1; }\n"
          "namespace n { __constant__ int c; __device__ int d; }\n",
      .options = {"-arch=sm_80"},
      .expressions = {"t<int>", "t< int >", " t<int>", "&t<float>", "&n::c", "&n::d"}};
  const auto own = expect_same(given);
  EXPECT_EQ(own.lowered.at(" t<int>").second, "_Z1tIiEvPT_");
  EXPECT_EQ(own.lowered.at("&n::c").second, "_ZN1n1cE");
  for (const auto* wrong : {"missing", "", "t<", "t<missing>"}) {
    const auto failed =
        expect_same({.source = given.source, .options = given.options, .expressions = {wrong}});
    EXPECT_EQ(failed.compiled, compilation) << wrong;
    EXPECT_THAT(failed.log, Not(IsEmpty()));
  }
}

TEST_F(NvrtcShim, QuotedIncludesAreFoundBesideTheProgramsName) {
  write_file(scratch_ / "here.h", "#define WHERE 1\n#include \"sub/inner.h\"\n");
  write_file(scratch_ / "sub/inner.h", "#define INNER 1\n");
  write_file(scratch_ / "sub/here.h", "#define WHERE 2\n#define INNER 1\n");
  write_file(scratch_ / "other/here.h", "#define WHERE 3\n#define INNER 1\n");
  write_file(scratch_ / "other/alone.h", "");
  const auto where = [](const std::string& name, const std::string& source, int place,
                        std::vector<std::string> options = {"-Iother"}) {
    const auto text =
        source + "static_assert(WHERE == " + std::to_string(place) + " && INNER, \"\");";
    return expect_same({.name = name, .source = text, .options = std::move(options)}).compiled;
  };
  const std::string quoted = "#include \"here.h\"\n";
  EXPECT_EQ(where("a.cu", quoted, 1), success);
  EXPECT_EQ(where("", quoted, 1), success);
  EXPECT_EQ(where("./a.cu", quoted, 1), success);
  EXPECT_EQ(where("sub/a.cu", quoted, 2), success);
  EXPECT_EQ(where("sub/../a.cu", quoted, 1), success);
  EXPECT_EQ(where((scratch_ / "sub/a.cu").string(), quoted, 2), success);
  EXPECT_EQ(where("/nowhere/a.cu", quoted, 3), success);
  EXPECT_EQ(where("a.cu", quoted, 3, {"-Iother", "-no-source-include"}), success);
  EXPECT_EQ(where("a.cu", "#include <here.h>\n", 3), success) << "nothing is quoted";
  EXPECT_EQ(where("a.cu", "#include <here.h>\n#include \"alone.h\"\n", 3), success)
      << "what is quoted is elsewhere";
  EXPECT_EQ(where("a.cu", "#define HEADER \"here.h\"\n#include HEADER\n", 1), success);
  EXPECT_EQ(where("a.cu", "", 1, {"--pre-include=here.h"}), success);
  EXPECT_EQ(where("a.cu", "", 1, {"-Iother", "-include", "here.h"}), success);
  EXPECT_EQ(where("a.cu", quoted, 9, {}), compilation);
  EXPECT_EQ(expect_same({.source = "#include <embedded.h>\nstatic_assert(WHERE == 1, \"\");",
                         .headers = {{"embedded.h", quoted}}})
                .compiled,
            success);
  EXPECT_EQ(expect_same({.source = quoted + "static_assert(WHERE == 9, \"\");",
                         .headers = {{"here.h", "#define WHERE 9\n"}}})
                .compiled,
            success)
      << "what is in memory goes first";
}

TEST_F(NvrtcShim, AChangedHeaderIsCompiledAnew) {
  const Given given{.source = "#include \"value.h\"\n__device__ int value = VALUE;",
                    .options = {"-arch=compute_80"}};
  write_file(scratch_ / "value.h", "#define VALUE 12345\n");
  EXPECT_THAT(expect_same(given).ptx, HasSubstr("12345"));
  write_file(scratch_ / "value.h", "#define VALUE 54321\n");
  EXPECT_THAT(expect_same(given).ptx, HasSubstr("54321"));
}

TEST_F(NvrtcShim, ThreadsDoNotDisturbEachOther) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 4; ++round) {
        const auto number = std::to_string(thread % 4 + 100 * round);
        const auto own =
            shim.compile({.source = "template <int n> __global__ void set(int* x) { *x = n; }",
                          .options = {"-arch=sm_80", "-DROUND=" + number},
                          .expressions = {"set<" + number + ">"}});
        const auto& [result, name] = own.lowered.at("set<" + number + ">");
        const bool right = own.compiled == success && result == success &&
                           name == "_Z3setILi" + number + "EEvPi" &&
                           own.cubin.find(name) != std::string::npos &&
                           own.ptx.find(name) != std::string::npos;
        wrong += right ? 0 : 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace kiln::test
