#include <unistd.h>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;
namespace fs = std::filesystem;

// Two caches of two entries each, one of which is in both; nothing that ships needs CUDA.
class Ship : public ToolTest {
 protected:
  Ship() {
    const auto source = file("scale.cu", scale_source);
    const auto add = [&](const std::string& cache, const std::string& arch) {
      return compile({source, "--arch", arch, "--image", "ptx", "--name", "fill", "--cache",
                      scratch(cache).string()})["key"]
          .get<std::string>();
    };
    key_ = add("cache", "sm_80");
    add("cache", "sm_90");
    add("other", "sm_90");
    add("other", "sm_86");
  }

  Outcome ship(const std::vector<std::string>& arguments) { return run(arguments, without_cuda()); }

  std::string path(const std::string& name) const { return scratch(name).string(); }

  void damage_one() { run_sql(database(), "UPDATE entries SET payload = x'00' WHERE id = 1"); }

  std::uint64_t entries_of(const std::string& cache) {
    return ship({"--json", "stats", "--cache", path(cache)}).documents().at(0)["entries"];
  }

  std::string key_;
};

TEST_F(Ship, ExportTellsPrograms) {
  const auto before = snapshot(cache());
  const auto outcome = ship({"--json", "export", path("b.kiln")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto report = outcome.documents().at(0);
  EXPECT_EQ(report["bundle"], path("b.kiln"));
  EXPECT_EQ(report["entries"], 2);
  EXPECT_EQ(report["file_bytes"], fs::file_size(path("b.kiln")));
  EXPECT_EQ(report["skipped"], Json::array());
  EXPECT_EQ(snapshot(cache()), before);
}

TEST_F(Ship, ExportTellsPeople) {
  const auto outcome = ship({"export", path("b.kiln")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(path("b.kiln")));
  EXPECT_THAT(outcome.out, HasSubstr("entries"));
  EXPECT_EQ(ship({"--quiet", "export", path("b.kiln")}).out, "");
}

TEST_F(Ship, ExportLeavesSourcesOut) {
  ASSERT_EQ(ship({"export", path("b.kiln"), "--without-sources"}).exit_code, 0);
  EXPECT_EQ(read(path("b.kiln")).find("threadIdx"), std::string::npos);
  ASSERT_EQ(ship({"import", path("b.kiln"), "--cache", path("third")}).exit_code, 0);
  EXPECT_EQ(ship({"extract", key_, "--source", "--cache", path("third")}).exit_code, 1);
  EXPECT_THAT(ship({"extract", key_, "--cache", path("third")}).out, HasSubstr("fill"));
}

TEST_F(Ship, ExportNamesWhatItLeavesOut) {
  damage_one();
  const auto outcome = ship({"--json", "export", path("b.kiln")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr(key_));
  const auto report = outcome.documents().at(0);
  EXPECT_EQ(report["entries"], 1);
  EXPECT_EQ(report["skipped"],
            Json::array({{{"what", "entry"}, {"name", key_}, {"problem", "is damaged"}}}));
  EXPECT_EQ(ship({"--quiet", "export", path("b.kiln")}).err, "");
}

TEST_F(Ship, ExportFailsAloud) {
  const auto nowhere = ship({"--json", "export", path("absent/b.kiln")});
  EXPECT_EQ(nowhere.exit_code, 3);
  EXPECT_THAT(nowhere.err, HasSubstr("absent/b.kiln"));
  EXPECT_EQ(nowhere.documents().at(0)["error"]["code"], "io_failed");
  EXPECT_EQ(ship({"export", path("b.kiln"), "--cache", path("absent")}).exit_code, 3);
  EXPECT_EQ(ship({"export", (cache() / "kernels.v1.db").string()}).exit_code, 2);
  EXPECT_EQ(ship({"export"}).exit_code, 2);
  EXPECT_EQ(entries_of("cache"), 2u);
}

TEST_F(Ship, ExportTakesWhatAManifestNames) {
  const auto manifest = file("engine.json",
                             R"({"kiln_manifest": 1, "targets": ["sm_80"], "programs": [
                         {"name": "scale.cu", "source_file": "scale.cu", "image": "ptx", "kernels": ["fill"]}]})");
  const auto named = run({"--json", "export", path("b.kiln"), manifest});
  ASSERT_EQ(named.exit_code, 0) << named.err;
  EXPECT_EQ(named.documents().at(0)["entries"], 1);
  EXPECT_EQ(named.documents().at(0)["missing"], 0);
  const auto listed = ship({"--json", "ls", "--cache", path("b.kiln")}).documents();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["key"], key_);

  const auto lacking = run({"--json", "export", path("b.kiln"), manifest, "--arch", "sm_80,sm_75"});
  EXPECT_EQ(lacking.exit_code, 1);
  EXPECT_EQ(lacking.documents().at(0)["entries"], 1);
  EXPECT_EQ(lacking.documents().at(0)["missing"], 1);
  EXPECT_THAT(lacking.err,
              HasSubstr("scale.cu for sm_75 is not in the cache; kiln prewarm compiles it"));
  EXPECT_EQ(run({"export", "-", manifest, "--arch", "sm_75"}).exit_code, 1);
  EXPECT_EQ(run({"export", path("b.kiln"), "--arch", "sm_75"}).exit_code, 2) << "of which manifest";
  EXPECT_EQ(run({"export", path("b.kiln"), manifest, "--engine", "acme"}).exit_code, 2);
}

TEST_F(Ship, ABundleTakesNoOtherFilesPlace) {
  const auto manifest = file("engine.json", R"({"kiln_manifest": 1, "programs": []})");
  const auto forgotten = ship({"export", manifest});
  EXPECT_EQ(forgotten.exit_code, 2);
  EXPECT_THAT(forgotten.err, testing::AllOf(HasSubstr(manifest), HasSubstr("is no bundle")));
  EXPECT_THAT(read(manifest), HasSubstr("kiln_manifest"));
  ASSERT_EQ(ship({"export", path("some.kiln")}).exit_code, 0);
  std::filesystem::create_symlink(database(), path("link"));
  std::filesystem::create_symlink(database().string() + "-journal", path("dangling"));
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"report", "-o", database().string()},
           {"extract", key_, "--image", "-o", database().string()},
           {"extract", key_, "--image", "-o", database().string(), "--cache", path("some.kiln")},
           {"stats", "--openmetrics", database().string()},
           {"stats", "--openmetrics", path("link")},
           {"stats", "--openmetrics", path("dangling")},
           {"stats", "--openmetrics", (cache() / "kernels.v1.lock").string()},
           {"compile-commands", "--sources", path("s"), "-o", database().string()}})
    EXPECT_EQ(ship(words).exit_code, 2) << words[0];
  EXPECT_EQ(ship({"clear", "--engine", "", "--yes"}).exit_code, 2) << "a variable that is not set";
  EXPECT_EQ(entries_of("cache"), 2u);
  run_sql(path("other.db"), "CREATE TABLE precious(x)");
  EXPECT_EQ(ship({"export", path("other.db")}).exit_code, 2);
  EXPECT_EQ(ship({"export", file("empty", "")}).exit_code, 0) << "as mktemp makes it";
  EXPECT_EQ(ship({"export", path("empty")}).exit_code, 0);
}

