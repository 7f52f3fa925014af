// Headers that say where they lie.

#include "source/placed_text.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

/// The text with a mark where the directive came, and its line number.
std::string marked(std::string_view text) {
  auto placed = text_at("/a.h", text);
  const auto at = placed.find("#line ");
  const auto end = placed.find('\n', at);
  const auto line = placed.substr(at + 6, end - at - 6);
  EXPECT_TRUE(line.ends_with(" \"/a.h\"")) << line;
  return placed.replace(at, end + 1 - at, '@' + line.substr(0, line.find(' ')) + '@');
}

TEST(PlacedText, ATextBeginsByTellingItsPlace) {
  EXPECT_EQ(text_at("/an engine/x.h", "int x;\n"), "#line 1 \"/an engine/x.h\"\nint x;\n");
  EXPECT_EQ(text_at("/q\"\\?/x.h", ""), "#line 1 \"/q\\\"\\\\\\?/x.h\"\n");
  EXPECT_EQ(marked("#pragma once\nint x;\n"), "@1@#pragma once\nint x;\n");
  EXPECT_EQ(marked("\xef\xbb\xbfint x;\n"), "\xef\xbb\xbf@1@int x;\n");
}

// The compiler opens a guarded header once, unless something stands before its guard.
TEST(PlacedText, AGuardStaysTheFirst) {
  EXPECT_EQ(marked("#ifndef A\n#define A\nint x;\n#endif\n"),
            "#ifndef A\n@2@#define A\nint x;\n#endif\n");
  EXPECT_EQ(marked("// c\n\n/* c\n#if c\n*/\n # ifndef A // c\r\n#define A\n#endif // A\n\n// c"),
            "// c\n\n/* c\n#if c\n*/\n # ifndef A // c\r\n@7@#define A\n#endif // A\n\n// c");
  EXPECT_EQ(marked("#ifndef A\n#if B\n#elif C\n#else\n#endif\n#endif /* A\n*/"),
            "#ifndef A\n@2@#if B\n#elif C\n#else\n#endif\n#endif /* A\n*/");
}

// As most of CUDA's own headers have it.
TEST(PlacedText, AGuardMayAskForWhatIsDefined) {
  for (const std::string guard :
       {"#if !defined(A)\n", "#if !defined A\n", "%: if ! defined ( A ) // c\n"})
    EXPECT_EQ(marked(guard + "#define A\n#endif\n"), guard + "@2@#define A\n#endif\n");
}

TEST(PlacedText, AGuardIsKnownByWhatIsNoLiteralAndNoComment) {
  EXPECT_EQ(marked("#ifndef A /* c\n*/\n#endif\n"), "#ifndef A /* c\n*/\n@3@#endif\n");
  EXPECT_EQ(marked("#ifndef A\r\n%:if B\r\n#endif\r\nconst char* c = \"#/*\";\r\n#endif\r\n"),
            "#ifndef A\r\n@2@%:if B\r\n#endif\r\nconst char* c = \"#/*\";\r\n#endif\r\n");
  EXPECT_EQ(marked("#ifndef A\n// \\\n#endif\n#endif\n"), "#ifndef A\n@2@// \\\n#endif\n#endif\n");
}

TEST(PlacedText, WhatIsNoGuardIsLeftAlone) {
  for (const std::string text :
       {"#ifndef A\n#define A\n#endif\nint x;\n", "#ifndef A\n#else\n#endif\n",
        "#ifndef A\n#elif B\n#endif\n", "int x;\n#ifndef A\n#endif\n", "#ifndef A B\n#endif\n",
        "#ifndef A\\\n\n#endif\n", "#ifndef A\n", "#ifndef\n#endif\n", "#ifdef A\n#endif\n",
        "#ifndef A\n#endif\n#ifndef B\n#endif\n", "#if defined(A)\n#endif\n",
        "#if !defined(A) && B\n#endif\n", "#if !defined(A\n#endif\n", "#if !defined\n#endif\n",
        "#if !defined(A) || !defined(B)\n#endif\n", "#if !!defined(A)\n#endif\n",
        "#if !A\n#endif\n",
        // What goes on in the next line is a comment, whatever it looks like.
        "#ifndef A // c \\\n#define B\n#endif\n", "// c \\\n#ifndef A\n#endif\n",
        "#ifndef A // c ?\?/\n#define B\n#endif\n",
        // What stands in a literal begins no comment.
        "#ifndef A\n#define A \"a/*.cu\"\n#endif\n#ifdef B\n/* c */\nint x;\n#endif\n",
        "#ifndef A\nint x;\n%:else\nint y;\n#endif\n",
        "#ifndef A\nauto r = R\"(\n#endif\n)\";\n#endif\n"}) {
    EXPECT_EQ(marked(text), "@1@" + text);
  }
}

}  // namespace
}  // namespace kiln::test
