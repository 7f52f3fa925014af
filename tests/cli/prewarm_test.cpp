#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <random>
#include <thread>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;
using namespace std::chrono_literals;

Json plain(int number) {
  const auto text = std::to_string(number);
  return {{"name", "p" + text + ".cu"},
          {"source", "extern \"C\" __global__ void k(int* x) { *x = " + text + "; }"},
          {"kernels", {"k"}}};
}

class Prewarm : public ToolTest {
 protected:
  std::string manifest(const std::vector<Json>& programs) const {
    const Json text{{"kiln_manifest", 1}, {"targets", {"sm_80"}}, {"programs", programs}};
    return file("engine.json", text.dump());
  }

  std::string many(int count) const {
    std::vector<Json> programs;
    for (int number = 0; number < count; ++number) programs.push_back(plain(number));
    return manifest(programs);
  }

  std::size_t entries() const { return run({"--json", "ls"}).documents().size(); }

  // Prewarms to the end, and gives the last document.
  Json finish(const std::string& manifest) const {
    const auto outcome = run({"--json", "prewarm", manifest});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto documents = outcome.documents();
    return documents.empty() ? Json() : documents.back();
  }

  // Starts a prewarm, and waits until it has done so many.
  pid_t start_and_wait(const std::string& manifest, std::size_t done) const {
    const auto child = start({"--json", "prewarm", manifest}, "events", "errors");
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < until) {
      const auto text = read(scratch("events"));
      if (static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) > done) break;
      std::this_thread::sleep_for(1ms);
    }
    return child;
  }
};

using PrewarmFault = Prewarm;

TEST_F(Prewarm, HasEverythingInTheCacheAndGoesOnWhereItWas) {
  file("kernels/scale.cu", std::string("#include <engine/unit.cuh>\n") + scale_source);
  file("device/engine/unit.cuh", "#define UNIT 1\n");
  const auto listed = manifest({{{"name", "scale.cu"},
                                 {"source_file", "kernels/scale.cu"},
                                 {"header_dirs", {"device"}},
                                 {"kernels", {"scale<float, 4>", "fill"}},
                                 {"targets", {"sm_80", "sm_90a"}}},
                                plain(1)});
  const auto first = run({"--json", "prewarm", listed});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto events = first.documents();
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0]["event"], "started");
  EXPECT_EQ(events[0]["total"], 3);
  for (std::size_t at = 1; at < 4; ++at) {
    EXPECT_EQ(events[at]["event"], "item");
    EXPECT_EQ(events[at]["done"], at);
    EXPECT_EQ(events[at]["origin"], "compiled");
    EXPECT_GT(events[at]["compile_ms"], 0);
    EXPECT_EQ(events[at]["key"].get<std::string>().size(), 32u);
  }
  EXPECT_EQ(events[4]["event"], "finished");
  EXPECT_EQ(events[4]["compiled"], 3);
  const auto history = run({"--json", "stats"}).documents().at(0)["history"];
  EXPECT_EQ(history["misses_absent"], 3) << "however often it was looked for before it was made";
  EXPECT_EQ(run({"--json", "prewarm", listed}, without_cuda()).documents().back()["hits"], 3);

  const auto served =
      compile({scratch("kernels/scale.cu").string(), "--arch", "sm_90a", "--name",
               "scale<float, 4>", "--name", "fill", "-I", scratch("device").string()});
  EXPECT_EQ(served["origin"], "local") << "an engine with the header on disk asks for the same";
}

TEST_F(Prewarm, HasEachTargetsOwnVariant) {
  auto program = plain(1);
  program["targets"] = {"sm_80", "sm_90a"};
  program["variants"] = {{{"name", "hopper"},
                          {"since", "sm_90a"},
                          {"file", "hopper.cu"},
                          {"source", "extern \"C\" __global__ void h(int* x, int y) { *x = y; }"},
                          {"kernels", {{"k", "h"}}}}};
  const auto listed = manifest({program});
  const auto programs = [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::map<std::string, std::string> found;
    for (const auto& event : outcome.documents()) {
      if (event["event"] == "item") found[event["arch"]] = event["program"];
    }
    return found;
  };
  const std::map<std::string, std::string> own{{"sm_80", "p1.cu"}, {"sm_90a", "hopper.cu"}};
  EXPECT_EQ(programs(run({"--json", "prewarm", listed})), own);
  const std::map<std::string, std::string> all_default{{"sm_80", "p1.cu"}, {"sm_90a", "p1.cu"}};
  EXPECT_EQ(
      programs(run({"--json", "prewarm", listed}, {.environment = {{"KILN_VARIANT", "default"}}})),
      all_default);
  EXPECT_EQ(entries(), 3u);
}

