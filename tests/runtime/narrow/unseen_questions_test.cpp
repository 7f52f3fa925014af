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
        questions(program(options), *source, {header.get()}, readings()) {}

  static Program program(const std::vector<std::string>& options) {
    return Program::make({.name = "asking.cu", .source = "", .options = options}).value();
  }

  static Readings readings() {
    Readings readings;
    readings.files.emplace_back().path = "/home/lib/a.h";
    return readings;
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

TEST(UnseenQuestions, WholePathsCannotBeGuessed) {
  const auto may = [](const std::string& header, const std::vector<std::string>& options = {}) {
    return Asking(header, "", options).questions.may_spell_paths();
  };
  EXPECT_TRUE(may("#include \"/home/lib/b.h\"\n"));
  EXPECT_TRUE(may("#include < /home/lib/b.h>\n"));
  EXPECT_TRUE(may("#define ROOT /home\n"));
  EXPECT_TRUE(may("#define ROOT /usr\n")) << "which a macro may turn into anything";
  EXPECT_TRUE(may("#define AT(a) </a/x.h>\n"));
  EXPECT_TRUE(may("#define AT(a) EMPTY/home/a/x.h\n"));
  EXPECT_TRUE(may("#if HAS(/home/lib/b.h)\n#endif\n"));
  EXPECT_TRUE(may("#if HAS(a, /home/lib/b.h)\n#endif\n"));
  EXPECT_TRUE(may("#if HAS(EMPTY/home/lib/b.h)\n#endif\n"));
  EXPECT_TRUE(may("#define HOME home\n#if HAS(/HOME/lib/b.h)\n#endif\n"));
  EXPECT_TRUE(may("#if HAS(</ho ## me/lib/b.h>)\n#endif\n"));
  EXPECT_TRUE(may("#if HAS(</__FILE__/a.h>)\n#endif\n"));
  EXPECT_TRUE(may("#if HAS(\"/\" x)\n#endif\n"));
  EXPECT_TRUE(may("#include < / home / lib / b.h>\n"));
  EXPECT_TRUE(may("#define LIB lib\n#if HAS(EMPTY/home/LIB/b.h)\n#endif\n"));
  EXPECT_TRUE(may("#if HAS(EMPTY/home/l ## ib/b.h)\n#endif\n"));
  EXPECT_TRUE(may("#if HAS(EMPTY/home/../b.h)\n#endif\n"));
  EXPECT_TRUE(may("#if HAS(EMPTY/home SLASH lib/b.h)\n#endif\n"));
  EXPECT_TRUE(may("", {"-DROOT=/usr"}));
  EXPECT_TRUE(may("", {"-DASK=__has_include(\"/home/lib/b.h\")"}));
  EXPECT_FALSE(
      may("// <b>Not</b> one that was asked for: std/homes, /home/you, \"hits\" / window\n#include "
          "\"/usr/a.h\"\n"));
  const std::string pragma = "#define DO(x) _Pragma(#x)\n";
  EXPECT_FALSE(may("OPERATOR(divides, / ) ;\nOPERATOR(divides, /=);\nint a = print(\"/\");\n"));
  EXPECT_TRUE(may("const char* folder = \"/home/lib\";\n"));
  EXPECT_TRUE(may("int has = __has_include(ROOT(/)) + HAS(/);\n"));
  EXPECT_TRUE(may("#if HAS(P(/H,OME)/lib/b.h)\n#endif\n#define P(a, b) a##b\n#define HOME home\n"));
  EXPECT_TRUE(may("#if HAS(/CUDART_VERSION/b.h)\n#endif\n"));
  EXPECT_TRUE(may("#if HAS(/**//HOME/b.h) || HAS(\v/HOME/b.h)\n#endif\n#define HOME home\n"));
  EXPECT_TRUE(may("#define AT(a, b) <a/b>\n"));
  const std::string home = "#define P(a, b) a##b\n#define HOME home\n#define N\n#define E N\n";
  EXPECT_TRUE(may(home + "#define AT(a) <a/HOME/lib/b.h>\n"));
  EXPECT_TRUE(may(home + "#define AT(...) <__VA_ARGS__/HOME/lib/b.h>\n"));
  EXPECT_TRUE(may(home + "int v = HAS(E/HOME/lib/b.h);\n"));
  EXPECT_TRUE(may(home + "int v = Z(\nI(/)HOME/lib/b.h);\n"));
  EXPECT_TRUE(may(home + "#if HAS(P(/HO /**/,ME)/lib/b.h)\n#endif\n"));
  EXPECT_TRUE(may(home + "int v = HAS(P(/HO\n,ME)/lib/b.h);\n"));
  EXPECT_TRUE(may("/HO\n" + home));
  EXPECT_TRUE(may(home + "#if HAS(R(/HO COMMA ME)/lib/b.h)\n#endif\n"));
  EXPECT_TRUE(may(home + "#if HAS(R(/home/HO COMMA ME)/b.h)\n#endif\n"));
  EXPECT_TRUE(may(home + "int v = HAS(\n/HOME/lib/b.h) + HAS(\r/HOME/lib/b.h);\n"));
  EXPECT_TRUE(may("#define E\n#define HOME home\n#define P <E/HOME/lib/b.h>\n"));
  EXPECT_TRUE(may("#define E\n#define HOME home\n#if HAS(E/HOME/lib/b.h)\n#endif\n"));
  EXPECT_TRUE(may("#define E()\n#define HOME home\n#if HAS(E()/HOME/lib/b.h)\n#endif\n"));
  EXPECT_FALSE(
      may("#define GUARD_H\n#define CEIL(a, b) (((a) + (b)-1) / (b))\nint c = (1) / D;\n#if (2) / "
          "2\n#endif\n"));
  EXPECT_TRUE(may(home + "#define M(q) HAS(E/q/lib/b.h)\n"));
  EXPECT_TRUE(may(home + "#define M(x) HAS(<E/HO##x/lib/b.h>)\n"));
  EXPECT_TRUE(may(home + "#define M(a) HAS(<a##/HOME/lib/b.h>)\n"));
  EXPECT_TRUE(may(home + "#if HAS(E /HOME/lib/b.h)\n#endif\n"));
  EXPECT_TRUE(may(home + "#if HAS(E/E HOME/lib/b.h)\n#endif\n"));
  EXPECT_FALSE(may(home + "#if HAS(E/ HOME/lib/b.h)\n#endif\n")) << "the blank is part of the path";
  EXPECT_TRUE(may("#include <//home/lib/b.h>\n"));
  EXPECT_FALSE(may(home + "#define D // ^^^ N ^^^ / HOME\nint n = 4 /* E */ / HOME; // E/HOME\n"));
  const std::string divided = "int v = I()/HOME;\n";
  EXPECT_FALSE(may(home + divided));
  EXPECT_TRUE(may(home + divided + "int w = DO(\n#include <b.h>\n);\n"));
  EXPECT_TRUE(may(home + divided + "int w = DO(\n"));
  EXPECT_TRUE(may(home + divided + "#define OPEN DO(\n"));
  EXPECT_TRUE(may("#define \\u00e9(x) _Pragma(#x)\n")) << "a name that nobody reads";
  EXPECT_TRUE(may("const char* folder = R\"(/home/lib)\";\n"));
  EXPECT_TRUE(may("#define PASTE(a, b) a##b\nPASTE(_Pra, gma)(\"unroll HAS(ROOT(/))\")\n"));
  EXPECT_TRUE(may("#if OPERATOR(divides, /)\n#endif\n"));
  EXPECT_TRUE(may("#if /*\n*/ OPERATOR(divides, /)\n#endif\n"));
  EXPECT_TRUE(may("#define DIVIDES(x) OPERATOR(x, /)\n"));
  EXPECT_TRUE(may(pragma + "DO(unroll\nHAS(ROOT(/)))\n"));
  EXPECT_TRUE(may("_Pragma(\"unroll HAS(ROOT(/))\")\n"));
  EXPECT_FALSE(may("// <br/> and \"an image\"/>\n"));
  EXPECT_FALSE(may("#include <lib/a.h> // one\n#define A(b, c) ((b) / (c)) /* two */\n"));
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
