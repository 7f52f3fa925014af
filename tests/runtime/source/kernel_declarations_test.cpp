#include "source/kernel_declarations.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/program.h"

namespace kiln::test {
namespace {

// "name" or "name<>", as they come.
std::vector<std::string> declared(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& kernel : kernel_declarations(text))
    names.push_back(kernel.name + (kernel.is_template ? "<>" : ""));
  return names;
}

// What is compiled of it where a program names it.
std::vector<std::string> templates(const std::string& text) {
  return kernel_templates(Program::make({.name = "a.cu", .source = text}).value());
}

using Names = std::vector<std::string>;

TEST(KernelDeclarations, AreNamedBeforeTheirParameters) {
  EXPECT_EQ(declared("extern \"C\" __global__ void f(int* x) { g(x); }"), Names{"f"});
  EXPECT_EQ(declared("template <class T, int N>\n__global__ void f(T* x);"), Names{"f<>"});
  EXPECT_EQ(declared("namespace n { template <class T> static __global__ void f(T) {} }\n"
                     "__global__ void g();"),
            (Names{"f<>", "g"}));
  EXPECT_EQ(declared("__global__ void __launch_bounds__(128, (2)) f(int);"), Names{"f"});
  EXPECT_EQ(declared("__global__ __cluster_dims__(2) void\nf(int);"), Names{"f"});
  EXPECT_EQ(declared("template <class T> void __global__ f(T);"), Names{"f<>"});
}

TEST(KernelDeclarations, AreFoundOnceAndOnlyInCode) {
  EXPECT_EQ(declared("__global__ void f(); __global__ void f() {}"), Names{"f"});
  EXPECT_EQ(declared("template <class T> __global__ void f(T) {}\n"
                     "template <> __global__ void f<int>(int) {}\n"
                     "template __global__ void f<float>(float);"),
            Names{"f<>"});
  EXPECT_EQ(declared("// __global__ void a();\n#define K __global__ void b()\n"
                     "const char* s = \"__global__ void c()\", *r = R\"(__global__ void d())\";"),
            Names{});
  EXPECT_EQ(declared("template <class T> struct S {}; __global__ void f();"), Names{"f"});
}

TEST(KernelDeclarations, AreNotInWhatIsNeverCompiled) {
  EXPECT_EQ(declared("#if 0\n__global__ void a();\n#if X\n#else\n__global__ void b();\n#endif\n"
                     "#else\n__global__ void c();\n#endif\n__global__ void d();"),
            (Names{"c", "d"}));
  EXPECT_EQ(declared("  # if false // never\n__global__ void a();\n\"\n'\n#elif X\n__global__ void "
                     "b();\n#endif"),
            Names{"b"});
  EXPECT_EQ(declared("#if 0\n__global__ void a();"), Names{});
  EXPECT_EQ(declared("#if 01\n__global__ void a();\n#endif"), Names{"a"});
  EXPECT_EQ(declared("#if 1\n__global__ void a();\n#elif X\n__global__ void b();\n#else\n"
                     "__global__ void c();\n#endif\n__global__ void d();"),
            (Names{"a", "d"}));
  EXPECT_EQ(declared("#if X\n__global__ void a();\n#if 0\n#elif true\n__global__ void b();\n#else\n"
                     "__global__ void c();\n#endif\n#else\n__global__ void d();\n#endif"),
            (Names{"a", "b", "d"}));
  EXPECT_EQ(declared("#endif\n#else\n__global__ void a();\n#elif 1\n__global__ void b();"),
            (Names{"a", "b"}));
}

TEST(KernelTemplates, AreNamedWithTheirNamespaces) {
  const std::string kernel = "template <class T> __global__ void f(T) {}";
  EXPECT_EQ(templates(kernel), Names{"f"});
  EXPECT_EQ(
      templates("namespace a::b { struct S {}; void g() { {} } namespace c {" + kernel + "}}"),
      Names{"a::b::c::f"});
  EXPECT_EQ(templates("namespace a {} namespace {" + kernel + "} extern \"C\" {}"), Names{"f"});
  EXPECT_EQ(templates("namespace x { using namespace y; namespace z = y; void g() {"
                      "}" +
                      kernel + "}"),
            Names{"x::f"});
  EXPECT_EQ(templates("namespace a __attribute__((visibility(\"default\"))) {" + kernel + "}"),
            Names{"a::f"});
}

TEST(KernelTemplates, AreThoseOfWhichNothingIsCompiled) {
  const std::string kernel = "template <class T> __global__ void f(T) {}\n";
  for (const auto* instance :
       {"template __global__ void f<float>(float);", "template __global__ void f(float);",
        "template <> __global__ void f<int>(int) {}",
        "template __global__ void __launch_bounds__(128) f<float>(float);"})
    EXPECT_EQ(templates(kernel + instance), Names{}) << instance;
  EXPECT_EQ(templates(kernel + "template __global__ void g<float>(float);"), Names{"f"});
  EXPECT_EQ(templates(kernel + "extern \"C\" __global__ void g(float);"), Names{"f"});
}

TEST(KernelDeclarations, OfAnyBytesAreRead) {
  for (const auto* text :
       {"namespace", "namespace a", "namespace a::", "}", "}}}", "#if 0", "#if 0\n#", "__global__",
        "__global__ void", "__global__ void f", "__global__ (", "__global__ __x(", "template",
        "template <", "__global__ \xff("})
    EXPECT_EQ(declared(text), Names{}) << text;
}

}  // namespace
}  // namespace kiln::test
