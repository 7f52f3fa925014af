#include <algorithm>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;
namespace fs = std::filesystem;

class Doctor : public ToolTest {
 protected:
  Json examine(int exit_code, const Circumstances& circumstances = {}) {
    const auto outcome = run({"--json", "doctor"}, circumstances);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out << outcome.err;
    return outcome.documents().at(0);
  }
};

TEST_F(Doctor, IsContentWithAFreshMachineThatCanCompile) {
  const auto findings = examine(0);
  EXPECT_EQ(findings["version"], KILN_VERSION);
  EXPECT_EQ(findings["can_serve"]["yes"], true);
  EXPECT_EQ(findings["can_compile"]["yes"], true);
  EXPECT_THAT(findings["compiler"]["description"].get<std::string>(), HasSubstr("NVRTC"));
  EXPECT_EQ(findings["cache"]["directory"], cache().string());
  EXPECT_EQ(findings["cache"]["kept_in"], cache().string());
  EXPECT_FALSE(fs::exists(cache())) << "doctor makes nothing";
}

TEST_F(Doctor, CountsWhatTheCacheHolds) {
  compile({file("scale.cu", scale_source), "--arch", "sm_80", "--name", "fill"});
  const auto before = snapshot(cache());
  const auto findings = examine(0);
  EXPECT_EQ(findings["cache"]["entries"], 1);
  EXPECT_EQ(findings["cache"]["usable"], true);
  EXPECT_THAT(findings["cache"]["reason"].get<std::string>(), HasSubstr("1 entry in "));
  EXPECT_THAT(findings["cache"]["rights"].get<std::string>(),
              testing::StartsWith("0700, owned by user "));
  EXPECT_THAT(findings["cache"]["rights"].get<std::string>(),
              testing::EndsWith(", who alone may write"));
  EXPECT_GT(findings["cache"]["free_bytes"], 0);
  EXPECT_NE(findings["cache"]["file_system"], "unknown");
  EXPECT_EQ(snapshot(cache()), before);
}

TEST_F(Doctor, TellsWhatTheCompilerComesWith) {
  const auto details = examine(0)["compiler"]["details"].get<std::vector<std::string>>();
  EXPECT_THAT(details, testing::Contains(HasSubstr("libnvrtc-builtins.so.")));
  EXPECT_THAT(details, testing::Contains(testing::StartsWith("headers of CUDA: /")));
  EXPECT_THAT(details, testing::Contains(HasSubstr("libnvrtc.so.13 (")));
}

TEST_F(Doctor, NamesTheWorkerFoundOrNot) {
  const auto found = examine(0);
  EXPECT_EQ(found["has_workers"]["yes"], true);
  EXPECT_THAT(found["worker"]["path"].get<std::string>(), testing::EndsWith("/kiln-worker"));
  const auto missing = examine(0, {.environment = {{"KILN_WORKER", "/nonexistent/kiln-worker"}}});
  EXPECT_EQ(missing["has_workers"]["yes"], false);
  EXPECT_THAT(missing["worker"]["reason"].get<std::string>(),
              HasSubstr("/nonexistent/kiln-worker"));
  const auto unwanted = examine(0, {.environment = {{"KILN_COMPILE_WORKERS", "0"}}});
  EXPECT_THAT(unwanted["has_workers"]["reason"].get<std::string>(),
              HasSubstr("KILN_COMPILE_WORKERS"));
  EXPECT_THAT(run({"doctor"}).out, testing::ContainsRegex("has workers +yes: up to"));
}

