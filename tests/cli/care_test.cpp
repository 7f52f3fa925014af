#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "care_fixture.h"
#include "tool.h"

namespace kiln::tests {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;
namespace fs = std::filesystem;

TEST_F(Care, VerifyFindsNothingInASoundCache) {
  const auto before = snapshot(cache());
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"verify"}, {"verify", "--deep"}}) {
    const auto outcome = care(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("3 entries"));
    EXPECT_THAT(outcome.out, HasSubstr("all sound"));
    EXPECT_THAT(outcome.out, HasSubstr(database().string()));
  }
  const auto report = json({"verify", "--deep"});
  EXPECT_EQ(report["entries"], 3);
  EXPECT_EQ(report["findings"], 0);
  EXPECT_EQ(report["set_aside"], Json::array());
  EXPECT_EQ(snapshot(cache()), before);
}

TEST_F(Care, VerifyNamesWhatIsDamaged) {
  damage_all_frames();
  const auto before = snapshot(cache());
  const auto outcome = care({"verify"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, testing::StartsWith("WHAT"));
  EXPECT_THAT(outcome.out, HasSubstr(first_));
  EXPECT_THAT(outcome.out, HasSubstr("checksum"));
  EXPECT_THAT(outcome.out, HasSubstr(" findings"));
  const auto lines = care({"--json", "verify"}).documents();
  ASSERT_GE(lines.size(), 4u);
  EXPECT_EQ(lines.back()["findings"], lines.size() - 1);
  EXPECT_EQ(lines.front()["what"], "entry");
  EXPECT_EQ(snapshot(cache()), before);
}

TEST_F(Care, VerifyShowsPeopleTheFirstTwentyFindings) {
  for (int mark = 1; mark <= 30; ++mark)
    run_sql(database(), fmt::format("INSERT INTO marks VALUES({}, 0, 0)", 1'000'000 + mark));
  const auto text = care({"verify"}).out;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 20 + 4);
  EXPECT_THAT(text, HasSubstr("what is damaged is not served"));
  EXPECT_THAT(text, HasSubstr("\nand 10 more, which --json lists\n"));
  EXPECT_EQ(care({"--json", "verify"}).documents().size(), 31u);
}

