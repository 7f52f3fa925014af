#include "tool.h"

namespace kiln::tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

// Starts with a cache that holds one good entry and checks that no bad input changes what it holds. Its
// history it may change: a compile that fails is a miss.
class BadInput : public ToolTest {
 protected:
  BadInput() {
    compile({good_, "--arch", "sm_80", "--name", "fill"});
    before_ = listing();
  }

  [[nodiscard]] std::string listing() const { return run({"--json", "ls"}).out; }

  // The message for people, after what holds for every error was checked.
  std::string message_of(const std::vector<std::string>& arguments, int exit_code,
                         const std::string& code, const Circumstances& circumstances = {}) {
    std::vector<std::string> words{"--json"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const auto outcome = run(words, circumstances);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("kiln: error: "));
    EXPECT_EQ(listing(), before_);
    const auto documents = outcome.documents();
    EXPECT_EQ(documents.size(), 1u) << outcome.out;
    if (documents.size() == 1) {
      const auto& error = documents[0]["error"];
      EXPECT_EQ(error["code"], code);
      EXPECT_THAT(outcome.err, HasSubstr(error["message"].get<std::string>()));
      EXPECT_THAT(outcome.err, HasSubstr(error["log"].get<std::string>()));
    }
    return outcome.err;
  }

  std::vector<std::string> compile_words(const std::vector<std::string>& more,
                                         const std::string& source = {}) {
    std::vector<std::string> words{"compile", source.empty() ? good_ : source, "--name", "fill"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  std::string good_ = file("good.cu", scale_source);
  std::string before_;
};

TEST_F(BadInput, ASourceWithErrorsGivesTheWholeLog) {
  const auto source = file("bad.cu",
                           "extern \"C\" __global__ void fill(int* x) {\n"
                           "  *x = first_mistake;\n"
                           "  *x = second_mistake;\n"
                           "}\n");
  const auto message = message_of(compile_words({"--arch", "sm_80"}, source), 3, "compile_failed");
  for (const auto* word : {"bad.cu", "sm_80", "first_mistake", "second_mistake"}) {
    EXPECT_THAT(message, HasSubstr(word));
  }
}

TEST_F(BadInput, AMisspelledArchitectureGivesTheKnownOnes) {
  const auto message = message_of(compile_words({"--arch", "sm_9O"}), 2, "unknown_arch");
  for (const auto* word : {"sm_9O", "sm_80", "sm_90a", "native"})
    EXPECT_THAT(message, HasSubstr(word));
}

TEST_F(BadInput, AnArchitectureThatTheCompilerDoesNotKnowGivesThoseItDoes) {
  const auto message = message_of(compile_words({"--arch", "sm_99"}), 2, "unknown_arch");
  for (const auto* word : {"sm_99", "sm_90"}) EXPECT_THAT(message, HasSubstr(word));
}

TEST_F(BadInput, ACubinOfAVirtualArchitectureIsRefused) {
  const auto message = message_of(compile_words({"--arch", "compute_90"}), 2, "invalid_argument");
  for (const auto* word : {"compute_90", "ptx", "sm_90"}) EXPECT_THAT(message, HasSubstr(word));
}

TEST_F(BadInput, AnUnknownImageKindGivesTheKnownOnes) {
  const auto message =
      message_of(compile_words({"--arch", "sm_90", "--image", "elf"}), 2, "invalid_argument");
  for (const auto* word : {"elf", "cubin", "ptx", "ltoir", "optixir"})
    EXPECT_THAT(message, HasSubstr(word));
}

TEST_F(BadInput, AnOptionThatKilnOwnsNamesWhatToUse) {
  const std::vector<std::pair<std::string, std::string>> options{
      {"--gpu-architecture=sm_80", "--arch"},
      {"-arch=sm_80", "--arch"},
      {"-I/usr/include", "-I on the command line"},
      {"-include=x.h", "#include"},
      {"-dlto", "--image"},
      {"--optix-ir", "--image"},
      {"-frandom-seed=1", "kiln decides"},
      {"-pch", "kiln decides"},
      {"--no-cache", "kiln decides"},
      {"--time=x.csv", "write files"},
  };
  for (const auto& [option, remedy] : options) {
    const auto message =
        message_of(compile_words({"--arch", "sm_80", "--option=" + option}), 2, "invalid_option");
    EXPECT_THAT(message, HasSubstr(option));
    EXPECT_THAT(message, HasSubstr(remedy));
  }
}

TEST_F(BadInput, AnExpressionThatDoesNotExistIsNamed) {
  const auto message = message_of(
      compile_words({"--arch", "sm_80", "--name", "no_such_kernel<int>"}), 3, "unknown_kernel");
  EXPECT_THAT(message, HasSubstr("no_such_kernel<int>"));
}

TEST_F(BadInput, AMissingHeaderIsNamedWithWhereItWasLookedFor) {
  const auto source =
      file("lost.cu", "#include <engine/lost.h>\nextern \"C\" __global__ void fill() {}\n");
  const auto folder = scratch("include").string();
  fs::create_directory(folder);
  const auto message =
      message_of(compile_words({"--arch", "sm_80", "-I", folder}, source), 3, "header_not_found");
  for (const auto& word : {std::string("engine/lost.h"), folder})
    EXPECT_THAT(message, HasSubstr(word));
}

TEST_F(BadInput, AMissingSourceIsNamed) {
  const auto message =
      message_of(compile_words({"--arch", "sm_80"}, "/nonexistent/x.cu"), 3, "io_failed");
  EXPECT_THAT(message, HasSubstr("/nonexistent/x.cu: No such file or directory"));
}

TEST_F(BadInput, AFolderIsNoSource) {
  const auto message =
      message_of(compile_words({"--arch", "sm_80"}, scratch(".").string()), 3, "io_failed");
  EXPECT_THAT(message, HasSubstr("Is a directory"));
}

TEST_F(BadInput, WithoutNvrtcTheCandidatesAndTheLoadersWordsAreGiven) {
  const auto message =
      message_of(compile_words({"--arch", "sm_90"}), 3, "compiler_missing", without_cuda());
  for (const auto* word : {"KILN_NVRTC", "/nonexistent/libnvrtc.so", "no such file"}) {
    EXPECT_THAT(message, HasSubstr(word));
  }
}

TEST_F(BadInput, ALibraryThatIsNotNvrtcGivesTheLoadersWords) {
  const auto message = message_of(compile_words({"--arch", "sm_90"}), 3, "compiler_missing",
                                  {.environment = {{"KILN_NVRTC", KILN_TOOL}}});
  for (const auto* word : {KILN_TOOL, "cannot dynamically load"}) {
    EXPECT_THAT(message, HasSubstr(word));
  }
}

TEST_F(BadInput, TheNativeArchitectureWantsADriver) {
  const auto message =
      message_of(compile_words({"--arch", "native"}), 3, "driver_missing", without_cuda());
  EXPECT_THAT(message, HasSubstr("CUDA driver: not available"));
}

TEST_F(BadInput, NonsenseInAVariableNamesIt) {
  const std::vector<std::pair<std::string, std::string>> settings{
      {"KILN_CACHE_DIR", "relative/path"},  {"KILN_CACHE_DISABLE", "maybe"},
      {"KILN_CACHE_READONLY", "2"},         {"KILN_NVRTC", "libnvrtc.so"},
      {"KILN_CUDA_DRIVER", "libcuda.so.1"}, {"KILN_LOG", "loud"},
      {"KILN_NVJITLINK", "nvjitlink"},      {"KILN_NVFATBIN", "nvfatbin"},
  };
  const std::vector<std::vector<std::string>> command_lines{compile_words({"--arch", "sm_80"}),
                                                            {"ls"},
                                                            {"show", "0"},
                                                            {"extract", "0"},
                                                            {"stats"},
                                                            {"doctor"}};
  for (const auto& [variable, value] : settings) {
    for (const auto& words : command_lines) {
      const auto message =
          message_of(words, 2, "invalid_setting", {.environment = {{variable, value}}});
      EXPECT_THAT(message, HasSubstr(variable));
      EXPECT_THAT(message, HasSubstr(value));
    }
  }
}

TEST_F(BadInput, AnEmptyCacheFolderIsRefused) {
  const auto message = message_of({"--cache", "", "ls"}, 2, "invalid_setting");
  EXPECT_THAT(message, HasSubstr("absolute path"));
}

TEST_F(BadInput, ACommandLineThatMakesNoSenseIsUsage) {
  const std::vector<std::vector<std::string>> command_lines{
      {},                              // no verb
      {"frobnicate"},                  // no such verb
      {"ls", "--frobnicate"},          // no such flag
      {"ls", "surplus"},               // no such argument
      {"compile", good_},              // no --arch
      {"compile", "--arch", "sm_80"},  // no file
      {"compile", good_, "--arch"},    // no value
      {"show"},                        // no key
  };
  for (const auto& words : command_lines) message_of(words, 2, "invalid_argument");
}

TEST_F(BadInput, AMisspelledWordGivesTheOneThatWasMeant) {
  const auto message = [&](const std::vector<std::string>& words) {
    return message_of(words, 2, "invalid_argument");
  };
  EXPECT_THAT(message({"comple"}), HasSubstr("there is no verb 'comple'; did you mean 'compile'?"));
  EXPECT_THAT(message({"--cache", "/x", "shwo", "1"}), HasSubstr("did you mean 'show'?"));
  EXPECT_THAT(message({"frobnicate"}), HasSubstr("'frobnicate'; there are compile, link, "));
  EXPECT_THAT(message({"ls", "--sorted=size"}),
              HasSubstr("kiln ls has no option '--sorted'; did you mean '--sort'?"));
  EXPECT_THAT(message({"ls", "--jsno"}), HasSubstr("did you mean '--json'?"));
  EXPECT_THAT(message({"ls", "--frobnicate"}), HasSubstr("; kiln ls --help lists them"));
  EXPECT_THAT(message({"compile", good_, "--arhc", "sm_80"}), HasSubstr("did you mean '--arch'?"));
}

// A cache that cannot be used is a warning to a compile and an error to those who look.
class UnusableCache : public ToolTest {
 protected:
  void expect_unusable(const std::vector<std::string>& words, const Circumstances& circumstances) {
    for (const auto& verb : std::vector<std::vector<std::string>>{
             {"ls"}, {"show", "0"}, {"extract", "0"}, {"stats"}}) {
      const auto outcome = run(verb, circumstances);
      EXPECT_EQ(outcome.exit_code, 3) << verb[0];
      EXPECT_THAT(outcome.err, StartsWith("kiln: error: "));
      for (const auto& word : words) EXPECT_THAT(outcome.err, HasSubstr(word)) << verb[0];
    }
    const auto compiled = run(
        {"--json", "compile", file("good.cu", scale_source), "--arch", "sm_80", "--name", "fill"},
        circumstances);
    EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
    EXPECT_EQ(compiled.documents().at(0)["origin"], "compiled");
    EXPECT_THAT(compiled.err, StartsWith("kiln: warning: "));
    for (const auto& word : words) EXPECT_THAT(compiled.err, HasSubstr(word));

    const auto doctor = run({"--json", "doctor"}, circumstances);
    EXPECT_EQ(doctor.exit_code, 1);
    EXPECT_EQ(doctor.documents().at(0)["can_serve"]["yes"], false);
    for (const auto& word : words) {
      EXPECT_THAT(doctor.documents().at(0)["can_serve"]["reason"].get<std::string>(),
                  HasSubstr(word));
    }
  }
};

TEST_F(UnusableCache, IsAFile) {
  const auto path = file("cache", "something else");
  expect_unusable({path}, {});
  EXPECT_THAT(run({"ls"}).err, HasSubstr("bundle")) << "the only file that is looked into";
  EXPECT_EQ(read(path), "something else");
}

TEST_F(UnusableCache, IsADirectoryWithoutRights) {
  fs::create_directory(cache());
  file("cache/kept", "");
  fs::permissions(cache(), fs::perms::none);
  expect_unusable({cache().string(), "ermission denied"}, {.no_override = true});
  fs::permissions(cache(), fs::perms::owner_all);
}

TEST_F(UnusableCache, IsNotADatabaseUntilSomebodyCompiles) {
  fs::create_directory(cache());
  fs::permissions(cache(), fs::perms::owner_all);
  const auto path = file("cache/kernels.v1.db", std::string(8192, 'x'));
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  for (const auto* verb : {"ls", "stats", "doctor"}) {
    const auto outcome = run({verb});
    EXPECT_NE(outcome.exit_code, 0) << verb;
    EXPECT_THAT(outcome.out + outcome.err, HasSubstr(path)) << verb;
  }
  EXPECT_EQ(snapshot(cache()).size(), 1u);
  const auto compiled =
      compile({file("good.cu", scale_source), "--arch", "sm_80", "--name", "fill"});
  EXPECT_EQ(run({"ls"}).exit_code, 0);
  EXPECT_EQ(run({"--json", "show", compiled["key"]}).documents().at(0)["key"], compiled["key"]);
  EXPECT_EQ(read(path), std::string(8192, 'x'));
}

TEST_F(UnusableCache, IsNotThereToLookAt) {
  const auto outcome = run({"ls"});
  EXPECT_EQ(outcome.exit_code, 1) << "a miss, not a fault";
  EXPECT_THAT(outcome.err, HasSubstr("kiln: error: no cache at '" + cache().string()));
  EXPECT_THAT(outcome.err, HasSubstr("kiln compile FILE --arch A"));
  EXPECT_FALSE(fs::exists(cache())) << "who looks makes nothing";
}

TEST_F(UnusableCache, IsNowhereWithoutAHome) {
  const Circumstances homeless{.environment = {{"KILN_CACHE_DIR", ""}, {"HOME", ""}}};
  const auto outcome = run({"ls"}, homeless);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("HOME"));
}

}  // namespace
}  // namespace kiln::tests
