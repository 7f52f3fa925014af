#include "source/directives.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "source/macro_expansion.h"

namespace kiln::test {
namespace {

using Form = IncludeDirective::Form;

// Each include as it would be written.
std::vector<std::string> includes(std::string_view text) {
  std::vector<std::string> found;
  for (const auto& include : read_directives(text).includes) {
    found.push_back(include.form == Form::quoted   ? '"' + include.spelling + '"'
                    : include.form == Form::angled ? '<' + include.spelling + '>'
                                                   : include.spelling);
  }
  return found;
}

using List = std::vector<std::string>;

TEST(Directives, Includes) {
  EXPECT_EQ(includes("#include <a.h>\n#include \"b/c.h\"\n"), (List{"<a.h>", "\"b/c.h\""}));
  EXPECT_EQ(includes("  #  include/* x */<a.h> // y\n%:include \"b\"\n#include NAME\n"),
            (List{"<a.h>", "\"b\"", "NAME"}));
  EXPECT_EQ(
      includes("#inc\\\nlude <a\\\r\n.h>\n# \\\n include <b.h>\n/\\\n* ' *\\\n/ #include <c.h>"),
      (List{"<a.h>", "<b.h>", "<c.h>"}));
  EXPECT_EQ(includes("#include <no end\n#include <a.h>"), (List{"<a.h>"}));
  EXPECT_EQ(includes("#if 0\n#include <a.h>\n#endif"), (List{"<a.h>"}));
}

TEST(Directives, ThePreludeEndsWhereAPragmaSaysSo) {
  const std::string prelude = "#include <a.h>\n#pragma once\n";
  for (const std::string pragma :
       {"#pragma nv_hdrstop", "#pragma hdrstop", " # pragma /* x */ nv_hdrstop"}) {
    const auto hash = prelude.size() + pragma.find('#');
    EXPECT_EQ(read_directives(prelude + pragma + "\n#define N 1\n#include <b.h>\nint x;").prelude,
              hash);
    EXPECT_EQ(read_directives("int x;\n" + pragma).prelude, 0U);
  }
  EXPECT_EQ(read_directives(prelude + "#pragma nv_hdrstopped\nint x;").prelude,
            prelude.size() + std::string("#pragma nv_hdrstopped\n").size());
  EXPECT_TRUE(read_directives("#pragma nv_hdrstop __TIME__").tells_time);
}

TEST(Directives, CommentsAndLiteralsHideThem) {
  EXPECT_EQ(includes("// #include <a.h>\n/*\n#include <b.h>\n*/ #include <c.h>"), (List{"<c.h>"}));
  EXPECT_EQ(includes("// goes on \\\n#include <a.h>\n#include <b.h>"), (List{"<b.h>"}));
  EXPECT_EQ(includes("const char* s = R\"x(\n#include <a.h>\n)x\";\n#include <b.h>"),
            (List{"<b.h>"}));
  EXPECT_EQ(includes("auto s = \"/*\";\n#include <a.h>\nauto c = '\"';\n#include <b.h>"),
            (List{"<a.h>", "<b.h>"}));
  EXPECT_EQ(includes("OR\"(a\"\n#include <a.h>\n// )\""), (List{"<a.h>"}));
  EXPECT_EQ(includes("int x = 1'000;\n#include <a.h>\n"), (List{"<a.h>"}));
}

TEST(Directives, HasInclude) {
  EXPECT_EQ(includes("#if __has_include(<a.h>) && __has_include( \"b.h\" )"),
            (List{"<a.h>", "<a.h>", "\"b.h\""}))
      << "expanded, or as it stands";
  EXPECT_EQ(includes("#define HAS(x) __has_include(x)\n#if HAS( <a.h> /**/ )\n"), (List{"<a.h>"}));
  EXPECT_EQ(includes("#define A __has_include(/**/<a/**/.h>)\n"), (List{"<a .h>"}));
  EXPECT_EQ(includes("#if __has_include(NAME)\n"), (List{"NAME"}));
}

TEST(Directives, Positions) {
  const std::string text = "// x\n#include \"info.h\"\n";
  const auto include = read_directives(text).includes.at(0);
  EXPECT_EQ(text.substr(include.position, include.length), "\"info.h\"");

  const std::string continued = "/\\\n/ x\n#include \"in\\\nfo.h\"\n";
  const auto other = read_directives(continued).includes.at(0);
  EXPECT_EQ(other.spelling, "info.h");
  EXPECT_EQ(continued.substr(other.position, other.length), "\"in\\\nfo.h\"");

  const std::string at_once = "#include \"\\\ninfo.h\"\n";
  const auto third = read_directives(at_once).includes.at(0);
  EXPECT_EQ(at_once.substr(third.position, third.length), "\"\\\ninfo.h\"");
}

TEST(Directives, IncludeNext) {
  for (const auto* text : {"#include_next <a.h>", "# include_next \"a.h\"", "#include_next A"})
    EXPECT_TRUE(read_directives(text).includes.at(0).next) << text;
  EXPECT_FALSE(read_directives("#include <a.h>").includes.at(0).next);
  EXPECT_TRUE(read_directives("#include_next <").includes.empty());
}

TEST(Directives, Tellers) {
  EXPECT_TRUE(read_directives("const char* t = __TIME__;").tells_time);
  EXPECT_TRUE(read_directives("#define WHEN __DATE__").tells_time);
  EXPECT_FALSE(read_directives("int my__TIME__; // __TIME__\nauto s = \"my__TIME__\";").tells_time);
  EXPECT_TRUE(read_directives("_Pragma(\"unroll __TIME__[7]\")").tells_time);
  EXPECT_TRUE(read_directives("#define U(x) _Pragma(x)\nU(R\"(unroll __TIME__[7])\")").tells_time);
  EXPECT_TRUE(read_directives("assert(x);").tells_path);
  EXPECT_TRUE(read_directives("#define HERE __FILE__").tells_path);
  EXPECT_FALSE(read_directives("static_assert(true); int assertion;").tells_path);
  EXPECT_EQ(read_directives("#if __has_include_next(<a.h>)").unfollowed, "__has_include_next");
  EXPECT_EQ(read_directives("?\?=include <a.h>").unfollowed, "?\?=");
  EXPECT_EQ(read_directives("#include <a.h>").unfollowed, "");
  EXPECT_EQ(read_directives("auto s = \"__has_include\";").unfollowed, "__has_include");
}

// The bracket of a macro's call may stand anywhere before.
TEST(Directives, AQuestionMayBeExpandedOrNot) {
  using Form = IncludeDirective::Form;
  for (const auto* text : {"#if ID(__has_include(<a.h>))", "#if START __has_include(<a.h>))",
                           "#elif __has_include(<a.h>)"}) {
    const auto includes = read_directives(text).includes;
    ASSERT_EQ(includes.size(), 2U) << text;
    EXPECT_EQ(includes[0].form, Form::macro);
    EXPECT_EQ(includes[0].spelling, "<a.h>");
    EXPECT_TRUE(includes[0].beside);
    EXPECT_EQ(includes[1].form, Form::angled);
  }
  EXPECT_EQ(read_directives("#if __has_include(\"a.h\")").includes.size(), 1U);
  EXPECT_EQ(read_directives("#ifdef __has_include\n#elif defined(__has_include)").unfollowed, "");
  EXPECT_EQ(read_directives("int x = ID(__has_include(<a.h>));").unfollowed, "__has_include");
  EXPECT_EQ(read_directives("#define HAS(x, y) __has_include(x, y)").unfollowed, "__has_include");
}

TEST(Directives, MayNotKnowWhereLiteralsEnd) {
  for (const auto* text : {"#include \"a\\b.h\"", "#include <a\"b>", "#if __has_include(<it's>)",
                           "#include <a/*b>", "#include <a//b> /* c", "auto s = R\"x(\\\n)x\";"})
    EXPECT_TRUE(read_directives(text).unsure) << text;
  for (const auto* text :
       {"#include <a/b.h> // it's \"", "#include <a//b>", "auto s = R\"x(\n)x\";", "int \\\n x;"})
    EXPECT_FALSE(read_directives(text).unsure) << text;
}

TEST(Directives, AQuestionWithoutAnEndIsLeftOpen) {
  for (const auto* text : {"#if D(__has_include(<x)) || 1", "#if D(__has_include(<a)) || H(<b>)",
                           "#if __has_include(<a?\?-b.h>)"})
    EXPECT_EQ(read_directives(text).unfollowed, "__has_include") << text;
}

TEST(Directives, AnyBytesAreRead) {
  for (const auto* text : {"#", "#include", "#include <", "\"", "R\"(", "/*", "'", "\\", "#define",
                           "__has_include(", "#if (", "R\"", "%:", "\xff\xfe#include <a>"}) {
    EXPECT_LE(read_directives(text).includes.size(), 1U) << text;
  }
}

List expansions(std::string_view definitions, std::string_view name) {
  const auto macros = read_macros(definitions, read_directives(definitions).definitions);
  return expand_include_macro(name, {&macros});
}

TEST(IncludeMacros, AllThatTheyMightBe) {
  EXPECT_EQ(expansions("#define H <a.h>\n", "H"), (List{"<a.h>"}));
  EXPECT_EQ(
      expansions(
          "#if X\n#define R one\n#else\n# define R /* x */ two\n#endif\n#define H <sys/R/e.h>\n",
          "H"),
      (List{"<sys/R/e.h>", "<sys/one/e.h>", "<sys/two/e.h>"}));
  EXPECT_EQ(expansions("#define H \"a.h\"\n#define H <b.h>", "H"), (List{"\"a.h\"", "<b.h>"}));
  EXPECT_EQ(expansions("#define F(x) <x>\n#define H F(a.h)\n", "H"), (List{"<a.h>"}));
}

TEST(IncludeMacros, LiteralsHideNoDefinition) {
  EXPECT_EQ(expansions("#define G \"/*\"\n#define H <a.h>\n// */", "H"), (List{"<a.h>"}));
  EXPECT_EQ(expansions("auto s = R\"(\"/*)\";\n#define H <a.h>\n", "H"), (List{"<a.h>"}));
}

TEST(IncludeMacros, WhatCannotBeTold) {
  EXPECT_EQ(expansions("#define H <x.h.__CUDA_ARCH__>\n", "H"), List{});
  EXPECT_EQ(expansions("#define H <a.h>\n#define H\n", "H"), List{});
  EXPECT_EQ(expansions("", "H"), List{});
  EXPECT_EQ(
      expansions("#define A B B\n#define A B\n#define B A A\n#define B A\n#define H <A>\n", "H"),
      List{});
}

/// "computes", or the functions that it gives its place to.
std::string use_of_path(std::string_view text) {
  const auto directives = read_directives(text);
  if (directives.path_uses.computes || !directives.path_uses.macros.empty()) return "computes";
  std::string takers;
  for (const auto& [macro, taker] : directives.path_uses.given)
    takers += fmt::format("{}:{} ", taker.name, taker.argument);
  return takers;
}

TEST(Directives, TellWhoIsGivenAPathToReport) {
  EXPECT_EQ(use_of_path("#define CHECK(x) check((x), #x, __FILE__, __LINE__)\n"), "check:2 ");
  EXPECT_EQ(use_of_path("#define E(x) ns::fail(f(x),  \\\n  __FILE__,  /* c */ \\\n  __LINE__)\n"),
            "fail:1 ");
  EXPECT_EQ(use_of_path("void f() { place_of(__LINE__, __FILE__); }"), "place_of:1 ");
  EXPECT_EQ(use_of_path("void f() { g(__FILE__,\n    // c\n    __LINE__); }"), "g:0 ");
  EXPECT_EQ(use_of_path("#define P printf(\"%s:%d\" f, __FILE__, __LINE__)\n"), "printf:1 ");
  EXPECT_EQ(use_of_path("#define A asm volatile(\".pragma\" __FILE__ \"(\" S(__LINE__))\n"),
            "volatile:0 ");
  EXPECT_EQ(use_of_path("#define S(x) out << __FILE__ << x\n#define T(x) x << __FILE__\n"),
            "<<:0 <<:0 ");
  EXPECT_EQ(use_of_path("#define M(x) _Pragma(message(__FILE__ \":\" x))\n"
                        "#define N DO_PRAGMA(message(__FILE__))\n#pragma message(__FILE__)\n"),
            "");
  EXPECT_EQ(use_of_path("void f() { g(1 > 0, a[1, 2], ',', \"ERROR\", __FILE__, __LINE__); }"),
            "g:4 ");
  EXPECT_EQ(use_of_path("#  define _CCCL_BUILTIN_FILE() __FILE__\n"), "");
  EXPECT_EQ(use_of_path("#if HAS(__builtin_FILE) && defined(__FILE__)\n#ifdef __FILE__\n"), "");
  EXPECT_EQ(use_of_path("// __FILE__\n#define X __LINE__\n"), "");
}

TEST(Directives, TellWhatIsComputedWithAPath) {
  for (const char* text : {"constexpr auto id = fnv(__FILE__);",
                           "const char f[] = __FILE__;",
                           "static_assert(has(__FILE__));",
                           "#define HERE __FILE__\n",
                           "#define LOC __FILE__, __LINE__\n",
                           "// with its __LINE__\n#define ID fnv(__FILE__)\n",
                           "#define ID fnv(__FILE__)\n#define L __LINE__\n",
                           "auto i = fnv(__FILE__) ^ __LINE__;",
                           "void f() { fail(fnv(__FILE__), __LINE__); }",
                           "template <> struct Tag<FS(__FILE__), __LINE__>;",
                           "int f(const char* = __builtin_FILE(), int = __builtin_LINE());",
                           "constexpr auto m = log_message(__FILE__);",
                           "const char* t = \"a\" __FILE__;",
                           "int i = g(\"a\" __FILE__[3]);",
                           "int i = g(*\"a\" __FILE__);",
                           "int i = g(\"a\" __FILE__ + 3);",
                           "int i = g(__FILE__ \"\"_hash, __LINE__);",
                           "char c = Place{__FILE__, __LINE__}.file[3];",
                           "int i = g(/* ) */ 1, __FILE__, __LINE__);",
                           "int i = g(__FILE__[3], __LINE__);",
                           "#define N message(__FILE__)\n",
                           "int i = g(R\"(a)b(\"x)\", __FILE__, __LINE__);",
                           "int i = g(pair<int, int>(), __FILE__, __LINE__);",
                           "int i = g(F <%1, __FILE__, __LINE__%>);",
                           "int i = (f)(__FILE__, __LINE__);"}) {
    EXPECT_EQ(use_of_path(text), "computes") << text;
  }
}

}  // namespace
}  // namespace kiln::test