TEST_F(Doctor, ServesFromBundlesWhereNothingCanBeKept) {
  compile({file("scale.cu", scale_source), "--arch", "sm_80", "--name", "fill"});
  const auto bundle = scratch("engine.kiln").string();
  ASSERT_EQ(run({"export", bundle}).exit_code, 0);
  const auto findings =
      examine(0, {.environment = {{"KILN_CACHE_DISABLE", "1"}, {"KILN_BUNDLES", bundle}}});
  EXPECT_EQ(findings["can_serve"]["yes"], true);
  EXPECT_THAT(findings["can_serve"]["reason"].get<std::string>(), HasSubstr("from bundles alone"));
  EXPECT_THAT(examine(0, {.environment = {{"KILN_BUNDLES", bundle}}})["can_serve"]["reason"]
                  .get<std::string>(),
              testing::StartsWith("1 entry in " + bundle + "; the cache: "));
  EXPECT_EQ(findings["bundles"][0]["file"], bundle);
  EXPECT_EQ(findings["bundles"][0]["reason"], "1 entry");
  const auto missing = examine(1, {.environment = {{"KILN_BUNDLES", "/nonexistent/engine.kiln"}}});
  EXPECT_EQ(missing["can_serve"]["yes"], true) << "from the cache";
  EXPECT_THAT(
      missing["can_serve"]["reason"].get<std::string>(),
      testing::ContainsRegex("^the cache: 1 entry .*; not mounted: .*/nonexistent/engine.kiln"));
  const auto folder = fs::path(bundle).parent_path().string();
  EXPECT_EQ(examine(1, {.environment = {{"KILN_BUNDLES", folder}}})["bundles"][0]["reason"],
            "bundle '" + folder + "' is a folder; name a file that `kiln export` wrote");
  const auto told =
      run({"doctor"}, {.environment = {{"KILN_BUNDLES", "/nonexistent/engine.kiln"}}});
  EXPECT_EQ(told.exit_code, 1);
  EXPECT_THAT(told.out,
              HasSubstr("not every bundle that is named can be used, so the exit code is 1"));
  const auto nothing = examine(1, {.environment = {{"KILN_CACHE_DISABLE", "1"},
                                                   {"KILN_BUNDLES", "/nonexistent/engine.kiln"}}});
  EXPECT_EQ(nothing["can_serve"]["yes"], false);
}

TEST_F(Doctor, TellsOfStoresThatMachinesShare) {
  const auto store = "file://" + scratch("store").string();
  ASSERT_EQ(run({"push", "--to", store}).exit_code, 3) << "there is no cache to push from";
  const auto alone = examine(0);
  EXPECT_EQ(alone["remotes"], Json::array());
  EXPECT_EQ(alone["can_share"]["yes"], false);
  EXPECT_THAT(alone["can_share"]["reason"].get<std::string>(), HasSubstr("KILN_REMOTE"));
  EXPECT_THAT(alone["remote_helper"]["path"].get<std::string>(), testing::EndsWith("/kiln-remote"));

  const std::map<std::string, std::string> fleet{{"KILN_REMOTE", store + "?read-only " + store}};
  // As the first push makes one.
  fs::create_directories(scratch("store/kiln-store.v1/objects"));
  fs::create_directories(scratch("store/kiln-store.v1/requests"));
  const auto findings = examine(0, {.environment = fleet});
  const auto& remotes = findings["remotes"];
  ASSERT_EQ(remotes.size(), 2);
  EXPECT_EQ(remotes[1]["url"], store);
  EXPECT_EQ(remotes[1]["usable"], true) << remotes[1]["reason"];
  EXPECT_EQ(remotes[0]["read_only"], true);
  EXPECT_EQ(remotes[1]["read_only"], false);
  EXPECT_EQ(remotes[1]["signed_only"], false);
  EXPECT_GT(remotes[1]["round_trip_ms"], 0);
  EXPECT_EQ(findings["can_share"]["yes"], true);
  const auto told = run({"doctor"}, {.environment = fleet}).out;
  EXPECT_THAT(told, HasSubstr(store + ": answers in "));
  EXPECT_THAT(told, HasSubstr(", only read; serves without signatures (KILN_TRUSTED_KEYS)"));
  EXPECT_THAT(told, HasSubstr(", read and written"));
}

TEST_F(Doctor, TellsOfAStoreThatIsYetToBeMade) {
  const auto store = "file://" + scratch("store").string();
  const auto yet = examine(0, {.environment = {{"KILN_REMOTE", store}}})["remotes"][0];
  EXPECT_EQ(yet["usable"], true);
  EXPECT_THAT(yet["reason"].get<std::string>(), HasSubstr("is made when the first kernel"));
  const auto nowhere =
      examine(0, {.environment = {{"KILN_REMOTE", store + "/in/none"}}})["remotes"][0];
  EXPECT_EQ(nowhere["usable"], false) << "what it is to lie in may not be mounted";
  EXPECT_THAT(nowhere["reason"].get<std::string>(), HasSubstr("mount it"));
  const auto unmade = examine(
      1, {.environment = {{"KILN_REMOTE", store}, {"KILN_CACHE_READONLY", "1"}}})["remotes"][0];
  EXPECT_EQ(unmade["usable"], false) << "who writes no cache makes none";
  EXPECT_EQ(unmade["read_only"], true);
}

