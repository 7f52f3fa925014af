#include <set>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;
namespace fs = std::filesystem;

class Trace : public ToolTest {
 protected:
  // The header's row.
  static Json header(const Json& document, const std::string& name) {
    for (const auto& row : document["headers"]) {
      if (row["name"].get<std::string>().ends_with(name)) return row;
    }
    ADD_FAILURE() << name << " is not in " << document["headers"];
    return {};
  }

  const std::string outer_ = file("include/outer.h", "#pragma once\n#include <inner.h>\n");
  const std::string inner_ = file("include/inner.h", "#pragma once\n#define BY 2\n");
  const std::string one_ =
      file("one.cu", "#include <outer.h>\nextern \"C\" __global__ void k(int* x) { *x *= BY; }\n");
  const std::string two_ =
      file("two.cu", "#include <inner.h>\nextern \"C\" __global__ void k(int* x) { *x += BY; }\n");
  const std::string include_ = scratch("include").string();
};

TEST_F(Trace, TellsPhasesAndHeadersAndKeepsNothing) {
  const auto outcome = run({"--json", "trace", one_, "--arch", "sm_80", "-I", include_});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_FALSE(fs::exists(cache()));
  const auto document = outcome.documents().at(0);
  ASSERT_EQ(document["programs"].size(), 1u);
  EXPECT_EQ(document["programs"][0]["program"], "one.cu");
  EXPECT_EQ(document["programs"][0]["arch"], "sm_80");
  EXPECT_GT(document["programs"][0]["compile_ms"], 0);
  EXPECT_GT(document["phases"].size(), 3u);
  const auto outer = header(document, "/outer.h");
  const auto inner = header(document, "/inner.h");
  EXPECT_EQ(outer["name"], outer_);
  EXPECT_EQ(outer["programs"], 1);
  EXPECT_TRUE(inner["all_ms"].is_null()) << "another header includes it";
  EXPECT_GE(outer["all_ms"], outer["own_ms"]);
}

TEST_F(Trace, ThatAProgramIsStoredChangesNothing) {
  compile({one_, "--arch", "sm_80", "--name", "k", "-I", include_});
  const auto before = snapshot(cache());
  const auto outcome =
      run({"--json", "trace", one_, "--arch", "sm_80", "--name", "k", "-I", include_});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(header(outcome.documents().at(0), "/inner.h")["programs"], 1);
  EXPECT_EQ(snapshot(cache()), before);
}