TEST_F(Ship, AnOutputTakesThePlaceOfNothingThatNobodyMakesAnew) {
  const auto header = file("scale.h", "#define SCALE 2\n");
  const auto key = file("farm-1.key", "secret");
  const auto bundle = path("some.kiln");
  const auto upper = file("OLD.CU", "x");
  ASSERT_EQ(ship({"export", bundle}).exit_code, 0);
  const auto manifest = file(
      "scale.json",
      R"({"kiln_manifest": 1, "programs": [{"source_file": "scale.cu", "kernels": ["fill"]}]})");
  std::filesystem::create_symlink(header, path("linked.cubin"));
  const std::string source = path("scale.cu");
  const auto all = [&] {
    return std::vector{read(header), read(key), read(bundle), read(manifest), read(source)};
  };
  const auto before = all();
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"compile", source, "--arch", "sm_80", "--name", "fill", "-o", header},
           {"compile", source, "--arch", "sm_80", "--name", "fill", "-o", path("linked.cubin")},
           {"compile", source, "--arch", "sm_80", "--name", "fill", "-o", key},
           {"compile", source, "--arch", "sm_80", "--name", "fill", "-o", bundle},
           {"report", "-o", source},
           {"report", "--manifest", manifest, "-o", source},
           {"trace", manifest, "--arch", "sm_80", "-o", source},
           {"stats", "--cache", bundle, "--openmetrics", bundle},
           {"compile-commands", "--manifest", manifest, "--sources", path("s"), "-o", manifest},
           {"compile-commands", bundle, "--sources", path("s"), "-o", bundle},
           {"extract", key_, "--image", "-o", source},
           {"extract", key_, "--source", "-o", key},
           {"extract", key_, "--image", "-o", upper}}) {
    const auto outcome = ship(words);
    EXPECT_EQ(outcome.exit_code, 2) << words[0] << ' ' << words.back();
    EXPECT_THAT(outcome.err,
                testing::AllOf(HasSubstr(words.back()), HasSubstr("name another file")));
  }
  EXPECT_EQ(all(), before);
  EXPECT_EQ(ship({"extract", key_, "--source", "-o", upper}).exit_code, 0) << "a source for one";
  EXPECT_EQ(ship({"stats", "--openmetrics", file("empty.h", "")}).exit_code, 0) << "as mktemp's";
}

