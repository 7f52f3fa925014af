// NVRTC's own macros that no text of a program defines: what is known of them, beside those of the NVRTC at hand.

#include "source/compilers_macros.h"

#include <array>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "source/directives.h"
#include "source/scanner.h"
#include "source/text_search.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

// What counts wherever it may be meant.
constexpr std::array<std::string_view, 4> told_otherwise{"__FILE__", "__LINE__", "__VA_ARGS__",
                                                         "_Pragma"};

// Comments and literals.
const std::regex not_code(R"(/\*.*?\*/|//.*|"(\\.|[^"\\])*")");

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

bool is_known(std::string_view word) {
  return is_word_of_compilers_macros(word) || is_compilers_macro(word) ||
         is_one_of(word, told_otherwise);
}

bool names(std::string_view text, std::string_view sought) {
  return !find_word(text, [&](std::string_view word) { return word == sought; }).empty();
}

/// The first name in the body that is known of no macro, or of this one.
std::string unknown_in(const std::string& name, const MacroBody& macro) {
  const auto body = is_compilers_macro(name) ? body_of_compilers_macro(name) : std::string();
  const auto is_unknown = [&](std::string_view word) {
    const bool is_number = word[0] >= '0' && word[0] <= '9';
    return !is_number && !macro.takes(word) && !is_known(word) && !names(body, word);
  };
  return std::string(find_word(std::regex_replace(macro.text, not_code, " "), is_unknown));
}

TEST_F(CompilersMacros, AreKnownWithAllThatTheyComeTo) {
  const auto macros = built_in();
  if (!macros.contains("__ASSERT_STR_HELPER"))
    GTEST_SKIP() << "this NVRTC's built-in headers cannot be read";
  const auto here = defined(macros);
  EXPECT_GT(here.size(), 100U);
  std::size_t known = 0;
  for (const auto& [name, macro] : macros) {
    if (!here.contains(name)) continue;
    known += is_compilers_macro(name) ? 1 : 0;
    EXPECT_EQ(unknown_in(name, macro), "") << name << ' ' << macro.text;
    if (macro.text.find('#') == std::string::npos) continue;
    EXPECT_TRUE(is_compilers_macro(name)) << name << ' ' << macro.text;
    if (is_compilers_macro(name)) {
      EXPECT_NE(body_of_compilers_macro(name).find('#'), std::string::npos) << name;
    }
  }
  EXPECT_GT(known, 100U);
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
  for (const auto* name : {"_", "device", "volatile", "sm_90"}) {
    EXPECT_TRUE(is_word_of_compilers_macros(name)) << name;
  }
  for (const auto* name : {"", "devic", "evice", "device_builtin device", "HAS_HEADER"}) {
    EXPECT_FALSE(is_word_of_compilers_macros(name)) << name;
  }
}

}  // namespace
}  // namespace kiln::test
