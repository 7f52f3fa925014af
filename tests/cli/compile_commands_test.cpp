#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::SizeIs;
using Json = nlohmann::json;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

bool has_argument(const Json& command, const std::string& word) {
  return std::ranges::count(command["arguments"], Json(word)) > 0;
}

bool is_here(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

// Runs a command, and gives the beginning of what it says; nothing where it ends well.
std::string complaint_of(const Words& words) {
  std::string line;
  for (const auto& word : words) line += quoted(word) + " ";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((line + "2>&1").c_str(), "r"), pclose);
  std::string text;
  for (int c; (c = std::fgetc(pipe.get())) != EOF;) text += static_cast<char>(c);
  return text.substr(0, 2000);
}

class CompileCommands : public ToolTest {
 protected:
  // The commands, after what holds for all of them was checked.
  std::vector<Json> commands(const Words& arguments, int exit_code = 0,
                             const Circumstances& circumstances = {}) {
    Words words{"compile-commands", "--sources", sources_.string(), "-o", "-"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const auto outcome = run(words, circumstances);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    said_ = outcome.err;
    const auto database = Json::parse(outcome.out);
    for (const auto& command : database) {
      EXPECT_TRUE(fs::is_regular_file(command["file"].get<std::string>())) << command;
      EXPECT_EQ(command["arguments"].back(), command["file"]);
    }
    return database;
  }

  // Whether clang understands the program.
  static void expect_accepted(const Json& command) {
    if (!is_here("clang++")) GTEST_SKIP() << "there is no clang++";
    if (!has_argument(command, "-isystem")) GTEST_SKIP() << "no headers of CUDA";
    EXPECT_EQ(complaint_of(command["arguments"]), "") << command;
  }

  // The same, and whether it sees what is wrong in it.
  static void expect_understood(const Json& command) {
    expect_accepted(command);
    if (IsSkipped()) return;
    const Words words = command["arguments"];
    auto with_fault = words;
    with_fault.insert(with_fault.begin() + 1, "-DFAULT");
    EXPECT_THAT(complaint_of(with_fault), HasSubstr("no_such_function")) << command;
  }

  std::string manifest(const Json& programs) {
    return file("engine/engine.json",
                Json{{"kiln_manifest", 1}, {"targets", {"sm_90a", "sm_80"}}, {"programs", programs}}
                    .dump());
  }

  // What has a file of its own, by its path from the folder of what has none.
  std::string below_sources(const Json& command) const {
    return fs::path(command["file"].get<std::string>()).lexically_relative(sources_);
  }

  const fs::path sources_ = scratch("own folder");
  std::string said_;
};

// Uses what NVRTC has without any #include, and what it has not.
constexpr const char* kernel = R"(
#if BY != 3 || __CUDA_ARCH__ != 900 || !__CUDA_ARCH_FEAT_SM90_ALL || __cplusplus < 202002L
#error other options
#endif
__device__ void use(uint3, dim3) {}
extern "C" __global__ void k(float* x, cudaTextureObject_t texture) {
  __shared__ alignas(16) float shared[4];
  __shared__ alignas(double) float other[4];
  use(threadIdx, blockDim);
  shared[0] = __ldg(x) + __shfl_sync(~0u, sqrtf(*x), 0) + tex1Dfetch<float>(texture, 0);
  other[0] = atomicAdd(x, 1.0f) + min(1, 2) + warpSize;
  assert(*x > 0);
  printf("%f", *x);
  *x = static_cast<float>(clock64()) + std::move(shared[0]) + other[0];
#ifdef FAULT
  no_such_function();
#endif
}
)";

