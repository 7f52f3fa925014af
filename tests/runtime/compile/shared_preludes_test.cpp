// A precompiled header serves programs of other names than that which it was made of, and shows in nothing.

#include <chrono>
#include <cstdint>
#include <latch>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "precompiled_fixture.h"
#include "support/sanitized.h"

namespace kiln::test {
namespace {

class SharedPreludes : public PrecompiledFixture {
 protected:
  /// One of which a scan does not know all that it asks for.
  static constexpr const char* open_header =
      "#define HOST(...) 0\n#if HOST(LIB) && __has_include(<__utility/move.h>)\n"
      "#include <__utility/move.h>\n#endif\n#define VALUE 5\n";

  /// Compiles in a runtime that precompiles headers what comes out without.
  void expect_as_without(Runtime& with, const ProgramSpec& spec, const std::string& what) {
    auto without = runtime(0);
    const auto target = Target::parse("sm_80").value();
    const auto fast = with.compile(Program::make(spec).value(), target);
    const auto plain = without.compile(Program::make(spec).value(), target);
    ASSERT_EQ(fast.has_value(), plain.has_value()) << what << " in " << spec.name;
    if (!fast) {
      EXPECT_EQ(fast.error().log, plain.error().log) << what << " in " << spec.name;
      return;
    }
    EXPECT_EQ(fast->image, plain->image) << what << " in " << spec.name;
    EXPECT_EQ(fast->log, plain->log) << what << " in " << spec.name;
  }
};

// A precompiled header holds the name of the program that it was made from.
TEST_F(SharedPreludes, TheProgramsNameIsItsOwn) {
  const auto target = Target::parse("sm_80", ImageKind::ptx).value();
  for (const auto* teller :
       {"__BASE_FILE__", "C(__BASE_, FILE__)", "__BA\\\nSE_FILE__", "{sizeof(__BASE_FILE__)}"}) {
    auto with = runtime(std::uint64_t{1} << 30);
    for (const auto* name : {"one.cu", "second.cu", "third_program.cu"}) {
      const auto program =
          Program::make({.name = name,
                         .source =
                             "#include <names.h>\nextern \"C\" __global__ void k(char* x) { *x = "
                             "text[threadIdx.x]; }\n",
                         .headers = {HeaderSet::from_texts(
                             {{"names.h",
                               "#define C_(a, b) a##b\n#define C(a, b) C_(a, b)\n"
                               "__device__ const char text[] = " +
                                   std::string(teller) + ";\n"}})},
                         .kernels = {"k"}})
              .value();
      const auto made = with.compile(program, target);
      ASSERT_TRUE(made) << made.error().message;
      EXPECT_EQ(made->image, runtime(0).compile(program, target).value().image)
          << teller << " in " << name;
    }
  }
}

// CCCL asks for a header of its host's library, and CUTLASS includes by macros that paste: what they read is not known
// beforehand, but afterwards.
TEST_F(SharedPreludes, APreludeOfWhichNotAllIsKnownBeforehandIsShared) {
  write_file(scratch_ / "include/open.h", open_header);
  for (const int workers : {0, 1}) {
    auto with = runtime(std::uint64_t{1} << 30, workers);
    auto without = runtime(0);
    for (int number = 0; number < 4; ++number) {
      const auto text = std::to_string(number);
      const auto program =
          Program::make({.name = text + ".cu",
                         .source = "#include <open.h>\n__global__ void k(int* x) { *x = VALUE + " +
                                   text + "; }\n",
                         .include_dirs = {scratch_ / "include"},
                         .kernels = {"k"}})
              .value();
      EXPECT_EQ(with.compile(program, "sm_80").value().image,
                without.compile(program, "sm_80").value().image)
          << number;
    }
    if (!is_sanitized || workers == 0) {
      EXPECT_EQ(with.counters().precompiled, 2U) << workers;
    }
  }
}

// Such a prelude may tell the program's name, too.
TEST_F(SharedPreludes, TheProgramsNameIsItsOwnInAPreludeOfWhichNotAllIsKnown) {
  const std::string says = "__device__ const char text[] = ";
  for (const std::string& tells :
       {says + "__BASE_FILE__;", says + "C(__BASE_, FILE__);", says + "C(Q, Q);",
        says + "C(_, C(_, BASE_FILE__));", std::string("const bool text[1] = {IN_CODE};")}) {
    for (const bool embedded : {false, true}) {
      const std::string texts[] = {
          "#define S_(x) #x\n#define S(x) S_(x)\n#define D_(a, b) a##b\n#define D(a, b) D_(a, b)\n"
          "#include S(D(te, lls).h)\n",
          "#define C_(a, b) a##b\n#define C(a, b) C_(a, b)\n#define QQ __BASE_FILE__\n"
          "#define IN_CODE __has_include(</kiln/third.cu>)\n" +
              tells + "\n"};
      write_file(scratch_ / "include/open.h", texts[0]);
      write_file(scratch_ / "include/tells.h", texts[1]);
      auto with = runtime(std::uint64_t{1} << 30);
      for (const auto* name : {"one.cu", "second.cu", "third.cu", "fourth.cu"}) {
        ProgramSpec spec{.name = name,
                         .source =
                             "#include <open.h>\nextern \"C\" __global__ void k(char* x) { "
                             "*x = text[threadIdx.x]; }\n",
                         .kernels = {"k"}};
        if (embedded) {
          spec.headers = {HeaderSet::from_texts({{"open.h", texts[0]}, {"tells.h", texts[1]}})};
        } else {
          spec.include_dirs = {scratch_ / "include"};
        }
        expect_as_without(with, spec, tells);
      }
      EXPECT_EQ(with.counters().precompiled, 0U) << tells;
    }
  }
}

// The prelude ends behind the last directive, and yet NVRTC would precompile all that is read by them.
TEST_F(SharedPreludes, AProgramThatIncludesItselfSharesNothing) {
  write_file(scratch_ / "include/open.h", open_header);
  for (const std::string itself : {"__FILE__", "__BASE_FILE__", "SELF"}) {
    auto with = runtime(std::uint64_t{1} << 30);
    for (int number = 0; number < 5; ++number) {
      const auto text = std::to_string(number);
      expect_as_without(
          with,
          {.name = number < 3 ? text + ".cu" : "same.cu",
           .source = "#include <open.h>\n#ifndef INNER\n#define INNER\n#define SELF " +
                     std::string("__FILE__\n#include ") + itself +
                     "\n#define OUTER\n#endif\n#ifdef OUTER\n"
                     "__global__ void k(int* x) { *x = W; }\n#else\n"
                     "constexpr int W = 10" +
                     text + ";\n#endif\n",
           .include_dirs = {scratch_ / "include"}},
          itself);
    }
  }
}

// Here a header includes the source: by its name, or by one that nobody but an option tells.
TEST_F(SharedPreludes, AProgramThatItsHeaderIncludesSharesNothing) {
  for (const auto& [include, options] :
       {std::tuple{"</kiln/same.cu>", std::vector<std::string>{}},
        std::tuple{"SELF", std::vector<std::string>{"-DSELF=__BASE_FILE__"}}}) {
    for (const bool is_open : {false, true}) {
      write_file(scratch_ / "include/again.h", std::string(is_open ? open_header : "") +
                                                   "#ifndef INNER\n#define INNER\n#include " +
                                                   include + "\n#define OUTER\n#endif\n");
      auto with = runtime(std::uint64_t{1} << 30);
      for (int number = 0; number < 4; ++number) {
        expect_as_without(with,
                          {.name = "same.cu",
                           .source = "#include <again.h>\n#ifdef OUTER\n"
                                     "__global__ void k(int* x) { *x = W; }\n#else\n"
                                     "constexpr int W = 10" +
                                     std::to_string(number) + ";\n#endif\n",
                           .include_dirs = {scratch_ / "include"},
                           .options = options},
                          include);
      }
    }
  }
}

// Such a question reads nothing.
TEST_F(SharedPreludes, APreludeThatAsksForAHeaderByAMacroIsShared) {
  write_file(scratch_ / "include/open.h", open_header);
  auto with = runtime(std::uint64_t{1} << 30);
  for (int number = 0; number < 4; ++number) {
    expect_as_without(with,
                      {.name = std::to_string(number) + ".cu",
                       .source = "#define OPTIONAL <optional.h>\n#include <open.h>\n"
                                 "#if __has_include(OPTIONAL)\n#define MORE 1\n#else\n"
                                 "#define MORE 0\n#endif\n"
                                 "__global__ void k(int* x) { *x = VALUE + MORE; }\n",
                       .include_dirs = {scratch_ / "include"}},
                      "a question");
  }
  EXPECT_EQ(with.counters().precompiled, 2U);
}

// All of them find that nobody has made the prelude, and one makes it.
TEST_F(SharedPreludes, ThreadsThatBeginTogetherMakeAPreludeOnce) {
  write_file(scratch_ / "include/open.h", open_header);
  const auto program = [&](int number) {
    return Program::make({.name = std::to_string(number) + ".cu",
                          .source = "#include <open.h>\n__global__ void k(int* x) { *x = VALUE + " +
                                    std::to_string(number) + "; }\n",
                          .include_dirs = {scratch_ / "include"},
                          .kernels = {"k"}})
        .value();
  };
  constexpr int threads = 6;
  auto with = runtime(std::uint64_t{1} << 30);
  ASSERT_TRUE(with.compile(program(0), "sm_80"));
  std::latch all(threads);
  {
    std::vector<std::jthread> running;
    for (int number = 1; number <= threads; ++number) {
      running.emplace_back([&, number] {
        all.arrive_and_wait();
        EXPECT_TRUE(with.compile(program(number), "sm_80"));
      });
    }
  }
  EXPECT_EQ(with.counters().precompiled, threads - 1U);
}

// What NVRTC says of the source's own directives names the program of which the prelude was made, and it says more of a prelude
// that it cannot make whole.
TEST_F(SharedPreludes, MessagesOfTheSourcesOwnDirectivesAreItsOwn) {
  write_file(scratch_ / "include/open.h", open_header);
  const std::string include = "#include <open.h>\n";
  for (const std::string directive : {"#define VALUE 6\n", "#pragma message(\"hello\")\n",
                                      "#line 7 \"other.cu\"\n", "#pragma unroll\n"}) {
    for (const auto& prelude : {include + directive, include + directive + include}) {
      auto with = runtime(std::uint64_t{1} << 30);
      for (int number = 0; number < 4; ++number) {
        const auto text = std::to_string(number);
        expect_as_without(
            with,
            {.name = text + ".cu",
             .source = prelude + "__global__ void k(int* x) { int never; *x = " + text + "; }\n",
             .include_dirs = {scratch_ / "include"},
             .kernels = {"k"}},
            prelude);
      }
    }
  }
}

// The second's name begins those that come behind it, and all have something to say of their own.
TEST_F(SharedPreludes, ANameThatBeginsOthersIsNoneOfThem) {
  write_file(scratch_ / "include/open.h", open_header);
  auto with = runtime(std::uint64_t{1} << 30);
  for (const auto* name : {"x", "k", "k1", "k2", "k/k"}) {
    expect_as_without(with,
                      {.name = name,
                       .source = "#include <open.h>\n// of kiln\n__global__ void k(int* x) { int "
                                 "never; *x = VALUE; }\n",
                       .include_dirs = {scratch_ / "include"},
                       .kernels = {"k"}},
                      name);
  }
  EXPECT_EQ(with.counters().precompiled, 3U);
}

// One program fails where the prelude is to be made anew, and what it was made of before comes back.
TEST_F(SharedPreludes, AFailureLeavesNothingOfAPreludeBehind) {
  write_file(
      scratch_ / "include/open.h",
      "#define S_(x) #x\n#define S(x) S_(x)\n#define D_(a, b) a##b\n#define D(a, b) D_(a, b)\n"
      "#include S(D(wa, rns).h)\n");
  const auto header = [&](int value) {
    write_file(scratch_ / "include/warns.h", this->header("w", value));  // It warns of 3 and of 6.
  };
  auto with = runtime(std::uint64_t{1} << 30);
  for (const auto& [name, value, more] : {std::tuple{"a.cu", 3, ""},
                                          {"b.cu", 3, ""},
                                          {"c.cu", 3, ""},
                                          {"d.cu", 6, "__global__ void broken() { nothing(); }"},
                                          {"e.cu", 3, ""},
                                          {"f.cu", 3, ""},
                                          {"g.cu", 4, ""},
                                          {"h.cu", 4, ""}}) {
    header(value);
    expect_as_without(with,
                      {.name = name,
                       .source = std::string("#include <open.h>\n__global__ void k(int* x) { *x = "
                                             "f_w(3); }\n") +
                                 more + "// " + name,
                       .include_dirs = {scratch_ / "include"},
                       .kernels = {"k"}},
                      name);
  }
}

}  // namespace
}  // namespace kiln::test
