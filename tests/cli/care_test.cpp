#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;
namespace fs = std::filesystem;

// What looks after a cache, run where there is no CUDA.
class Care : public ToolTest {
 protected:
  Care() {
    first_ = compile({source_, "--arch", "sm_80", "--name", "fill"})["key"];
    second_ = compile({source_, "--arch", "sm_90", "--name", "fill"})["key"];
    third_ = compile({file("another.cu", scale_source), "--arch", "sm_80", "--image", "ptx",
                      "--name", "fill"})["key"];
  }

  Outcome care(const std::vector<std::string>& arguments, Circumstances more = {}) const {
    auto circumstances = without_cuda();
    circumstances.environment.merge(more.environment);
    circumstances.input = more.input;
    circumstances.terminal = more.terminal;
    return run(arguments, circumstances);
  }

  Json json(std::vector<std::string> arguments, int exit_code = 0) const {
    arguments.insert(arguments.begin(), "--json");
    const auto outcome = care(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out << outcome.err;
    const auto documents = outcome.documents();
    EXPECT_FALSE(documents.empty());
    return documents.empty() ? Json() : documents.back();
  }

  [[nodiscard]] std::size_t entries() const { return care({"--json", "ls"}).documents().size(); }

  /// Damages the payload of some entry, wherever it lies: a frame begins with "kilF".
  void damage_all_frames() const {
    auto bytes = read(database());
    for (auto at = bytes.find("kilF"); at != std::string::npos; at = bytes.find("kilF", at + 1)) {
      bytes[at + 30] ^= 1;
    }
    file("cache/kernels.v1.db", bytes);
  }

  std::string source_ = file("scale.cu", scale_source);
  std::string first_;
  std::string second_;
  std::string third_;
};

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

TEST_F(Care, ConfigTellsWhereEachSettingComesFrom) {
  const auto outcome = care({"config"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, testing::StartsWith("SETTING"));
  EXPECT_THAT(outcome.out, HasSubstr(cache().string()));
  std::map<std::string, Json> settings;
  for (const auto& line :
       care({"--json", "config", "--cache", scratch("x").string()}).documents()) {
    settings[line["variable"]] = line;
  }
  EXPECT_EQ(settings["KILN_CACHE_DIR"]["value"], scratch("x").string());
  EXPECT_EQ(settings["KILN_CACHE_DIR"]["origin"], "option");
  EXPECT_EQ(settings["KILN_NVRTC"]["origin"], "environment");
  EXPECT_EQ(settings["KILN_CACHE_READONLY"]["origin"], "default");
  EXPECT_FALSE(fs::exists(scratch("x")));
}

TEST_F(Care, ConfigSetsGetsAndForgets) {
  const auto path = scratch(".config/kiln/config");
  EXPECT_EQ(care({"config", "get", "KILN_LOG"}).out, "warn\n");
  const auto set = care({"config", "set", "KILN_LOG", "info"});
  EXPECT_EQ(set.exit_code, 0) << set.err;
  EXPECT_EQ(set.out, "KILN_LOG is set in " + path.string() + "\n");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0600));
  EXPECT_EQ(care({"config", "get", "KILN_LOG"}).out, "info\n");
  EXPECT_EQ(json({"config", "get", "KILN_LOG"})["origin"], path.string());
  EXPECT_EQ(care({"config", "get", "KILN_LOG"}, {.environment = {{"KILN_LOG", "off"}}}).out,
            "off\n");

  file(".config/kiln/config", "# mine\n KILN_LOG = info\nKILN_LOG=off\nKILN_MODE=warn");
  EXPECT_EQ(care({"config", "set", "KILN_LOG=debug"}).exit_code, 0);
  EXPECT_EQ(read(path), "# mine\nKILN_LOG=debug\nKILN_MODE=warn\n");
  EXPECT_THAT(care({"config", "unset", "KILN_LOG"}).out, HasSubstr("is no longer set in"));
  EXPECT_THAT(care({"config", "unset", "KILN_LOG"}).out, HasSubstr("was not set in"));
  EXPECT_EQ(read(path), "# mine\nKILN_MODE=warn\n");
  EXPECT_EQ(care({"config", "get", "KILN_LOG"}).out, "warn\n");
}

