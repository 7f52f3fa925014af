#include "tool.h"

namespace kiln::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;
namespace fs = std::filesystem;

class Sources : public ToolTest {
 protected:
  Json compile_one(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{
        source_, "--arch", "sm_80", "--name", "k", "-I", scratch("include").string()};
    words.insert(words.end(), more.begin(), more.end());
    return compile(words);
  }

  const std::string header_ = file("include/by.h", "#define BY 2\n");
  const std::string source_ =
      file("k.cu", "#include <by.h>\nextern \"C\" __global__ void k(int* x) { *x *= BY; }\n");
};

TEST_F(Sources, AreLaidOutWhereADebuggerFindsThem) {
  const std::string key = compile_one({"--option=-lineinfo"})["key"];
  const auto folder = scratch("my sources");
  const auto before = snapshot(cache());
  const auto outcome = run(
      {"--json", "extract", key.substr(0, 8), "--sources", folder.string() + "/"}, without_cuda());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(snapshot(cache()), before);
  const auto document = outcome.documents().at(0);
  const auto copy = folder / fs::path(header_).relative_path();
  EXPECT_EQ(document["folder"], folder.string());
  EXPECT_EQ(document["files"], Json::array({(folder / "kiln/k.cu").string(), copy.string()}));
  EXPECT_EQ(document["skipped"], Json::array());
  EXPECT_EQ(document["line_information"], true);
  EXPECT_EQ(document["cuda_gdb"], "set substitute-path / '" + folder.string() + "'");
  EXPECT_EQ(read(folder / "kiln/k.cu"), read(source_));
  EXPECT_EQ(read(copy), "#define BY 2\n");

  const auto again = run({"extract", key, "--sources", folder.string()});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("set substitute-path / '" + folder.string() + "'\n"));
  EXPECT_THAT(again.out, HasSubstr("--source-folders '" + folder.string() + "'\n"));
}

TEST_F(Sources, WithoutLineInformationToolsDoNotAskForThem) {
  const std::string key = compile_one()["key"];
  const auto outcome = run({"extract", key, "--sources", scratch("sources").string()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("--option=-lineinfo"));
  EXPECT_EQ(read(scratch("sources/include/by.h")), "#define BY 2\n");
}

TEST_F(Sources, AreNotPutBetweenOtherThings) {
  const std::string key = compile_one()["key"];
  file("home/.profile", "mine");
  const auto outcome = run({"extract", key, "--sources", scratch("home").string()});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("home holds other things"));
  EXPECT_THAT(snapshot(scratch("home")), ElementsAre(testing::Pair(".profile", "mine")));
}

TEST_F(Sources, SayWhyTheirFolderCannotBeMade) {
  const std::string key = compile_one()["key"];
  fs::create_directory(scratch("others"));
  fs::permissions(scratch("others"), fs::perms::owner_read | fs::perms::owner_exec);
  const auto folder = scratch("others/sources").string();
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"extract", key, "--sources", folder}, {"compile-commands", "--sources", folder}}) {
    const auto outcome = run(words, {.no_override = true});
    EXPECT_EQ(outcome.exit_code, 3) << words[0];
    EXPECT_THAT(outcome.err, HasSubstr(folder + ": Permission denied")) << words[0];
  }
}

TEST_F(Sources, HaveNoOutputFile) {
  const auto outcome = run({"extract", "0", "--sources", "a", "-o", "b"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("-o"));
}

TEST_F(Sources, AFatbinHasNone) {
  const auto compiled = run({"--json", "compile", source_, "--arch", "sm_80,sm_90", "--name", "k",
                             "-I", scratch("include").string(), "--image", "fatbin"});
  if (compiled.exit_code != 0) GTEST_SKIP() << compiled.err;
  const std::string key = compiled.documents().at(0)["key"];
  const auto outcome = run({"extract", key, "--sources", scratch("sources").string()});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("made of other images"));
}

TEST_F(Sources, AreLaidOutByACompileThatIsAskedToAndByNoHit) {
  const auto folder = scratch("sources");
  const Circumstances asked{.environment = {{"KILN_SOURCES_DIR", folder.string()}}};
  const std::vector<std::string> words{"compile", source_, "--arch", "sm_80",
                                       "--name",  "k",     "-I",     scratch("include").string()};
  ASSERT_EQ(run(words, asked).exit_code, 0);
  EXPECT_EQ(read(folder / "kiln/k.cu"), read(source_));
  fs::remove_all(folder);
  ASSERT_EQ(run(words, asked).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace kiln::tests
