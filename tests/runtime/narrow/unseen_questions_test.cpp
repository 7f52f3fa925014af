// What texts may ask for in ways that no scan shows: rather too much than too little.

#include "narrow/unseen_questions.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

// A program whose one header is looked at.
struct Asking {
  explicit Asking(const std::string& header_text, const std::string& source_text = "",
                  const std::vector<std::string>& options = {})
      : source(scan_text(source_text)),
        header(scan_text(header_text)),
        questions(program(options), *source, {header.get()}) {}

  static Program program(const std::vector<std::string>& options) {
    return Program::make({.name = "asking.cu", .source = "", .options = options}).value();
  }

  [[nodiscard]] bool may_ask(const std::string& name = "a.h") const {
    return questions.may_ask(*header, name);
  }

  std::shared_ptr<const HeaderText> source;
  std::shared_ptr<const HeaderText> header;
  UnseenQuestions questions;
};

const std::string wrapper = "#define HAS(x) (0 + __has_include(x))\n";

TEST(UnseenQuestions, WhatAScanShowsIsNone) {
  EXPECT_FALSE(Asking("#include \"a.h\"\n#if __has_include(<a.h>)\n#endif\nint a;").may_ask());
  EXPECT_FALSE(Asking("#ifdef __has_include\n#if defined(__has_include)\n#endif\n").may_ask());
  EXPECT_FALSE(Asking("int a;", wrapper).may_ask()) << "which it does not use";
}

TEST(UnseenQuestions, AMacroMayCarryThem) {
  for (const auto* header :
       {"#if HAS(\"a.h\")\n#endif\n", "#if HA\\\nS(\"a\\\n.h\")\n#endif\n",
        "#define MORE(x) HAS(x)\n#if MORE(\"a.h\")\n#endif\n", "#define A \"a.h\"\n#include A\n",
        "#define OWN __has_include\n#if OWN(\"a.h\")\n#endif\n",
        "#define OPEN (\n#if __has_include OPEN \"a.h\")\n#endif\n",
        "#define QUOTED __has_include(\"a.h\")\n#if QUOTED\n#endif\n"}) {
    EXPECT_TRUE(Asking(header, wrapper).may_ask()) << header;
  }
  EXPECT_TRUE(Asking("#if HAS(\"a.h\")\n#endif\n", "", {"-DHAS(x)=__has_include(x)"}).may_ask());
  EXPECT_TRUE(Asking("#include A\n", "", {"-DA=\"a.h\""}).may_ask());
}

TEST(UnseenQuestions, ANameInQuotesIsALiteralThatItComesTo) {
  const std::string asks = "#if HAS(NAME)\n#endif\n";
  EXPECT_FALSE(Asking("#if HAS(<a.h>)\n#endif\n", wrapper).may_ask()) << "beside nothing";
  EXPECT_FALSE(Asking("#if HAS(\"lib/a.h\")\n#endif\n", wrapper).may_ask());
  EXPECT_TRUE(Asking("#if HAS(\"lib/a.h\")\n#endif\n", wrapper).may_ask("lib/a.h"));
  EXPECT_FALSE(Asking(asks, wrapper + "#define OTHER \"a.h\"\n").may_ask());
  EXPECT_FALSE(Asking(asks, wrapper + "#define NAME \"b.h\"\n").may_ask());
  EXPECT_TRUE(Asking(asks, wrapper + "#define NAME \"b.h\"\n").may_ask("b.h"));
  EXPECT_TRUE(Asking(asks, wrapper + "#define OTHER \"a.h\"\n#define NAME OTHER\n").may_ask());
  EXPECT_TRUE(Asking(asks, wrapper + "#define FIRST(a, b) a\n#define NAME FIRST(\"a.h\", \"\")\n")
                  .may_ask());
}