TEST_F(Care, ConfigTakesNoNonsense) {
  const auto refused = [&](const std::vector<std::string>& words, const std::string& what) {
    const auto outcome = care(words);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(what));
    EXPECT_FALSE(fs::exists(scratch(".config")));
  };
  refused({"config", "set", "KILN_LOG", "loud"}, "KILN_LOG: 'loud' is not a log level");
  refused({"config", "set", "KILN_LGO", "info"}, "did you mean KILN_LOG?");
  refused({"config", "set", "KILN_LOG"}, "say to what");
  refused({"config", "set"}, "name a setting");
  refused({"config", "get", "KILN_LOG", "info"}, "'info' is one word too many");
  refused({"config", "put", "KILN_LOG", "info"}, "put");
  refused({"config", "set", "KILN_VARIANT", "a\nKILN_LOG=off"}, "a value is one line");
  refused({"config", "set", "KILN_VARIANT", ""}, "says nothing");
  refused({"config", "set", "KILN_VARIANT", "a "}, "ends with a space");
  refused({"config", "set", "KILN_VARIANT", std::string(5000, 'a')}, "4,096 characters");
  refused({"--cache", scratch("x").string(), "config", "set", "KILN_CACHE_DIR", "relative"},
          "KILN_CACHE_DIR: 'relative' is not an absolute path");
}

TEST_F(Care, ConfigUnsetMendsAFile) {
  const auto path = scratch(".config/kiln/config");
  file(".config/kiln/config", "KILN_MODE=garbage\nKILN_LGO=info\n\rKILN_LOG=off\n");
  EXPECT_EQ(care({"ls"}).exit_code, 2);
  for (const auto* name : {"KILN_MODE", "KILN_LGO", "KILN_LOG"}) {
    EXPECT_EQ(care({"config", "unset", name}).exit_code, 0) << name;
  }
  EXPECT_EQ(read(path), "");
  EXPECT_EQ(care({"ls"}).exit_code, 0);
}

// Or nothing that is set there would be, and nobody had said so.
TEST_F(Care, ConfigSaysWhatElseIsWrongWithTheFile) {
  const auto path = scratch(".config/kiln/config");
  file(".config/kiln/config", "nonsense\n");
  const auto set = care({"config", "set", "KILN_MODE", "warn"});
  EXPECT_EQ(set.exit_code, 2);
  EXPECT_THAT(set.err, HasSubstr("nonsense"));
  EXPECT_EQ(read(path), "nonsense\nKILN_MODE=warn\n") << "which may be what mends it";
  fs::rename(path, scratch("elsewhere"));
  fs::create_symlink(scratch("elsewhere"), path);
  const auto through = care({"config", "set", "KILN_MODE", "jit"});
  EXPECT_EQ(through.exit_code, 2);
  EXPECT_THAT(through.err, HasSubstr("is a symbolic link"));
  EXPECT_EQ(read(scratch("elsewhere")), "nonsense\nKILN_MODE=warn\n");
}

TEST_F(Care, ConfigSetsOneAfterTheOther) {
  const std::vector<std::string> names{"KILN_LOG", "KILN_MODE", "KILN_VARIANT", "KILN_TOOLCHAINS"};
  const std::vector<std::string> values{"info", "warn", "a", "any"};
  std::vector<pid_t> running;
  for (std::size_t at = 0; at < names.size(); ++at)
    running.push_back(
        start({"config", "set", names[at], values[at]}, names[at] + ".out", names[at] + ".err"));
  for (const auto process : running) {
    int status = -1;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0);
  }
  for (std::size_t at = 0; at < names.size(); ++at)
    EXPECT_EQ(care({"config", "get", names[at]}).out, values[at] + "\n");
}

TEST_F(Care, AFileOfSettingsIsReadByEachVerb) {
  file(".config/kiln/config", "KILN_CACHE_MAX_SIZE=1G\nKILN_LGO=info\n");
  EXPECT_EQ(json({"stats"})["max_bytes"], std::uint64_t{1} << 30);
  const auto slip = json({"doctor"}, care({"doctor"}).exit_code)["unknown_variables"][0];
  EXPECT_EQ(slip["variable"], "KILN_LGO");
  EXPECT_EQ(slip["meant"], "KILN_LOG");
  EXPECT_EQ(slip["file"], scratch(".config/kiln/config").string());
  file(".config/kiln/config", "KILN_CACHE_MAX_SIZE=much\n");
  const auto wrong = care({"ls"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("KILN_CACHE_MAX_SIZE: 'much' is not a size"));
  EXPECT_THAT(wrong.err, HasSubstr("(in " + scratch(".config/kiln/config").string() + ")"));
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
