// What an include or a question means that goes through a macro; names of the time that are pasted together.

#include "source/macro_expansion.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "source/directives.h"
#include "source/header_files.h"
#include "source/header_tests.h"
#include "source/pieces.h"

namespace kiln::test {
namespace {

using List = std::vector<std::string>;

List expansions(std::string_view definitions, std::string_view operand) {
  const auto macros = read_macros(definitions, read_directives(definitions).definitions);
  return expand_include_macro(operand, {&macros});
}

TEST(IncludeMacros, TakeArguments) {
  // As CUTLASS 4.2 and later include libcu++.
  EXPECT_EQ(expansions("#define STD(header) <cuda/std/header>\n#define NAME tuple\n", "STD(NAME)"),
            (List{"<cuda/std/NAME>", "<cuda/std/tuple>"}));
  EXPECT_EQ(expansions("#define IN(a, b) <a/b.h>\n", "IN(one, two)"), (List{"<one/two.h>"}));
  EXPECT_EQ(expansions("#define F(x) G(x)\n#define G(x) <x.h>\n", "F(a)"), (List{"<a.h>"}));
  EXPECT_EQ(expansions("#define H() <h.h>\n", "H()"), (List{"<h.h>"}));
}

TEST(IncludeMacros, OfTheCompilersOwn) {
  for (const auto* name : {"NV_IS_DEVICE", "__CUDA_ARCH__", "__THROW", "__specialization_static",
                           "cudaStreamAttrID", "__ASSERT_STR_HELPER"}) {
    EXPECT_EQ(expansions("#define A\n", "<" + std::string(name) + ".h>"), List{}) << name;
  }
}

TEST(IncludeMacros, WithArgumentsThatCannotBeTold) {
  EXPECT_EQ(expansions("#define F(x) #x\n", "F(a.h)"), List{});
  EXPECT_EQ(expansions("#define F(x) <a##x>\n", "F(b)"), List{});
  EXPECT_EQ(expansions("#define F(x) <x>\n", "F(a, b)"), List{});
  EXPECT_EQ(expansions("#define F(x) <x>\n", "F"), List{});
  EXPECT_EQ(expansions("#define F(x) <x>\n", "F(a"), List{});
}

TEST(IncludeMacros, MayHaveAnyOfTheirDefinitionsOrNone) {
  EXPECT_EQ(expansions("#ifdef X\n#define e other\n#endif\n#define H <e.h>\n", "H"),
            (List{"<e.h>", "<other.h>"}));
  EXPECT_EQ(expansions("#define e(x) x\n#define H <e(a).h>\n", "H"), (List{"<a.h>", "<e(a).h>"}));
  const auto options = macros_of_options({"-De", "-D", "f=g", "--define-macro=i", "-UH"});
  EXPECT_EQ(expand_include_macro("<e.f.i.h>", {&options}).size(), 8U);
  EXPECT_EQ(options.find("e")->second.text, "1");
  EXPECT_EQ(options.find("f")->second.text, "g");
}

TEST(IncludeMacros, AreNotExpandedInLiteralsAndNumbers) {
  const std::string e = "#define e other\n";
  EXPECT_EQ(expansions(e + "#define H \"e.h\"\n", "H"), (List{"\"e.h\""}));
  EXPECT_EQ(expansions(e + "#define H <v/1.e/a.h>\n", "H"), (List{"<v/1.e/a.h>"}));
  EXPECT_EQ(expansions("#define H <e.h> <f.h>\n", "H"), (List{"<e.h>"}));
}

TEST(IncludeMacros, AreLeftToTheCompilerWhereItsSpellingIsItsOwn) {
  for (const auto* body : {"<e  h>", "< e.h>", "<e'a'.h>", "<e\"a\".h>", "<__CUDACC__.h>", "<N.h>",
                           "L\"e.h\"", "\"a\\b.h\"", "<>", "e.h", "N <e.h>"}) {
    EXPECT_EQ(expansions("#define N\n#define H " + std::string(body) + "\n", "H"), List{}) << body;
  }
  EXPECT_EQ(expansions("#define H(n...) <n>\n", "H(a.h)"), List{});
  EXPECT_EQ(expansions("#define H(/* c */n) <n>\n", "H(a.h)"), (List{"<a.h>"}));
}

TEST(IncludeMacros, AreAskedForInTheArgumentsOfOthers) {
  EXPECT_EQ(expansions("#define nm e\n", "<nm.h>"), (List{"<e.h>", "<nm.h>"}));
  EXPECT_EQ(expansions("#define nm e\n", "<e.h >"), List{});
  EXPECT_EQ(expansions("", "<cuda/std/version>"), (List{"<cuda/std/version>"}));
  EXPECT_EQ(expansions("", "<__CUDACC_VER_MAJOR__.h>"), List{});
}

// What kiln would read otherwise than the compiler, it leaves to it.
TEST(Expansion, OfTokensThatTheCompilerKeepsApartIsDeclined) {
  EXPECT_EQ(expansions("#define F(x) <x.h>", "F(1)"), List{});
  EXPECT_EQ(expansions("#define F(x) <x.h>", "F(a)"), (List{"<a.h>"}));
  EXPECT_EQ(expansions("#define F(x) <lib/x/a.h>", "F(1)"), (List{"<lib/1/a.h>"}));
  EXPECT_EQ(expansions("#define F(x, y) <x-y.h>", "F(1e,f)"), List{});
  EXPECT_EQ(expansions("#define F(x) <a.x>", "F(5)"), List{});
  EXPECT_EQ(expansions("#define F(x) <x.h>", "F()"), List{});
  EXPECT_EQ(expansions("#define AB a##b\n#define H <AB.h>", "H"), List{});
  EXPECT_EQ(expansions("#define H <a%:%:b.h>", "H"), List{});
  for (const auto* name : {"<a->b.h>", "<a>>b.h>", "<a>=b.h>", "<a:>b.h>", "<a%>b.h>", "<a//b.h>"})
    EXPECT_EQ(expansions("", name), List{}) << name;
}

TEST(Expansion, OfWhatTheCompilerMayDefineIsDeclined) {
  for (const auto* name :
       {"__CUDA_ARCH__", "_LP64", "__EXCEPTIONS", "__cplusplus", "__INCLUDE_LEVEL__", "NULL",
        "CUDART_VERSION", "cudaStreamDefault", "CU_UUID_HAS_BEEN_DEFINED"})
    EXPECT_EQ(
        expansions(std::string("#define ") + name + " 1\n", std::string("<") + name + "/a.h>"),
        List{})
        << name;
  EXPECT_EQ(expansions("", "<NULL.h>"), List{});
  EXPECT_EQ(expansions("", "<cuda_fp16.h>"), (List{"<cuda_fp16.h>"}));
  EXPECT_EQ(expansions("#define __LIB_HEADER <a.h>", "__LIB_HEADER"), (List{"<a.h>"}));
}

TEST(Expansion, OptionsAreTextsOfTheirOwn) {
  const auto macros = macros_of_options({"-DZ=1\\", "-De=x", "-DY=R\"(", "-D", "f=y"});
  EXPECT_EQ(expand_include_macro("<e/f.h>", {&macros}).size(), 4U) << "each defined, or not";
  EXPECT_EQ(macros_of_options({"-D=e=x"}).find("e")->second.text, "x");
}

TEST(Questions, ThatArePastedTogether) {
  const auto can = [](const std::string& text) {
    const auto said = read_directives(text);
    return can_ask(said.question_pieces, said.literal_pieces);
  };
  EXPECT_TRUE(can("P(__, has, _include)(N)"));
  EXPECT_TRUE(can("P(__h, as_, include)(N)"));
  EXPECT_TRUE(can("P(__h, as_, in, clude)(N)"));
  EXPECT_TRUE(can("P(__has_in, clude_ne, xt)(N)"));
  EXPECT_TRUE(can("P(_, _has_include)(N)"));
  EXPECT_TRUE(can("P(__has_include, _next)(N)"));
  EXPECT_FALSE(can("__has_include(N) + has(next, __h, as, in, de)"));
  EXPECT_TRUE(can("_Pragma(\"P(__has_, include)(N)\")"));
  EXPECT_TRUE(can("_Pragma(\"unroll BEGIN __has_, include)(N)\")"));
  EXPECT_TRUE(can("P(__has_, i, nclude)(N)"));
  EXPECT_TRUE(can("Q(__has_, i, n, c, lude)(N)"));
  EXPECT_TRUE(can("_Pragma(\"unroll (Q(__has_, i, nclude)(O) ? 2 : 1)\")"));
  EXPECT_FALSE(can("trace(\"of __has and what they include\")"));
  EXPECT_FALSE(can("#error \\\n __has_ it, so include it\n#warning include\nint has_;"));
  EXPECT_TRUE(can("P(__has_, i, n, c, l, u, d, e)(N)"));
  EXPECT_TRUE(can("P(_, _, h, a, s, _include)(N)"));
  EXPECT_TRUE(can("#error it\nP(__has_, include)(N)"));
  EXPECT_FALSE(can("P(_, h, a, s, _, i, n, c, l, u, d, e)"));
}

std::string unfollowed(std::string_view text) { return used_unfollowed(text, {"HAS"}); }

TEST(HeaderTests, AreFollowedInConditionsWithALiteral) {
  for (const auto* text : {
           "#define HAS(x) __has_include(x)\n#if HAS(<a.h>)\n#endif\n",
           "#if defined(HAS) && \\\n  HAS( \"a.h\" )\n#elif defined HAS\n#endif\n",
           "#ifndef HAS\n#undef HAS\n#endif\nint HASH;\n",
           "#include <HAS/a.h>\n",
           "// HAS\n/* #if\n HAS(x) */ const char* text = \"HASH\", *raw = R\"(\n#if HA(A)\n)\";\n",
           "#if /* a\n comment */ HAS /* another */ (<a.h>)\n#endif\n",
           "%: if HA\\\nS(<a.h>)\n#endif\n",
       }) {
    EXPECT_EQ(unfollowed(text), "") << text;
  }
}

TEST(HeaderTests, AreNotFollowedElsewhere) {
  for (const auto* text : {
           "#if HAS(A_MACRO)\n#endif\n",
           "#define ALSO(x) HAS(x)\n",
           "#define ALSO HAS(<a.h>)\n",
           "#if OTHER(HAS)\n#endif\n",
           "#if HA\\\nS(A_MACRO)\n#endif\n",
           "#if HA\\\r\r\nS(A_MACRO)\n#endif\n",
           "#if 1 /*\n#undef */ && HAS(A_MACRO)\n#endif\n",
           "#if 1 /*\n#ifdef */ && HAS(A_MACRO)\n#endif\n",
           "#define nodefined\n#if nodefined HAS(A_MACRO)\n#endif\n",
           "#if defined(x) HAS(A_MACRO)\n#endif\n",
           "#if x \"a\" // b\nint HAS;\n#endif\n",
           "_Pragma(\"unroll HAS(<a.h>)\")\n",
           "_Pragma(R\"(unroll HAS(<a.h>))\")\n",
       }) {
    EXPECT_EQ(unfollowed(text), "HAS") << text;
  }
}

TEST(HeaderTests, MayBePastedTogether) {
  Words pieces;
  add_pieces("C(HA, S) \"INCLUDE\" _CCCL_ 'I' HAS_2", {"_CCCL_HAS_INCLUDE_2"}, pieces);
  EXPECT_EQ(pieces, (Words{"C", "HA", "I", "INCLUDE", "S", "_CCCL_"}));
  EXPECT_EQ(scan_text("C(HA, S) /* _CCCL_HAS */ _CC\\\nCL_")->pieces_of({"_CCCL_HAS_2"}),
            (Words{"C", "HA", "S", "_CCCL_"}));
  EXPECT_TRUE(can_be_pasted("HAS", {"HA"})) << "a letter is at hand everywhere";
  EXPECT_TRUE(can_be_pasted("HAS", {"AS"}));
  EXPECT_TRUE(can_be_pasted("HAS_2", {"HAS", "_2"}));
  EXPECT_FALSE(can_be_pasted("A_HAS", {"A_", "HA"}));
  EXPECT_FALSE(can_be_pasted("HAS", {"H", "A", "S"})) << "nobody pastes single letters";
  EXPECT_TRUE(can_be_pasted_with_letters("A_HAS", {"A_", "HA"}));
  EXPECT_TRUE(can_be_pasted_with_letters("HAS_V2_IN", {"HAS_V", "_IN"}));
  EXPECT_TRUE(can_be_pasted_with_letters("ASK_1200", {"ASK_"})) << "by __CUDA_ARCH__";
  EXPECT_TRUE(can_be_pasted_with_letters("MYHASQ", {"ASQ"}));
  EXPECT_FALSE(can_be_pasted_with_letters("HAS_NO_MORE", {"HAS", "NO"}));
  EXPECT_TRUE(can_be_pasted_with_letters("", {})) << "a name that could not be read";
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
  EXPECT_TRUE(can_tell_time({"__TIME_"}));
  EXPECT_TRUE(can_tell_time({"_DATE__"}));
  EXPECT_TRUE(can_tell_time({"__T", "ME__"})) << "with a letter between";
  EXPECT_TRUE(can_tell_time({"__T", "E__"}));
  EXPECT_FALSE(can_tell_time({"__TI", "__DA", "STAMP"}));
  EXPECT_FALSE(can_tell_time({"__", "E__"}));
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
