#include "source/kernel_declarations.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kiln::test {
namespace {

// "name" or "name<>", as they come.
std::vector<std::string> declared(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [name, is_template] : kernel_declarations(text))
    names.push_back(name + (is_template ? "<>" : ""));
  return names;
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

TEST(KernelDeclarations, OfAnyBytesAreRead) {
  for (const auto* text : {"__global__", "__global__ void", "__global__ void f", "__global__ (",
                           "__global__ __x(", "template", "template <", "__global__ \xff("})
    EXPECT_EQ(declared(text), Names{}) << text;
}

}  // namespace
}  // namespace kiln::test
