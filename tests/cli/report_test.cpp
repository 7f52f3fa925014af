#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* data_begins = R"(<script type="application/json" id="data">)";

/// What the page shows.
Json data_of(const std::string& page) {
  const auto begin = page.find(data_begins);
  if (begin == std::string::npos) {
    ADD_FAILURE() << "no data in " << page.substr(0, 1000);
    return {};
  }
  const auto json = page.substr(begin + std::string(data_begins).size());
  return Json::parse(json.substr(0, json.find("</script>")));
}

/// Columns as rows, with the names that they hold.
std::vector<Json> rows_of(const Json& data, const std::string& table,
                          const std::vector<std::string>& named) {
  std::vector<Json> rows;
  for (const auto& [name, values] : data[table].items()) {
    rows.resize(values.size());
    const bool is_name = std::ranges::count(named, name) != 0;
    for (std::size_t at = 0; at < rows.size(); ++at)
      rows[at][name] = is_name ? data["names"].at(values[at].get<std::size_t>()) : values[at];
  }
  return rows;
}

std::vector<Json> entries_of(const Json& data) {
  return rows_of(data, "entries", {"program", "arch", "image", "toolchain"});
}

std::vector<Json> kernels_of(const Json& data) { return rows_of(data, "kernels", {"expression"}); }

class Report : public ToolTest {
 protected:
  Report() {
    key_ =
        compile({source_, "--arch", "sm_80", "--name", "scale<float, 4>", "--name", "fill"})["key"];
    compile({source_, "--arch", "sm_90", "--name", "fill"});
  }

  /// The page that `report` writes with these words, without CUDA unless it is asked for.
  std::string page(std::vector<std::string> words = {},
                   const Circumstances& circumstances = without_cuda(), int exit_code = 0) {
    const auto path = scratch("report.html").string();
    words.insert(words.begin(), {"report", "-o", path});
    const auto outcome = run(words, circumstances);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    return read(path);
  }

  Json data(std::vector<std::string> words = {},
            const Circumstances& circumstances = without_cuda(), int exit_code = 0) {
    return data_of(page(std::move(words), circumstances, exit_code));
  }

  /// A manifest of a program that is in the cache, and one that is not, for two architectures each.
  std::string manifest() {
    file("include/by.h", "#pragma once\n#define BY 2\n");
    file("by.cu", "#include <by.h>\nextern \"C\" __global__ void by(int* x) { *x *= BY; }\n");
    return file("engine.json",
                Json{{"kiln_manifest", 1},
                     {"targets", {"sm_80", "sm_90"}},
                     {"programs",
                      {{{"name", "scale.cu"}, {"source_file", "scale.cu"}, {"kernels", {"fill"}}},
                       {{"name", "by.cu"},
                        {"source_file", "by.cu"},
                        {"kernels", {"by"}},
                        {"include_dirs", {"include"}}}}}}
                    .dump());
  }

  std::string source_ = file("scale.cu", scale_source);
  std::string key_;
};

TEST_F(Report, HasTheFiguresOfLsAndKernels) {
  const auto before = snapshot(cache());
  const auto told = data();
  EXPECT_EQ(snapshot(cache()), before);

  std::map<std::string, Json> listed;
  for (const auto& entry : run({"--json", "ls"}).documents()) listed[entry["key"]] = entry;
  const auto entries = entries_of(told);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_GE(entries[0]["bytes"], entries[1]["bytes"]);
  for (const auto& entry : entries) {
    const auto& other = listed.at(entry["key"]);
    for (const auto* figure : {"program", "arch", "image", "bytes", "stored_bytes", "created",
                               "compile_ms", "toolchain", "kernels"})
      EXPECT_EQ(entry[figure], other[figure]) << figure;
  }

  std::map<std::pair<std::string, std::string>, Json> rows;
  auto documents = run({"--json", "kernels"}).documents();
  const auto totals = documents.back()["totals"];
  documents.pop_back();
  for (const auto& kernel : documents) rows[{kernel["key"], kernel["expression"]}] = kernel;
  const auto kernels = kernels_of(told);
  ASSERT_EQ(kernels.size(), 3U);
  for (const auto& kernel : kernels) {
    const auto& other =
        rows.at({entries.at(kernel["entry"].get<std::size_t>())["key"], kernel["expression"]});
    for (const auto* figure : {"registers", "spill_store_bytes", "spill_load_bytes", "local_bytes",
                               "shared_bytes", "code_bytes"})
      EXPECT_EQ(kernel[figure], other[figure]) << figure;
    EXPECT_NEAR(kernel["occupancy"].get<double>(), other["occupancy"]["percent"].get<double>(),
                0.5);
  }
  EXPECT_EQ(told["totals"]["kernels"], totals["kernels"]);
  EXPECT_EQ(told["totals"]["spilling"], totals["spilling"]);
  EXPECT_EQ(told["left_out"], Json::parse(R"({"entries": 0, "kernels": 0})"));
  EXPECT_EQ(told["file"], (cache() / "kernels.v1.db").string());
}