TEST_F(Ship, ExportTakesOneEnginesEntries) {
  const Circumstances acme{.environment = {{"KILN_ENGINE", "acme 2"}}};
  ASSERT_EQ(
      run({"compile", path("scale.cu"), "--arch", "sm_75", "--image", "ptx", "--name", "fill"},
          acme)
          .exit_code,
      0);
  const auto outcome = ship({"--json", "export", path("b.kiln"), "--engine", "acme*"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.documents().at(0)["entries"], 1);
  EXPECT_EQ(ship({"--json", "ls", "--cache", path("b.kiln")}).documents().at(0)["engine"],
            "acme 2");
  const auto of_none = ship({"--json", "export", path("none.kiln"), "--engine", "other"});
  EXPECT_EQ(of_none.exit_code, 1);
  EXPECT_THAT(of_none.err, HasSubstr("--engine other: no entry is of such an engine"));
  EXPECT_FALSE(fs::exists(path("none.kiln")));
  const auto pushed =
      ship({"--json", "push", "--to", "file://" + path("store"), "--engine", "acme 2"});
  EXPECT_EQ(pushed.documents().at(0)["added"], 1) << pushed.err;
}

TEST_F(Ship, ImportAddsBundlesAndCaches) {
  ASSERT_EQ(ship({"export", path("b.kiln")}).exit_code, 0);
  const auto outcome =
      ship({"--json", "import", path("b.kiln"), path("other"), "--cache", path("third")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto reports = outcome.documents();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0], Json({{"schema", 1},
                              {"file", path("b.kiln")},
                              {"added", 2},
                              {"present", 0},
                              {"skipped", Json::array()}}));
  EXPECT_EQ(reports[1]["added"], 1);
  EXPECT_EQ(reports[1]["present"], 1);
  EXPECT_EQ(entries_of("third"), 3u);
  const auto people = ship({"import", path("b.kiln"), "--cache", path("third")});
  EXPECT_THAT(people.out, testing::StartsWith("FILE"));
  EXPECT_THAT(people.out, HasSubstr(path("b.kiln")));
}

TEST_F(Ship, ImportGoesOnPastAFileThatFails) {
  const auto outcome = ship({"--json", "import", path("absent.kiln"), file("no.kiln", "no bundle"),
                             path("other"), "--cache", path("third")});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("absent.kiln"));
  EXPECT_THAT(outcome.err, HasSubstr("no.kiln"));
  ASSERT_EQ(outcome.documents().size(), 3u);
  EXPECT_EQ(outcome.documents()[2]["added"], 2);
}

TEST_F(Ship, ImportNamesWhatItLeavesOut) {
  damage_one();
  const auto outcome = ship({"import", cache().string(), "--cache", path("third")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr(key_));
  EXPECT_EQ(entries_of("third"), 1u);
}

TEST_F(Ship, NothingIsImportedIntoItself) {
  const auto outcome = ship({"import", cache().string()});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr("'" + cache().string() + "' is the cache that it would be imported into"));
}

TEST_F(Ship, ABundleOfAnotherOwnerIsTakenWhereHeIsTrusted) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
  ASSERT_EQ(ship({"export", path("b.kiln")}).exit_code, 0);
  ASSERT_EQ(::chown(path("b.kiln").c_str(), 1234, 1234), 0);
  const auto refused = ship({"import", path("b.kiln"), "--cache", path("third")});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("KILN_CACHE_TRUST_OWNERS=1234"));
  auto circumstances = without_cuda();
  circumstances.environment["KILN_CACHE_TRUST_OWNERS"] = "1234";
  const auto taken = run({"import", path("b.kiln"), "--cache", path("third")}, circumstances);
  EXPECT_EQ(taken.exit_code, 0) << taken.err;
  EXPECT_EQ(entries_of("third"), 2u);
}

TEST_F(Ship, ImportMindsTheSettings) {
  auto circumstances = without_cuda();
  circumstances.environment["KILN_CACHE_READONLY"] = "1";
  const auto before = snapshot(cache());
  const auto outcome = run({"import", path("other")}, circumstances);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("KILN_CACHE_READONLY"));
  EXPECT_EQ(snapshot(cache()), before);
}

TEST_F(Ship, MergeGivesWhatOneCacheWouldHaveGiven) {
  ASSERT_EQ(ship({"export", path("b.kiln")}).exit_code, 0);
  const auto outcome =
      ship({"--json", "merge", path("other"), path("b.kiln"), "-o", path("merged.kiln")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.documents().at(0)["entries"], 3);

  ASSERT_EQ(ship({"import", path("b.kiln"), path("other"), "--cache", path("third")}).exit_code, 0);
  ASSERT_EQ(ship({"export", path("again.kiln"), "--cache", path("third")}).exit_code, 0);
  EXPECT_TRUE(read(path("merged.kiln")) == read(path("again.kiln")));
}

TEST_F(Ship, MergeWritesNothingWhereOneFails) {
  const auto outcome = ship({"merge", path("other"), path("absent.kiln"), "-o", path("m.kiln")});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("absent.kiln"));
  EXPECT_FALSE(fs::exists(path("m.kiln")));
  EXPECT_EQ(ship({"merge", path("other")}).exit_code, 2);
}

TEST_F(Ship, MergeIsNotWrittenOverWhatItReads) {
  ASSERT_EQ(ship({"export", path("b.kiln")}).exit_code, 0);
  const auto before = read(path("b.kiln"));
  EXPECT_EQ(ship({"merge", path("other"), path("b.kiln"), "-o", path("b.kiln")}).exit_code, 2);
  EXPECT_TRUE(read(path("b.kiln")) == before);
}

}  // namespace
}  // namespace kiln::tests