TEST(UnseenQuestions, WhatMakesALiteralMayMakeAnyName) {
  for (const auto* made :
       {"#define STRING(x) #x\n#define NAME STRING(a.h)\n",
        "#define STRING(x) %:x\n#define NAME STRING(a.h)\n", "#define NAME __FILE__\n",
        "#define NAME __BASE_FILE__\n", "#define NAME \"./a.h\"\n", "#define NAME \"lib//a.h\"\n",
        "#define PASTE(a, b) a##b\n#define NAME PASTE(A, B)\n"}) {
    EXPECT_TRUE(Asking("#if HAS(NAME)\n#endif\n", wrapper + made).may_ask()) << made;
  }
  for (const auto* operand : {"__FILE__", "\"./b.h\"", "\"b//c.h\""}) {
    const std::string asks = std::string("#if HAS(") + operand + ")\n#endif\n";
    EXPECT_TRUE(Asking(asks, wrapper).may_ask()) << operand;
  }
  EXPECT_TRUE(Asking("#if HAS(\"b.h\")\n#endif\n", wrapper).may_ask("a\"b.h")) << "by an escape";
}

TEST(UnseenQuestions, TheCompilersOwnMacrosPasteAndQuoteAndLeadOn) {
  const auto asks = [](const std::string& condition, const std::string& source) {
    return Asking("#if " + condition + "\n#endif\n", wrapper + source).may_ask();
  };
  EXPECT_TRUE(asks("HAS(__ASSERT_STR_HELPER(a.h))", ""));
  EXPECT_TRUE(asks("__has_include(__ASSERT_STR_HELPER(a.h))", ""));
  EXPECT_TRUE(asks("1\n#include __ASSERT_STR_HELPER(a.h)\n", ""));
  EXPECT_TRUE(asks("HAS(__CUDA_ARCH_HAS_FEATURE__(X))", "#define __CUDA_ARCH_FEAT_X \"a.h\"\n"));
  EXPECT_TRUE(asks("HAS(_NV_CONCAT_EVAL1(NA, ME))", "#define NAME \"a.h\"\n"));
  EXPECT_TRUE(asks("HAS(NV_IS_DEVICE)", "#define __NV_IS_DEVICE \"a.h\"\n"));
  const std::string question = " (0 + __has_include(\"a.h\"))\n";
  EXPECT_TRUE(asks("__CUDA_ARCH_HAS_FEATURE__(X)", "#define __CUDA_ARCH_FEAT_X" + question));
  EXPECT_TRUE(asks("FEATURE",
                   "#define FEATURE __CUDA_ARCH_HAS_FEATURE__(X)\n"
                   "#define __CUDA_ARCH_FEAT_X" +
                       question));
  EXPECT_TRUE(asks("NV_IS_DEVICE", "#define __NV_IS_DEVICE" + question));
  EXPECT_TRUE(
      asks("CAT(H, __volatile__)",
           "#define CAT(a, b) CAT2(a, b)\n#define CAT2(a, b) a##b\n#define Hvolatile" + question));
  EXPECT_TRUE(asks("Q",
                   "#define NAME \"a.h\"\n"
                   "#define Q (0 + __has_include(_NV_CONCAT_EVAL1(NA, ME)))\n"));
  EXPECT_TRUE(Asking("_Pragma(\"unroll _NV_CONCAT_EVAL1(HA, SN)\")\n", "#define HASN" + question)
                  .may_ask());
  EXPECT_TRUE(asks("_NV_PASTE5(__has_, inc, lude, , )(NAME)", "#define NAME \"a.h\"\n"));
  const std::string device = "#if NV_IS_DEVICE && __CUDA_ARCH_HAS_FEATURE__(SM90_ALL)\n#endif\n";
  EXPECT_FALSE(Asking(device, "#define HAS_HEADER(x) (0 + __has_include(x))\n").may_ask())
      << "they ask nothing by themselves";
}

