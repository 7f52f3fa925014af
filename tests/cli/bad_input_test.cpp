// What the tool says of bad input, a row for each kind. One table over one cache, and so one file, though long.

#include <algorithm>
#include <string>

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

  static std::string in_one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
  }

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
      // Its last words may be the first of the log, on their own line.
      EXPECT_THAT(in_one_line(outcome.err), HasSubstr(in_one_line(error["message"])));
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
  for (const auto* word : {"bad.cu", "sm_80", "\"first_mistake\" is", "\"second_mistake\" is"}) {
    const auto at = message.find(word);
    ASSERT_NE(at, std::string::npos) << word;
    if (word[0] == '"') {
      EXPECT_EQ(message.find(word, at + 1), std::string::npos) << "told twice";
    }
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
  EXPECT_THAT(message, HasSubstr("name an architecture, such as sm_90a"));
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
  const auto message = [&](const std::vector<std::string>& words) {
    return message_of(words, 2, "invalid_argument");
  };
  EXPECT_THAT(message({"import"}), HasSubstr("kiln import: FILE is required"));
  EXPECT_THAT(message({"gc", "surplus"}),
              HasSubstr("kiln gc has no place for 'surplus'; kiln gc --help"));
}

TEST_F(BadInput, AMisspelledWordGivesTheOneThatWasMeant) {
  const auto message = [&](const std::vector<std::string>& words) {
    return message_of(words, 2, "invalid_argument");
  };
  EXPECT_THAT(message({"--verbose", "compile", "k.cu"}),
              HasSubstr("'--verbose' stands before the verb, where no verb takes it; an option of "
                        "one verb stands behind"));
  EXPECT_THAT(message({"--engine", "acme", "ls"}),
              HasSubstr("'--engine' stands before the verb, where no verb takes it; an "));
  EXPECT_THAT(message({"--jsn", "ls"}), HasSubstr("no verb takes it; did you mean '--json'?"));
  EXPECT_THAT(message({"comple"}), HasSubstr("there is no verb 'comple'; did you mean 'compile'?"));
  EXPECT_THAT(message({"--cache", "/x", "shwo", "1"}), HasSubstr("did you mean 'show'?"));
  EXPECT_THAT(message({"frobnicate"}), HasSubstr("'frobnicate'; there are compile, link, "));
  EXPECT_THAT(message({"ls", "--sorted=size"}),
              HasSubstr("kiln ls has no option '--sorted'; did you mean '--sort'?"));
  EXPECT_THAT(message({"ls", "--jsno"}), HasSubstr("did you mean '--json'?"));
  EXPECT_THAT(message({"ls", "--frobnicate"}), HasSubstr("; kiln ls --help lists them"));
  EXPECT_THAT(message({"compile", good_, "--arhc", "sm_80"}), HasSubstr("did you mean '--arch'?"));
  EXPECT_THAT(message({"-v"}), HasSubstr("did you mean '--version'?"));
  EXPECT_THAT(message({"ls", "-o"}), HasSubstr("kiln ls has no option '-o'; kiln ls --help lists"));
}

TEST_F(BadInput, AWordInTheWrongPlaceIsToldTheRightOne) {
  const auto message = [&](const std::vector<std::string>& words) {
    return message_of(words, 2, "invalid_argument");
  };
  EXPECT_THAT(message({"export", "-o", "x.kiln"}),
              HasSubstr("kiln export has no option '-o'; the bundle is named without an option: "
                        "kiln export x.kiln"));
  EXPECT_THAT(message({"ls", "*.cu"}),
              HasSubstr("kiln ls has no place for '*.cu'; --program '*.cu' chooses the programs"));
  EXPECT_THAT(message({"compile", good_, "more.cu", "--arch", "sm_80"}),
              Not(HasSubstr("--program")));
  EXPECT_THAT(message({"--cache"}), HasSubstr("--cache wants a folder behind it"));
}

// What somebody got wrong: which words of the message name the thing, the place as it was written, and the remedy.
struct Mistake {
  std::vector<std::string> words;
  int exit_code;
  const char* code;
  std::string thing;
  std::string place;
  std::string remedy;
  Circumstances circumstances = {};
};

