// What an include or a question means that goes through a macro; names of the time that are pasted together.

#include "source/macro_expansion.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

using List = std::vector<std::string>;

List expansions(std::string_view definitions, std::string_view operand) {
  const auto macros = read_macros(definitions);
  return expand_include_macro(operand, {&macros});
}

TEST(IncludeMacros, TakeArguments) {
  // As CUTLASS 4.2 and later include libcu++.
  EXPECT_EQ(expansions("#define STD(header) <cuda/std/header>\n#define NAME tuple\n", "STD(NAME)"),
            (List{"<cuda/std/tuple>"}));
  EXPECT_EQ(expansions("#define IN(a, b) <a/b.h>\n", "IN(one, two)"), (List{"<one/two.h>"}));
  EXPECT_EQ(expansions("#define F(x) G(x)\n#define G(x) <x.h>\n", "F(a)"), (List{"<a.h>"}));
  EXPECT_EQ(expansions("#define H() <h.h>\n", "H()"), (List{"<h.h>"}));
}

TEST(IncludeMacros, WithArgumentsThatCannotBeTold) {
  EXPECT_EQ(expansions("#define F(x) #x\n", "F(a.h)"), List{});
  EXPECT_EQ(expansions("#define F(x) <a##x>\n", "F(b)"), List{});
  EXPECT_EQ(expansions("#define F(x) <x>\n", "F(a, b)"), List{});
  EXPECT_EQ(expansions("#define F(x) <x>\n", "F"), List{});
  EXPECT_EQ(expansions("#define F(x) <x>\n", "F(a"), List{});
}

TEST(HeaderTests, AreUsedPlainlyInConditionsWithALiteral) {
  EXPECT_TRUE(uses_plainly("#define HAS(x) __has_include(x)\n#if HAS(<a.h>)\n#endif\n", "HAS"));
  EXPECT_TRUE(uses_plainly("#if defined(HAS) && \\\n  HAS( \"a.h\" )\n#endif\n", "HAS"));
  EXPECT_TRUE(uses_plainly("#ifndef HAS\n#undef HAS\n#endif\nint HASH;\n", "HAS"));
}

TEST(HeaderTests, AreNotUsedPlainly) {
  EXPECT_FALSE(uses_plainly("#if HAS(A_MACRO)\n#endif\n", "HAS"));
  EXPECT_FALSE(uses_plainly("#define ALSO(x) HAS(x)\n", "HAS"));
  EXPECT_FALSE(uses_plainly("#define ALSO HAS(<a.h>)\n", "HAS"));
  EXPECT_FALSE(uses_plainly("#if OTHER(HAS)\n#endif\n", "HAS"));
}

TEST(HeaderTests, AreKnownByTheirDefinition) {
  const auto plain = read_directives("#define HAS(x) __has_include(x)\n");
  EXPECT_EQ(plain.header_tests, List{"HAS"});
  EXPECT_EQ(plain.unfollowed, "");
  // What is asked for, the use alone tells, in a way that nobody follows.
  EXPECT_NE(read_directives("#define HAS(x) __has_include(<lib/x>)\n").unfollowed, "");
  EXPECT_NE(read_directives("#define HAS(x, y) __has_include(x)\n").unfollowed, "");
  EXPECT_NE(read_directives("#define HAS __has_include(MACRO)\n").unfollowed, "");
}

TEST(TimePieces, ThatMakeANameThatTellsTheTime) {
  EXPECT_TRUE(can_tell_time({"__TI", "ME__"}));
  EXPECT_TRUE(can_tell_time({"__", "DATE", "x"}));
  EXPECT_FALSE(can_tell_time({"__TI", "__DA", "STAMP__"}));
  EXPECT_FALSE(can_tell_time({}));
}

TEST(TimePieces, AreIdentifiersOfTwoLettersOrMore) {
  const auto said = read_directives("#define GLUE(a, b) a##b\nauto t = GLUE(__TI, ME__), T = x;\n");
  EXPECT_TRUE(said.pastes);
  EXPECT_TRUE(can_tell_time(said.time_pieces));
  EXPECT_FALSE(said.time_pieces.contains("T"));
  EXPECT_FALSE(read_directives("auto t = x;").pastes);
}

TEST(Directives, ANumberIsReadWhole) {
  // Neither the R nor the quote begins a literal in which the include would be lost.
  for (const auto* number : {"1.R\"(\"", "0x1p+3R\"(\"", "1'000'0", ".5e-1"}) {
    const auto text = std::string("auto x = ") + number + ";\n#include <a.h>\n";
    EXPECT_EQ(read_directives(text).includes.size(), 1u) << text;
  }
}

}  // namespace
}  // namespace kiln::test
