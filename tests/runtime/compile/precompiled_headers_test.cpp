// Precompiled headers show in nothing but the time a compile takes.

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compile/observed_compiler.h"
#include "precompiled_fixture.h"
#include "source/directives.h"
#include "support/nvrtc.h"
#include "support/sanitized.h"
#include "support/variable.h"
#include "vendor/nvrtc.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

/// What is edited between compiles. Each number stands in the text that it is of.
struct Texts {
  std::array<int, 3> embedded{};
  std::array<int, 2> on_disk{};
  std::vector<std::string> options;
};

class Precompiled : public PrecompiledFixture {
 protected:
  ProgramSpec program(const Texts& texts, int step) {
    write_file(scratch_ / "include/disk/d.cuh",
               header("d", texts.on_disk[0], "#include \"e.cuh\"\n"));
    write_file(scratch_ / "include/disk/e.cuh", header("e", texts.on_disk[1]));
    const auto number = std::to_string(step);
    return {.name = "step" + std::to_string(step % 3) + ".cu",
            .source =
                "#include <emb/a.cuh>\n#include <emb/b.cuh>\n#include <disk/d.cuh>\n"
                "template <int N> __global__ void k(int* x) { int never; "
                "x[0] = f_a(N) + f_b(N) + f_c(N) + f_d(N) + f_e(N) + kept_a + kept_e + " +
                number + "; }\n",
            .headers = {HeaderSet::from_texts(
                {{"emb/a.cuh", header("a", texts.embedded[0], "#include \"c.cuh\"\n")},
                 {"emb/b.cuh", header("b", texts.embedded[1])},
                 {"emb/c.cuh", header("c", texts.embedded[2])}})},
            .include_dirs = {scratch_ / "include"},
            .kernels = {"k<1>"},
            .options = texts.options};
  }

  /// How many page faults it takes a worker to compile so many programs that begin with one long header.
  long page_faults_of(int programs, bool large_pages = true) {
    std::string functions = "#pragma once\n";
    for (int number = 0; number < 20'000; ++number) {
      const auto name = std::to_string(number);
      functions += "__device__ inline int f_" + name + "(int x) { return x * " + name + "; }\n";
    }
    const auto faults_before = page_faults_of_children();
    {
      auto with = runtime(std::uint64_t{1} << 30, 1, large_pages);
      for (int number = 0; number < programs; ++number) {
        const auto name = std::to_string(number);
        const auto artifact = with.compile(
            Program::make(
                {.name = name + ".cu",
                 .source = "#include <functions.cuh>\n__global__ void k(int* x) { *x = f_" + name +
                           "(*x); }\n",
                 .headers = {HeaderSet::from_texts({{"functions.cuh", functions}})},
                 .kernels = {"k"}})
                .value(),
            Target::parse("sm_80").value());
        EXPECT_TRUE(artifact) << artifact.error().message;
      }
      EXPECT_EQ(with.counters().precompiled, std::max(0, programs - 2));
    }
    return page_faults_of_children() - faults_before;
  }

 private:
  static long page_faults_of_children() {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    return usage.ru_minflt;
  }
};

/// NVRTC's own automatic mode, with nothing to keep it honest.
class BareNvrtc {
 public:
  explicit BareNvrtc(const fs::path& folder)
      : nvrtc_(vendor::Nvrtc::open(vendor::find_nvrtc(wanted_nvrtc())).value()), folder_(folder) {
    fs::create_directories(folder_);
  }

