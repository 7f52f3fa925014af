#include <set>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;
namespace fs = std::filesystem;

// Every verb that looks is run where there is no CUDA, and must leave the cache as it is.
class Inspect : public ToolTest {
 protected:
  Inspect() {
    compiled_ = compile({source_, "--arch", "sm_80", "--name", "scale<float, 4>", "--name", "fill",
                         "-o", scratch("first.cubin").string()});
    key_ = compiled_["key"];
    before_ = snapshot(cache());
  }

  Outcome look(const std::vector<std::string>& arguments, bool terminal = false) {
    auto circumstances = without_cuda();
    circumstances.terminal = terminal;
    auto outcome = run(arguments, circumstances);
    EXPECT_EQ(snapshot(cache()), before_);
    return outcome;
  }

  void compile_more() {
    compile({source_, "--arch", "sm_90", "--name", "fill"});
    compile(
        {file("another.cu", scale_source), "--arch", "sm_80", "--image", "ptx", "--name", "fill"});
    before_ = snapshot(cache());
  }

  std::string source_ = file("scale.cu", scale_source);
  Json compiled_;
  std::string key_;
  std::map<std::string, std::string> before_;
};

TEST_F(Inspect, LsListsEntriesForPrograms) {
  const auto outcome = look({"--json", "ls"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto entry = outcome.documents().at(0);
  EXPECT_EQ(entry["key"], key_);
  EXPECT_EQ(entry["program"], "scale.cu");
  EXPECT_EQ(entry["arch"], "sm_80");
  EXPECT_EQ(entry["image"], "cubin");
  EXPECT_EQ(entry["kernels"], 2);
  EXPECT_EQ(entry["bytes"], compiled_["bytes"]);
  EXPECT_EQ(entry["compile_ms"], compiled_["compile_ms"]);
  EXPECT_GT(entry["stored_bytes"], 0);
  EXPECT_GT(entry["created"], 0);
  EXPECT_THAT(entry["toolchain"].get<std::string>(), HasSubstr("NVRTC"));
}

TEST_F(Inspect, LsListsEntriesForPeople) {
  const auto outcome = look({"ls"});
  EXPECT_THAT(outcome.out, testing::StartsWith("KEY"));
  EXPECT_THAT(outcome.out, HasSubstr(key_.substr(0, 8) + "  scale.cu"));
  EXPECT_THAT(outcome.out, Not(HasSubstr(key_.substr(0, 9))));
}

TEST_F(Inspect, LsTakesTheGlobalsAfterTheVerbToo) {
  EXPECT_EQ(look({"ls", "--json", "--cache", cache().string()}).documents().at(0)["key"], key_);
}

TEST_F(Inspect, LsSorts) {
  compile_more();
  const auto column = [&](const std::string& order, const char* field) {
    std::vector<Json> values;
    for (const auto& entry : look({"--json", "ls", "--sort", order}).documents())
      values.push_back(entry[field]);
    return values;
  };
  const auto ascending = [](const auto& values) {
    return std::is_sorted(values.begin(), values.end());
  };
  const auto descending = [](const auto& values) {
    return std::is_sorted(values.rbegin(), values.rend());
  };
  EXPECT_TRUE(ascending(column("key", "key")));
  EXPECT_TRUE(ascending(column("program", "program")));
  EXPECT_TRUE(descending(column("size", "bytes")));
  EXPECT_TRUE(descending(column("age", "created")));
  EXPECT_TRUE(descending(column("compile", "compile_ms")));
}

TEST_F(Inspect, LsSaysWhatToDoWhereThereIsNothing) {
  EXPECT_EQ(run({"ls", "--arch", "sm_75"}).out, "none of the entries fits (1 in all)\n");
  ASSERT_EQ(run({"clear", "--yes"}).exit_code, 0);
  const std::string next = "nothing is kept yet: kiln compile FILE --arch A, ";
  EXPECT_THAT(run({"ls"}).out, testing::StartsWith(next));
  EXPECT_THAT(run({"stats"}).out, HasSubstr("\n" + next));
  EXPECT_EQ(run({"--json", "ls"}).out, "");
}

TEST_F(Inspect, WhereOnlyABundleServesLsAndShowTellHowToLookAtIt) {
  const auto bundle = scratch("engine.kiln").string();
  ASSERT_EQ(run({"export", bundle}).exit_code, 0);
  const Circumstances mounted{.environment = {{"KILN_BUNDLES", bundle}}};
  const auto way = "; what is in a bundle that serves here is shown by --cache '" + bundle + "'";
  ASSERT_EQ(run({"clear", "--yes"}).exit_code, 0);
  EXPECT_THAT(run({"ls"}, mounted).out, HasSubstr(way));
  fs::remove_all(cache());
  EXPECT_THAT(run({"ls"}, mounted).err, HasSubstr(way));
  EXPECT_THAT(run({"show", "scale.cu"}, mounted).err, HasSubstr(way));
  EXPECT_THAT(run({"ls", "--cache", bundle}, mounted).out, Not(HasSubstr(way)));
}

TEST_F(Inspect, LsRefusesAnUnknownOrder) {
  const auto outcome = look({"ls", "--sort", "colour"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("colour"));
  EXPECT_THAT(outcome.err, HasSubstr("program"));
}

TEST_F(Inspect, LsKeepsArchitecturesAskedFor) {
  compile_more();
  const auto entries = look({"--json", "ls", "--arch", "sm_90,sm_100"}).documents();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0]["arch"], "sm_90");
}

TEST_F(Inspect, LsPrintsKeysThatCanBeUsed) {
  compile_more();
  const auto table = look({"ls"}).out;
  for (const auto& entry : look({"--json", "ls"}).documents()) {
    const auto shown = look({"--json", "show", entry["key"].get<std::string>().substr(0, 8)});
    EXPECT_EQ(shown.documents().at(0)["key"], entry["key"]);
    EXPECT_THAT(table, HasSubstr(entry["key"].get<std::string>().substr(0, 8)));
  }
}

TEST_F(Inspect, ShowTellsEverythingToPrograms) {
  const auto outcome = look({"--json", "show", key_});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto entry = outcome.documents().at(0);
  EXPECT_EQ(entry["key"], key_);
  EXPECT_EQ(entry["kernels"], compiled_["kernels"]);
  EXPECT_EQ(entry["expressions"], Json::parse(R"(["fill", "scale<float, 4>"])"));
  EXPECT_EQ(entry["source_bytes"], std::string(scale_source).size());
  EXPECT_EQ(entry["dependencies"], Json::array());
  EXPECT_EQ(entry["toolchain_identity"].get<std::string>().size(), 32u);
  EXPECT_EQ(entry["log"], "");
}

TEST_F(Inspect, ShowTellsEverythingToPeople) {
  const auto outcome = look({"show", key_.substr(0, 10)});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const auto& word :
       {key_, std::string("scale.cu"), std::string("sm_80"), std::string("cubin"),
        std::string("NVRTC"), std::string("scale<float, 4>"), std::string("_Z5scaleIfLi4EEvPT_S0_"),
        std::string("8@0 4@8"), std::string("dependencies: 0")}) {
    EXPECT_THAT(outcome.out, HasSubstr(word));
  }
  EXPECT_THAT(outcome.out, testing::ContainsRegex("says signed by +nobody\n"));
}