class Mistakes : public BadInput {
 protected:
  Mistakes() {
    bundle_ = scratch("all.kiln").string();
    EXPECT_EQ(run({"export", bundle_}).exit_code, 0);
    fs::create_directory(folder_);
  }

  void expect(const std::vector<Mistake>& mistakes) {
    for (const auto& [words, exit_code, code, thing, place, remedy, circumstances] : mistakes) {
      SCOPED_TRACE(testing::PrintToString(words));
      const auto message = message_of(words, exit_code, code, circumstances);
      for (const auto& part : {thing, place, remedy}) EXPECT_THAT(message, HasSubstr(part));
    }
  }

  // A manifest of one program, with these members beside its name.
  std::string manifest(const std::string& name, const std::string& members) const {
    return file(name, R"({"kiln_manifest": 1, "programs": [{"name": "a.cu", )" + members + "}]}");
  }

  const std::string folder_ = scratch("folder").string();
  const std::string nowhere_ = scratch("nowhere/out").string();
  const std::string none_ = scratch("none").string();
  const std::string text_ = file("text.kiln", "no bundle");
  std::string bundle_;
};

TEST_F(Mistakes, InAProgram) {
  const auto templated =
      file("templated.cu", "template <class T> __global__ void scaled(T* x) { *x *= 2; }\n");
  const auto bad = file("bad.cu", "__global__ void fill(int* x) {\n  *x = mistaken;\n}\n");
  const auto lost = file("lost.cu", "#include <engine/lost.h>\n");
  const auto fatbin = file("silu.fatbin", "\x50\xed\x55\xba.version 9.0\n.target sm_80\n");
  const auto cub = file("cub.cu", "#include <cub/no_such.cuh>\n");
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"compile", good_, "--name", "fill", "--arch", "sm_80"});
    return more;
  };
  expect({
      {{"compile", bad, "--arch", "sm_80"},
       3,
       "compile_failed",
       "mistaken",
       bad + "(2): error",
       "is undefined"},
      {{"compile", lost, "--arch", "sm_80"},
       3,
       "header_not_found",
       "\"engine/lost.h\"",
       lost + "(1)",
       "Add its folder to the include directories"},
      {{"compile", cub, "--arch", "sm_80"},
       3,
       "header_not_found",
       "<cub/no_such.cuh>",
       cub + "(1)",
       "a CUDA toolkit has it, or PyPI's nvidia-cuda-cccl"},
      {{"compile", none_, "--arch", "sm_80"},
       3,
       "io_failed",
       "No such file",
       none_,
       "check its name"},
      {{"compile", "", "--arch", "sm_80"},
       3,
       "io_failed",
       "No such file",
       "cannot read '': ",
       "check its name"},
      {{"compile", folder_, "--arch", "sm_80"},
       3,
       "io_failed",
       "Is a directory",
       folder_,
       "name a file in it"},
      {{"compile", good_, "--arch", "sm_8O"},
       2,
       "unknown_arch",
       "'sm_8O'",
       "--arch: ",
       "Known ones: sm_75"},
      {{"compile", good_, "--arch", "compute_80"},
       2,
       "invalid_argument",
       "'compute_80' names no GPU",
       "--arch: ",
       "ask for ptx, or for sm_80"},
      {{"compile", good_}, 2, "invalid_argument", "good.cu", "architecture", "--arch"},
      {{"compile", good_, "--name", "fill", "--arch", "native"},
       3,
       "driver_missing",
       "CUDA driver: not available",
       "/nonexistent/libcuda.so.1",
       "Give the path of the machine's own libcuda.so.1",
       without_cuda()},
      {with({"--image", "elf"}), 2, "invalid_argument", "'elf'", "--image: ", "use cubin, ptx"},
      {with({"--option=-arch=sm_80"}), 2, "invalid_option", "'-arch=sm_80'", "good.cu",
       "--arch on the command line"},
      {{"compile", templated, "--arch", "sm_80", "--name", "scaled"},
       3,
       "unknown_kernel",
       "'scaled'",
       "templated.cu",
       "it is a template: name an instance of it, scaled<…>"},
      {with({"--name", "flil"}), 3, "unknown_kernel", "'flil'", "good.cu", "did you mean fill?"},
      {with({"--arch", "sm_90", "-o", "x.cubin"}), 2, "invalid_argument", "2 architectures",
       "-o x.cubin", "name a file with {arch} in it"},
      {with({"-o", folder_}), 3, "io_failed", "Is a directory", folder_, "name a file in it"},
      {with({"-o", nowhere_}), 3, "io_failed", "No such file", nowhere_, "make its folder first"},
      {{"link", none_, "--arch", "sm_80"},
       3,
       "io_failed",
       "no such file",
       none_,
       "kiln ls lists the entries"},
      {{"link", good_, "--arch", "sm_80"},
       2,
       "invalid_argument",
       "neither a cubin nor LTO-IR nor PTX",
       good_,
       "kiln compile --image ltoir makes some"},
      {{"link", fatbin, "--arch", "sm_80"},
       2,
       "invalid_argument",
       "neither a cubin nor LTO-IR nor PTX",
       fatbin,
       "kiln compile --image ltoir makes some"},
      {{"link", good_, "--arch", "sm_90a,sm_100"},
       2,
       "invalid_argument",
       "for one architecture",
       "--arch sm_90a,sm_100",
       "name one"},
      {{"link", bundle_, "--arch", "sm_80", "--image", "elf"},
       2,
       "invalid_argument",
       "'elf'",
       "--image: ",
       "use cubin, ptx"},
      {{"trace", good_}, 2, "invalid_argument", "architecture of a source", good_, "with --arch"},
      {{"compile", "--", good_, "--arch", "sm_80"},
       2,
       "invalid_argument",
       "'--arch'",
       "behind '--'",
       "put it before"},
      {{"trace", good_, "--arch", "sm_80,sm_90"},
       2,
       "invalid_argument",
       "name one architecture",
       "--arch",
       "headers cost the same"},
      {{"trace", "a.json", "-DX"},
       2,
       "invalid_argument",
       "a manifest says of its programs all",
       "words for a source",
       "only --arch goes with one"},
  });
}