TEST(UnseenQuestions, AQuoteMayBeEscaped) {
  const std::string pragma = "_Pragma(\"unroll (2 + __has_include(\\\"a.h\\\"))\")\n";
  EXPECT_TRUE(Asking(pragma).may_ask());
  EXPECT_TRUE(Asking("UNROLL\n", "#define UNROLL " + pragma).may_ask());
  EXPECT_FALSE(Asking(pragma).may_ask("b.h"));
  EXPECT_TRUE(
      Asking("_Pragma(\"unroll (2 + __has_include(\\\"a\\\\b.h\\\"))\")\n").may_ask("a\\b.h"));
}

TEST(UnseenQuestions, WhatIsPastedMayBeAnything) {
  const std::string paste = "#define PASTE(a, b) a##b\n";
  EXPECT_TRUE(Asking("#if PASTE(HA, S)(<b.h>)\n#endif\n", wrapper + paste).may_ask());
  EXPECT_FALSE(Asking("#if 1\n#endif\n", wrapper + paste).may_ask());
  EXPECT_TRUE(Asking("#if PASTE(__has_, include)(<b.h>)\n#endif\n", paste).may_ask());
  EXPECT_TRUE(
      Asking("#if PASTE(MO, RE)(<b.h>)\n#endif\n", wrapper + paste + "#define MORE(x) HAS(x)\n")
          .may_ask());
  EXPECT_TRUE(
      Asking("#if PASTE(HA, S)(<b.h>)\n#endif\n", paste, {"-DHAS(x)=__has_include(x)"}).may_ask());
  EXPECT_TRUE(Asking("#if PASTE(IN, S)(<b.h>)\n#endif\n", wrapper + paste, {"-DIN=HA"}).may_ask());
}

TEST(UnseenQuestions, ButNothingThatNoPiecesMake) {
  const std::string wrapper = "#define HAS_HEADER(x) (0 + __has_include(x))\n";
  const std::string paste = "#define PASTE(a, b) a##b\n#define HAS_NONE_OF_IT\n";
  EXPECT_FALSE(Asking("int PASTE(last, ing);\n", wrapper + paste).may_ask());
  EXPECT_FALSE(Asking("int PASTE(has_, value);\n", wrapper + paste).may_ask());
}

TEST(UnseenQuestions, BehindWhatWasFoundNothingIsGuessed) {
  const auto is = [](const std::string& header, const std::vector<std::string>& options = {}) {
    const Asking asking(header, "", options);
    EXPECT_EQ(asking.questions.are_beyond_guessing(), asking.questions.may_search_on()) << header;
    return asking.questions.may_search_on();
  };
  const std::string paste = "#define PASTE(a, b) a##b\n";
  EXPECT_TRUE(is("#include_next <a.h>\n"));
  EXPECT_TRUE(is("#if __has_include_next(<a.h>)\n#endif\n"));
  EXPECT_TRUE(is("", {"-DNEXT=__has_include_next"}));
  EXPECT_TRUE(is(paste + "#if PASTE(__has_include_, next)(<a.h>)\n#endif\n"));
  EXPECT_TRUE(is(paste + "#if PASTE(__has_include, _next)(<a.h>)\n#endif\n"));
  EXPECT_TRUE(is(paste + "#if PASTE(__has_include_, n, e, x, t)(<a.h>)\n#endif\n"));
  EXPECT_TRUE(is("?\?=include <a.h>\n"));
  EXPECT_TRUE(is("auto s = R\"(x)\";\n", {"--std=c++03"}));
  EXPECT_TRUE(is("int x = 1'000;\n", {"--std=c++11"}));
  EXPECT_TRUE(is("#if 'a'HAS(N) == 98\n#endif\n", {"--std=c++03"}));
  EXPECT_FALSE(is("#if 'a'HAS(N) == 98\n#endif\n", {"--std=c++11"}));
  EXPECT_FALSE(is("#if 'a' HAS(N) == 98\n#endif\n", {"--std=c++03"}));
  EXPECT_FALSE(is("auto s = R\"(x)\";\n", {"--std=c++11"}));
  EXPECT_FALSE(is("int x = 1000;\n", {"--std=c++03"}));
  EXPECT_FALSE(is(paste + "#if PASTE(__has_, include)(<a.h>)\n#endif\n"));
  EXPECT_FALSE(is("#include <a.h>\n"));
}

