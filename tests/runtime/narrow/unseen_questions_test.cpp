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

  [[nodiscard]] bool may_ask() const { return questions.may_ask(*header); }

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
  for (const auto* header : {"#if HAS(<lib/a.h>)\n#endif\n", "#if HA\\\nS(<lib/a.h>)\n#endif\n",
                             "#define MORE(x) HAS(x)\n#if MORE(a.h)\n#endif\n", "#include MACRO\n",
                             "#define OWN __has_include\n#if OWN(<a.h>)\n#endif\n",
                             "#define OPEN (\n#if __has_include OPEN <a.h>)\n#endif\n",
                             "#define QUOTED __has_include(\"a.h\")\n#if QUOTED\n#endif\n"}) {
    EXPECT_TRUE(Asking(header, wrapper).may_ask()) << header;
  }
  EXPECT_TRUE(Asking("#if HAS(<a.h>)\n#endif\n", "", {"-DHAS(x)=__has_include(x)"}).may_ask());
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
    return Asking(header, "", options).questions.are_beyond_guessing();
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
  EXPECT_FALSE(is("auto s = R\"(x)\";\n", {"--std=c++11"}));
  EXPECT_FALSE(is("int x = 1000;\n", {"--std=c++03"}));
  EXPECT_FALSE(is(paste + "#if PASTE(__has_, include)(<a.h>)\n#endif\n"));
  EXPECT_FALSE(is("#include <a.h>\n"));
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
  EXPECT_FALSE(is("PASTE(_Pra, gma)(\"once\")\n", "#define PASTE(a, b) a##b\n"));
}

}  // namespace
}  // namespace kiln::test