TEST_F(Mistakes, InAManifest) {
  const std::string first = ": programs[0] (a.cu)";
  const auto torn = file("torn.json", "{\"kiln_manifest\": 1,\n");
  const auto newer = file("newer.json", R"({"kiln_manifest": 2, "programs": []})");
  const auto field = manifest("field.json", R"("source": "", "target": ["sm_80"])");
  const auto lost = manifest("lost.json", R"("source_file": "none.cu")");
  const auto arch = manifest("arch.json", R"("source": "", "targets": ["sm_8O"])");
  const auto no_target = manifest("no_target.json", R"("source": "")");
  const std::string listed = R"({"name": "a.cu", "source": "", "targets": ["sm_80"]})";
  const auto twice =
      file("twice.json", R"({"kiln_manifest": 1, "programs": [)" + listed + ", " + listed + "]}");
  const auto variant = [&](const std::string& name, const std::string& kernels) {
    return manifest(name, R"("source": "", "targets": ["sm_80"], "kernels": ["k"], "variants": [
                    {"name": "v", "since": "sm_80", "kernels": )" +
                              kernels + "}]");
  };
  const auto strange = variant("strange.json", R"({"f": "g"})");
  const auto both = variant("both.json", R"({"k": "f", " k": "g"})");
  const auto prewarm = [](const std::string& manifest) {
    return std::vector<std::string>{"prewarm", manifest};
  };
  expect({
      {prewarm(none_), 3, "io_failed", "No such file or directory", none_, "name a manifest"},
      {prewarm(folder_), 3, "io_failed", "it is no file but a folder", folder_,
       "`kiln prewarm --from`"},
      {prewarm(torn), 2, "invalid_argument", "unexpected end of input",
       torn + ": no JSON: parse error at line 2, column 1", "expected string literal"},
      {prewarm(good_), 2, "invalid_argument", "it is no manifest", good_,
       "`kiln compile` compiles a source"},
      {prewarm(text_), 2, "invalid_argument", "it is no manifest", text_, "which is JSON"},
      {prewarm(newer), 2, "invalid_argument", "kiln_manifest", newer, "must be 1"},
      {prewarm(field), 2, "invalid_argument", "target: there is no such field", field + first,
       "there are name, source"},
      {prewarm(lost), 3, "io_failed",
       "cannot read " + scratch("none.cu").string() + ": No such file",
       lost + first + ": source_file", "relative paths begin at the manifest"},
      {prewarm(arch), 2, "invalid_argument", "'sm_8O'", arch + first + ": targets",
       "Known ones: sm_75"},
      {prewarm(no_target), 2, "invalid_argument", "no target", no_target + first, "with --arch"},
      {prewarm(twice), 2, "invalid_argument", "sm_80 is listed already",
       "twice.json: programs[1] (a.cu)", "as " + twice + first},
      {prewarm(strange), 2, "invalid_argument", "'f' is not among the program's kernels",
       strange + first, "kernels: k"},
      {prewarm(both), 2, "invalid_argument", "'k' stands for both 'g' and 'f'", both + first,
       "leave one out"},
      {{"prewarm"}, 2, "invalid_argument", "name a manifest", "prewarm", "with --from"},
      {{"prewarm", no_target, "--arch", "sm_8O"},
       2,
       "unknown_arch",
       "'sm_8O'",
       "--arch: ",
       "Known ones: sm_75"},
      {{"prewarm", no_target, "--jobs", "5000"},
       2,
       "invalid_argument",
       "5000",
       "--jobs",
       "0 to 1024"},
      {{"prewarm", no_target, "--timeout", "0"},
       2,
       "invalid_argument",
       "0 is no number of seconds",
       "--timeout",
       "above nothing"},
      {{"prewarm", "--from", none_}, 3, "io_failed", "no bundle", none_, "kiln export writes one"},
      {{"prewarm", "--from", text_},
       3,
       "cache_unusable",
       "is not a kiln bundle",
       text_,
       "name one that `kiln export` wrote"},
  });
}