TEST(UnseenQuestions, WhatANameIsByTrigraphsIsBeyondGuessing) {
  const std::vector<std::string> older = {"--std=c++14"};
  EXPECT_TRUE(Asking("#include \"n?\?-.h\"\n", "", older).questions.are_beyond_guessing());
  EXPECT_FALSE(Asking("auto s = \"why?\?\";\n").questions.are_beyond_guessing());
  EXPECT_TRUE(
      Asking("#if HAS(\"n?\?(.h\")\n#endif\n", wrapper, older).questions.are_beyond_guessing());
  EXPECT_FALSE(Asking("int why; // ?\?-\n", "", older).questions.are_beyond_guessing());
}

TEST(UnseenQuestions, WhatTheCompilersOwnMacrosLeadToIsBeyondGuessing) {
  const auto is = [](const std::string& header) {
    const auto questions = Asking(header).questions;
    EXPECT_FALSE(questions.may_search_on()) << header;
    return questions.are_beyond_guessing();
  };
  const std::string question = " (0 + __has_include(\"n.h\"))\n";
  EXPECT_TRUE(is("#define __annotate__(x) \"n.h\"\n"));
  EXPECT_TRUE(is("#define _NV_PAREN_YES" + question));
  EXPECT_TRUE(is("#define __cu_va_start(x, y)" + question));
  EXPECT_TRUE(is("#define ASK" + question + "#define volatile ASK\n"));
  EXPECT_TRUE(is("#define host _Pragma(\"once\")\n"));
  EXPECT_TRUE(is("#define _(x) #x\n"));
  EXPECT_FALSE(is("#define ASK" + question));
  EXPECT_FALSE(is("#define __NV_SILENCE_DEPRECATION_BEGIN _Pragma(\"diag_suppress 1\")\n"));
  EXPECT_FALSE(is("#define __align__(n) __attribute__((aligned(n)))\n")) << "as CUDA's headers do";
  EXPECT_FALSE(is("#define __NV_PAREN_NO 0\n#define _NV_CONCAT_EVAL1(l, r) l##r\n"));
  EXPECT_FALSE(
      is("__location__(device) int x;\n#if __CUDA_ARCH_HAS_FEATURE__(SM90_ALL)\n#endif\n"));
}

TEST(UnseenQuestions, AHeaderIsAlikeWhereverItLies) {
  const auto is = [](const std::string& header, const std::string& source = "") {
    const Asking asking(header, source);
    return asking.questions.is_alike_anywhere(*asking.header);
  };
  EXPECT_TRUE(is("#ifndef A\n#define A\n#include <b.h>\n#endif\n"));
  EXPECT_FALSE(is("#include \"b.h\"\n"));
  EXPECT_FALSE(is("#pragma once\n"));
  EXPECT_FALSE(is("#import <b.h>\n"));
  EXPECT_FALSE(is("_Pragma(\"once\")\n"));
  EXPECT_FALSE(is("ONCE\n", "#define ONCE _Pragma(\"once\")\n"));
  EXPECT_FALSE(is("#if HAS(\"b.h\")\n#endif\n", wrapper));
  EXPECT_TRUE(is("#if HAS(<b.h>)\n#endif\n", wrapper));
  EXPECT_FALSE(is("#if HAS(NAME)\n#endif\n", wrapper + "#define NAME \"b.h\"\n"));
  EXPECT_FALSE(is("#if HAS(__FILE__)\n#endif\n", wrapper));
  EXPECT_FALSE(is("PASTE(_Pra, gma)(\"once\")\n", "#define PASTE(a, b) a##b\n"));
  EXPECT_FALSE(is("_NV_CONCAT_EVAL1(_Pra, gma)(\"once\")\n"));
  EXPECT_FALSE(is("NV_IS_DEVICE\n", "#define __NV_IS_DEVICE _Pragma(\"once\")\n"));
}

}  // namespace
}  // namespace kiln::test