  /// The image, made as kiln makes it but for `-pch`. `seed` has to be kiln's own.
  std::string image(const ProgramSpec& spec, const Digest& seed, bool precompiled) const {
    std::vector<const char*> names;
    std::vector<const char*> texts;
    std::vector<std::string> rewritten;
    for (const auto& header : spec.headers.at(0).headers()) {
      auto text = std::string(header.text());
      if (const auto at = text.find("\"c.cuh\""); at != std::string::npos)
        text.replace(at, 7, "<emb/c.cuh>");
      rewritten.push_back(std::move(text));
    }
    for (std::size_t index = 0; index < rewritten.size(); ++index) {
      names.push_back(spec.headers.at(0).headers()[index].name.data());
      texts.push_back(rewritten[index].c_str());
    }
    std::vector<std::string> options{"--gpu-architecture=sm_80", "--no-cache",
                                     "-frandom-seed=" + seed.hex()};
    if (precompiled) options.insert(options.end(), {"-pch", "-pch-dir=" + folder_.string()});
    options.push_back("-I" + spec.include_dirs.at(0).string());
    options.insert(options.end(), spec.options.begin(), spec.options.end());
    std::vector<const char*> words;
    for (const auto& option : options) words.push_back(option.c_str());
    nvrtcProgram program = nullptr;
    const std::string name = "/kiln/" + spec.name;
    EXPECT_EQ(nvrtc_.create_program(&program, spec.source.c_str(), name.c_str(),
                                    static_cast<int>(names.size()), texts.data(), names.data()),
              NVRTC_SUCCESS);
    EXPECT_EQ(nvrtc_.add_name_expression(program, spec.kernels.at(0).c_str()), NVRTC_SUCCESS);
    std::string image;
    if (nvrtc_.compile_program(program, static_cast<int>(words.size()), words.data()) ==
        NVRTC_SUCCESS) {
      std::size_t size = 0;
      nvrtc_.get_cubin_size(program, &size);
      image.resize(size);
      nvrtc_.get_cubin(program, image.data());
    }
    nvrtc_.destroy_program(&program);
    return image;
  }

 private:
  vendor::Nvrtc nvrtc_;
  fs::path folder_;
};

Digest seed_of(const ProgramSpec& spec) {
  const auto program = Program::make(spec).value();
  return digest_of(Request{program.name(), program.source_digest(), program.source().size(),
                           program.options(), program.kernels(), "sm_80", "cubin"}
                       .material());
}

TEST_F(Precompiled, TwoHundredEditsAndNoneIsServedStale) {
  constexpr int edits = 200;
  auto with = runtime(std::uint64_t{1} << 30);
  auto without = runtime(0);
  const BareNvrtc bare(scratch_ / "bare");
  const auto target = Target::parse("sm_80").value();
  std::mt19937 random(2026);
  Texts texts;
  int stale = 0;
  for (int edit = 0; edit < edits; ++edit) {
    // Among few values, so that a state comes back and its precompiled headers are used.
    const int value = static_cast<int>(random() % 3);
    switch (random() % 7) {
      case 0:
        texts.options = value == 0   ? std::vector<std::string>{}
                        : value == 1 ? std::vector<std::string>{"-DMORE=1"}
                                     : std::vector<std::string>{"--maxrregcount=32"};
        break;
      case 1:
      case 2:
        texts.on_disk[random() % 2] = value;
        break;
      case 3:
        break;  // The source alone.
      default:
        texts.embedded[random() % 3] = value;
    }
    const auto spec = program(texts, edit);
    const auto fast = with.compile(Program::make(spec).value(), target);
    const auto plain = without.compile(Program::make(spec).value(), target);
    ASSERT_TRUE(fast && plain) << (fast ? "" : fast.error().log);
    ASSERT_EQ(fast->image, plain->image) << "edit " << edit;
    ASSERT_EQ(fast->log, plain->log) << "edit " << edit;
    ASSERT_EQ(fast->key, plain->key) << "edit " << edit;
    const auto seed = seed_of(spec);
    if (edit == 0) {
      ASSERT_EQ(bare.image(spec, seed, false), plain->image);
    }
    const auto served = bare.image(spec, seed, true);
    if (!served.empty() && served != plain->image) ++stale;
  }
  const auto reused = with.counters().precompiled;
  std::cout << "reused precompiled headers " << reused << " times; NVRTC alone would have served "
            << stale << " of " << edits << " stale\n";
  EXPECT_GE(stale, 30);
  EXPECT_GE(reused, 30U);
  EXPECT_EQ(without.counters().precompiled, 0U);
}