TEST_F(Mistakes, InTheWords) {
  const auto cubin = file("engine.cubin",
                          "\x7f"
                          "ELF" +
                              std::string(2000, 'x'));
  const auto empty = file("empty.kiln", "");
  const auto store = scratch("a store%41").string();
  const auto in_a_url = scratch("a%20store%2541").string();
  fs::create_directory(store);
  fs::permissions(store, fs::perms::all);  // As one lies that several users share.
  EXPECT_EQ(run({"push", "--to", "file://" + in_a_url}).exit_code, 0);
  const auto torn = file("torn.kiln", read(bundle_).substr(0, 8192));
  expect({
      {{"lss"}, 2, "invalid_argument", "there is no verb", "'lss'", "did you mean 'ls'?"},
      {{"ls", "--srot=size"},
       2,
       "invalid_argument",
       "no option '--srot'",
       "kiln ls",
       "did you mean '--sort'?"},
      {{"ls", "--sort", "colour"}, 2, "invalid_argument", "colour", "--sort", "program"},
      {{"ls", "--age", "soon"}, 2, "invalid_argument", "soon", "--age", "such as 30d"},
      {{"ls", "--arch", "sm_9"}, 2, "unknown_arch", "'sm_9'", "--arch: ", "Known ones: sm_75"},
      {{"ls", "--arch", "native"}, 2, "invalid_argument", "native", "--arch", "such as sm_90"},
      {{"kernels", "--arch", "sm_9"}, 2, "unknown_arch", "'sm_9'", "--arch: ", "Known ones: sm_75"},
      {{"ls", "--limit", "0"}, 2, "invalid_argument", "0 not in range", "--limit", "range 1 to"},
      {{"kernels", "--threads", "2000"}, 2, "invalid_argument", "2000", "--threads", "1 to 1024"},
      {{"diff", bundle_, none_},
       3,
       "io_failed",
       "no cache and no bundle",
       none_,
       "kiln ls lists the entries"},
      {{"diff", bundle_, bundle_, "--allow", "stack=1"},
       2,
       "invalid_argument",
       "stack=1",
       "--allow",
       "registers, spill, local, shared, size"},
      {{"show", ""}, 2, "invalid_argument", "names no entry", "''", "give a key"},
      {{"show", "godo.cu"}, 1, "not_found", "no program", "'godo.cu'", "did you mean 'good.cu'?"},
      {{"pin", "flil"}, 1, "not_found", "no kernel", "'flil'", "did you mean 'fill'?"},
      {{"disasm", "fill", "flil"}, 1, "not_found", "no kernel 'flil'", "good.cu", "it has fill"},
      {{"extract", "fill", "--source", "--log"},
       2,
       "invalid_argument",
       "at most 1",
       "--source",
       "--log"},
      {{"gc", "--max-size", "5X"}, 2, "invalid_argument", "5X", "--max-size", "such as 500M"},
      {{"gc", "--older-than", "3y"}, 2, "invalid_argument", "3y", "--older-than", "such as 30d"},
      {{"clear"}, 2, "invalid_argument", "every entry", "clear", "--yes"},
      {{"export", nowhere_}, 3, "io_failed", "No such file", nowhere_, "make it first"},
      {{"export", folder_}, 3, "io_failed", "it is a folder", folder_, "name a file in it"},
      {{"import", none_}, 3, "io_failed", "no bundle", none_, "kiln export writes one"},
      {{"import", folder_},
       3,
       "io_failed",
       "no cache at",
       folder_,
       "name a bundle that `kiln export` wrote, or a directory that kiln has used as a cache"},
      {{"import", store},
       3,
       "io_failed",
       "it is a store",
       store,
       "kiln pull --from 'file://" + in_a_url + "'"},
      {{"ls", "--cache", store},
       1,
       "not_found",
       "it is a store",
       store,
       "kiln ls --store 'file://" + in_a_url + "'"},
      {{"push", "--to", folder_},
       2,
       "invalid_argument",
       "is not a store",
       "'" + folder_ + "'",
       "name a folder with file:// before its path"},
      {{"merge", bundle_, text_, "-o", nowhere_},
       3,
       "cache_unusable",
       "is not a kiln bundle",
       text_,
       "name one that `kiln export` wrote"},
      {{"trace", text_, "--top", "-1"}, 2, "invalid_argument", "-1", "--top", "1 to 1000000000"},
      {{"prewarm", text_, "--timeout", "1e300"},
       2,
       "invalid_argument",
       "1e300",
       "--timeout",
       "up to 1e9"},
      {{"merge", bundle_, "-o", bundle_},
       2,
       "invalid_argument",
       "that is what is read",
       "-o " + bundle_,
       "name another file"},
      {{"diff", cubin, bundle_},
       3,
       "cache_unusable",
       "is not a kiln bundle",
       cubin,
       "name one that `kiln export` wrote"},
      {{"import", empty},
       3,
       "cache_unusable",
       "is not a kiln bundle",
       empty,
       "name one that `kiln export` wrote"},
      {{"ls", "--cache", cubin},
       3,
       "cache_unusable",
       "is not a kiln bundle",
       cubin,
       "where a cache was meant, name its directory"},
      {{"import", torn},
       3,
       "cache_unusable",
       "is corrupt",
       torn,
       "name one that `kiln export` wrote"},
      {{"config", "put"}, 2, "invalid_argument", "put", "ACTION", "{get,set,unset}"},
      {{"config", "get", "KILN_LGO"},
       2,
       "invalid_argument",
       "no setting",
       "'KILN_LGO'",
       "did you mean KILN_LOG?"},
      {{"config", "set", "KILN_FOO", "x"},
       2,
       "invalid_argument",
       "no setting",
       "'KILN_FOO'",
       "kiln config lists them"},
      {{"config", "set", "KILN_LOG", "loud"},
       2,
       "invalid_setting",
       "'loud'",
       "KILN_LOG",
       "use off, warn, info or debug"},
      {{"ls"},
       2,
       "invalid_setting",
       "'loud'",
       "KILN_LOG",
       "use off, warn",
       {.environment = {{"KILN_LOG", "loud"}}}},
      {{"ls"},
       2,
       "invalid_setting",
       "'here'",
       "KILN_CACHE_DIR",
       "an absolute path",
       {.environment = {{"KILN_CACHE_DIR", "here"}}}},
  });
}

