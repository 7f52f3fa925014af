#include <n/off.h>

#include <algorithm>
#include <filesystem>

#include <engine/test/device_headers.h>
#include <engine/test/generated_headers.h>
#include <gtest/gtest.h>

#include "kiln/kiln.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

void expect_like_files(const HeaderSet& set, const fs::path& folder, std::size_t prefix) {
  for (const auto& header : set.headers()) {
    const auto text = read_file(folder / header.name.substr(prefix));
    EXPECT_EQ(header.text(), text) << header.name;
    EXPECT_EQ(header.digest, digest_of(text)) << header.name;
  }
}

TEST(Embed, BytesAndDigestsAreThoseOfTheFiles) {
  expect_like_files(engine::test::device_headers(), EMBEDDED_FOLDER, std::string("engine/").size());
  expect_like_files(engine::test::generated_headers(), GENERATED_FOLDER, 0);
  EXPECT_GT(engine::test::generated_headers().find("huge.cuh")->text().size(), 2'000'000U);
}

TEST(Embed, NamesAreTheSpellingsThatIncludeThem) {
  std::vector<std::string_view> names;
  for (const auto& header : engine::test::device_headers().headers()) names.push_back(header.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"engine/a/info.h", "engine/a/part.cuh",
                                                  "engine/b/info.h", "engine/b/part.cuh",
                                                  "engine/b/up.cuh"}));
  EXPECT_EQ(engine::test::device_headers().find("engine/a/missing.h"), nullptr);
  EXPECT_NE(n::off().find("no/a/info.h"), nullptr);
}

Result<Artifact> compile(ProgramSpec spec) {
  RuntimeOptions options;
  options.cache_disabled = true;
  const auto program = Program::make(std::move(spec));
  if (!program) return tl::unexpected(program.error());
  return Runtime::open(options).value().compile(*program, Target::parse("sm_80").value());
}

TEST(Embed, QuotedIncludesMeanTheNeighbourInTheSet) {
  const auto artifact =
      compile({.name = "neighbours.cu",
               .source = "#include <engine/a/part.cuh>\n"
                         "constexpr int a = A_VALUE;\n#undef A_VALUE\n"
                         "#include <engine/b/part.cuh>\nconstexpr int b = B_VALUE;\n"
                         "static_assert(a == 1 && b == 2);\n"
                         "extern \"C\" __global__ void k() {}",
               .headers = {engine::test::device_headers()}});
  ASSERT_TRUE(artifact) << artifact.error().message << artifact.error().log;
}

TEST(Embed, QuotedIncludesMayClimb) {
  const auto set = HeaderSet::from_texts(
      {{"engine/b/up.cuh", "#include \"../a/info.h\"\n"}, {"engine/a/info.h", "#define INFO 1\n"}});
  const auto artifact =
      compile({.name = "climb.cu",
               .source = "#include \"engine/b/up.cuh\"\nstatic_assert(INFO == 1);\n"
                         "extern \"C\" __global__ void k() {}",
               .headers = {set}});
  ASSERT_TRUE(artifact) << artifact.error().message << artifact.error().log;
}

TEST(Embed, AHugeHeaderCompiles) {
  const auto artifact =
      compile({.name = "huge.cu",
               .source = "#include \"huge.cuh\"\nstatic_assert(LAST_LINE == 60000);\n"
                         "extern \"C\" __global__ void k() {}",
               .headers = {engine::test::generated_headers()}});
  ASSERT_TRUE(artifact) << artifact.error().message << artifact.error().log;
}

TEST(HeaderSet, FromTextsOwnsAndSorts) {
  std::vector<HeaderSet::NamedText> texts{{"b.h", "two"}, {"a.h", "one"}, {"b.h", "later"}};
  const auto set = HeaderSet::from_texts(texts);
  texts.clear();
  ASSERT_EQ(set.headers().size(), 2U);
  EXPECT_EQ(set.headers()[0].name, "a.h");
  EXPECT_EQ(set.find("b.h")->text(), "two");
  EXPECT_EQ(HeaderSet().find("a.h"), nullptr);
}

}  // namespace
}  // namespace kiln::test
