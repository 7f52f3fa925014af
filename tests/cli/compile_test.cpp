#include <algorithm>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;
namespace fs = std::filesystem;

class Compile : public ToolTest {
 protected:
  std::string source_ = file("scale.cu", scale_source);
};

TEST_F(Compile, PrintsOneDocumentPerTarget) {
  const auto outcome = run({"--json", "compile", source_, "--arch", "sm_80,sm_90a", "--name",
                            "scale<float, 4>", "--name", "fill"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto documents = outcome.documents();
  ASSERT_EQ(documents.size(), 2u);
  EXPECT_EQ(documents[0]["arch"], "sm_80");
  EXPECT_EQ(documents[1]["arch"], "sm_90a");
  for (const auto& document : documents) {
    EXPECT_EQ(document["key"].get<std::string>().size(), 32u);
    EXPECT_EQ(document["program"], "scale.cu");
    EXPECT_EQ(document["image"], "cubin");
    EXPECT_EQ(document["origin"], "compiled");
    EXPECT_GT(document["bytes"], 0);
    EXPECT_GT(document["compile_ms"], 0);
    ASSERT_EQ(document["kernels"].size(), 2u);
  }
  const auto& fill = documents[0]["kernels"][0];
  EXPECT_EQ(fill["expression"], "fill");
  EXPECT_EQ(fill["symbol"], "fill");
  EXPECT_EQ(
      fill["params"],
      Json::parse(
          R"([{"offset":0,"size":8,"kind":"unknown"},{"offset":8,"size":4,"kind":"unknown"}])"));
  const auto& scale = documents[0]["kernels"][1];
  EXPECT_EQ(scale["expression"], "scale<float, 4>") << "a comma does not end an expression";
  EXPECT_EQ(scale["symbol"], "_Z5scaleIfLi4EEvPT_S0_");
  EXPECT_EQ(scale["params"][0]["kind"], "pointer");
  EXPECT_EQ(scale["params"][1]["kind"], "floating");
  EXPECT_GT(scale["registers"], 0);
  EXPECT_EQ(scale["shared_bytes"], 0);
  EXPECT_EQ(scale["local_bytes"], 0);
}

TEST_F(Compile, IsServedToTheNextProcessWithoutCuda) {
  const std::vector<std::string> words{"--json", "compile", source_,           "--arch",
                                       "sm_90",  "--name",  "scale<double, 2>"};
  const auto first = run(words).documents();
  const auto before = snapshot(cache());
  const auto second = run(words, without_cuda());
  ASSERT_EQ(second.exit_code, 0) << second.err;
  auto expected = first.at(0);
  expected["origin"] = "local";
  EXPECT_EQ(second.documents().at(0), expected);
  EXPECT_EQ(second.err, "");
  auto after = snapshot(cache());
  EXPECT_EQ(std::erase_if(after, [](const auto& file) { return file.first.ends_with(".tally"); }),
            1U)
      << "it is counted";
  EXPECT_TRUE(after == before) << "a hit changes nothing else";
}

TEST_F(Compile, ReadsStandardInput) {
  const auto outcome =
      run({"--json", "compile", "-", "--arch", "sm_80", "--name", "fill"}, {.input = scale_source});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.documents().at(0)["program"], "stdin.cu");
}

TEST_F(Compile, KeepsDefinesAndOptionsInTheirOrder) {
  const auto compiled = compile({source_, "--arch", "sm_80", "--name", "fill", "-DA=1",
                                 "--option=--std=c++20", "-D", "B=f(1,2)", "--option=-UA"});
  const auto shown = run({"--json", "show", compiled["key"]}).documents().at(0);
  const auto options = shown["options"].get<std::vector<std::string>>();
  const std::vector<std::string> given{"-DA=1", "--std=c++20", "-DB=f(1,2)", "-UA"};
  EXPECT_NE(std::search(options.begin(), options.end(), given.begin(), given.end()), options.end())
      << shown["options"];
}

TEST_F(Compile, SearchesIncludeFolders) {
  file("include/engine/one.h", "#define ONE 1\n");
  const auto source = file("user.cu",
                           "#include <engine/one.h>\n"
                           "extern \"C\" __global__ void one(int* x) { *x = ONE; }\n");
  const auto compiled =
      compile({source, "--arch", "sm_80", "--name", "one", "-I", scratch("include").string()});
  const auto shown = run({"--json", "show", compiled["key"]}).documents().at(0);
  ASSERT_EQ(shown["dependencies"].size(), 1u);
  EXPECT_EQ(shown["dependencies"][0]["spelling"], "engine/one.h");
}

TEST_F(Compile, FindsWhatLiesBesideTheFileWhereverItIs) {
  const auto make = [&](const std::string& folder) {
    file(folder + "/helper.cuh", "#define ONE 1\n");
    return file(folder + "/user.cu",
                "#include \"helper.cuh\"\n"
                "extern \"C\" __global__ void one(int* x) { *x = ONE; }\n");
  };
  const auto here = compile({make("here"), "--arch", "sm_80"});
  const auto there = compile({make("there"), "--arch", "sm_80"});
  EXPECT_EQ(there["key"], here["key"]);
  EXPECT_EQ(there["origin"], "local");
}

TEST_F(Compile, PrefersWhatLiesBesideTheFileToIncludeFolders) {
  file("include/helper.cuh", "#define ONE no_number\n");
  file("kernels/helper.cuh", "#define ONE 1\n");
  const auto source = file("kernels/user.cu",
                           "#include \"helper.cuh\"\n"
                           "extern \"C\" __global__ void one(int* x) { *x = ONE; }\n");
  compile({source, "--arch", "sm_80", "-I", scratch("include").string()});
}

TEST_F(Compile, NamesAnIncludeFolderThatIsNotThere) {
  const auto source = file("k.cu", "__global__ void k() {}\n");
  const auto compiled = run({"compile", source, "--arch", "sm_80", "--name", "k", "-I", "i3"});
  EXPECT_EQ(compiled.exit_code, 0);
  EXPECT_THAT(compiled.err, HasSubstr("-I i3: no such folder"));
  const auto of_file = run({"compile", source, "--arch", "sm_80", "--name", "k", "-I", source});
  EXPECT_EQ(of_file.exit_code, 0);
  EXPECT_THAT(of_file.err, HasSubstr("-I " + source + ": it is a file; name its folder"));
}

TEST_F(Compile, NamesTheFileAsItWasGiven) {
  const auto wrong = file("wrong.cu", "extern \"C\" __global__ void f() { oops; }\n");
  const auto failed = run({"compile", wrong, "--arch", "sm_80"});
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_THAT(failed.err, HasSubstr("could not compile it:\n" + wrong + "(1): error: identifier"));
  EXPECT_THAT(failed.err, HasSubstr("\n" + wrong + "(1): error: identifier"));
  EXPECT_THAT(failed.err, testing::Not(HasSubstr("/kiln/")));
  const auto unused = file("unused.cu", "extern \"C\" __global__ void f() { int oops; }\n");
  for (const auto* origin : {"compiled", "local"}) {
    const auto warned = run({"compile", unused, "--arch", "sm_80"});
    EXPECT_THAT(warned.out, HasSubstr(origin));
    EXPECT_THAT(warned.err, HasSubstr("\n" + unused + "(1): warning"));
  }
}

TEST_F(Compile, TellsWhatTheCompilerWasGivenWhereAskedTo) {
  const auto wrong = file("wrong.cu", "__global__ void k() { nothing; }");
  const auto brief = run({"compile", wrong, "--arch", "sm_80", "-DHERE=1"});
  EXPECT_EQ(brief.exit_code, 3);
  EXPECT_THAT(brief.err, HasSubstr("\"nothing\" is undefined\n"));
  EXPECT_THAT(brief.err, testing::Not(HasSubstr("-DHERE=1")));
  const auto verbose = run({"compile", wrong, "--arch", "sm_80", "-DHERE=1", "--verbose"});
  EXPECT_EQ(verbose.exit_code, 3);
  EXPECT_THAT(verbose.err, HasSubstr("the options were: "));
  EXPECT_THAT(verbose.err, HasSubstr("-DHERE=1"));
}

TEST_F(Compile, WarnsOfTemplatesOfWhichNothingIsCompiled) {
  const auto without = run({"compile", source_, "--arch", "sm_80"});
  EXPECT_EQ(without.exit_code, 0);
  EXPECT_THAT(without.err,
              HasSubstr("warning: scale.cu declares the templates scale, of which nothing"));
  EXPECT_THAT(without.err, HasSubstr("--name 'scale<…>'"));
  EXPECT_EQ(run({"--quiet", "compile", source_, "--arch", "sm_80"}).err, "");
  EXPECT_EQ(run({"compile", source_, "--arch", "sm_80", "--name", "fill"}).err, "");
}

TEST_F(Compile, GivesEveryProgramTheDeviceHeaders) {
  const auto source = file("user.cu",
                           "#include <kiln/vec.cuh>\n"
                           "extern \"C\" __global__ void one(int* x) { *x = 1; }\n");
  EXPECT_EQ(compile({source, "--arch", "sm_80", "--name", "one"})["origin"], "compiled");
}

TEST_F(Compile, GivesStandardHeadersWhereAskedTo) {
  const auto source = file("user.cu",
                           "#include <cstdint>\n"
                           "extern \"C\" __global__ void one(std::int32_t* x) { *x = 1; }\n");
  const auto without = run({"compile", source, "--arch", "sm_80", "--name", "one"});
  EXPECT_EQ(without.exit_code, 3);
  EXPECT_THAT(without.err, HasSubstr("--standard-headers"));
  EXPECT_EQ(compile({source, "--arch", "sm_80", "--name", "one", "--standard-headers"})["origin"],
            "compiled");
}

TEST_F(Compile, WritesTheImage) {
  const auto output = scratch("scale.cubin");
  const auto compiled =
      compile({source_, "--arch", "sm_80", "--name", "fill", "-o", output.string()});
  EXPECT_EQ(read(output).substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_EQ(compiled["bytes"], fs::file_size(output));
}

TEST_F(Compile, AnImageKeepsTheRightsOfTheOneThatItReplaces) {
  const auto output = file("mine.cubin", "");
  fs::permissions(output, fs::perms(0600));
  compile({source_, "--arch", "sm_80", "--name", "fill", "-o", output});
  EXPECT_GT(fs::file_size(output), 0u);
  EXPECT_EQ(fs::status(output).permissions(), fs::perms(0600));
}

TEST_F(Compile, WritesNoImageOverItsSource) {
  const auto source = file("scale.cu", scale_source);
  const auto outcome = run({"compile", source, "--arch", "sm_80", "--name", "fill", "-o", source});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("that is what is read"));
  EXPECT_EQ(read(source), scale_source);
  const auto named = file("sm_80.cu", scale_source);
  const auto pattern = scratch("{arch}.cu").string();
  EXPECT_EQ(run({"compile", named, "--arch", "sm_80", "--name", "fill", "-o", pattern}).exit_code,
            2);
}

TEST_F(Compile, NamesNoOtherFileOfAFolderThatIsCalledKiln) {
  file("kiln/beside.cuh", "#warning seen\n");
  const auto source =
      file("kiln/beside.cu", "#include \"beside.cuh\"\nextern \"C\" __global__ void f() {}\n");
  const auto outcome = run({"compile", source, "--arch", "sm_80", "--name", "f"});
  EXPECT_THAT(outcome.err, HasSubstr(scratch("kiln/beside.cuh").string() + "(1)"));
}

TEST_F(Compile, WritesAnImagePerArchitecture) {
  const auto outcome = run({"compile", source_, "--arch", "sm_80,sm_90", "--name", "fill", "-o",
                            scratch("scale.{arch}.cubin").string()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(read(scratch("scale.sm_80.cubin")).substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_EQ(read(scratch("scale.sm_90.cubin")).substr(0, 4),
            "\x7f"
            "ELF");
}

TEST_F(Compile, RefusesOneFileForSeveralImages) {
  const auto outcome =
      run({"compile", source_, "--arch", "sm_80,sm_90", "--name", "fill", "-o", "x.cubin"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("x.cubin"));
  EXPECT_THAT(outcome.err, HasSubstr("{arch}"));
}

TEST_F(Compile, StopsAtPtxWhenAsked) {
  const auto output = scratch("scale.ptx");
  const auto compiled = compile(
      {source_, "--arch", "compute_80", "--image", "ptx", "--name", "fill", "-o", output.string()});
  EXPECT_EQ(compiled["image"], "ptx");
  EXPECT_TRUE(compiled["kernels"][0]["params"].is_null()) << "PTX does not tell";
  EXPECT_THAT(read(output), HasSubstr(".entry fill"));
}

TEST_F(Compile, PrintsATableForPeople) {
  const auto outcome = run({"compile", source_, "--arch", "sm_80", "--name", "scale<float, 4>"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith("KERNEL"));
  EXPECT_THAT(outcome.out, HasSubstr("scale<float, 4>"));
  EXPECT_THAT(outcome.out, HasSubstr("2 (12 B)"));
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Compile, TellsWhatAHitTookAndSaved) {
  const std::vector<std::string> words{"compile", source_, "--arch", "sm_80", "--name", "fill"};
  EXPECT_THAT(run(words).out, testing::Not(HasSubstr("served in")));
  EXPECT_THAT(
      run(words).out,
      testing::ContainsRegex("\n1 of 1 served in [0-9.]+ [um]s; to compile took [0-9.]+ m?s\n"));
}

TEST_F(Compile, IsSilentWhenQuiet) {
  const auto outcome = run({"--quiet", "compile", source_, "--arch", "sm_80", "--name", "fill"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
}

TEST_F(Compile, PassesTheCompilersWarningsOn) {
  const auto source = file("careless.cu", "extern \"C\" __global__ void f() { int never_used; }\n");
  const auto outcome = run({"--json", "compile", source, "--arch", "sm_80", "--name", "f"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.documents().size(), 1u);
  EXPECT_THAT(outcome.err, HasSubstr("never_used"));
}

TEST_F(Compile, SaysOnceWhatIsNotKept) {
  const auto timed =
      file("timed.cu", "extern \"C\" __global__ void f(char* x) { *x = __TIME__[0]; }\n");
  const auto outcome = run({"compile", timed, "--arch", "sm_80", "--name", "f"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, testing::AllOf(HasSubstr("compiled and not kept"), HasSubstr(timed)));
  EXPECT_THAT(outcome.err, testing::Not(HasSubstr("/kiln/timed.cu")))
      << "it is named as it was given";
  EXPECT_EQ(outcome.err.find("__TIME__"), outcome.err.rfind("__TIME__")) << outcome.err;
}

TEST_F(Compile, TakesTheCacheFromTheCommandLineFirst) {
  const auto other = scratch("other");
  const std::vector<std::string> words{"compile", source_, "--arch",  "sm_80",
                                       "--name",  "fill",  "--cache", other.string()};
  ASSERT_EQ(run(words).exit_code, 0);
  EXPECT_TRUE(fs::exists(other));
  EXPECT_FALSE(fs::exists(cache()));
}

}  // namespace
}  // namespace kiln::tests
