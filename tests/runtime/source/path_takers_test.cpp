#include "source/path_takers.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

bool computes(const std::string& code, const std::vector<std::string>& options = {}) {
  HeaderText text;
  text.text = code;
  text.directives = read_directives(code);
  PathTakers takers({&text}, {}, options);
  return takers.compute(text.directives.path_uses);
}

const std::string used = "void use() { f(__FILE__, __LINE__); }\n";

TEST(PathTakers, ReportWhereTheyHaveNoText) {
  for (const char* declared :
       {"", "int printf(const char*, ...);\n", "void f(const char* file, int line);\n",
        "template <class T = int> [[noreturn]] inline void f(T file, int line);\n",
        "class f : public std::exception { public: f(const char* s, int) { log << s; } };\n",
        "class E {}; void g(const f& e); void h() { x = f(1, 2); if (y) return f(1, 2); }\n",
        "extern \"C\" __device__ void f(const char*, int);\nusing a::f;\n",
        "void g() { log << \"an f: \" << 1; }\n"}) {
    EXPECT_FALSE(computes(declared + used)) << declared;
  }
}

TEST(PathTakers, ComputeWithWhatTheyAreGiven) {
  const std::string body = "(const char* s, int) { return s[3]; }\n";
  const std::vector<std::string> all{
      "__device__ inline int f" + body,
      "constexpr int f" + body,
      "template <int n = 3>\n__host__ __device__\nint f" + body,
      "#define HD __host__ __device__\nHD int f" + body,
      "#define h_d HD\n#define HD __device__\nh_d int f" + body,
      "_CCCL_API int f" + body,
      "__hostdev__ int f" + body,
      "auto f = [](const char* s, int) { return s[3]; };\n" + body,
      std::string("constexpr Hash f;\n"),
      std::string("Hash<3> f;\n"),
      std::string("Hash f{};\n"),
      std::string("int g(Hash f) { return 1; }\n"),
      std::string("int g(int (*f)(const char*, int));\n"),
      std::string("for (auto f : all) g(1);\n"),
      std::string("struct f { constexpr f(const char* s, int) : c(s[3]) {} char c; };\n"),
      std::string("struct f { __device__ f(const char* s, int) : s_{s} {} const char* s_; };\n"),
      "#define f g\n__device__ int g" + body,
      std::string("#define f (g)\n"),
      std::string("#define f(file, line) file[3]\n"),
      std::string("#define f(file, line) g(*file)\n"),
      std::string("#define f(file, line) g(file + 1)\n"),
      "#define f(a, b) g(a, b)\n__device__ int g" + body,
      std::string("#define f(...) g(0, __VA_ARGS__)\n#define g(a, b, c) b[3]\n"),
      "#define f(all...) h(all)\nconstexpr int h" + body,
      std::string("#define f(a, b) if (a) g(b)\n"),
      std::string("#define f(a, b) x##a\n"),
      "#define f(...) CALL(g, __VA_ARGS__)\n#define CALL(F, ...) F(__VA_ARGS__)\n__device__ int "
      "g" +
          body,
      "#define F(f) __device__ int f" + body,
      "#define E(n) __attribute__((section(#n))) __device__ int f" + body,
      std::string("__device__ int f(std::pair<int, int> p, const char* s) { return s[3]; }\n"
                  "void v() { f({}, __FILE__, __LINE__); }\n"),
      std::string("template <class... T> __device__ int f(T... t) { return g(t...); }\n"
                  "__device__ int g(const char* s, int) { return *s; }\n"),
      std::string("__device__ int f(const char* s, int) { return h(std::forward<T>(s)); }\n"
                  "constexpr int h(const char* t) { return t[1]; }\n"),
      std::string("__device__ int f(const char (&)[9], int) { return 1; }\n"),
      std::string("__device__ int f(const char* s, int) { const auto* t = s; return *t; }\n"),
      std::string("__device__ const char* f(const char* s, int) { return s; }\n"),
      std::string("__device__ char f(const char* s, int) { View v(s); return v[5]; }\n"),
      std::string("__device__ char f(const char* s, ...) { return 1; }\n"
                  "void v() { f(1, __FILE__, __LINE__); }\n"),
      std::string("struct f { const char* s; int line; };\n"),
      std::string("void v() { Hash a(1), f(2); g(f.value); }\n")};
  for (const auto& declared : all) {
    EXPECT_TRUE(computes(declared + used)) << declared;
  }
}