TEST_F(Precompiled, AWorkerGivesWhatAPlainCompileGives) {
  auto with = runtime(std::uint64_t{1} << 30, 1);
  auto without = runtime(0);
  const auto target = Target::parse("sm_80").value();
  Texts texts;
  for (int step = 0; step < 12; ++step) {
    texts.embedded[0] = step / 6;  // Two preludes, taken in turn.
    texts.on_disk[1] = step / 3 % 2;
    const auto program = Program::make(this->program(texts, step)).value();
    const auto fast = with.compile(program, target);
    const auto plain = without.compile(program, target);
    ASSERT_TRUE(fast && plain) << (fast ? "" : fast.error().message);
    ASSERT_EQ(fast->image, plain->image) << "step " << step;
    ASSERT_EQ(fast->log, plain->log) << "step " << step;
  }
  // A sanitizer's memory counts as the worker's, which is replaced before it can use any.
  if (!is_sanitized) {
    EXPECT_GE(with.counters().precompiled, 4U);
  }
}

// A scan cannot tell what is quoted or pasted together, and the compiler is given each embedded header then.
TEST_F(Precompiled, AnEmbeddedHeaderOfANameThatAMacroMakesIsTheNewOne) {
  const auto target = Target::parse("sm_80").value();
  for (const int workers : {0, 1}) {
    for (const auto* outer : {"#define S_(x) #x\n#define S(x) S_(x)\n#include S(o.h)\n",
                              "#define C(a, b) a##b\n#define OO <o.h>\n#include C(O, O)\n"}) {
      auto with = runtime(std::uint64_t{1} << 30, workers);
      auto without = runtime(0);
      for (int step = 0; step < 6; ++step) {
        const auto value = std::to_string(step / 2);
        const auto program =
            Program::make(
                {.name = "k.cu",
                 .source = "#include <outer.h>\n__global__ void k(int* x) { *x = VALUE; } // " +
                           std::to_string(step),
                 .headers = {HeaderSet::from_texts(
                     {{"outer.h", outer}, {"o.h", "#define VALUE " + value + "\n"}})},
                 .kernels = {"k"}})
                .value();
        const auto fast = with.compile(program, target);
        const auto plain = without.compile(program, target);
        ASSERT_TRUE(fast && plain) << (fast ? "" : fast.error().message);
        EXPECT_EQ(fast->image, plain->image) << outer << "step " << step << ", " << workers;
      }
    }
  }
}

TEST_F(Precompiled, OnceProgramsWithThemTookLongEnough) {
  for (const auto& [after, times] :
       {std::pair<std::chrono::milliseconds, std::uint64_t>{std::chrono::milliseconds(1), 2},
        {std::chrono::hours(1), 0}}) {
    RuntimeOptions options;
    options.cache_disabled = true;
    options.compile_workers = 0;
    options.precompiled_after = after;
    auto runtime = Runtime::open(options).value();
    for (int step = 0; step < 4; ++step)
      ASSERT_TRUE(runtime.compile(Program::make(program(Texts(), step)).value(), "sm_80"));
    EXPECT_EQ(runtime.counters().precompiled, times) << after.count();
  }
}

// NVRTC forgets with a precompiled header which file it was.
TEST_F(Precompiled, APragmaEndsThePrelude) {
  auto with = runtime(std::uint64_t{1} << 30);
  auto without = runtime(0);
  for (int number = 0; number < 4; ++number) {
    const auto text = std::to_string(number);
    auto spec = program({}, number);
    spec.source.insert(spec.source.find("template"),
                       "#pragma nv_hdrstop\n#define OWN " + text + "\n#include <own.cuh>\n");
    spec.source.insert(spec.source.rfind("; }"), " + OWN + f_own" + text + "(N)");
    spec.headers.push_back(HeaderSet::from_texts(
        {{"own.cuh",
          "#define JOIN(a, b) a##b\n#define NAME(n) JOIN(f_own, n)\n"
          "__device__ inline int NAME(OWN)(int x) { return x * OWN + 7; }\n"}}));
    const auto made = Program::make(spec).value();
    EXPECT_EQ(with.compile(made, "sm_80").value().image,
              without.compile(made, "sm_80").value().image)
        << number;
  }
  EXPECT_EQ(with.counters().precompiled, 2U) << "the first is met, the second makes it";
}

