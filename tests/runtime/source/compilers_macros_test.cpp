// NVRTC's own macros that no text of a program defines: what is known of them, beside those of the NVRTC at hand.

#include "source/compilers_macros.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "source/directives.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

// Words of the language, which no program defines but to fool somebody.
constexpr std::array<std::string_view, 11> keywords{
    "static",     "volatile",  "__device__",  "__stdcall", "__cdecl",   "__forceinline",
    "__inline__", "__alignof", "__alignof__", "__thread",  "__declspec"};

class CompilersMacros : public CompileFixture {
 protected:
  /// All definitions in the headers that NVRTC has built in, over all branches.
  static MacroBodies built_in() {
    const auto compiler =
        Runtime::open({.cache_disabled = true, .log_level = LogLevel::off})->compiler();
    MacroBodies macros;
    for (const auto& file : fs::directory_iterator(fs::canonical(compiler.path).parent_path())) {
      const auto name = file.path().filename().string();
      if (!name.starts_with("libnvrtc-builtins.so.") || file.is_symlink()) continue;
      const auto library = read_file(file.path());
      // Each header is a text that ends with a NUL byte.
      for (std::size_t at = 0; at < library.size();) {
        const auto text = std::string_view(library).substr(at, library.find('\0', at) - at);
        at += text.size() + 1;
        if (text.find("#define") == std::string_view::npos) continue;
        macros.merge(read_macros(text, read_directives(text).definitions));
      }
    }
    return macros;
  }

  /// Those of them that a program has, unasked.
  std::set<std::string> defined(const MacroBodies& macros) {
    std::string source = "__global__ void k() {}\n";
    for (auto macro = macros.begin(); macro != macros.end();
         macro = macros.upper_bound(macro->first))
      source += "#ifdef " + macro->first + "\nextern \"C\" { __device__ int is_" + macro->first +
                " = 1; }\n#endif\n";
    const auto artifact =
        try_compile({.name = "a.cu", .source = source}, "compute_80", ImageKind::ptx);
    EXPECT_TRUE(artifact) << artifact.error().message;
    std::set<std::string> names;
    if (!artifact) return names;
    const std::string ptx(reinterpret_cast<const char*>(artifact->image.data()),
                          artifact->image.size());
    for (auto at = ptx.find(" is_"); at != std::string::npos; at = ptx.find(" is_", at + 1)) {
      const auto begin = at + 4;
      names.insert(ptx.substr(begin, ptx.find_first_of(" ;", begin) - begin));
    }
    return names;
  }
};

bool is_name(std::string_view body) {
  return !body.empty() &&
         body.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") ==
             std::string_view::npos &&
         !(body[0] >= '0' && body[0] <= '9');
}

TEST_F(CompilersMacros, ThatPasteOrQuoteOrLeadOnAreKnown) {
  const auto macros = built_in();
  if (!macros.contains("__ASSERT_STR_HELPER"))
    GTEST_SKIP() << "this NVRTC's built-in headers cannot be read";
  const auto here = defined(macros);
  EXPECT_GT(here.size(), 100U);
  std::size_t known = 0;
  for (const auto& [name, macro] : macros) {
    if (!here.contains(name)) continue;
    const bool makes = macro.text.find('#') != std::string::npos;
    const bool leads = !macro.function_like && is_name(macro.text) &&
                       std::ranges::find(keywords, macro.text) == keywords.end();
    if (!makes && !leads) continue;
    EXPECT_TRUE(is_compilers_macro(name)) << name << ' ' << macro.text;
    if (!is_compilers_macro(name)) continue;
    ++known;
    const auto body = body_of_compilers_macro(name);
    if (makes) {
      EXPECT_NE(body.find('#'), std::string::npos) << name;
    }
    if (leads) {
      EXPECT_NE(body.find(macro.text), std::string::npos) << name << ' ' << macro.text;
    }
  }
  EXPECT_GT(known, 40U);
}

TEST(CompilersMacrosNames, AreFewOfAllNames) {
  for (const auto* name : {"NV_IS_DEVICE", "NV_PROVIDES_SM_999", "_NV_EVAL", "__ASSERT_STR_HELPER",
                           "__cudaGet_warpSize", "cudaStreamAttrID"}) {
    EXPECT_TRUE(is_compilers_macro(name)) << name;
  }
  for (const auto* name : {"NV", "N", "_", "__", "__CUDA_ARCH__", "__NV_E4M3", "_Tp", "cuda",
                           "cudaStream_t", "nv", "__device__", "__ldg", "NVTE"}) {
    EXPECT_FALSE(is_compilers_macro(name)) << name;
  }
  EXPECT_EQ(body_of_compilers_macro("__cudaGet_warpSize"), "warpSize");
  EXPECT_EQ(body_of_compilers_macro("cudaStreamAttributePriority"), "cudaLaunchAttributePriority");
}

}  // namespace
}  // namespace kiln::test