TEST_F(Care, VerifyTellsOfAFileThatIsNoDatabase) {
  file("cache/kernels.v1.db", "no database at all, but long enough to be one perhaps");
  const auto before = snapshot(cache());
  const auto outcome = care({"verify"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(database().string()));
  EXPECT_THAT(outcome.out, HasSubstr("new generation"));
  EXPECT_EQ(json({"verify"}, 1)["findings"], 1);
  EXPECT_EQ(snapshot(cache()), before);

  compile({source_, "--arch", "sm_80", "--name", "fill"});
  const auto after = care({"verify"});
  EXPECT_EQ(after.exit_code, 0);
  EXPECT_THAT(after.out, HasSubstr("kernels.v1.g2.db"));
  EXPECT_THAT(after.out, HasSubstr(database().string() + " is an earlier generation"));
}

TEST_F(Care, VerbsMissWhereThereIsNoCache) {
  const auto none = scratch("none").string();
  for (const std::vector<std::string>& words : {std::vector<std::string>{"verify"},
                                                {"gc"},
                                                {"clear", "--yes"},
                                                {"pin", "00"},
                                                {"stats", "--reset"}}) {
    auto arguments = words;
    arguments.insert(arguments.end(), {"--cache", none});
    EXPECT_EQ(care(arguments).exit_code, 1) << words[0];
    EXPECT_FALSE(fs::exists(none)) << words[0];
  }
}

TEST_F(Care, GcRemovesDownToASize) {
  const auto before = snapshot(cache());
  const auto told = json({"gc", "--max-size", "1K", "--dry-run"});
  EXPECT_EQ(told["entries"], 3);
  EXPECT_GT(told["stored_bytes"], 0);
  EXPECT_EQ(told["dry_run"], true);
  EXPECT_THAT(care({"gc", "--max-size", "1K", "--dry-run"}).out,
              HasSubstr("would remove 3 entries"));
  EXPECT_EQ(snapshot(cache()), before);
  EXPECT_THAT(care({"gc"}).out, HasSubstr("removed 0 entries")) << "below the cache's own limit";
  EXPECT_EQ(entries(), 3u);
  EXPECT_EQ(json({"gc", "--max-size", "1K"})["entries"], 3);
  EXPECT_EQ(entries(), 0u);
  EXPECT_EQ(care({"verify", "--deep"}).exit_code, 0);
}

TEST_F(Care, GcRemovesWhatIsOld) {
  EXPECT_EQ(json({"gc", "--older-than", "1h"})["entries"], 0);
  EXPECT_EQ(entries(), 3u);
}

TEST_F(Care, GcNamesNonsense) {
  for (const char* size : {"5X", "-1", "G", "1.5.5M"}) {
    const auto outcome = care({"gc", std::string("--max-size=") + size});
    EXPECT_EQ(outcome.exit_code, 2) << size;
    EXPECT_THAT(outcome.err, HasSubstr(size));
  }
  for (const char* age : {"5", "d", "-1d", "3y", "1.5d", "99999999999d"}) {
    const auto outcome = care({"gc", std::string("--older-than=") + age});
    EXPECT_EQ(outcome.exit_code, 2) << age;
    EXPECT_THAT(outcome.err, HasSubstr(age));
  }
  EXPECT_EQ(entries(), 3u);
}

TEST_F(Care, NothingIsRemovedWhereNothingMayBeWritten) {
  const Circumstances read_only{.environment = {{"KILN_CACHE_READONLY", "1"}}};
  const auto before = snapshot(cache());
  for (const std::vector<std::string>& words : {std::vector<std::string>{"gc"},
                                                {"clear", "--yes"},
                                                {"pin", first_},
                                                {"stats", "--reset"}}) {
    const auto outcome = care(words, read_only);
    EXPECT_EQ(outcome.exit_code, 3) << words[0];
    EXPECT_THAT(outcome.err, HasSubstr("read-only")) << words[0];
  }
  EXPECT_EQ(snapshot(cache()), before);
}

TEST_F(Care, ClearNeedsConsent) {
  const auto refused = care({"clear"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--yes"));
  EXPECT_EQ(care({"clear"}, {.input = "y\n"}).exit_code, 2) << "a pipe consents to nothing";
  EXPECT_EQ(entries(), 3u);
  const auto done = care({"clear", "--yes"});
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.out, HasSubstr("removed 3 entries, "));
  EXPECT_EQ(entries(), 0u);
  EXPECT_EQ(json({"clear", "--yes"})["entries"], 0);
}

TEST_F(Care, ClearTellsWhatItWouldRemove) {
  const auto before = snapshot(cache());
  const auto all = care({"clear", "--dry-run"});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("would remove 3 entries, "));
  const auto told = json({"clear", "--dry-run"});
  EXPECT_EQ(told["dry_run"], true);
  EXPECT_EQ(care({"clear", "--dry-run", first_}).out, "would remove " + first_ + "\n");
  const auto one = json({"clear", "--dry-run", first_});
  EXPECT_EQ(one["entries"], 1);
  EXPECT_THAT(care({"clear", "--dry-run", "--engine", "acme*"}).out,
              HasSubstr("there are no entries of engine acme*"));
  EXPECT_EQ(snapshot(cache()), before);
  EXPECT_EQ(json({"clear", first_})["stored_bytes"], one["stored_bytes"]);
  const auto rest = json({"clear", "--yes"});
  EXPECT_EQ(rest["stored_bytes"].get<int>() + one["stored_bytes"].get<int>(), told["stored_bytes"]);
}

TEST_F(Care, AnEnginesEntriesAreShownAndRemovedAlone) {
  const Circumstances acme{.environment = {{"KILN_ENGINE", "acme 2"}}};
  const auto made = run({"compile", source_, "--arch", "sm_80", "--name", "fill", "--json"}, acme);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.documents().at(0)["origin"], "compiled") << "what no engine stored serves none";
  EXPECT_THAT(care({"ls"}).out, AllOf(HasSubstr("ENGINE"), HasSubstr("acme 2")));
  EXPECT_EQ(care({"--json", "ls", "--engine", "acme*"}).documents().size(), 1u);
  EXPECT_EQ(care({"--json", "ls", "--engine", "other"}).documents().size(), 0u);
  EXPECT_EQ(care({"--json", "ls", "--engine", "*"}).documents().size(), 1u)
      << "the others are of none";
  EXPECT_EQ(json({"clear", "--dry-run", "--engine", "*"})["entries"], 1);
  const auto why = run({"explain", source_, "--arch", "sm_80", "--name", "fill"},
                       {.environment = {{"KILN_ENGINE", "acme 3"}}});
  EXPECT_THAT(why.out, HasSubstr("engine: acme 3, stored"));
  EXPECT_EQ(care({"clear", "--engine", "acme*"}).exit_code, 2);
  const auto removed = care({"clear", "--engine", "acme*", "--yes"});
  EXPECT_THAT(removed.out, HasSubstr("removed 1 entry of engine acme*, "));
  EXPECT_EQ(entries(), 3u);
  EXPECT_THAT(care({"ls"}).out, Not(HasSubstr("ENGINE")));
}