TEST_F(Precompiled, AHeaderOfTwoNamesIsReadOnce) {
  write_file(
      scratch_ / "include/one.h",
      "#pragma once\n#ifdef READ\n#undef READ\n#define READ 2\n#else\n#define READ 1\n#endif\n");
  fs::create_directories(scratch_ / "include/lib");
  fs::create_hard_link(scratch_ / "include/one.h", scratch_ / "include/lib/two.h");
  auto plain = runtime(0);
  auto precompiled = runtime(std::uint64_t{1} << 30);
  for (int number = 0; number < 4; ++number) {
    const auto text = std::to_string(number);
    const auto program =
        Program::make({.name = text + ".cu",
                       .source = "#include <lib/two.h>\n__device__ int between = " + text +
                                 ";\n#include <one.h>\n__global__ void k(int* x) { *x = READ + "
                                 "between; }\n",
                       .include_dirs = {scratch_ / "include"},
                       .kernels = {"k"}})
            .value();
    const auto target = Target::parse("sm_80").value();
    EXPECT_EQ(precompiled.compile(program, target).value().image,
              plain.compile(program, target).value().image)
        << number;
  }
}

// A prelude that was made while two names were one file is none for two files of the same text, which are both read.
TEST_F(Precompiled, WhatWasOneFileIsReadTwiceWhenItIsTwo) {
  const auto one = scratch_ / "include/one.h";
  const auto two = scratch_ / "include/two.h";
  write_file(
      one,
      "#pragma once\n#ifdef READ\n#undef READ\n#define READ 2\n#else\n#define READ 1\n#endif\n");
  fs::create_hard_link(one, two);
  auto plain = runtime(0);
  auto precompiled = runtime(std::uint64_t{1} << 30);
  const auto target = Target::parse("sm_80").value();
  for (int number = 0; number < 6; ++number) {
    if (number == 3) {
      fs::remove(two);
      fs::copy_file(one, two);
    }
    const auto text = std::to_string(number);
    const auto program =
        Program::make({.name = text + ".cu",
                       .source = "#include <one.h>\n#include <two.h>\n__global__ void k(int* x) { "
                                 "*x = READ + 10 * " +
                                 text + "; }\n",
                       .include_dirs = {scratch_ / "include"},
                       .kernels = {"k"}})
            .value();
    EXPECT_EQ(precompiled.compile(program, target).value().image,
              plain.compile(program, target).value().image)
        << number;
  }
}