TEST_F(CompileCommands, AManifestsProgramIsReadWhereItLies) {
  const auto source = file("engine/src/k.cu", std::string("#include \"beside.h\"\n"
                                                          "#include <own/text.h>\n"
                                                          "#include <dir.h>\n"
                                                          "#include <inc.h>\n"
                                                          "#include <kiln/vec.cuh>\n"
                                                          "#include <cuda_fp16.h>\n"
                                                          "#include <cstdint>\n") +
                                                  kernel);
  file("engine/src/beside.h", "#pragma once\n");
  file("engine/dir/dir.h", "#pragma once\n");
  file("engine/inc/inc.h", "#pragma once\n");
  const auto path = manifest({{{"name", "k.cu"},
                               {"source_file", "src/k.cu"},
                               {"headers", {{"own/text.h", "#pragma once\n"}}},
                               {"header_dirs", {"dir"}},
                               {"include_dirs", {"./inc/"}},
                               {"standard_headers", true},
                               {"options", {"-DBY=3", "--std=c++20", "--maxrregcount=64"}}}});
  const auto before = snapshot(scratch("engine"));
  const auto all = commands({"--manifest", path});
  ASSERT_THAT(all, SizeIs(1)) << "one of a program, not of each architecture";
  EXPECT_EQ(all[0]["file"], source);
  const Words words = all[0]["arguments"];
  EXPECT_THAT(words,
              IsSupersetOf({std::string("-DBY=3"), std::string("-std=c++20"),
                            scratch("engine/dir").string(), scratch("engine/inc").string()}));
  EXPECT_THAT(words, Each(Not(HasSubstr("maxrregcount"))));
  EXPECT_EQ(snapshot(scratch("engine")), before);
  const auto laid_out = snapshot(sources_);
  EXPECT_TRUE(std::ranges::any_of(
      laid_out, [](const auto& at) { return at.first.ends_with("/own/text.h"); }));
  EXPECT_TRUE(std::ranges::none_of(laid_out, [](const auto& at) {
    return at.first.ends_with("dir.h") || at.first.ends_with("k.cu");
  })) << "they have files of their own";
  expect_understood(all[0]);
}

TEST_F(CompileCommands, TheDemosKernelsAreUnderstood) {
  Json programs;
  for (const auto& entry : fs::directory_iterator(KILN_DEMO_KERNELS)) {
    if (entry.path().extension() != ".cu") continue;
    programs.push_back({{"name", entry.path().filename().string()},
                        {"source_file", entry.path().string()},
                        {"header_dirs", {KILN_DEMO_KERNELS}},
                        {"options", {"--std=c++17"}}});
  }
  const auto all = commands({"--manifest", manifest(programs)});
  EXPECT_EQ(all.size(), programs.size());
  for (const auto& command : all) expect_accepted(command);
}

TEST_F(CompileCommands, AManifestsOwnTextsAreLaidOutAndVariantsAreProgramsOfTheirOwn) {
  const auto hopper = file("engine/hopper.cu", "// hopper\n");
  const auto path =
      manifest({{{"name", "dir/k.cu"},
                 {"source", "// any\n"},
                 {"variants",
                  {{{"name", "hopper"}, {"since", "sm_90a"}, {"source_file", "hopper.cu"}},
                   {{"name", "fast"}, {"since", "sm_120"}, {"options", {"-DFAST"}}}}}},
                {{"name", "other.cu"}, {"source", ""}, {"targets", Json::array()}}});
  const auto all = commands({"--manifest", path}, 1);
  EXPECT_THAT(said_, AllOf(HasSubstr("(other.cu)"), HasSubstr("--arch")));
  ASSERT_THAT(all, SizeIs(2));
  const auto& any = all[all[0]["file"] == hopper ? 1 : 0];
  EXPECT_EQ(read(any["file"].get<std::string>()), "// any\n");
  EXPECT_TRUE(below_sources(any).ends_with("/dir/k.cu")) << any;
  EXPECT_THAT(any["arguments"], Contains("-D__CUDA_ARCH__=800"));

  const auto latest = commands({"--manifest", path, "--arch", "sm_120"});
  ASSERT_THAT(latest, SizeIs(2)) << "other.cu too";
  EXPECT_THAT(latest[0]["arguments"], Contains("-D__CUDA_ARCH__=1200"));
  const bool fast = has_argument(latest[0], "-DFAST") || has_argument(latest[1], "-DFAST");
  EXPECT_TRUE(fast) << "of the program's own source";
}