TEST_F(Prewarm, NamesWhatFailsAndDoesTheRest) {
  auto bad = plain(1);
  bad["source"] = "#include <none.h>\n";
  auto timed = plain(2);
  timed["source"] = "extern \"C\" __global__ void k(char* x) { *x = __TIME__[0]; }";
  const auto listed = manifest({plain(0), bad, timed, plain(3)});
  const auto outcome = run({"prewarm", listed, "--arch", "sm_75"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("PROGRAM"));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("p1.cu"), HasSubstr("none.h"), HasSubstr("sm_75")));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("p2.cu"), HasSubstr("not kept"), HasSubstr("__TIME__")));
  EXPECT_THAT(outcome.out, StartsWith("2 of 4 there: 2 compiled"));
  EXPECT_EQ(entries(), 2u);
  EXPECT_THAT(run({"prewarm", listed, "--verbose"}).err, HasSubstr("catastrophic error"));
  const auto events = run({"--json", "prewarm", listed}).documents();
  ASSERT_EQ(events.size(), 6u);
  // In the order in which they end, but for the first and the last.
  const auto failed = std::find_if(events.begin() + 1, events.end() - 1,
                                   [](const auto& event) { return event["program"] == "p1.cu"; });
  ASSERT_NE(failed, events.end() - 1);
  EXPECT_EQ((*failed)["error"]["code"], "header_not_found");
  EXPECT_EQ((*failed)["arch"], "sm_80");
}

TEST_F(Prewarm, NamesTheWordsForABundleThatIsGivenAsAManifest) {
  finish(many(1));
  const auto bundle = scratch("bundle.kiln").string();
  ASSERT_EQ(run({"export", bundle}).exit_code, 0);
  const auto refused = run({"prewarm", bundle});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("`kiln prewarm --from`"));
}

TEST_F(Prewarm, TellsWhatTheCompilerWasGivenOnlyWhereAskedTo) {
  auto wrong = plain(1);
  wrong["source"] = "__global__ void k() { nothing; }";
  const auto listed = manifest({wrong});
  const auto brief = run({"prewarm", listed});
  EXPECT_THAT(brief.err, HasSubstr("\"nothing\" is undefined\n"));
  EXPECT_THAT(brief.err, testing::Not(HasSubstr("--gpu-architecture")));
  EXPECT_THAT(run({"prewarm", listed, "--verbose"}).err, HasSubstr("--gpu-architecture=sm_80"));
}

TEST_F(Prewarm, RefusesNonsenseBeforeAnythingIsCompiled) {
  const auto good = many(1);
  const auto bad = file("bad.json", R"({"kiln_manifest":1,"programs":[{"name":"a.cu"}]})");
  const auto no_target =
      file("no.json", R"({"kiln_manifest":1,"programs":[{"name":"a.cu","source":""}]})");
  const struct {
    std::vector<std::string> words;
    int exit_code;
    std::string said;
  } table[] = {
      {{"prewarm"}, 2, "--from"},
      {{"prewarm", good, bad}, 2, "programs[0] (a.cu)"},
      {{"prewarm", good, no_target}, 2, "--arch"},
      {{"prewarm", good, "--arch", "sm_9000"}, 2, "sm_9000"},
      {{"prewarm", good, "--image", "jpeg"}, 2, "jpeg"},
      {{"prewarm", good, "--timeout", "0"}, 2, "timeout"},
      {{"prewarm", good, "--jobs", "-1"}, 2, "jobs"},
      {{"prewarm", scratch("none.json").string()}, 3, "none.json"},
      {{"prewarm", "--from", scratch("none").string(), "--arch", "sm_90"}, 3, "none"},
  };
  for (const auto& row : table) {
    const auto outcome = run(row.words);
    EXPECT_EQ(outcome.exit_code, row.exit_code) << testing::PrintToString(row.words) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(row.said));
  }
  EXPECT_EQ(entries(), 0u);
  const auto nowhere = run({"prewarm", good}, {.environment = {{"KILN_CACHE_READONLY", "1"}}});
  EXPECT_EQ(nowhere.exit_code, 3);
}