TEST_F(Report, TellsNothingOfAKernelThatItsImageDoesNotTell) {
  compile({source_, "--arch", "compute_80", "--image", "ptx", "--name", "fill"});
  const auto told = data();
  const auto entries = entries_of(told);
  for (const auto& kernel : kernels_of(told)) {
    if (entries.at(kernel["entry"].get<std::size_t>())["image"] != "ptx") continue;
    for (const auto* figure : {"registers", "spill_store_bytes", "local_bytes", "shared_bytes",
                               "code_bytes", "occupancy"})
      EXPECT_TRUE(kernel[figure].is_null()) << figure;
  }
}

TEST_F(Report, HasTheHistoryOfStats) {
  for (int hit = 0; hit < 3; ++hit) compile({source_, "--arch", "sm_90", "--name", "fill"});
  const auto told = data();
  const auto stats = run({"--json", "stats"}).documents().at(0)["history"];
  EXPECT_EQ(told["history"]["hits"], 3);
  EXPECT_EQ(told["history"]["misses"], 2);
  EXPECT_EQ(told["history"]["misses_absent"], stats["misses_absent"]);
  EXPECT_EQ(told["history"]["saved_ms"], stats["saved_ms"]);
  ASSERT_EQ(told["days"].size(), 1U);
  EXPECT_EQ(told["days"][0]["hits"], 3);
  EXPECT_EQ(told["days"][0]["misses"], 2);
  EXPECT_GT(told["days"][0]["saved_ms"], 0);
}

TEST_F(Report, LeavesOutDaysThatAWrongClockTold) {
  run_sql(database(),
          "INSERT INTO state VALUES('day.9000000000000.hits_local', 5), ('day.3.hits_local', 5), "
          "('counter.hits_local', 10)");
  const auto told = data();
  ASSERT_EQ(told["days"].size(), 1U) << told["days"];
  EXPECT_EQ(told["days"][0]["misses"], 2);
  EXPECT_EQ(told["history"]["hits"], 10);
}

TEST_F(Report, SaysWhyARequestWasCompiledAgain) {
  const auto header = file("include/by.h", "#define BY 2\n");
  const auto by =
      file("by.cu", "#include <by.h>\nextern \"C\" __global__ void by(int* x) { *x *= BY; }\n");
  const std::vector<std::string> words{by, "--arch", "sm_80", "-I", scratch("include").string()};
  compile(words);
  EXPECT_EQ(data()["compiled_again"], Json::array());
  file("include/by.h", "#define BY 3\n");
  compile(words);
  run_sql(database(), "UPDATE entries SET created = created - id");
  const auto again = data()["compiled_again"];
  ASSERT_EQ(again.size(), 1U) << again;
  EXPECT_EQ(again[0]["program"], "by.cu");
  EXPECT_EQ(again[0]["entries"], 2);
  EXPECT_EQ(again[0]["differences"], Json::parse(R"(["by.h has changed"])"));
  EXPECT_EQ(data()["history"]["misses_unfit"], 1);
}

TEST_F(Report, TellsWhatIsPinnedAndWhatGoesFirst) {
  ASSERT_EQ(run({"pin", key_}).exit_code, 0);
  for (const auto& entry : entries_of(data())) {
    const bool first = entry["key"] == key_;
    EXPECT_EQ(entry["pinned"], first ? 1 : 0);
    // The other was stored after it.
    EXPECT_EQ(entry["stored_since_use"] > 0, first) << entry;
  }
}

TEST_F(Report, IsOneSafePageWhateverNamesAre) {
  const std::string hostile = "</script><img src=x onerror=\"document.title='owned'\"><!--";
  run_sql(database(),
          "UPDATE entries SET program = '</script><img src=x "
          "onerror=\"document.title=''owned''\"><!--', "
          "arch = '<b>\xff', toolchain_text = '\"><script>alert(1)</script>'");
  const auto text = page();
  // One element of data, one script, and nothing between them that a name made.
  EXPECT_THAT(text, StartsWith("<!doctype html>"));
  std::size_t scripts = 0;
  for (auto at = text.find("<script"); at != std::string::npos; at = text.find("<script", at + 1))
    ++scripts;
  EXPECT_EQ(scripts, 2U);
  EXPECT_THAT(text, HasSubstr("content=\"default-src 'none'; script-src 'sha256-"));
  for (const auto* refused : {"<img", "<b>", "<!--", "<link", "http:", "https:", "@import", "url("})
    EXPECT_EQ(text.find(refused), std::string::npos) << refused;
  const auto entries = entries_of(data_of(text));
  EXPECT_EQ(entries.at(0)["program"], hostile);
  EXPECT_EQ(entries.at(0)["arch"], "<b>\xef\xbf\xbd") << "what is no UTF-8 is replaced";
}