TEST_F(CompileCommands, StoredProgramsAreLaidOut) {
  file("include/by.h", "#define BY 3\n");
  const auto source = file("a b'c\"$d \xc3\xa4.cu", std::string("#include <by.h>\n"
                                                                "#include <kiln/vec.cuh>\n"
                                                                "#include <cuda_bf16.h>\n") +
                                                        kernel);
  const auto compile_for = [&](const std::string& arch, const std::string& option) {
    compile({source, "--arch", arch, "--image", "ptx", "-I", scratch("include").string(), "--name",
             "k", "--option=--std=c++20", option});
  };
  compile_for("compute_90a", "-DX=1");
  compile_for("compute_90a", "-DX=2");
  const auto before = snapshot(cache());
  const auto all = commands({});
  EXPECT_EQ(snapshot(cache()), before);
  ASSERT_THAT(all, SizeIs(2)) << "one of each set of options";
  EXPECT_EQ(all[0]["file"], all[1]["file"]) << "of one source";
  EXPECT_EQ(read(all[0]["file"].get<std::string>()), read(source));
  EXPECT_TRUE(below_sources(all[0]).ends_with("/kiln/" + fs::path(source).filename().string()));
  for (const auto& [name, text] : snapshot(sources_))
    EXPECT_THAT(name, Not(HasSubstr("cuda_bf16.h"))) << "the toolkit has it";
  for (const auto& command : all) expect_understood(command);
  EXPECT_EQ(commands({}), all) << "the same each time";
  EXPECT_EQ(commands({cache().string()}), all);
}

TEST_F(CompileCommands, ProgramsOfOneNameDoNotMeetAndTheHighestArchitectureCounts) {
  const auto compile_text = [&](const std::string& text, const std::string& arch) {
    compile({file("k.cu", text + "extern \"C\" __global__ void k() {}\n"), "--arch", arch,
             "--image", "ptx", "--name", "k"});
  };
  compile_text("// one\n", "compute_90a");
  compile_text("// one\n", "compute_80");
  compile_text("// one\n", "compute_100");
  compile_text("// two\n", "compute_80");
  const auto all = commands({});
  ASSERT_THAT(all, SizeIs(2));
  for (const auto& command : all) {
    const bool one = read(command["file"].get<std::string>()).starts_with("// one");
    EXPECT_THAT(command["arguments"],
                Contains(one ? "-D__CUDA_ARCH__=1000" : "-D__CUDA_ARCH__=800"));
  }
  for (const auto& command : commands({"--arch", "sm_75"}))
    EXPECT_THAT(command["arguments"], Contains("-D__CUDA_ARCH__=750"));
}

TEST_F(CompileCommands, BundlesDoTooAndWhatHasNoSourceIsNamed) {
  compile({file("k.cu", scale_source), "--arch", "compute_80", "--image", "ptx", "--name", "fill"});
  const auto whole = scratch("whole.kiln").string();
  const auto bare = scratch("bare.kiln").string();
  ASSERT_EQ(run({"export", whole}).exit_code, 0);
  ASSERT_EQ(run({"export", bare, "--without-sources"}).exit_code, 0);
  EXPECT_THAT(commands({whole}), SizeIs(1));
  EXPECT_THAT(commands({bare}, 1), SizeIs(0));
  EXPECT_THAT(said_, AllOf(HasSubstr("left out: k.cu"), HasSubstr("without sources")));
  EXPECT_THAT(commands({}, 0, {.environment = {{"KILN_CACHE_DIR", whole}}}), SizeIs(1));
}

TEST_F(CompileCommands, WhatJsonCannotNameIsLeftOut) {
  for (const auto* name : {"\xff.cu", "k.cu"})
    compile({file(name, scale_source), "--arch", "compute_80", "--image", "ptx", "--name", "fill"});
  EXPECT_THAT(commands({}, 1), SizeIs(1));
  EXPECT_THAT(said_, HasSubstr("not UTF-8"));
}

TEST_F(CompileCommands, WhatNoFileCanBeNamedIsLeftOut) {
  const auto path =
      manifest({{{"name", std::string(300, 'n')}, {"source", ""}},
                {{"name", "k.cu"}, {"source", ""}, {"headers", {{"../up.h", "up"}, {"h.h", ""}}}}});
  EXPECT_THAT(commands({"--manifest", path}, 1), SizeIs(1));
  EXPECT_THAT(said_, AllOf(HasSubstr("File name too long"), HasSubstr("../up.h")));
  EXPECT_FALSE(fs::exists(sources_ / "up.h"));
}