TEST_F(Doctor, TellsWhyAStoreIsNotAsked) {
  const auto down = examine(0, {.environment = {{"KILN_REMOTE", "redis://127.0.0.1:1"}}});
  EXPECT_EQ(down["remotes"][0]["usable"], false);
  EXPECT_NE(down["remotes"][0]["reason"], "");
  EXPECT_EQ(down["remotes"][0]["round_trip_ms"], Json());
  EXPECT_EQ(down["can_share"]["yes"], false) << "and the machine is well all the same";
  const auto without =
      examine(0, {.environment = {{"KILN_REMOTE", "redis://127.0.0.1:2"},
                                  {"KILN_REMOTE_HELPER", "/nonexistent/kiln-remote"}}});
  EXPECT_EQ(without["remote_helper"]["available"], false);
  EXPECT_THAT(without["remote_helper"]["reason"].get<std::string>(),
              HasSubstr("/nonexistent/kiln-remote"));
  EXPECT_THAT(without["can_share"]["reason"].get<std::string>(), HasSubstr("KILN_REMOTE_HELPER"));
  EXPECT_EQ(without["remotes"][0]["usable"], false);
  EXPECT_EQ(without["remotes"][0]["gives_leases"], Json());
}

TEST_F(Doctor, TellsWhatIsMissingAndWhy) {
  const auto findings = examine(1, without_cuda());
  EXPECT_EQ(findings["can_compile"]["yes"], false);
  EXPECT_THAT(findings["can_compile"]["reason"].get<std::string>(),
              HasSubstr("/nonexistent/libnvrtc.so"));
  EXPECT_EQ(findings["can_link"]["yes"], false);
  EXPECT_EQ(findings["can_pack"]["yes"], false);
  EXPECT_EQ(findings["can_launch"]["yes"], false);
  EXPECT_THAT(findings["can_launch"]["reason"].get<std::string>(),
              HasSubstr("/nonexistent/libcuda.so.1"));
}

TEST_F(Doctor, AsksForNoCompilerWhereNothingIsToBeCompiled) {
  auto circumstances = without_cuda();
  circumstances.environment["KILN_MODE"] = "cache-only";
  EXPECT_THAT(examine(1, circumstances)["can_serve"]["reason"].get<std::string>(),
              HasSubstr("nothing is kept yet, and nothing is compiled (KILN_MODE)"));
  compile({file("scale.cu", scale_source), "--arch", "sm_80", "--name", "fill"});
  EXPECT_EQ(examine(0, circumstances)["can_serve"]["yes"], true);
}

TEST_F(Doctor, CannotServeFromADisabledCache) {
  const auto findings = examine(1, {.environment = {{"KILN_CACHE_DISABLE", "1"}}});
  EXPECT_THAT(findings["can_serve"]["reason"].get<std::string>(), HasSubstr("KILN_CACHE_DISABLE"));
}

TEST_F(Doctor, SaysWhereNothingMoreCanBeKept) {
  compile({file("scale.cu", scale_source), "--arch", "sm_80", "--name", "fill"});
  fs::permissions(cache(), fs::perms::owner_read | fs::perms::owner_exec);
  const auto findings = examine(0, {.no_override = true});
  fs::permissions(cache(), fs::perms::owner_all);
  EXPECT_THAT(findings["can_serve"]["reason"].get<std::string>(),
              HasSubstr("; nothing more can be kept: Permission denied"));
}

TEST_F(Doctor, CannotServeWhatCannotBeMade) {
  fs::create_directory(scratch("closed"));
  fs::permissions(scratch("closed"), fs::perms::owner_read | fs::perms::owner_exec);
  const auto findings = examine(
      1,
      {.environment = {{"KILN_CACHE_DIR", scratch("closed/cache").string()}}, .no_override = true});
  EXPECT_THAT(findings["can_serve"]["reason"].get<std::string>(), HasSubstr("not writable"));
}

