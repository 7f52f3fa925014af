#include "tool.h"

namespace kiln::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Explain : public ToolTest {
 protected:
  [[nodiscard]] Outcome explain(const std::vector<std::string>& words,
                                const Circumstances& circumstances = {}) const {
    std::vector<std::string> all{"explain", source_};
    all.insert(all.end(), words.begin(), words.end());
    return run(all, circumstances);
  }

  std::string source_ = file("scale.cu", scale_source);
};

TEST_F(Explain, AHitIsExitStatusZero) {
  const auto compiled = compile({source_, "--arch", "sm_80", "--name", "fill"});
  const auto before = snapshot(cache());
  const auto outcome = explain({"--arch", "sm_80", "--name", "fill", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto document = outcome.documents().at(0);
  EXPECT_EQ(document["hit"], true);
  EXPECT_EQ(document["origin"], "local");
  EXPECT_EQ(document["key"], compiled["key"]);
  EXPECT_TRUE(document["nearest"].is_null());
  EXPECT_TRUE(document["reason"].is_null());
  EXPECT_EQ(snapshot(cache()), before);
}

TEST_F(Explain, AMissIsExitStatusOneAndNamesTheFields) {
  const auto compiled =
      compile({source_, "--arch", "sm_80", "--name", "fill", "-D", "HEAD_DIM=128"});
  const auto outcome =
      explain({"--arch", "sm_80,sm_90", "--name", "fill", "-D", "HEAD_DIM=64", "--json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  const auto documents = outcome.documents();
  ASSERT_EQ(documents.size(), 2u) << "one for each target";
  const auto& nearest = documents[0]["nearest"];
  EXPECT_EQ(documents[0]["hit"], false);
  EXPECT_EQ(documents[0]["reason"], "nothing is stored for this request");
  EXPECT_TRUE(documents[0]["not_stored"].is_null());
  EXPECT_EQ(nearest["key"], compiled["key"]);
  EXPECT_EQ(nearest["arch"], "sm_80");
  EXPECT_EQ(nearest["differences"],
            nlohmann::json::parse(
                R"([{"field":"option","text":"option 1: -DHEAD_DIM=64, stored 128"}])"));
  EXPECT_EQ(documents[1]["nearest"]["differences"][0]["text"], "architecture: sm_90, stored sm_80");
}

TEST_F(Explain, AHeaderThatMayNotBeReadHasNotChanged) {
  const auto header = file("scale.h", "#define SCALE 2\n");
  const auto source = file("with.cu", "#include \"scale.h\"\n" + std::string(scale_source));
  compile({source, "--arch", "sm_80", "--name", "fill"});
  std::filesystem::permissions(header, std::filesystem::perms::none);
  const auto outcome =
      run({"explain", source, "--arch", "sm_80", "--name", "fill"}, {.no_override = true});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("header scale.h may not be read"),
                                 testing::Not(HasSubstr("changed"))));
}

TEST_F(Explain, PrintsProseForPeople) {
  compile({source_, "--arch", "sm_80", "--name", "fill"});
  const auto hit = explain({"--arch", "sm_80", "--name", "fill"});
  EXPECT_THAT(hit.out, AllOf(HasSubstr("scale.cu for sm_80 (cubin): hit"), HasSubstr("local")));
  const auto miss = explain({"--arch", "sm_80", "--name", "fill", "--image", "ptx"});
  EXPECT_EQ(miss.exit_code, 1);
  EXPECT_THAT(miss.out, AllOf(HasSubstr("scale.cu for sm_80 (ptx): miss"),
                              HasSubstr("image kind: ptx, stored cubin")));
  EXPECT_EQ(explain({"--quiet", "--arch", "sm_80", "--name", "fill", "--image", "ptx"}).out, "");
}

TEST_F(Explain, NeedsNoCudaAndMakesNoCache) {
  const auto outcome = explain({"--arch", "sm_80", "--name", "fill"}, without_cuda());
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("no entry has this source or this program name"));
  EXPECT_FALSE(std::filesystem::exists(cache()));
}

TEST_F(Explain, LooksIntoABundle) {
  compile({source_, "--arch", "sm_80", "--name", "fill"});
  const auto bundle = scratch("scale.kiln").string();
  ASSERT_EQ(run({"export", bundle}).exit_code, 0);
  std::filesystem::remove_all(cache());
  const auto hit = explain({"--cache", bundle, "--arch", "sm_80", "--name", "fill", "--json"});
  EXPECT_EQ(hit.exit_code, 0) << hit.err;
  EXPECT_EQ(hit.documents().at(0)["origin"], "bundle");
  const auto miss = explain({"--cache", bundle, "--arch", "sm_90", "--name", "fill", "--json"});
  EXPECT_EQ(miss.exit_code, 1);
  EXPECT_EQ(miss.documents().at(0)["nearest"]["file"], bundle);
  EXPECT_FALSE(std::filesystem::exists(cache()));
}

TEST_F(Explain, SaysWhatIsNotKept) {
  const auto timed =
      file("timed.cu", "extern \"C\" __global__ void k(const char** x) { *x = __TIME__; }\n");
  const auto outcome = run({"--json", "explain", timed, "--arch", "sm_80", "--name", "k"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.documents().at(0)["not_stored"].get<std::string>(), HasSubstr("__TIME__"));
}

TEST_F(Explain, RefusesNonsenseLikeCompile) {
  EXPECT_EQ(explain({"--arch", "sm_wrong"}).exit_code, 2);
  EXPECT_EQ(explain({}).exit_code, 2);
  EXPECT_EQ(run({"explain", scratch("none.cu").string(), "--arch", "sm_80"}).exit_code, 3);
}

TEST_F(Explain, TheSameTextGoesWithACacheOnlyMiss) {
  compile({source_, "--arch", "sm_80", "--name", "fill", "-D", "HEAD_DIM=128"});
  const auto outcome =
      run({"compile", source_, "--arch", "sm_80", "--name", "fill", "-D", "HEAD_DIM=64"},
          {.environment = {{"KILN_MODE", "cache-only"}}});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("scale.cu for sm_80 (request "),
                                 HasSubstr("option 1: -DHEAD_DIM=64, stored 128")));
}

