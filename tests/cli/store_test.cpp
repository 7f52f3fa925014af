#include "tool.h"

namespace kiln::tests {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

// A farm with a key and a compiler, a folder that machines share, and pods that have neither.
class Store : public ToolTest {
 protected:
  Store() {
    file("scale.cu", scale_source);
    for (const auto* const arch : {"sm_80", "sm_90"})
      compile({path("scale.cu"), "--arch", arch, "--image", "ptx", "--name", "fill"});
    manifest_ = file("engine.json",
                     R"({"kiln_manifest": 1, "targets": ["sm_90"], "programs": [
                         {"name": "scale.cu", "source_file": "scale.cu", "image": "ptx", "kernels": ["fill"]}]})");
    const auto made =
        run({"key", "generate", "farm-1", "--directory", scratch("").string()}, without_cuda());
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }

  std::string path(const std::string& name) const { return scratch(name).string(); }
  std::string url() const { return "file://" + path("store"); }

  Outcome run_with(const std::map<std::string, std::string>& environment,
                   const std::vector<std::string>& arguments) {
    auto circumstances = without_cuda();
    for (const auto& [name, value] : environment) circumstances.environment[name] = value;
    return run(arguments, circumstances);
  }

  Outcome push(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--json", "push", "--to", url()});
    return run_with({{"KILN_SIGNING_KEY", path("farm-1.key")}}, more);
  }

  Outcome pull(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--json", "pull", "--from", url(), "--cache", path("pod")});
    return run_with({{"KILN_TRUSTED_KEYS", path("farm-1.pub")}}, more);
  }

  std::string manifest_;
};

TEST_F(Store, GivesAPodWhatItsManifestNames) {
  const auto pushed = push({"--sign"});
  ASSERT_EQ(pushed.exit_code, 0) << pushed.err;
  EXPECT_EQ(pushed.documents().at(0)["added"], 2);
  EXPECT_EQ(pushed.documents().at(0)["signed_entries"], 2);
  const auto pulled = pull({manifest_});
  ASSERT_EQ(pulled.exit_code, 0) << pulled.err;
  EXPECT_EQ(pulled.documents().at(0)["added"], 1);
  EXPECT_EQ(pulled.documents().at(0)["missing"], 0);
  const auto listed = run_with({}, {"--json", "ls", "--cache", path("pod")}).documents();
  ASSERT_EQ(listed.size(), 1);
  EXPECT_EQ(listed[0]["arch"], "sm_90");
  EXPECT_EQ(pull({manifest_}).documents().at(0)["present"], 1);
}

TEST_F(Store, SaysWhatItLacks) {
  ASSERT_EQ(push({"--sign"}).exit_code, 0);
  const auto pulled = pull({manifest_, "--arch", "sm_90,sm_100"});
  EXPECT_EQ(pulled.exit_code, 1);
  EXPECT_EQ(pulled.documents().at(0)["added"], 1);
  EXPECT_EQ(pulled.documents().at(0)["missing"], 1);
  const auto pushed = push({manifest_, "--arch", "sm_100"});
  EXPECT_EQ(pushed.exit_code, 1);
  EXPECT_EQ(pushed.documents().at(0)["added"], 0);
  EXPECT_EQ(pushed.documents().at(0)["missing"], 1);
}

TEST_F(Store, NothingUnsignedComesWhereKeysAreTrusted) {
  ASSERT_EQ(push().exit_code, 0);
  const auto pulled = pull();
  EXPECT_EQ(pulled.exit_code, 1);
  EXPECT_EQ(pulled.documents().at(0)["added"], 0);
  EXPECT_EQ(run_with({}, {"pull", "--from", url(), "--cache", path("own")}).exit_code, 0);
}

TEST_F(Store, TellsPeople) {
  const auto pushed = run_with({}, {"push", "--to", url()});
  EXPECT_THAT(pushed.out, AllOf(HasSubstr(url()), HasSubstr("there already")));
  const auto pulled = run_with({}, {"pull", "--from", url(), "--cache", path("pod")});
  EXPECT_THAT(pulled.out, AllOf(HasSubstr(url()), HasSubstr("not in the store")));
  const auto unsigned_ones = run_with({{"KILN_TRUSTED_KEYS", path("farm-1.pub")}},
                                      {"pull", "--from", url(), "--cache", path("wary")});
  EXPECT_EQ(unsigned_ones.exit_code, 1);
  EXPECT_THAT(unsigned_ones.err,
              HasSubstr("what no key in KILN_TRUSTED_KEYS has signed counts as not in"));
  EXPECT_EQ(run_with({}, {"--quiet", "push", "--to", url()}).out, "");
}

