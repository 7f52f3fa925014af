// A program's alternatives: which one is for a target, and what a spec may not say.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/program.h"

namespace kiln::test {
namespace {

using testing::HasSubstr;

ProgramSpec with(std::vector<VariantSpec> variants) {
  return {.name = "attention.cu",
          .source = "// default",
          .kernels = {"attention<128>", "attention<64>"},
          .options = {"-DA=1"},
          .variants = std::move(variants)};
}

ProgramChoice choice(const Program& program, const std::string& arch,
                     const std::string& preferred = {}) {
  return program.for_target(Target::parse(arch, ImageKind::ptx).value(), preferred);
}

TEST(Variant, TheMostSpecificForATargetWins) {
  const auto program = Program::make(with({{.name = "ampere", .since = "sm_80"},
                                           {.name = "hopper", .since = "sm_90a"},
                                           {.name = "ada", .since = "sm_89"},
                                           {.name = "blackwell", .since = "sm_100f"},
                                           {.name = "ultra", .since = "sm_103f"},
                                           {.name = "b200", .since = "sm_100a"}}));
  ASSERT_TRUE(program) << program.error().message;
  const std::pair<const char*, const char*> table[] = {
      {"sm_75", "default"},      {"sm_80", "ampere"},       {"sm_86", "ampere"},
      {"sm_89", "ada"},          {"sm_90", "ada"},          {"sm_90a", "hopper"},
      {"sm_100", "ada"},         {"sm_100f", "blackwell"},  {"sm_100a", "b200"},
      {"sm_103", "ada"},         {"sm_103f", "ultra"},      {"sm_103a", "ultra"},
      {"sm_101f", "blackwell"},  {"sm_120", "ada"},         {"sm_120f", "ada"},
      {"sm_121a", "ada"},        {"compute_75", "default"}, {"compute_80", "ampere"},
      {"compute_90a", "hopper"}, {"compute_100", "ada"}};
  for (const auto& [arch, name] : table) EXPECT_EQ(choice(*program, arch).variant(), name) << arch;
}

TEST(Variant, WhatItLeavesOutIsTheProgramsOwn) {
  const auto program =
      Program::make(with({{.name = "hopper",
                           .since = "sm_90a",
                           .file = "attention_hopper.cu",
                           .source = "// hopper",
                           .options = std::vector<std::string>{},
                           .kernels = {{"attention<128>", "hopper::attention<128, 4>"}}},
                          {.name = "ampere", .since = "sm_80", .options = {{"-DB=2", "-DC=3"}}}}))
          .value();
  const auto hopper = choice(program, "sm_90a");
  EXPECT_EQ(hopper.program().name(), "attention_hopper.cu");
  EXPECT_EQ(hopper.program().source(), "// hopper");
  EXPECT_TRUE(hopper.program().options().empty());
  EXPECT_EQ(hopper.program().kernels(),
            (std::vector<std::string>{"attention<64>", "hopper::attention<128, 4>"}));
  EXPECT_EQ(hopper.expression("attention<128>"), "hopper::attention<128, 4>");
  EXPECT_EQ(hopper.expression("attention<64>"), "attention<64>");
  const auto ampere = choice(program, "sm_80");
  EXPECT_EQ(ampere.program().name(), "attention.cu");
  EXPECT_EQ(ampere.program().source(), "// default");
  EXPECT_EQ(ampere.program().options(), (std::vector<std::string>{"-DB=2", "-DC=3"}));
  EXPECT_EQ(ampere.program().kernels(), program.kernels());
  const auto fallback = choice(program, "sm_75");
  EXPECT_EQ(fallback.variant(), "default");
  EXPECT_EQ(fallback.program().options(), program.options());
  for (const auto* arch : {"sm_75", "sm_80", "sm_90a"}) {
    EXPECT_TRUE(choice(program, arch).program().variants().empty());
    EXPECT_EQ(choice(program, arch).program().id(), choice(program, arch).program().id());
  }
}

TEST(Variant, SpacesInItsExpressionsDoNotMatter) {
  const auto program =
      Program::make(with({{.name = "hopper",
                           .since = "sm_90a",
                           .kernels = {{"attention< 128 >", "hopper::attention<128,4>"}}}}));
  ASSERT_TRUE(program) << program.error().message;
  const auto hopper = choice(*program, "sm_90a");
  EXPECT_EQ(hopper.program().kernels(),
            (std::vector<std::string>{"attention<64>", "hopper::attention<128, 4>"}));
  EXPECT_EQ(hopper.expression("attention<128 >"), "hopper::attention<128, 4>");
}

TEST(Variant, AProgramWithoutVariantsIsItsOwnChoice) {
  const auto program = Program::make(with({})).value();
  EXPECT_EQ(choice(program, "sm_90a").program().id(), program.id());
  EXPECT_EQ(choice(program, "sm_90a", "hopper").variant(), "default");
  EXPECT_EQ(program.with_variant("default")->id(), program.id());
  EXPECT_THAT(program.with_variant("hopper").error().message, HasSubstr("no variant 'hopper'"));
}

TEST(Variant, IsDecidedByTheHandleThenThePreferenceThenTheTarget) {
  const auto program = Program::make(with({{.name = "ampere", .since = "sm_80"},
                                           {.name = "hopper", .since = "sm_90a"}}))
                           .value();
  EXPECT_FALSE(program.is_pinned());
  EXPECT_EQ(choice(program, "sm_90a", "ampere").variant(), "ampere");
  EXPECT_EQ(choice(program, "sm_90a", "default").variant(), "default");
  EXPECT_EQ(choice(program, "sm_90a", "none").variant(), "hopper");
  const auto pinned = program.with_variant("ampere").value();
  EXPECT_TRUE(pinned.is_pinned());
  EXPECT_EQ(choice(pinned, "sm_90a", "hopper").variant(), "ampere");
  EXPECT_EQ(choice(pinned, "sm_75").variant(), "ampere");
  EXPECT_EQ(choice(pinned.with_variant("hopper").value(), "sm_75").variant(), "hopper");
  EXPECT_NE(pinned.id(), program.id());
  EXPECT_EQ(pinned.id(), program.with_variant("ampere")->id()) << "what is memoised stays so";
  const auto unknown = program.with_variant("turing");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(unknown.error().message,
            "program 'attention.cu' has no variant 'turing'; there are: ampere, hopper, default");
}

TEST(Variant, NonsenseIsNamedWhereTheProgramIsMade) {
  const struct {
    std::vector<VariantSpec> variants;
    ErrorCode code;
    const char* said;
  } table[] = {
      {{{.name = "", .since = "sm_80"}}, ErrorCode::invalid_argument, "give it a name"},
      {{{.name = "default", .since = "sm_80"}}, ErrorCode::invalid_argument, "this name is taken"},
      {{{.name = "a", .since = "sm_80"}, {.name = "a", .since = "sm_90"}},
       ErrorCode::invalid_argument,
       "two variants are named 'a'"},
      {{{.name = "a", .since = "sm_80"}, {.name = "b", .since = "sm_80"}},
       ErrorCode::invalid_argument,
       "the variants 'a' and 'b' are both since sm_80"},
      {{{.name = "a", .since = "compute_80"}},
       ErrorCode::invalid_argument,
       "variant 'a': since 'compute_80' is no architecture"},
      {{{.name = "a", .since = ""}}, ErrorCode::invalid_argument, "since '' is no architecture"},
      {{{.name = "a", .since = "sm_80", .kernels = {{"attention<32>", "x"}}}},
       ErrorCode::invalid_argument,
       "variant 'a': 'attention<32>' is not among the program's kernels: attention<128>; "
       "attention<64>"},
      {{{.name = "a", .since = "sm_80", .kernels = {{"attention<64>", ""}}}},
       ErrorCode::invalid_argument,
       "variant 'a': program 'attention.cu': the name expression ''"},
      {{{.name = "a", .since = "sm_80", .options = {{"-arch=sm_90"}}}},
       ErrorCode::invalid_option,
       "variant 'a': program 'attention.cu': option '-arch=sm_90'"},
      {{{.name = "a", .since = "sm_80", .file = "/abs.cu"}},
       ErrorCode::invalid_argument,
       "variant 'a': program name '/abs.cu'"},
  };
  for (const auto& row : table) {
    const auto program = Program::make(with(row.variants));
    ASSERT_FALSE(program) << row.said;
    EXPECT_EQ(program.error().code, row.code) << row.said;
    EXPECT_THAT(program.error().message, HasSubstr(row.said));
  }
}

}  // namespace
}  // namespace kiln::test
