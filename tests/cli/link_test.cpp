// Links and fatbins with the tool: made, kept, shown and taken out again.

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;
namespace fs = std::filesystem;

class Link : public ToolTest {
 protected:
  /// A program's image as this kind; its key.
  std::string compiled(const std::string& source, const std::vector<std::string>& words) {
    std::vector<std::string> all{source, "--arch", "sm_90"};
    all.insert(all.end(), words.begin(), words.end());
    return compile(all)["key"];
  }

  Json link(std::vector<std::string> words) {
    words.insert(words.begin(), {"--json", "link"});
    const auto outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto documents = outcome.documents();
    return documents.empty() ? Json() : documents.front();
  }

  std::string caller_ =
      file("caller.cu",
           "extern __device__ float twice(float);\n"
           "template <class T> __global__ void scale(T* x) { *x = twice(*x); }\n");
  std::string callee_ = file("callee.cu", "__device__ float twice(float x) { return x * 2; }\n");
  std::vector<std::string> wanted_{"--name", "scale<float>"};
};

TEST_F(Link, EntriesOfTheCacheByTheirKeys) {
  const std::vector<std::string> relocatable{"--option=-rdc=true"};
  const auto caller = compiled(caller_, {"--option=-rdc=true", "--name", "scale<float>"});
  const auto callee = compiled(callee_, relocatable);
  const std::vector<std::string> words{caller, callee, "--arch", "sm_90", "--as", "engine"};
  const auto made = link(words);
  EXPECT_EQ(made["origin"], "compiled");
  EXPECT_EQ(made["program"], "engine");
  EXPECT_EQ(made["stored"], true);
  EXPECT_EQ(made["kernels"][0]["expression"], "scale<float>");
  EXPECT_GT(made["kernels"][0]["registers"], 0);
  EXPECT_EQ(link(words)["origin"], "local");

  const auto key = made["key"].get<std::string>();
  const auto shown = run({"--json", "show", key}).documents().at(0);
  EXPECT_EQ(shown["options"], Json::parse(R"(["--kiln-link"])"));
  EXPECT_THAT(shown["toolchain"].get<std::string>(), HasSubstr("nvJitLink"));
  EXPECT_THAT(run({"extract", key, "--source"}).out, HasSubstr("cubin sm_90 "));
  EXPECT_EQ(run({"extract", key, "--names"}).out, "scale<float>\t_Z5scaleIfEvPT_\n");
  const auto image = scratch("linked.cubin");
  ASSERT_EQ(run({"extract", key, "-o", image.string()}).exit_code, 0);
  EXPECT_THAT(read(image), HasSubstr("_Z5scaleIfEvPT_"));
  EXPECT_EQ(run({"verify", "--deep"}).exit_code, 0);
}

// Where its source lies here, and has the same name.
TEST_F(Link, EntriesByTheirNamesBesideTheirSources) {
  static_cast<void>(compiled(caller_, {"--image", "ltoir", "--name", "scale<float>"}));
  static_cast<void>(compiled(callee_, {"--image", "ltoir"}));
  const auto before = fs::current_path();
  fs::current_path(fs::path(caller_).parent_path());
  const auto made = link({"caller.cu", "callee.cu", "--arch", "sm_90", "--as", "engine"});
  EXPECT_EQ(made["program"], "engine");
  EXPECT_EQ(run({"diff", "callee.cu", "callee.cu"}).exit_code, 0);
  fs::current_path(before);
}

TEST_F(Link, Files) {
  for (const auto* kind : {"cubin", "ptx", "ltoir"}) {
    const auto a = scratch(std::string("a.") + kind).string();
    const auto b = scratch(std::string("b.") + kind).string();
    std::vector<std::string> options{"--image", kind};
    if (std::string(kind) != "ltoir") options.emplace_back("--option=-rdc=true");
    for (const auto& [source, output] : {std::pair(caller_, a), std::pair(callee_, b)}) {
      auto words = options;
      words.insert(words.end(), {"-o", output});
      if (source == caller_) words.insert(words.end(), wanted_.begin(), wanted_.end());
      compiled(source, words);
    }
    const auto output = scratch(std::string("linked.") + kind).string();
    const auto made = link({a, b, "--arch", "sm_90", "-o", output});
    EXPECT_EQ(made["kernels"][0]["symbol"], "_Z5scaleIfEvPT_") << kind;
    EXPECT_EQ(made["bytes"], fs::file_size(output)) << kind;
  }
}

TEST_F(Link, WhatCannotBeLinkedIsAnErrorWithTheLinkersLog) {
  const auto caller = compiled(caller_, {"--image", "ltoir", "--name", "scale<float>"});
  const auto outcome = run({"--json", "link", caller, "--arch", "sm_90"});
  EXPECT_EQ(outcome.exit_code, 3);
  const auto error = outcome.documents().at(0)["error"];
  EXPECT_EQ(error["code"], "link_failed");
  EXPECT_THAT(error["log"].get<std::string>(), HasSubstr("_Z5twicef"));
}

TEST_F(Link, WhatIsNoInput) {
  EXPECT_EQ(run({"link", caller_, "--arch", "sm_90"}).exit_code, 2) << "a source";
  EXPECT_EQ(run({"link", "/nonexistent.cubin", "--arch", "sm_90"}).exit_code, 3);
  EXPECT_EQ(run({"link", caller_, "--arch", "sm_90", "--image", "fatbin"}).exit_code, 2);
  EXPECT_EQ(run({"link", "--arch", "sm_90"}).exit_code, 2);
}

TEST_F(Link, OneFatbinForAllArchitectures) {
  const auto output = scratch("fat.fatbin").string();
  Circumstances circumstances;
#ifdef KILN_TEST_NVFATBIN
  circumstances.environment["KILN_NVFATBIN"] = KILN_TEST_NVFATBIN;
#endif
  const auto source = file("scale.cu", scale_source);
  const std::vector<std::string> words{
      "--json", "compile", source, "--image", "fatbin", "--arch", "sm_80,sm_90a,compute_90",
      "--name", "fill",    "-o",   output};
  const auto outcome = run(words, circumstances);
  const bool found = outcome.err.find("nvFatbin: not found") == std::string::npos;
  const bool built_in = outcome.err.find("built without nvFatbin.h") == std::string::npos;
  if (!found || !built_in) {
    EXPECT_EQ(outcome.exit_code, 3);
    GTEST_SKIP() << outcome.err;
  }
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(outcome.documents().size(), 1u);
  const auto made = outcome.documents()[0];
  EXPECT_EQ(made["image"], "fatbin");
  EXPECT_EQ(made["arch"], "sm_80,compute_90,sm_90a");
  EXPECT_EQ(made["bytes"], fs::file_size(output));
  EXPECT_THAT(read(output), testing::StartsWith("\x50\xed\x55\xba"));
  EXPECT_EQ(run(words, circumstances).documents().at(0)["origin"], "local");
  const auto again = scratch("again.fatbin");
  ASSERT_EQ(run({"extract", made["key"], "-o", again.string()}).exit_code, 0);
  EXPECT_EQ(read(again), read(output));
}

}  // namespace
}  // namespace kiln::tests