TEST_F(Care, ANamedEntryIsRemovedAlone) {
  const auto before = entries();
  const auto removed = care({"clear", first_.substr(0, 12)});
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
  EXPECT_THAT(removed.out, HasSubstr("removed " + first_));
  EXPECT_EQ(entries(), before - 1);
  EXPECT_EQ(care({"clear", first_}).exit_code, 1) << "it is gone";
  EXPECT_EQ(care({"clear", third_, "--engine", "acme*"}).exit_code, 2);
  EXPECT_EQ(entries(), before - 1);
}

TEST_F(Care, WhatIsOnlyReadSaysWhyNothingIsKept) {
  const auto made = run({"compile", source_, "--arch", "sm_90", "--name", "fill", "-D", "NEW"},
                        {.environment = {{"KILN_CACHE_READONLY", "1"}}});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("only read here, as KILN_CACHE_READONLY says"));
}

TEST_F(Care, WhereThereIsNoCacheThatIsWhyNothingIsKept) {
  const auto made =
      run({"compile", source_, "--arch", "sm_90", "--name", "fill", "--cache", scratch("none")},
          {.environment = {{"KILN_CACHE_READONLY", "1"}}});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("there is no cache to store it in"));
  EXPECT_THAT(made.err, Not(HasSubstr("only read here")));
}

TEST_F(Care, WhatIsAnothersSaysThatItIsOnlyRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a cache away";
  constexpr uid_t other = 12345;
  for (const auto& file : fs::recursive_directory_iterator(cache())) {
    fs::permissions(file, fs::perms(0644));
    ASSERT_EQ(::chown(file.path().c_str(), other, static_cast<gid_t>(-1)), 0);
  }
  ASSERT_EQ(::chown(cache().c_str(), other, static_cast<gid_t>(-1)), 0);
  fs::permissions(cache(), fs::perms(0755));
  const auto made =
      run({"compile", source_, "--arch", "sm_90", "--name", "fill", "-D", "NEW"},
          {.environment = {{"KILN_CACHE_TRUST_OWNERS", "12345"}}, .no_override = true});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("the cache is another user's, and only read here"));
}

TEST_F(Care, PinnedEntriesStay) {
  const auto pinned = care({"pin", first_.substr(0, 12), third_});
  EXPECT_EQ(pinned.exit_code, 0) << pinned.err;
  EXPECT_THAT(pinned.out, HasSubstr("pinned " + first_));
  EXPECT_THAT(pinned.out, HasSubstr("pinned " + third_));
  EXPECT_THAT(care({"ls"}).out, HasSubstr("PINNED"));
  EXPECT_EQ(care({"--json", "ls", "--pinned"}).documents().size(), 2u);
  EXPECT_EQ(json({"gc", "--max-size", "0"})["entries"], 1);
  const auto unpinned = json({"unpin", third_});
  EXPECT_EQ(unpinned["key"], third_);
  EXPECT_EQ(unpinned["pinned"], false);
  EXPECT_EQ(json({"gc", "--max-size", "0"})["entries"], 1);
  const auto left = json({"ls"});
  EXPECT_EQ(left["key"], first_);
  EXPECT_EQ(left["pinned"], true);
}