TEST_F(Explain, AModeThatIsNoneIsAUsageError) {
  const auto outcome =
      run({"compile", source_, "--arch", "sm_80"}, {.environment = {{"KILN_MODE", "sometimes"}}});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr("KILN_MODE: 'sometimes' is not a mode: use jit, warn or cache-only"));
}

// A manifest's programs bring their own targets, and headers that are embedded.
class Manifests : public ToolTest {
 protected:
  static nlohmann::json program(const char* name, const char* value) {
    return {{"name", name},
            {"source", std::string("#include <lib/") + value +
                           ".h>\nextern \"C\" __global__ void k(int* x) { *x = V; }\n"},
            {"header_dirs", {"headers"}},
            {"kernels", {"k"}},
            {"targets", {"sm_80", "sm_90"}}};
  }

  Manifests() {
    file("headers/lib/one.h", "#define V 1\n");
    file("headers/lib/two.h", "#define V 2\n");
    manifest_ =
        file("engine.json",
             nlohmann::json{{"kiln_manifest", 1},
                            {"programs", {program("one.cu", "one"), program("two.cu", "two")}}}
                 .dump());
  }

  std::string manifest_;
};

TEST_F(Manifests, EachProgramIsCompiledAndExplainedForItsTargets) {
  auto explained = run({"--json", "explain", manifest_});
  EXPECT_EQ(explained.exit_code, 1) << explained.err;
  EXPECT_EQ(explained.documents().size(), 4U);
  const auto compiled = run({"--json", "compile", manifest_, "--program", "t*"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  ASSERT_EQ(compiled.documents().size(), 2U);
  EXPECT_EQ(compiled.documents()[0]["program"], "two.cu");
  EXPECT_EQ(compiled.documents()[1]["arch"], "sm_90");
  explained = run({"--json", "explain", manifest_, "--arch", "sm_90"});
  ASSERT_EQ(explained.documents().size(), 2U) << explained.err;
  EXPECT_EQ(explained.documents()[0]["hit"], false);
  EXPECT_EQ(explained.documents()[1]["hit"], true);
  EXPECT_EQ(explained.documents()[1]["key"], compiled.documents()[1]["key"]);
  EXPECT_EQ(run({"explain", manifest_, "--program", "two.cu"}).exit_code, 0);
}

TEST_F(Manifests, WhatIsForASourceIsRefused) {
  const auto refused = [&](const std::vector<std::string>& words, const char* what) {
    const auto outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(what));
  };
  refused({"compile", manifest_, "--name", "k"}, "a manifest says");
  refused({"explain", manifest_, "-I", "."}, "a manifest says");
  refused({"compile", manifest_, "-o", scratch("x").string()}, "kiln extract");
  const auto source = file("k.cu", scale_source);
  refused({"explain", source, "--arch", "sm_80", "--program", "k"}, "a source is one program");
  const auto none = run({"explain", manifest_, "--program", "three*"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("has no program three*"));
}

}  // namespace
}  // namespace kiln::tests