TEST_F(Inspect, ShowShortensLongListsOnATerminal) {
  std::string includes;
  for (int i = 0; i < 30; ++i) {
    const auto name = "h" + std::to_string(i) + ".h";
    file("include/" + name, "// " + name + "\n");
    includes += "#include <" + name + ">\n";
  }
  const auto many = compile({file("many.cu", includes + scale_source), "--arch", "sm_80", "--name",
                             "fill", "-I", scratch("include").string()});
  before_ = snapshot(cache());
  const std::string key = many["key"];
  EXPECT_THAT(look({"show", key}, true).out, HasSubstr("and 10 more"));
  EXPECT_THAT(look({"show", key, "--all"}, true).out, HasSubstr("h29.h"));
  EXPECT_THAT(look({"show", key}).out, HasSubstr("h29.h"));
}

TEST_F(Inspect, ExtractGivesTheVeryImage) {
  const auto outcome = look({"extract", key_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, read(scratch("first.cubin")));
  EXPECT_EQ(look({"extract", key_, "--image", "-o", scratch("again.cubin").string()}).out, "");
  EXPECT_EQ(read(scratch("again.cubin")), outcome.out);
}

TEST_F(Inspect, ExtractGivesSourceNamesAndLog) {
  EXPECT_EQ(look({"extract", key_, "--source"}).out, scale_source);
  EXPECT_EQ(look({"extract", key_, "--names"}).out,
            "fill\tfill\nscale<float, 4>\t_Z5scaleIfLi4EEvPT_S0_\n");
  EXPECT_EQ(look({"extract", key_, "--log"}).out, "");
  EXPECT_EQ(look({"--json", "extract", key_, "--names"}).documents().at(0),
            Json::parse(R"({"schema":1,"names":[
                            {"expression":"fill","symbol":"fill"},
                            {"expression":"scale<float, 4>","symbol":"_Z5scaleIfLi4EEvPT_S0_"}]})"));
}