TEST_F(Mistakes, InNamesAndMeasures) {
  const auto bare = scratch("bare.kiln").string();
  ASSERT_EQ(run({"export", "--without-sources", bare}).exit_code, 0);
  const auto tab = file("a\tb.cu", scale_source);
  expect({
      {{"ls", "--image", "foo"}, 2, "invalid_argument", "'foo'", "--image", "ptx"},
      {{"gc", "--max-size", "99999999999999999999T"},
       2,
       "invalid_argument",
       "less than 16 EiB",
       "--max-size 99999999999999999999T",
       "such as 500M"},
      {{"gc", "--older-than", "99999999999d"},
       2,
       "invalid_argument",
       "below 2^32",
       "--older-than 99999999999d",
       "such as 30d"},
      {{"compile", tab, "--arch", "sm_80"},
       2,
       "invalid_argument",
       "a control character",
       "program name",
       "name it without"},
      {{"extract", "fill", "--source", "-o", none_, "--cache", bare},
       1,
       "not_found",
       "is not kept here",
       "the source of ",
       "without sources"},
  });
}

// Such as a variable of a script that is not set.
TEST_F(Mistakes, AnOptionWithNothing) {
  std::vector<Mistake> mistakes;
  for (auto words :
       std::vector<std::vector<std::string>>{{"compile", good_, "--arch"},
                                             {"compile", good_, "--arch", "sm_80", "--option"},
                                             {"compile", good_, "--arch", "sm_80", "--name"},
                                             {"compile", good_, "--arch", "sm_80", "-I"},
                                             {"compile", good_, "--arch", "sm_80", "-o"},
                                             {"extract", "fill", "--sources"},
                                             {"ls", "--engine"},
                                             {"gc", "--max-size"},
                                             {"gc", "--older-than"},
                                             {"clear", "--yes", "--engine"},
                                             {"export", scratch("e.kiln").string(), "--engine"},
                                             {"key", "generate", "k9", "--directory"},
                                             {"ls", "--cache"}}) {
    const auto expect_refused = [&, option = words.back()](std::vector<std::string> all) {
      mistakes.push_back({std::move(all), 2, "invalid_argument", "it is empty", option + ": ",
                          "give it a value, or leave the option out"});
    };
    if (words.back().starts_with("--")) {
      auto joined = words;
      joined.back() += '=';
      joined.emplace_back("--quiet");
      expect_refused(std::move(joined));
    }
    words.emplace_back();
    expect_refused(std::move(words));
  }
  expect(mistakes);
  EXPECT_FALSE(fs::exists(scratch("e.kiln")));
  EXPECT_FALSE(fs::exists("k9.key"));
  // A flag takes no value, and what follows an option is its value, whatever it looks like.
  EXPECT_EQ(run({"ls", "--json="}).exit_code, 0);
  EXPECT_THAT(run({"compile", good_, "--arch", "sm_80", "--option", "--std="}).err,
              HasSubstr("invalid value for --std"));
}

TEST_F(Mistakes, InWhatIsChanged) {
  const auto source = manifest("a.json", R"("source": "", "targets": ["sm_80"])");
  std::vector<Mistake> mistakes;
  for (const auto& words : std::vector<std::vector<std::string>>{{"gc"},
                                                                 {"clear", "--yes"},
                                                                 {"pin", "fill"},
                                                                 {"unpin", "fill"},
                                                                 {"stats", "--reset"},
                                                                 {"import", bundle_},
                                                                 {"prewarm", source}}) {
    auto all = words;
    all.insert(all.end(), {"--cache", bundle_});
    mistakes.push_back({all, 3, "cache_unusable", "a bundle is never changed",
                        "'" + bundle_ + "' is a file", "kiln import '" + bundle_ + "'"});
  }
  const auto before = read(bundle_);
  expect(mistakes);
  EXPECT_EQ(read(bundle_), before);
}

}  // namespace
}  // namespace kiln::tests