// As NVRTC maps them, each compile would fault them all in anew.
TEST_F(Precompiled, AWorkerKeepsTheirPages) {
  if (is_sanitized) GTEST_SKIP() << "the sanitizers map memory themselves";
  const auto of_ten = page_faults_of(10);
  const auto of_four = page_faults_of(4);
  EXPECT_LT((of_ten - of_four) / 6, 2'000);
  EXPECT_GT(page_faults_of(10, false), 2 * of_ten) << "as NVRTC has it";
}

TEST_F(Precompiled, AFailureTellsWhatAPlainCompileTells) {
  auto with = runtime(std::uint64_t{1} << 30);
  auto without = runtime(0);
  const auto target = Target::parse("sm_80").value();
  for (int step = 0; step < 4; ++step) {
    auto spec = program(Texts(), step);
    if (step % 2 == 1 || step == 0) spec.source += "__global__ void broken() { nothing(); }\n";
    const auto fast = with.compile(Program::make(spec).value(), target);
    const auto plain = without.compile(Program::make(spec).value(), target);
    ASSERT_EQ(fast.has_value(), plain.has_value());
    if (fast) continue;
    EXPECT_EQ(fast.error().log, plain.error().log);
    EXPECT_EQ(fast.error().message, plain.error().message);
  }
}

TEST_F(Precompiled, WhatIsOffLeavesNothingBehindAndWhatIsOnCleansUp) {
  const Variable directory("TMPDIR", scratch_.path().c_str());
  {
    auto with = runtime(std::uint64_t{1} << 30);
    for (int step = 0; step < 3; ++step) {
      ASSERT_TRUE(with.compile(Program::make(program(Texts(), step)).value(),
                               Target::parse("sm_80").value()));
    }
    EXPECT_EQ(with.counters().precompiled, 1U);
  }
  std::set<std::string> left;
  for (const auto& item : fs::directory_iterator(scratch_.path()))
    left.insert(item.path().filename());
  EXPECT_EQ(left, std::set<std::string>{"include"});
}

TEST_F(Precompiled, ADirectoryThatCannotBeWrittenIsDoneWithout) {
  const Variable directory("TMPDIR", "/nonexistent");
  auto with = runtime(std::uint64_t{1} << 30);
  for (int step = 0; step < 3; ++step) {
    const auto artifact =
        with.compile(Program::make(program(Texts(), step)).value(), Target::parse("sm_80").value());
    EXPECT_TRUE(artifact);
  }
  EXPECT_EQ(with.counters().precompiled, 0U);
}

TEST(PreludeLogs, ComeApartAndTogether) {
  const std::string remark =
      "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n";
  const std::string first = "a.h(1): warning #1-D: one\n\n";
  const std::string second = "a.cu(1): warning #2-D: two\n\n";
  const auto whole = first + remark + second;
  const auto rest = second + remark;
  EXPECT_EQ(log_of_prelude(whole, rest), first + remark);
  EXPECT_EQ(join_logs(first + remark, rest), whole);
  EXPECT_EQ(log_of_prelude(rest, rest), "");
  EXPECT_EQ(join_logs("", rest), rest);
  EXPECT_EQ(log_of_prelude(first + remark, ""), first + remark);
  EXPECT_EQ(log_of_prelude(whole, "another" + remark), std::nullopt);
}

// A message of a header is no warning: NVRTC's remark comes after the first warning of the program.
TEST(PreludeLogs, OfMessagesAloneLeaveTheProgramsRemark) {
  const std::string remark =
      "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n";
  const std::string message = "a.h(1): remark #20200-D: #pragma message: \"hello\"\n\n";
  const std::string rest = "a.cu(1): warning #2-D: two\n\n" + remark;
  EXPECT_EQ(log_of_prelude(message, ""), message);
  EXPECT_EQ(log_of_prelude(message + rest, rest), message);
  EXPECT_EQ(join_logs(message, rest), message + rest);
}

TEST_F(Precompiled, AMessageInAHeaderLeavesTheLogAsItIs) {
  const auto program = [&](int step) {
    const std::string warning = step % 2 == 0 ? "" : "int never; ";
    return Program::make({.name = "message.cu",
                          .source = "#include <emb/m.cuh>\n__global__ void k(int* x) { " + warning +
                                    "*x = " + std::to_string(step) + "; }\n",
                          .headers = {HeaderSet::from_texts(
                              {{"emb/m.cuh", "#pragma once\n#pragma message(\"hello\")\n"}})}})
        .value();
  };
  const auto target = Target::parse("sm_80").value();
  auto with = runtime(std::uint64_t{1} << 30);
  auto without = runtime(0);
  for (int step = 0; step < 4; ++step) {
    const auto fast = with.compile(program(step), target);
    const auto plain = without.compile(program(step), target);
    ASSERT_TRUE(fast && plain);
    EXPECT_EQ(fast->log, plain->log) << "step " << step;
  }
  EXPECT_GT(with.counters().precompiled, 0U);
}

TEST(Prelude, EndsWhereTheFirstTokenIsThatBelongsToNoDirective) {
  const auto prelude = [](std::string_view text) {
    return text.substr(0, read_directives(text).prelude);
  };
  EXPECT_EQ(prelude("#include <a>\n// c\n#define X(y) \\\n  y\n/* d */ int x;\n#include <b>\n"),
            "#include <a>\n// c\n#define X(y) \\\n  y\n/* d */ ");
  EXPECT_EQ(prelude("int x;\n#include <a>\n"), "");
  EXPECT_EQ(prelude("  #if 1\n#include <a>\n#endif\n"), "  #if 1\n#include <a>\n#endif\n");
  EXPECT_EQ(prelude("#include <a>\n{"), "#include <a>\n");
}

}  // namespace
}  // namespace kiln::test