TEST_F(Care, APinOfNothingIsAMissAndTheOthersAreDone) {
  const std::string none(32, '0');
  const auto outcome = care({"pin", none, first_});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr(none));
  EXPECT_EQ(care({"--json", "ls", "--pinned"}).documents().size(), 1u);
  EXPECT_EQ(care({"pin"}).exit_code, 2);
  EXPECT_EQ(care({"unpin", "nonsense"}).exit_code, 1);
  EXPECT_EQ(care({"unpin", ""}).exit_code, 2);
}

TEST_F(Care, WhatMayNotBeChangedIsSaidOnce) {
  fs::permissions(cache(), fs::perms::owner_read | fs::perms::owner_exec);
  const std::vector<std::pair<std::vector<std::string>, std::string>> verbs{
      {{"pin", first_}, ": pinning an entry failed"},
      {{"unpin", first_}, ": unpinning an entry failed"},
      {{"gc", "--max-size", "1K"}, ": collecting failed"},
      {{"clear", "--yes"}, ": clearing failed"}};
  for (const auto& [words, said] : verbs) {
    const auto outcome = run(words, {.no_override = true});
    EXPECT_EQ(outcome.exit_code, 3) << words[0];
    EXPECT_THAT(outcome.err, testing::StartsWith("kiln: error: ")) << words[0];
    EXPECT_THAT(outcome.err, HasSubstr(said));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
  fs::permissions(cache(), fs::perms::owner_all);
}

TEST_F(Care, ClearBeginsAnewWhereTheFileIsDamaged) {
  {
    std::fstream damaged(database(), std::ios::in | std::ios::out | std::ios::binary);
    constexpr int behind_the_header = 4096;
    damaged.seekp(behind_the_header);
    damaged << std::string(fs::file_size(database()) - behind_the_header, '\xff');
  }
  EXPECT_EQ(care({"verify"}).exit_code, 1);
  EXPECT_THAT(care({"ls"}).err, HasSubstr("`kiln clear --yes`"));
  EXPECT_THAT(care({"clear"}).err, HasSubstr("say --yes")) << "as for one that can be read";
  const auto outcome = care({"clear", "--yes"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("is corrupt"), HasSubstr("kiln import")));
  EXPECT_EQ(care({"stats", "--json"}).documents().at(0)["entries"], 0);
  EXPECT_EQ(care({"verify"}).exit_code, 0);
}

// Nobody counted them: they were not asked for by name.
TEST_F(Care, LsCountsNoKernelsOfPtxWithoutNames) {
  const auto source = file(
      "two.cu", "__global__ void a(int* x) { *x = 1; }\n__global__ void b(int* x) { *x = 2; }\n");
  compile({source, "--arch", "sm_80", "--image", "ptx"});
  compile({source, "--arch", "sm_80"});
  const auto listed = care({"ls", "--program", "two*"}).out;
  EXPECT_THAT(listed, ContainsRegex("ptx +- "));
  EXPECT_THAT(listed, ContainsRegex("cubin +2 "));
}

// Relative names are told so, and not that their folder is missing.
TEST_F(Care, WithoutAWorkingDirectoryAsksForAnAbsolutePath) {
  file("two.cu", "__global__ void a(int* x) { *x = 1; }\n");
  file("engine.json",
       R"({"kiln_manifest": 1, "programs": [{"name": "two.cu", "source_file": "two.cu"}]})");
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"extract", first_, "--sources", "s"},
           {"compile-commands", "--sources", "s", "-o", scratch("commands.json").string()},
           {"compile", "../two.cu", "--arch", "sm_80"},
           {"prewarm", "../engine.json", "--arch", "sm_80"},
           {"report", "../none", "-o", scratch("report.html").string()},
           {"export", "some.kiln"}}) {
    const auto outcome = run(words, {.no_folder = true});
    EXPECT_NE(outcome.exit_code, 0) << words[0];
    EXPECT_THAT(outcome.err, HasSubstr("the working directory is gone: name an absolute path"));
  }
}