TEST_F(CompileCommands, WritesAFileAndReportsIt) {
  const auto path = manifest({{{"name", "k.cu"}, {"source", ""}}});
  const auto output = scratch("compile_commands.json").string();
  const Words words{"compile-commands",      "--manifest", path,  "--sources",
                    sources_.string() + "/", "-o",         output};
  const auto people = run(words);
  EXPECT_EQ(people.exit_code, 0);
  EXPECT_EQ(people.out, "");
  EXPECT_THAT(people.err, AllOf(HasSubstr("1 command in " + output), HasSubstr(sources_.string())));
  auto with_json = words;
  with_json.insert(with_json.begin(), "--json");
  const auto programs = run(with_json);
  EXPECT_EQ(programs.documents().at(0), (Json{{"schema", 1},
                                              {"file", output},
                                              {"folder", sources_.string()},
                                              {"commands", 1},
                                              {"skipped", Json::array()}}));
  EXPECT_THAT(Json::parse(read(output)), SizeIs(1));
  auto quiet = words;
  quiet.insert(quiet.begin(), "--quiet");
  EXPECT_EQ(run(quiet).err, "");
}

TEST_F(CompileCommands, TakesNoOtherToolsDatabaseForItsOwn) {
  const auto before = fs::current_path();
  fs::create_directory(scratch("here"));
  fs::current_path(scratch("here"));
  const Words words{"compile-commands", "--manifest", manifest(Json::array()), "--sources", "own"};
  EXPECT_EQ(run(words).exit_code, 0);
  EXPECT_EQ(run(words).exit_code, 0) << "over its own";
  EXPECT_EQ(Json::parse(read("compile_commands.json")), Json::array());
  file("here/compile_commands.json", R"([{"directory":"/","file":"/x.cpp","command":"c++"}])");
  const auto outcome = run(words);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("compile_commands.json"), HasSubstr("-o")));
  auto named = words;
  named.insert(named.end(), {"-o", "compile_commands.json"});
  EXPECT_EQ(run(named).exit_code, 0);
  fs::current_path(before);
}

TEST_F(CompileCommands, RefusesWhatMakesNoSense) {
  const auto path = manifest(Json::array());
  const auto refused = [&](const Words& more, const std::string& said) {
    Words words{"compile-commands"};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(said));
  };
  refused({"--manifest", path}, "--sources");
  refused({"--manifest", path, "--sources", ""}, "--sources: it is empty");
  refused({cache().string(), "--manifest", path, "--sources", "s"}, "not both");
  refused({"--manifest", path, "--sources", "s", "--arch", "native"}, "sm_90a");
  refused({"--manifest", path, "--sources", "s", "--arch", "sm_9O"}, "sm_9O");
  refused({"--manifest", path, "--sources", "s", "-o", "-", "--json"}, "in the place of -");
  file("home/.profile", "mine");
  refused({"--manifest", path, "--sources", scratch("home").string(), "-o", "-"}, "other things");
  EXPECT_THAT(snapshot(scratch("home")), SizeIs(1));
  EXPECT_FALSE(fs::exists("s"));
  EXPECT_EQ(run({"compile-commands", "--sources", "s"}).exit_code, 1) << "there is no cache";
  EXPECT_EQ(run({"compile-commands", scratch("none.kiln"), "--sources", "s"}).exit_code, 3);
}

TEST_F(CompileCommands, SaysSoWhereNothingOfCudaIsFound) {
  auto circumstances = without_cuda();
  circumstances.environment["CUDA_HOME"] = "/nonexistent";
  const auto path = manifest({{{"name", "k.cu"}, {"source", ""}}});
  const auto all = commands({"--manifest", path}, 0, circumstances);
  ASSERT_THAT(all, SizeIs(1));
  if (has_argument(all[0], "-isystem")) GTEST_SKIP() << "this machine has a toolkit";
  EXPECT_THAT(said_, HasSubstr("nvidia-cuda-crt"));
}

}  // namespace
}  // namespace kiln::tests