TEST_F(Prewarm, RetargetsABundleAndNamesWhatTheRecordLacks) {
  file("include/engine/all.cuh", "#pragma once\n#include \"part.cuh\"\n");
  file("include/engine/part.cuh", "#pragma once\n#define PART 4\n");
  const auto rest = file("rest.cu",
                         "#include <engine/all.cuh>\n"
                         "extern \"C\" __global__ void k(int* x) { *x = PART; }\n");
  const auto lacking = file("lacking.cu",
                            "#if __CUDA_ARCH__ >= 900\n#include <engine/hopper.cuh>\n#endif\n"
                            "extern \"C\" __global__ void k(int* x) { *x = 1; }\n");
  const auto include = scratch("include").string();
  for (const auto& source : {rest, lacking})
    compile({source, "--arch", "sm_80", "--name", "k", "-I", include});
  const auto bundle = scratch("engine.kiln").string();
  ASSERT_EQ(run({"export", bundle}).exit_code, 0);
  std::filesystem::remove_all(cache());
  std::filesystem::rename(scratch("include"), scratch("away"));

  const auto outcome = run({"prewarm", "--from", bundle, "--arch", "sm_86,sm_90a"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.out, StartsWith("3 of 4 there: 3 compiled"));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("lacking.cu"), HasSubstr("header_not_found"),
                                 HasSubstr("engine/hopper.cuh"), HasSubstr("the record lacks it")));

  std::filesystem::rename(scratch("away"), scratch("include"));
  const auto served =
      run({"--json", "compile", rest, "--arch", "sm_90a", "--name", "k", "-I", include},
          without_cuda());
  ASSERT_EQ(served.exit_code, 0) << served.err;
  EXPECT_EQ(served.documents().at(0)["origin"], "local");
}

TEST_F(Prewarm, SaysThatABundleWithoutSourcesCannotBeRetargeted) {
  compile({file("a.cu", scale_source), "--arch", "sm_80", "--name", "fill"});
  const auto bundle = scratch("engine.kiln").string();
  ASSERT_EQ(run({"export", bundle, "--without-sources"}).exit_code, 0);
  const auto outcome = run({"prewarm", "--from", bundle, "--arch", "sm_90"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("a.cu"), HasSubstr("without sources")));
}

TEST_F(Prewarm, MakesWhatARunWroteDown) {
  const auto source = file("user.cu",
                           "#include <kiln/vec.cuh>\n#include <engine/one.h>\n"
                           "extern \"C\" __global__ void one(int* x) { *x = ONE; }\n");
  file("include/engine/one.h", "#define ONE 1\n");
  const auto record = scratch("record.json").string();
  const std::vector<std::string> words{
      "--json", "compile", source, "--name", "one", "-I", scratch("include").string(), "--arch"};
  const auto with = [&](const std::string& arch) {
    auto all = words;
    all.push_back(arch);
    return all;
  };
  const auto ran = run(with("sm_80"), {.environment = {{"KILN_RECORD", record}}});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  std::filesystem::remove_all(cache());
  std::filesystem::rename(scratch("include"), scratch("away"));
  const auto made = run({"prewarm", record, "--arch", "sm_90"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  std::filesystem::rename(scratch("away"), scratch("include"));
  EXPECT_EQ(run(with("sm_90"), without_cuda()).documents().at(0)["origin"], "local");
}

TEST_F(PrewarmFault, KilledAtAnyMomentGoesOnWhereItEnded) {
  constexpr std::size_t total = 64;  // More than a quick machine compiles between four kills.
  const auto listed = many(total);
  std::mt19937 random(20261121);
  for (std::size_t kills = 0; kills < 4; ++kills) {
    const auto before = entries();
    const auto child = start_and_wait(listed, before + 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it was done before it could be killed";
    EXPECT_GE(entries(), before + 1) << "what was told of as done is kept";
    EXPECT_EQ(run({"verify", "--deep"}).exit_code, 0);
  }
  const auto there = entries();
  ASSERT_LT(there, total);
  const auto finished = finish(listed);
  EXPECT_EQ(finished["hits"], there) << "only what was missing is compiled";
  EXPECT_EQ(finished["compiled"], total - there);
  EXPECT_EQ(entries(), total);
}

TEST_F(PrewarmFault, InterruptedKeepsWhatIsDoneAndSaysHowToGoOn) {
  constexpr std::size_t total = 40;
  const auto listed = many(total);
  const auto child = start_and_wait(listed, 2);
  ASSERT_EQ(kill(child, SIGINT), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_THAT(read(scratch("errors")), HasSubstr("the same command goes on"));
  const auto text = read(scratch("events"));
  const auto last = Json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1));
  EXPECT_EQ(last["event"], "finished");
  EXPECT_GT(last["cancelled"], 0);
  const auto there = entries();
  EXPECT_GE(there, 2u);
  EXPECT_GE(last["compiled"], 1);
  EXPECT_LE(last["compiled"], there) << "what ended while it was being cancelled is kept too";
  EXPECT_EQ(finish(listed)["hits"], there);
}

}  // namespace
}  // namespace kiln::tests