TEST_F(Report, OfABundleHasNeitherHistoryNorAges) {
  const auto bundle = scratch("b.kiln").string();
  ASSERT_EQ(run({"export", bundle}).exit_code, 0);
  for (const auto& words : {std::vector<std::string>{bundle}, {"--cache", bundle}}) {
    const auto told = data(words);
    EXPECT_TRUE(told["bundle"]);
    EXPECT_TRUE(told["history"].is_null());
    EXPECT_EQ(told["days"], Json::array());
    EXPECT_EQ(told["file"], bundle);
    EXPECT_EQ(entries_of(told).size(), 2U);
    EXPECT_EQ(entries_of(told).at(0)["created"], 0);
    EXPECT_EQ(kernels_of(told).size(), 3U);
  }
  EXPECT_FALSE(data({cache().string()})["bundle"]);
}

TEST_F(Report, OfAnEmptyCacheIsAPageToo) {
  ASSERT_EQ(run({"clear", "--yes"}).exit_code, 0);
  const auto told = data();
  EXPECT_EQ(told["totals"]["entries"], 0);
  EXPECT_EQ(told["entries"]["key"], Json::array());
  EXPECT_EQ(told["kernels"]["entry"], Json::array());
}

TEST_F(Report, OfNoCacheIsNone) {
  const auto path = scratch("report.html").string();
  const auto outcome = run({"report", scratch("nowhere").string(), "-o", path});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("nowhere"));
  EXPECT_THAT(outcome.err, HasSubstr("kiln prewarm MANIFEST"));
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Report, LeavesDamagedEntriesOutOfTheKernels) {
  // Whose kernels are not told but by the image.
  run_sql(database(),
          "UPDATE entries SET payload = x'00' WHERE arch = 'sm_80'; DROP TABLE kernels");
  const auto told = data({}, without_cuda(), 1);
  EXPECT_EQ(told["damaged"], 1);
  EXPECT_EQ(kernels_of(told).size(), 1U);
  EXPECT_EQ(entries_of(told).size(), 2U);
}

TEST_F(Report, OfAManifestHasWhatServesItAndWhyTheRestWouldMiss) {
  compile({source_, "--arch", "sm_80", "--name", "fill"});
  const auto before = snapshot(cache());
  const auto told = data({"--manifest", manifest()}, {});
  EXPECT_EQ(snapshot(cache()), before);
  EXPECT_EQ(told["lookups"]["asked"], 4);
  EXPECT_EQ(told["lookups"]["served"], 2);
  EXPECT_EQ(told["lookups"]["rows"][0]["program"], "by.cu") << "what would miss comes first";
  std::map<std::string, Json> lookups;
  for (const auto& row : told["lookups"]["rows"])
    lookups[row["program"].get<std::string>() + ' ' + row["arch"].get<std::string>()] = row;
  for (const auto* served : {"scale.cu sm_80", "scale.cu sm_90"})
    EXPECT_TRUE(lookups.at(served)["hit"]) << served;
  for (const auto* missing : {"by.cu sm_80", "by.cu sm_90"}) {
    EXPECT_FALSE(lookups.at(missing)["hit"]) << missing;
    EXPECT_NE(lookups.at(missing)["reason"], "") << missing;
  }
  EXPECT_EQ(told["totals"]["entries"], 2) << "the one with another kernel serves nothing of it";

  EXPECT_EQ(told["trace"]["programs"], 2) << "each once, not for each architecture";
  EXPECT_EQ(told["trace"]["failures"], Json::array());
  EXPECT_GT(told["trace"]["phases"].size(), 3U);
  const auto& headers = told["trace"]["headers"];
  EXPECT_TRUE(std::ranges::any_of(headers, [&](const Json& header) {
    return header["name"] == scratch("include/by.h").string() && header["own_ms"] > 0;
  })) << headers;
}

TEST_F(Report, TakesArchitecturesInThePlaceOfAManifests) {
  const auto told = data({"--manifest", manifest(), "--arch", "sm_90"});
  EXPECT_EQ(told["lookups"]["asked"], 2);
  EXPECT_EQ(told["lookups"]["rows"][0]["arch"], "sm_90");
  const auto alone = run({"report", "--arch", "sm_90", "-o", scratch("other.html").string()});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("--manifest"));
}

