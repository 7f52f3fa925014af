// What texts may ask for in ways that no scan shows: rather too much than too little.

#include "unseen_questions.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

// A program whose one header is looked at.
struct Asking {
  explicit Asking(const std::string& header_text, const std::string& source = "",
                  const std::vector<std::string>& options = {})
      : header(scan_text(header_text)),
        questions(Program::make({.name = "k.cu", .source = source, .options = options}).value(),
                  {header.get()}) {}

  [[nodiscard]] bool may_ask(const std::string& name) const {
    return questions.may_ask(*header, name);
  }

  std::shared_ptr<const HeaderText> header;
  UnseenQuestions questions;
};

const std::string wrapper = "#define HAS(x) (0 + __has_include(x))\n";

TEST(UnseenQuestions, WhatAScanShowsIsNone) {
  EXPECT_FALSE(Asking("#include \"alpha.h\"\n#if __has_include(<alpha.h>)\n#endif\nint a;")
                   .may_ask("alpha.h"));
  EXPECT_FALSE(Asking("int a;", wrapper).may_ask("alpha.h")) << "which it does not use";
}

TEST(UnseenQuestions, AMacroMayCarryThem) {
  for (const auto* header :
       {"#if HAS(<lib/alpha.h>)\n#endif\n", "#if HA\\\nS(<lib/alpha.h>)\n#endif\n",
        "#define MORE(x) HAS(x)\n#if MORE(alpha.h)\n#endif\n", "#include MACRO // alpha.h\n",
        "#define OWN __has_include\n#if OWN(<alpha.h>)\n#endif\n"}) {
    const Asking asking(header, wrapper);
    EXPECT_TRUE(asking.may_ask("/d/lib/alpha.h")) << header;
    EXPECT_FALSE(asking.may_ask("/d/lib/beta.h")) << header;
  }
  EXPECT_TRUE(
      Asking("#if HAS(<alpha.h>)\n#endif\n", "", {"-DHAS(x)=__has_include(x)"}).may_ask("alpha.h"));
}

TEST(UnseenQuestions, AMacroMayCarryTheName) {
  const std::string header = "#if HAS(NAME)\n#endif\n";
  EXPECT_TRUE(Asking(header, wrapper + "#define NAME <beta.h>\n").may_ask("beta.h"));
  EXPECT_TRUE(Asking(header, wrapper, {"-DNAME=<beta.h>"}).may_ask("beta.h"));
  EXPECT_FALSE(Asking(header, wrapper + "#define NAME <beta.h>\n").may_ask("gamma.h"));
}

TEST(UnseenQuestions, WhatIsPastedMayBeAnything) {
  const std::string paste = "#define PASTE(a, b) a##b\n";
  EXPECT_TRUE(Asking("#if PASTE(HA, S)(<beta.h>)\n#endif\n", wrapper + paste).may_ask("gamma.h"));
  EXPECT_FALSE(Asking("#if 1\n#endif\n", wrapper + paste).may_ask("gamma.h"));
}

TEST(UnseenQuestions, WholePathsCannotBeGuessed) {
  const auto may = [](const std::string& header, const std::vector<std::string>& options = {}) {
    return Asking(header, "", options).questions.may_ask_for_places();
  };
  EXPECT_TRUE(may("#include \"/usr/a.h\"\n"));
  EXPECT_TRUE(may("#include < /usr/a.h>\n"));
  EXPECT_TRUE(may("#define ROOT /usr\n"));
  EXPECT_TRUE(may("#if HAS(/usr/a.h)\n#endif\n"));
  EXPECT_TRUE(may("#if HAS(a, /usr/a.h)\n#endif\n"));
  EXPECT_TRUE(may("", {"-DROOT=/usr"}));
  EXPECT_TRUE(may("#include_next <a.h>\n"));
  EXPECT_TRUE(may("#if __has_include_next(<a.h>)\n#endif\n"));
  EXPECT_FALSE(may("#include <lib/a.h> // one\n#define A(b, c) ((b) / (c)) /* two */\n"));
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
}

}  // namespace
}  // namespace kiln::test
