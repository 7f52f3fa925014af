// Whose entries serve: the rule by itself, and caches that other compilers have filled.

#include "image/toolchains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile_fixture.h"
#include "kiln/cache.h"

namespace kiln::test {
namespace {

using testing::HasSubstr;

Toolchain made_by(const std::string& text) { return {digest_of(text), text}; }

TEST(ToolchainVersionTest, IsTheFirstNumberOfTheText) {
  EXPECT_EQ(version_of("NVRTC 13.0")->major, 13);
  EXPECT_EQ(version_of("nvJitLink 12.8")->minor, 8);
  EXPECT_EQ(version_of("NVRTC 14")->minor, 0);
  EXPECT_FALSE(version_of("somebody's"));
  EXPECT_FALSE(version_of("NVRTC 99999999999999999999.0"));
}

TEST(EligibleToolchainsTest, EachRuleOnAMachineWithACompilerAndWithoutOne) {
  const auto own = made_by("NVRTC 12.8");
  const struct {
    const char* rule;
    const char* stored;
    bool beside_own;
    bool without;
  } table[] = {
      {"own", "NVRTC 12.8", true, true},         {"own", "NVRTC 12.9", false, true},
      {"same-major", "NVRTC 12.9", true, true},  {"same-major", "NVRTC 13.0", false, true},
      {"same-major", "somebody's", false, true}, {"any", "NVRTC 13.0", true, true},
      {"any", "somebody's", true, true},         {"NVRTC 12.4", "NVRTC 12.4", true, true},
      {"NVRTC 12.4", "NVRTC 12.8", true, false}, {"NVRTC 12.4", "NVRTC 12.9", false, false},
  };
  for (const auto& row : table) {
    const auto rule = EligibleToolchains::parse(row.rule).value();
    EXPECT_EQ(rule.include(made_by(row.stored), &own), row.beside_own) << row.rule << row.stored;
    EXPECT_EQ(rule.include(made_by(row.stored), nullptr), row.without) << row.rule << row.stored;
    EXPECT_EQ(rule.text(), row.rule);
  }
  EXPECT_EQ(EligibleToolchains().text(), "own");
  EXPECT_FALSE(EligibleToolchains::parse("mine"));
  for (const auto* wrong :
       {"", "13.0", "nvrtc 13.0", "NVRTC 13", "NVRTC 13.0 ", "NVRTC  13.0", "foo 13.0"})
    EXPECT_FALSE(EligibleToolchains::parse(wrong)) << wrong;
  EXPECT_TRUE(EligibleToolchains::parse("nvJitLink 13.0"));
}

class ToolchainsTest : public CompileFixture {
 protected:
  static Program program() {
    return Program::make({.name = "k.cu",
                          .source = "extern \"C\" __global__ void k(int* x) { *x = 1; }",
                          .kernels = {"k"}})
        .value();
  }

  // What this machine's compiler makes, as if others had made it too; the last is the newest.
  void fill(const std::vector<std::string>& others, bool keeps_own = false) {
    const auto key = Runtime::open(options())->compile(program(), target_)->key;
    auto cache = Cache::open(cache_directory()).value();
    auto entry = cache.entry(key).value();
    own_ = entry.artifact.toolchain;
    EXPECT_TRUE(keeps_own || cache.clear());
    for (const auto& other : others) {
      const auto toolchain = made_by(other);
      entry.artifact.toolchain = other;
      ASSERT_TRUE(
          cache.put({entry.request, entry.dependencies, toolchain, entry.artifact, nullptr, {}}));
    }
  }

  // Who made what is served; "compiled" where nobody has.
  std::string served(const std::string& rule, bool with_compiler = true) {
    auto options = this->options();
    options.toolchains = rule;
    if (!with_compiler) options.nvrtc = scratch_ / "libnvrtc.so.13";
    const auto artifact = Runtime::open(options)->compile(program(), target_);
    if (!artifact) return artifact.error().message;
    return artifact->origin == Origin::compiled ? "compiled" : artifact->toolchain;
  }

  const Target target_ = Target::parse("sm_80").value();
  std::string own_;
};

TEST_F(ToolchainsTest, OthersServeWhereTheRuleSaysSo) {
  fill({"NVRTC 11.8"});
  EXPECT_EQ(served("any"), "NVRTC 11.8");
  EXPECT_EQ(served("NVRTC 11.8"), "NVRTC 11.8");
  EXPECT_EQ(served("same-major"), "compiled");
  EXPECT_EQ(served("any"), own_) << "which is there now, and goes first";
}

TEST_F(ToolchainsTest, ItsOwnGoesBeforeNewerOnes) {
  fill({"NVRTC 11.8", "NVRTC 99.0"}, true);
  for (const auto* rule : {"own", "same-major", "any", "NVRTC 99.0"}) EXPECT_EQ(served(rule), own_);
}

TEST_F(ToolchainsTest, OfOthersTheNewestEntryServes) {
  fill({"NVRTC 11.8", "NVRTC 99.0"});
  EXPECT_EQ(served("any"), "NVRTC 99.0");
}

TEST_F(ToolchainsTest, WithoutACompilerAnybodyServesUnlessOneIsNamed) {
  fill({"NVRTC 99.0", "NVRTC 11.8"});
  EXPECT_EQ(served("own", false), "NVRTC 11.8");
  EXPECT_EQ(served("NVRTC 99.0", false), "NVRTC 99.0");
  EXPECT_THAT(served("NVRTC 12.4", false), HasSubstr("NVRTC: not found"));
}

TEST_F(ToolchainsTest, ExplainTellsWhose) {
  fill({"NVRTC 11.8"});
  auto options = this->options();
  const auto refused = Runtime::open(options)->explain(program(), target_).value();
  EXPECT_FALSE(refused.hit);
  EXPECT_EQ(
      refused.reason,
      "it was made by another compiler, NVRTC 11.8 (KILN_TOOLCHAINS says whose entries serve)");
  options.toolchains = "any";
  const auto taken = Runtime::open(options)->explain(program(), target_).value();
  EXPECT_TRUE(taken.hit);
  EXPECT_EQ(taken.remark, "made by NVRTC 11.8, not by the compiler here");
}

TEST_F(ToolchainsTest, AVariableSaysTheSame) {
  fill({"NVRTC 11.8"});
  const ScopedVariable rule("KILN_TOOLCHAINS", "any");
  EXPECT_EQ(origin_of({.name = "k.cu",
                       .source = "extern \"C\" __global__ void k(int* x) { *x = 1; }",
                       .kernels = {"k"}}),
            Origin::local);
}

}  // namespace
}  // namespace kiln::test