TEST_F(Trace, AddsUpAManifestsPrograms) {
  const auto manifest =
      file("engine.json",
           Json{{"kiln_manifest", 1},
                {"targets", {"sm_80", "sm_90"}},
                {"programs",
                 {{{"name", "one.cu"}, {"source_file", "one.cu"}, {"include_dirs", {"include"}}},
                  {{"name", "two.cu"}, {"source_file", "two.cu"}, {"include_dirs", {"include"}}}}}}
               .dump());
  const auto events = scratch("trace.json");
  const auto outcome = run({"--json", "trace", manifest, "-o", events.string()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto document = outcome.documents().at(0);
  ASSERT_EQ(document["programs"].size(), 2u) << "each once, not for each architecture";
  EXPECT_EQ(document["programs"][1]["arch"], "sm_80");
  EXPECT_EQ(header(document, "/inner.h")["programs"], 2);
  EXPECT_EQ(header(document, "/outer.h")["programs"], 1);

  std::set<std::string> processes;
  std::set<int> numbers;
  const auto traced = Json::parse(read(events));
  for (const auto& event : traced["traceEvents"]) {
    numbers.insert(event["pid"].get<int>());
    if (event["name"] == "process_name") processes.insert(event["args"]["name"]);
  }
  EXPECT_EQ(processes, (std::set<std::string>{"one.cu for sm_80", "two.cu for sm_80"}));
  EXPECT_EQ(numbers.size(), 2u);
  EXPECT_EQ(run({"--json", "trace", manifest, "--arch", "sm_90"})
                .documents()
                .at(0)["programs"][0]["arch"],
            "sm_90");
}

TEST_F(Trace, PrintsTablesOfSoManyRows) {
  const auto outcome = run({"trace", one_, two_, "--arch", "sm_80", "-I", include_, "--top", "1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("PHASE"), HasSubstr("HEADER"), HasSubstr("… and 1 more"),
                                 HasSubstr("OWN time is saved for certain")));
}

TEST_F(Trace, StandardOutputTakesTheEventsInThePlaceOfTheTables) {
  const auto outcome = run({"trace", one_, "--arch", "sm_80", "-I", include_, "-o", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GT(Json::parse(outcome.out)["traceEvents"].size(), 3u);
}

TEST_F(Trace, AProgramThatFailsIsNamedAndTheOthersAreTold) {
  const auto bad = file("bad.cu", "__global__ void k() { missing(); }\n");
  const auto outcome = run({"--json", "trace", bad, two_, "--arch", "sm_80", "-I", include_});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(bad + "(1)"), Not(HasSubstr("/kiln/bad.cu"))));
  const auto documents = outcome.documents();
  ASSERT_EQ(documents.size(), 2u);
  EXPECT_EQ(documents[0]["error"]["code"], "compile_failed");
  EXPECT_EQ(documents[1]["programs"].size(), 1u);
}

TEST_F(Trace, AFileThatCannotBeReadIsNamedAndTheOthersAreTold) {
  const auto wrong = file("wrong.json", "{}");
  const auto half = file("half.json", Json{{"kiln_manifest", 1},
                                           {"programs",
                                            {{{"name", "none.cu"}, {"source", ""}},
                                             {{"name", "own.cu"},
                                              {"source", "extern \"C\" __global__ void k() {}"},
                                              {"targets", {"sm_80"}}}}}}
                                          .dump());
  const auto outcome = run({"--json", "trace", scratch("none.json"), wrong, half});
  EXPECT_EQ(outcome.exit_code, 3);
  const auto documents = outcome.documents();
  ASSERT_EQ(documents.size(), 4u) << outcome.out;
  EXPECT_THAT(documents[0]["error"]["message"].get<std::string>(), HasSubstr("none.json"));
  EXPECT_THAT(documents[1]["error"]["message"].get<std::string>(), HasSubstr("wrong.json"));
  EXPECT_THAT(documents[2]["error"]["message"].get<std::string>(), HasSubstr("(none.cu)"));
  ASSERT_EQ(documents[3]["programs"].size(), 1u);
  EXPECT_EQ(documents[3]["programs"][0]["program"], "own.cu");

  const auto absent =
      run({"--json", "trace", scratch("none.cu"), one_, "--arch", "sm_80", "-I", include_});
  EXPECT_EQ(absent.exit_code, 3);
  EXPECT_THAT(absent.err, HasSubstr("none.cu: No such file"));
  EXPECT_EQ(absent.documents().at(1)["programs"].size(), 1u) << absent.out << absent.err;
}

TEST_F(Trace, TellsWhatTheCompilerWasGivenWhereThatIsAskedFor) {
  const auto bad = file("bad.cu", "__global__ void k() { missing(); }\n");
  const std::string given = "the options were";
  EXPECT_THAT(run({"trace", bad, "--arch", "sm_80"}).err, Not(HasSubstr(given)));
  EXPECT_THAT(run({"trace", bad, "--arch", "sm_80", "--verbose"}).err, HasSubstr(given));
}

TEST_F(Trace, RefusesWhatMakesNoSense) {
  EXPECT_THAT(run({"trace", one_}).err, HasSubstr("--arch"));
  EXPECT_THAT(run({"trace", one_, "--arch", "sm_80,sm_90"}).err, HasSubstr("one architecture"));
  const auto manifest = file("engine.json", R"({"kiln_manifest":1,"programs":[]})");
  const auto both = run({"trace", manifest, "--name", "k"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("a manifest says"));
}

}  // namespace
}  // namespace kiln::tests