TEST_F(Doctor, TellsWhereEachSettingComesFrom) {
  const auto findings = examine(0, {.environment = {{"KILN_LOG", "debug"}}});
  std::map<std::string, Json> settings;
  for (const auto& setting : findings["settings"]) settings[setting["variable"]] = setting;
  EXPECT_EQ(settings["KILN_LOG"]["value"], "debug");
  EXPECT_EQ(settings["KILN_LOG"]["origin"], "environment");
  EXPECT_EQ(settings["KILN_CACHE_DIR"]["value"], cache().string());
  EXPECT_EQ(settings["KILN_CACHE_READONLY"]["origin"], "default");
}

TEST_F(Doctor, SpeaksToPeopleInThreeVerdicts) {
  const auto outcome = run({"doctor"}, without_cuda());
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, testing::ContainsRegex("can serve +yes: "));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("can compile +no: "));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("can launch +no: "));
  EXPECT_THAT(outcome.out, HasSubstr("KILN_NVRTC"));
  EXPECT_THAT(outcome.out, HasSubstr("there is no file /nonexistent/libcuda.so.1"));
  EXPECT_THAT(outcome.out, HasSubstr("so the exit code is 1\n"));
  EXPECT_THAT(run({"doctor"}).out, Not(HasSubstr("exit code")));
}

TEST_F(Doctor, SaysNothingTwiceAndAnnouncesNoListThatItLeavesOut) {
  const auto brief = run({"doctor"}, without_cuda()).out;
  EXPECT_THAT(brief, Not(HasSubstr("Looked at")));
  EXPECT_THAT(brief, Not(testing::ContainsRegex("CUDA driver +CUDA driver")));
  EXPECT_THAT(run({"doctor", "--verbose"}, without_cuda()).out, HasSubstr("Looked at:\n"));
}

TEST_F(Doctor, TellsWhereItLookedAndEachSettingWhereAskedTo) {
  const auto brief = run({"doctor"}, {.environment = {{"KILN_LOG", "off"}}}).out;
  EXPECT_THAT(brief, HasSubstr("KILN_LOG        off"));
  EXPECT_THAT(brief, HasSubstr("the others are the defaults"));
  EXPECT_THAT(brief, Not(HasSubstr("KILN_MODE")));
  EXPECT_THAT(brief, Not(HasSubstr("headers of CUDA")));
  // A screen, but for a line of each setting that somebody has set.
  EXPECT_LE(std::count(brief.begin(), brief.end(), '\n'), 30);
  const auto whole = run({"doctor", "--verbose"}).out;
  EXPECT_THAT(whole, HasSubstr("KILN_MODE"));
  EXPECT_THAT(whole, HasSubstr("headers of CUDA: /"));
}

TEST_F(Doctor, NamesVariablesThatAreNoSettings) {
  const Circumstances slip{.environment = {{"KILN_NVTRC", "/x"}, {"KILN_FROBNICATE", "1"}}};
  const auto unknown = examine(0, slip)["unknown_variables"];
  const auto listed = [&](const Json& one) {
    return std::find(unknown.begin(), unknown.end(), one) != unknown.end();
  };
  EXPECT_TRUE(listed({{"variable", "KILN_NVTRC"}, {"meant", "KILN_NVRTC"}, {"file", nullptr}}))
      << unknown;
  EXPECT_TRUE(listed({{"variable", "KILN_FROBNICATE"}, {"meant", nullptr}, {"file", nullptr}}))
      << unknown;
  EXPECT_THAT(run({"doctor"}, slip).out, HasSubstr("KILN_NVTRC: did you mean KILN_NVRTC?"));
  const auto compiled =
      run({"compile", file("scale.cu", scale_source), "--arch", "sm_80", "--name", "fill"}, slip);
  EXPECT_EQ(compiled.exit_code, 0);
  EXPECT_EQ(compiled.err, "kiln: warning: KILN_NVTRC is no setting; did you mean KILN_NVRTC?\n");
}

}  // namespace
}  // namespace kiln::tests