TEST_F(Inspect, ExtractTakesOnePartAtATime) {
  EXPECT_EQ(look({"extract", key_, "--source", "--names"}).exit_code, 2);
}

TEST_F(Inspect, ExtractSparesATerminalFromBinary) {
  const auto outcome = look({"extract", key_}, true);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("name a file"));
  EXPECT_THAT(look({"extract", key_, "--source"}, true).out, HasSubstr("__global__"));
}

TEST_F(Inspect, StatsSumsUp) {
  compile_more();
  const auto stats = look({"--json", "stats"}).documents().at(0);
  std::uint64_t image_bytes = 0;
  for (const auto& entry : look({"--json", "ls"}).documents())
    image_bytes += entry["bytes"].get<std::uint64_t>();
  EXPECT_EQ(stats["entries"], 3);
  EXPECT_EQ(stats["image_bytes"], image_bytes);
  EXPECT_EQ(stats["texts"], 1) << "one source of two names is kept once";
  EXPECT_EQ(stats["text_bytes"], std::string(scale_source).size());
  EXPECT_EQ(stats["file_bytes"], fs::file_size(stats["file"].get<std::string>()));
  EXPECT_GT(stats["compile_ms"], 0);
  EXPECT_THAT(look({"stats"}).out, HasSubstr("entries"));
}

TEST_F(Inspect, AKeyThatFitsNoneIsAMiss) {
  const std::string none = key_[0] == 'f' ? "0000000" : "fffffff";
  for (const auto* verb : {"show", "extract"}) {
    const auto outcome = look({"--json", verb, none});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(none));
    EXPECT_EQ(outcome.documents().at(0)["error"]["code"], "not_found");
  }
}

// Seventeen keys cannot all begin with different digits.
TEST_F(Inspect, AKeyThatFitsTwoIsAMissThatNamesThem) {
  std::map<char, std::set<std::string>> keys{{key_[0], {key_}}};
  std::string digit;
  for (int i = 0; digit.empty() && i < 16; ++i) {
    const std::string key = compile({source_, "--arch", "sm_80", "--image", "ptx", "--name", "fill",
                                     "-DI=" + std::to_string(i)})["key"];
    keys[key[0]].insert(key);
    if (keys[key[0]].size() == 2) digit = key.substr(0, 1);
  }
  ASSERT_FALSE(digit.empty());
  before_ = snapshot(cache());
  const auto outcome = look({"show", digit});
  EXPECT_EQ(outcome.exit_code, 1);
  for (const auto& key : keys[digit[0]]) EXPECT_THAT(outcome.err, HasSubstr(key.substr(0, 8)));
}

}  // namespace
}  // namespace kiln::tests