TEST(PathTakers, AreVariablesTooThatAPlaceInitialises) {
  for (const char* code :
       {"constexpr Hash h(__FILE__, __LINE__);",
        "void f() { const View<3> v(__FILE__, __LINE__); }",
        "#define HERE const Place here(__FILE__, __LINE__)\nvoid f() { HERE; }"}) {
    EXPECT_TRUE(computes(code)) << code;
  }
  for (const char* code :
       {"void f() { if (x) g(__FILE__, __LINE__); else ns::g(__FILE__, __LINE__); }",
        "void f() { return g(__FILE__, __LINE__); throw E(__FILE__, __LINE__); }",
        "void f() { (void)g(__FILE__, __LINE__); x = g(__FILE__, __LINE__); a.g(__FILE__, "
        "__LINE__); }",
        "#define G(x) g(x, __FILE__, __LINE__)\n"}) {
    EXPECT_FALSE(computes(code)) << code;
  }
}

TEST(PathTakers, ReportWhatTheyHandOn) {
  for (const char* declared :
       {"__device__ void f(const char* file, int line) { printf(\"%s:%d\", file, line); __trap(); "
        "}\n",
        "__device__ void f(const char*, int line) { printf(\"%d\", line); }\n",
        "__device__ void f(const char* s, int);\n",
        "template <class... T> __device__ void f(T... t) { g(std::move(t)...); }\n"
        "__device__ void g(const char* s, int line) { printf(\"at %s\", s); }\n",
        "template <class... T> void f(T&&... t) { std::ostringstream s; g(s, "
        "std::forward<T>(t)...); }\n"
        "template <class T> void g(std::ostringstream& s, T&& file, int line) { s << file; }\n",
        "struct f { __device__ f(const char* s, int) { log << \"at \" << s; } };\n"}) {
    EXPECT_FALSE(computes(declared + used)) << declared;
  }
}

TEST(PathTakers, DropWhatTheyAreGiven) {
  for (const char* body : {"(void)s;", "(void) s ;", "static_cast<void>(s);", "UNUSED(s);", "s;",
                           "printf(\"%s\", static_cast<const char*>(s));"}) {
    EXPECT_FALSE(computes("#define UNUSED(x) ((void)(x))\nvoid f(const char* s, int) { " +
                          std::string(body) + " }\n" + used))
        << body;
  }
  const std::vector<const char*> computing{"g(static_cast<const char*>(s)[3]);",
                                           "return (const char*)s;", "c = const_cast<char*>(s);"};
  for (const char* body : computing) {
    EXPECT_TRUE(computes("void f(const char* s, int) { " + std::string(body) + " }\n" + used))
        << body;
  }
}

TEST(PathTakers, ReportThroughMacros) {
  for (const char* declared :
       {"#define f(file, line) printf(\"%s:%d\", file, line)\n",
        "#define f g\nvoid g(const char*, int);\n",
        "#define f(...) do { std::ostringstream s; g(s, ##__VA_ARGS__); throw E(s.str()); } while "
        "(0)\n"
        "template <class T> void g(std::ostringstream& s, T&& v) { s << v; }\n",
        "#define f(file, line) log << file << line\n",
        "#define f(file, line) g(#file, \"at \" file \":\")\n",
        "#define f(file, line) f(file, line)\n", "#define f(...) ((void)0)\n"}) {
    EXPECT_FALSE(computes(declared + used)) << declared;
  }
}

TEST(PathTakers, ALineMayStandBehindWords) {
  const std::string checked =
      "void use() { CHECK(e == 0, \"error (\", int(e), \") at \", __FILE__, \":\", __LINE__, \" in "
      "\"); }\n";
  EXPECT_FALSE(computes("#define CHECK(c, ...) if (!(c)) g(__VA_ARGS__)\n" + checked));
  EXPECT_TRUE(computes("#define CHECK(c, a, b, d, file, ...) if (!(c)) g(file[3])\n" + checked));
}

TEST(PathTakers, OptionsDefineMacrosToo) {
  const std::string code = "__device__ int hash(const char* s, int) { return *s; }\n" + used;
  EXPECT_FALSE(computes(code));
  EXPECT_TRUE(computes(code, {"-Df=hash"}));
  EXPECT_TRUE(computes(code, {"-D", "f(a,b)=a[b]"}));
}