TEST_F(Report, NamesTheDifferenceOfWhatAManifestWouldMiss) {
  const auto list = manifest();
  ASSERT_EQ(run({"prewarm", list}).exit_code, 0);
  file("include/by.h", "#define BY 3\n");
  const auto told = data({"--manifest", list});
  std::size_t named = 0;
  for (const auto& row : told["lookups"]["rows"]) {
    if (row["program"] != "by.cu") continue;
    EXPECT_FALSE(row["hit"]);
    EXPECT_THAT(row["differences"].dump(), HasSubstr("by.h"));
    ++named;
  }
  EXPECT_EQ(named, 2U);
}

TEST_F(Report, WithoutACompilerSaysSoInThePlaceOfATrace) {
  const auto told = data({"--manifest", manifest()});
  EXPECT_TRUE(told["trace"].is_null());
  EXPECT_THAT(told["no_trace"].get<std::string>(), HasSubstr("/nonexistent/libnvrtc.so"));
}

TEST_F(Report, AProgramThatDoesNotCompileIsNamedAndTheRestIsTold) {
  file("by.cu", "");
  const auto list = manifest();
  file("by.cu", "extern \"C\" __global__ void by() { missing(); }\n");
  const auto told = data({"--manifest", list}, {}, 3);
  EXPECT_EQ(told["trace"]["programs"], 1);
  EXPECT_THAT(told["trace"]["failures"].dump(), HasSubstr("by.cu: "));
}

TEST_F(Report, TakesTracesThatTraceHasWritten) {
  const auto trace = scratch("trace.json").string();
  ASSERT_EQ(run({"trace", manifest(), "-o", trace}).exit_code, 0);
  const auto told = data({"--trace", trace, "--manifest", manifest()});
  EXPECT_EQ(told["trace"]["programs"], 2);
  EXPECT_THAT(told["trace"]["headers"].dump(), HasSubstr("by.h"));
  EXPECT_EQ(data({"--trace", trace, "--trace", trace})["trace"]["programs"], 4);
}

TEST_F(Report, RefusesWhatIsNoTrace) {
  for (const auto* text : {"{}", "no JSON", "{\"traceEvents\":[]}"}) {
    const auto path = file("trace.json", text);
    const auto outcome =
        run({"report", "--trace", path, "-o", scratch("report.html").string()}, without_cuda());
    EXPECT_EQ(outcome.exit_code, 2) << text;
    EXPECT_THAT(outcome.err,
                AllOf(HasSubstr(path + " holds no time trace"), HasSubstr("kiln trace")));
  }
  EXPECT_FALSE(fs::exists(scratch("report.html")));
}

TEST_F(Report, RefusesTwoCachesAndAManifestWithoutTargets) {
  const auto path = scratch("report.html").string();
  const auto two = run({"report", cache().string(), "--cache", cache().string(), "-o", path});
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_THAT(two.err, HasSubstr("name one cache or bundle"));
  const auto list =
      file("engine.json",
           R"({"kiln_manifest":1,"programs":[{"name":"k.cu","source":"","kernels":["k"]}]})");
  const auto outcome = run({"report", "--manifest", list, "-o", path});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(list), HasSubstr("no target")));
  EXPECT_EQ(run({"report"}).exit_code, 2) << "where to is not said";
}

TEST_F(Report, TellsWhatItWrote) {
  const auto path = scratch("report.html").string();
  EXPECT_THAT(run({"report", "-o", path}).out,
              AllOf(HasSubstr(path), HasSubstr("2 entries, 3 kernels")));
  const auto document = run({"--json", "report", "-o", path}).documents().at(0);
  EXPECT_EQ(document["file"], path);
  EXPECT_EQ(document["file_bytes"], fs::file_size(path));
  EXPECT_EQ(document["entries"], 2);
  EXPECT_EQ(document["kernels"], 3);
  EXPECT_EQ(run({"--quiet", "report", "-o", path}).out, "");
}

TEST_F(Report, GoesToStandardOutputAlone) {
  const auto outcome = run({"report", "-o", "-"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(StartsWith("<!doctype html>"), testing::EndsWith("</html>\n")));
  EXPECT_EQ(data_of(outcome.out)["totals"]["entries"], 2);
  EXPECT_THAT(run({"--json", "report", "-o", "-"}).err, HasSubstr("standard output has documents"));
}

TEST_F(Report, IsNotLostInSilence) {
  const auto closed = run({"report", "-o", "-"}, {.closed = {STDOUT_FILENO}});
  EXPECT_EQ(closed.exit_code, 3);
  EXPECT_THAT(closed.err, HasSubstr("cannot write standard output"));
  const auto nowhere = scratch("nowhere/report.html").string();
  const auto outcome = run({"report", "-o", nowhere});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write " + nowhere));
  const auto folder = run({"report", "-o", scratch("").string()});
  EXPECT_EQ(folder.exit_code, 3);
}

}  // namespace
}  // namespace kiln::tests