TEST_F(Care, LsKeepsWhatIsAskedFor) {
  const auto keys = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--json", "ls"});
    std::vector<std::string> found;
    for (const auto& entry : care(words).documents()) found.push_back(entry["key"]);
    return found;
  };
  EXPECT_THAT(keys({"--program", "scale*"}), testing::UnorderedElementsAre(first_, second_));
  EXPECT_THAT(keys({"--program", "*"}), testing::SizeIs(3));
  EXPECT_THAT(keys({"--program", "scale"}), testing::IsEmpty());
  EXPECT_THAT(keys({"--image", "ptx"}), testing::ElementsAre(third_));
  EXPECT_THAT(keys({"--image", "ptx,cubin", "--arch", "sm_90"}), testing::ElementsAre(second_));
  EXPECT_THAT(keys({"--pinned"}), testing::IsEmpty());
}

TEST_F(Care, StatsTellsWhatAllProcessesDid) {
  const auto history = json({"stats"})["history"];
  EXPECT_EQ(history["stores"], 3);
  EXPECT_EQ(history["misses_absent"], 3);
  EXPECT_EQ(history["errors_full"], 0);
  EXPECT_EQ(history["generations"], 0);
  EXPECT_TRUE(history.contains("saved_ms"));
  const auto text = care({"stats"}).out;
  EXPECT_THAT(text, HasSubstr("misses, nothing stored"));
  EXPECT_THAT(text, HasSubstr("compile time saved"));
  EXPECT_THAT(text, Not(HasSubstr("disk full")));
  EXPECT_THAT(care({"stats", "--help"}).out, HasSubstr("at most once a day"));

  EXPECT_EQ(json({"stats", "--reset"})["reset"], true);
  EXPECT_EQ(json({"stats"})["history"]["stores"], 0);
  EXPECT_EQ(json({"stats"})["entries"], 3);
}

TEST_F(Care, StatsTellsTheToolsOwnHitsAtOnce) {
  constexpr auto why = "who is served tells of it at most once a day";
  EXPECT_THAT(care({"stats"}).out, ContainsRegex("hits +not told yet\n"));
  EXPECT_THAT(care({"stats"}).out, HasSubstr(why));
  const auto kept = read(database());
  double saved_ms = 0;
  for (int hit = 0; hit < 5; ++hit) {
    const auto served = compile({source_, "--arch", "sm_80", "--name", "fill"});
    EXPECT_EQ(served["origin"], "local");
    saved_ms += served["compile_ms"].get<double>();
  }
  const auto stats = json({"stats"});
  EXPECT_EQ(stats["history"]["hits_local"], 5);
  EXPECT_NEAR(stats["history"]["saved_ms"].get<double>(), saved_ms, 0.1);
  EXPECT_NEAR(stats["history"]["hit_rate"].get<double>(), 5.0 / 8, 1e-9);
  EXPECT_EQ(stats["max_bytes"], std::uint64_t{5} << 30);
  EXPECT_EQ(read(database()), kept) << "a hit leaves the database as it is";
  const auto text = care({"stats"}).out;
  EXPECT_THAT(text, ContainsRegex("hits +5, 62.5 % of what was asked for\n"));
  EXPECT_THAT(text, HasSubstr("% of the 5.0 GiB that it may grow to"));

  const auto bundle = scratch("all.kiln").string();
  ASSERT_EQ(care({"export", bundle}).exit_code, 0);
  const auto of_bundle = care({"--cache", bundle, "stats"}).out;
  EXPECT_THAT(of_bundle, HasSubstr("entries"));
  EXPECT_THAT(of_bundle, Not(HasSubstr("hits"))) << "a bundle has no history";
}

TEST_F(Care, TablesAreColouredOnATerminalOnly) {
  const std::string bold = "\x1b[1m";
  EXPECT_THAT(care({"config"}).out, Not(HasSubstr(bold)));
  EXPECT_THAT(care({"config"}, {.terminal = true}).out, HasSubstr(bold));
  EXPECT_THAT(care({"config"}, {.environment = {{"NO_COLOR", "1"}}, .terminal = true}).out,
              Not(HasSubstr(bold)));
}

}  // namespace
}  // namespace kiln::tests