TEST(PathTakers, CountInMacrosThatAreUsed) {
  const std::string macros =
      "#define CHECK_(c) if (!(c)) throw Error(std::string(\"at \") + __FILE__ + \": \" #c)\n"
      "#define CHECK(c) CHECK_(c)\n#ifndef CHECK\n#undef CHECK\n#endif\n";
  EXPECT_FALSE(computes(macros));
  EXPECT_FALSE(computes(macros + "#ifndef __CUDACC_RTC__\nvoid f() { CHECK(1); }\n#endif\n"));
  for (const auto* used_by :
       {"void f() { CHECK(1); }", "void f() { CHECK_(1); }", "#define MORE CHECK(1)\nint x = MORE;",
        "#define CAT(a, b) a##b\nvoid f() { CAT(CHE, CK)(1); }",
        "#undef __CUDACC_RTC__\n#ifndef __CUDACC_RTC__\nvoid f() { CHECK(1); }\n#endif\n"}) {
    EXPECT_TRUE(computes(macros + used_by)) << used_by;
  }
  EXPECT_TRUE(computes(macros, {"-DX=CHECK(1)"}));
  const std::string given =
      "int f(const char* s, int) { return s[3]; }\n#define CHECK(c) if (!(c)) f(__FILE__, "
      "__LINE__)\n";
  EXPECT_FALSE(computes(given));
  EXPECT_TRUE(computes(given + "void g() { CHECK(1); }"));
}

TEST(PathTakers, AreGivenUpWhereTheyHaveNoEnd) {
  std::string chain = "#define m0(s, l) g(s, l)\n";
  std::string list = "#define a0 1\n";
  for (int step = 1; step < 20'000; ++step) {
    const auto name = std::to_string(step);
    const auto before = std::to_string(step - 1);
    chain += "#define m" + name + "(s, l) m" + before + "(s, l)\n";
    list += "#define a" + name + " a" + before + "\n";
  }
  std::string open;
  for (int count = 0; count < 50'000; ++count) open += "g(a, b)\n";
  for (const auto& code :
       {chain + "void use() { m19999(__FILE__, __LINE__); }",
        list + "void use() { g(a19999, __FILE__, __LINE__); }",
        "void use() { g(__FILE__, __LINE__); }\n" + open,
        std::string("template <class... A> int f(A... a) { return f(0, a...); }\n") + used,
        "#define\nclass g;\nvoid g(const char*, int);\nint f(const char* s, int) { return *s; }\n" +
            used,
        std::string("#define f(...) h(1, __VA_ARGS__)\n#define h(...) f(1, __VA_ARGS__)\n") +
            used}) {
    EXPECT_TRUE(computes(code)) << code.substr(0, 100);
  }
}

// Pieces of texts in any order: a definition without a name once went round for ever.
TEST(PathTakers, AreLookedForInAnyText) {
  const std::vector<std::string> pieces{"int ",
                                        "f",
                                        "g",
                                        "h",
                                        "(",
                                        ")",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "<",
                                        ">",
                                        ",",
                                        ";",
                                        "=",
                                        "::",
                                        "->",
                                        "&",
                                        "*",
                                        "#",
                                        "##",
                                        "\n",
                                        "\"",
                                        "'",
                                        "R\"(",
                                        ")\"",
                                        "/*",
                                        "*/",
                                        "//",
                                        "...",
                                        "\\\n",
                                        "%:",
                                        "<%",
                                        "#define ",
                                        "#define f ",
                                        "#define g(x) ",
                                        "#undef f\n",
                                        "#if 0\n",
                                        "#else\n",
                                        "#endif\n",
                                        "#ifndef __CUDACC_RTC__\n",
                                        "#include \"",
                                        "__VA_ARGS__",
                                        "template <class T> ",
                                        "class ",
                                        "struct ",
                                        "using ",
                                        "operator<<",
                                        "const char* s",
                                        "return s[3];",
                                        "static_cast<T>(",
                                        "std::forward<T>(",
                                        "f(__FILE__, __LINE__)",
                                        "g(s, 1)",
                                        "<< __FILE__ <<",
                                        "sizeof ",
                                        "decltype("};
  std::mt19937 random(1);
  int computing = 0;
  constexpr int texts = 20'000;
  for (int text = 0; text < texts; ++text) {
    std::string code = "#pragma once\n";
    for (auto count = random() % 60; count > 0; --count) code += pieces[random() % pieces.size()];
    computing += computes(code + "\n" + used) ? 1 : 0;
  }
  EXPECT_GT(computing, texts / 10);
  EXPECT_LT(computing, texts);
}

}  // namespace
}  // namespace kiln::test