TEST_F(Store, SaysWhatNamesNone) {
  for (const auto* const nothing : {"/mnt/kernels", "file://mnt", "ftp://host", ""}) {
    for (const auto& verb : {std::vector<std::string>{"pull", "--from"},
                             {"ls", "--store"},
                             {"gc", "--max-size", "0B", "--store"}}) {
      auto words = verb;
      if (*nothing == '\0' && verb[0] == "pull") continue;  // Which the grammar refuses.
      words.emplace_back(nothing);
      const auto refused = run_with({}, words);
      EXPECT_EQ(refused.exit_code, 2) << verb[0] << ' ' << nothing;
      EXPECT_THAT(refused.err, HasSubstr("file:///")) << verb[0] << ' ' << nothing;
    }
  }
  const auto none = run_with({}, {"pull", "--from", "file://" + path("nowhere")});
  EXPECT_THAT(none.err, AllOf(HasSubstr(path("nowhere")), HasSubstr("kiln push makes one")));
  EXPECT_FALSE(fs::exists(path("nowhere")));
  const auto without = run_with({}, {"push", "--to", url(), "--arch", "sm_90"});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, HasSubstr("--arch"));
}

TEST_F(Store, IsCollected) {
  ASSERT_EQ(push().exit_code, 0);
  const auto all = run_with({}, {"--json", "gc", "--store", url(), "--max-size", "0B"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(all.documents().at(0)["objects"], 4);
  EXPECT_THAT(run_with({}, {"gc", "--store", url(), "--older-than", "30d"}).out,
              HasSubstr("removed 0 objects"));
  const auto unsaid = run_with({}, {"gc", "--store", url()});
  EXPECT_EQ(unsaid.exit_code, 2);
  EXPECT_THAT(unsaid.err, HasSubstr("--max-size"));
}

// The times of files tell gc what is used.
TEST_F(Store, IsNotChangedByWhoMayOnlyRead) {
  ASSERT_EQ(push().exit_code, 0);
  const auto state = [&] {
    std::map<std::string, fs::file_time_type> times;
    for (const auto& each : fs::recursive_directory_iterator(path("store")))
      times[each.path()] = each.last_write_time();
    return times;
  };
  for (const auto& [file, time] : state())
    fs::last_write_time(file, time - std::chrono::hours(24 * 40));
  const auto before = state();
  const auto read_only = url() + "?read-only";
  const auto refused = run_with({}, {"gc", "--store", read_only, "--max-size", "0B"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("named read-only"));
  EXPECT_EQ(run_with({}, {"gc", "--store", read_only, "--max-size", "0B", "--dry-run"}).exit_code,
            0);
  EXPECT_EQ(run_with({}, {"--json", "ls", "--store", url()}).documents().size(), 2);
  EXPECT_EQ(run_with({}, {"pull", "--from", read_only, "--cache", path("pod")}).exit_code, 0);
  run_with({{"KILN_REMOTE", url()}}, {"doctor"});
  EXPECT_EQ(state(), before);
  EXPECT_EQ(run_with({}, {"pull", "--from", url(), "--cache", path("other")}).exit_code, 0);
  EXPECT_NE(state(), before) << "pull uses what it reads";
}

TEST_F(Store, IsTheFirstOfTheSettingWhereNoneIsNamed) {
  const std::map<std::string, std::string> several{
      {"KILN_REMOTE", "  " + url() + " file:///nonexistent/kernels"}};
  const auto pushed = run_with(several, {"--json", "push"});
  ASSERT_EQ(pushed.exit_code, 0) << pushed.err;
  EXPECT_EQ(pushed.documents().at(0)["store"], url());
  EXPECT_EQ(pushed.documents().at(0)["added"], 2);
  const auto pulled = run_with(several, {"--json", "pull", "--cache", path("pod")});
  EXPECT_EQ(pulled.documents().at(0)["added"], 2) << pulled.err;
  EXPECT_EQ(run_with(several, {"--json", "ls", "--store"}).documents().size(), 2);
  EXPECT_EQ(
      run_with(several, {"--json", "--cache", path("nowhere"), "ls", "--store", "--limit", "1"})
          .documents()
          .size(),
      1);
  const auto collected =
      run_with(several, {"--json", "gc", "--store", "--older-than", "30d"}).documents();
  EXPECT_EQ(collected.at(0)["store"], url());
  for (const auto* const verb : {"push", "pull"}) {
    const auto unnamed = run_with({}, {verb});
    EXPECT_EQ(unnamed.exit_code, 2);
    EXPECT_THAT(unnamed.err, HasSubstr("KILN_REMOTE"));
  }
}

TEST_F(Store, MayHaveASpaceInItsName) {
  const auto place = "file://" + path("a store");
  const auto pushed = run_with({}, {"--json", "push", "--to", place});
  ASSERT_EQ(pushed.exit_code, 0) << pushed.err;
  EXPECT_TRUE(fs::exists(path("a store")));
  // As KILN_REMOTE would have it.
  const auto shown = pushed.documents().at(0)["store"].get<std::string>();
  EXPECT_EQ(shown, "file://" + path("a%20store"));
  EXPECT_EQ(run_with({{"KILN_REMOTE", shown}}, {"--json", "ls", "--store"}).documents().size(), 2);
}

// Nothing listens on the port 1.
TEST_F(Store, NobodyReadsAPassword) {
  const std::string server = "redis://farm:s3cret@127.0.0.1:1";
  const std::map<std::string, std::string> by_setting{{"KILN_REMOTE", server}};
  const std::vector<std::vector<std::string>> lines{
      {"push", "--to", server},
      {"pull", "--from", server},
      {"push"},
      {"pull"},
      {"ls", "--store", server},
      {"ls", "--store"},
      {"gc", "--store", "--max-size", "0B"},
      {"doctor"},
      {"doctor", "--verbose"},
      {"stats"},
      {"stats", "--openmetrics", "-"},
      {"config"},
      {"config", "get", "KILN_REMOTE"},
      {"config", "set", "KILN_REMOTE", server},
      {"config", "set", "KILN_REMOTE", server + "?x"},
      {"compile", path("scale.cu"), "--arch", "sm_75"}};
  for (const auto& line : lines) {
    for (const bool json : {false, true}) {
      if (json && line.back() == "-") continue;
      auto words = line;
      if (json) words.insert(words.begin(), "--json");
      const auto outcome = run_with(by_setting, words);
      EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("s3cret"))) << line[0];
      if (line[0] == "push") {
        EXPECT_THAT(outcome.err, HasSubstr("127.0.0.1:1"));
        EXPECT_EQ(outcome.exit_code, 3);
      }
    }
  }
  EXPECT_EQ(run_with(by_setting, {"config", "get", "KILN_REMOTE"}).out, "redis://127.0.0.1:1\n");
}

TEST_F(Store, OfAServerIsNotCollected) {
  const auto refused =
      run_with({}, {"gc", "--store", "redis://127.0.0.1:1", "--older-than", "30d"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("a server removes by its own rules"));
}

TEST_F(Store, IsListed) {
  ASSERT_EQ(push({"--sign"}).exit_code, 0);
  const auto listed = run_with({}, {"--json", "ls", "--store", url(), "--reverse"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  const auto there = listed.documents();
  const auto here = run_with({}, {"--json", "ls", "--reverse"}).documents();
  ASSERT_EQ(there.size(), 2);
  ASSERT_EQ(here.size(), 2);
  for (std::size_t at = 0; at < here.size(); ++at) {
    for (const auto* const same : {"key", "program", "engine", "arch", "image", "kernels", "bytes",
                                   "compile_ms", "toolchain"})
      EXPECT_EQ(there[at][same], here[at][same]) << same;
    EXPECT_EQ(there[at]["signers"], nlohmann::json{"farm-1"});
    EXPECT_GT(there[at]["object_bytes"], here[at]["stored_bytes"]);
    EXPECT_EQ(there[at]["request"].get<std::string>().size(), 32);
  }
  const auto told = run_with({}, {"ls", "--store", url()}).out;
  EXPECT_THAT(told, AllOf(HasSubstr("SIGNED BY"), HasSubstr("farm-1"), HasSubstr("2 entries")));
}

TEST_F(Store, IsListedInPart) {
  ASSERT_EQ(push().exit_code, 0);
  const auto count = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--json", "ls", "--store", url()});
    return run_with({}, words).documents().size();
  };
  EXPECT_EQ(count({"--arch", "sm_90"}), 1);
  EXPECT_EQ(count({"--program", "scale*"}), 2);
  EXPECT_EQ(count({"--program", "gemm*"}), 0);
  EXPECT_EQ(count({"--image", "cubin"}), 0);
  EXPECT_EQ(count({"--engine", "acme*"}), 0);
  EXPECT_EQ(count({"--limit", "1"}), 1);
  EXPECT_THAT(run_with({}, {"ls", "--store", url(), "--limit", "1"}).out, HasSubstr("1 entry, "));
  EXPECT_THAT(run_with({}, {"ls", "--store", url(), "--image", "cubin"}).out,
              HasSubstr("none of the entries fits (2 in all)"));
  EXPECT_THAT(run_with({{"KILN_TRUSTED_KEYS", path("farm-1.pub")}}, {"ls", "--store", url()}).out,
              AllOf(HasSubstr("nothing that serves here"),
                    HasSubstr("no key in KILN_TRUSTED_KEYS has signed")))
      << "nobody has signed anything";
  for (const auto& words :
       {std::vector<std::string>{"--kernel", "f"}, {"--age", "2h"}, {"--pinned"}}) {
    auto line = words;
    line.insert(line.begin(), {"ls", "--store", url()});
    const auto refused = run_with({}, line);
    EXPECT_EQ(refused.exit_code, 2) << words[0];
    EXPECT_THAT(refused.err, HasSubstr(words[0] + " is not for --store")) << words[0];
  }
}

// One machine after the other: each has a cache of its own, and the same store.
TEST_F(Store, ServesWhatOthersCompiled) {
  const std::map<std::string, std::string> fleet{{"KILN_REMOTE", url()}};
  ASSERT_EQ(push().exit_code, 0);
  const auto ask = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--json", "--cache", path("second")});
    return run(words, {.environment = fleet});
  };
  const std::vector<std::string> program{path("scale.cu"), "--arch", "sm_80", "--image", "ptx",
                                         "--name",         "fill"};
  auto explain = program;
  explain.insert(explain.begin(), "explain");
  const auto explained = ask(explain);
  EXPECT_EQ(explained.exit_code, 1) << "it is not here";
  EXPECT_EQ(explained.documents().at(0)["remotes"][0]["url"], url());
  EXPECT_EQ(explained.documents().at(0)["remotes"][0]["entries"], 1);
  EXPECT_THAT(
      run(explain, {.environment = {{"KILN_REMOTE", url()}, {"KILN_CACHE_DIR", path("second")}}})
          .out,
      HasSubstr(url() + ": 1 entry for this request"));
  auto compile = program;
  compile.insert(compile.begin(), "compile");
  const auto served = ask(compile);
  ASSERT_EQ(served.exit_code, 0) << served.err;
  EXPECT_EQ(served.documents().at(0)["origin"], "remote");
  const auto warmed = ask({"prewarm", manifest_}).documents();
  EXPECT_EQ(warmed.at(1)["origin"], "remote");
  EXPECT_EQ(warmed.back()["hits"], 1);
  EXPECT_EQ(warmed.back()["remote_hits"], 1);
  EXPECT_EQ(warmed.back()["compiled"], 0);
  EXPECT_THAT(run({"prewarm", manifest_, "--cache", path("third")}, {.environment = fleet}).out,
              HasSubstr("0 compiled, 0 before, 0 failed, 1 from shared stores"));
  EXPECT_EQ(run({"--json", "ls", "--cache", path("third")}).documents().size(), 1)
      << "prewarm ends when all is there";
  // The history waits for nobody: what kiln-remote admits at that moment may cost it one of the two.
  EXPECT_GE(ask({"stats"}).documents().at(0)["history"]["hits_remote"], 1);
  EXPECT_THAT(
      run({"stats", "--cache", path("second")}, {.environment = fleet}).out,
      AllOf(ContainsRegex("shared store +file://"), ContainsRegex("answered last in +[0-9]")));
}

TEST_F(Store, ChangesNothingInTheCacheItComesFrom) {
  const auto before = snapshot(cache());
  ASSERT_EQ(push({"--sign"}).exit_code, 0);
  EXPECT_EQ(snapshot(cache()), before);
}

}  // namespace
}  // namespace kiln::tests
