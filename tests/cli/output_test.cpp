#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

constexpr const char* bold = "\x1b[1m";

class Output : public ToolTest {
 protected:
  Outcome compile_to(const std::string& path) {
    return run({"compile", source_, "--arch", "sm_80", "--name", "fill", "-o", path});
  }

  std::string source_ = file("scale.cu", scale_source);
};

TEST_F(Output, SaysItsVersion) {
  const auto outcome = run({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "kiln " KILN_VERSION "\n");
}

TEST_F(Output, HelpNamesEveryVerbAndExitStatus) {
  const auto outcome = run({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const auto* word : {"compile", "ls", "show", "extract", "stats", "verify", "gc", "clear",
                           "pin", "unpin", "config", "doctor", "Exit status"}) {
    EXPECT_THAT(outcome.out, HasSubstr(word));
  }
}

TEST_F(Output, HelpIsWhatTheToolSaysToNothing) {
  const auto alone = run({});
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_EQ(alone.err, "");
  EXPECT_EQ(alone.out, run({"--help"}).out);
}

TEST_F(Output, HelpOfAVerbNamesItsWords) {
  const auto outcome = run({"extract", "--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const auto* word : {"KEY", "--image", "--source", "--names", "--log", "-o"}) {
    EXPECT_THAT(outcome.out, HasSubstr(word));
  }
}

TEST_F(Output, IsColouredOnATerminalOnly) {
  ASSERT_EQ(compile_to(scratch("x").string()).exit_code, 0);
  EXPECT_THAT(run({"ls"}, {.terminal = true}).out, HasSubstr(bold));
  EXPECT_THAT(run({"ls"}).out, Not(HasSubstr(bold)));
  for (const auto& [variable, value] : {std::pair{"NO_COLOR", "1"}, std::pair{"TERM", "dumb"}}) {
    EXPECT_THAT(run({"ls"}, {.environment = {{variable, value}}, .terminal = true}).out,
                Not(HasSubstr(bold)))
        << variable;
  }
}

TEST_F(Output, ReplacesAFileAndLeavesNoOther) {
  const auto output = scratch("out/scale.cubin");
  file("out/scale.cubin", "old");
  ASSERT_EQ(compile_to(output.string()).exit_code, 0);
  EXPECT_EQ(read(output).substr(1, 3), "ELF");
  EXPECT_EQ(snapshot(scratch("out")).size(), 1u);
}

/// What somebody else may have put where the tool is about to write, in a folder that they share.
TEST_F(Output, FollowsNoLinkInThePlaceOfItsTemporaryFile) {
  const auto victim = file("victim", "precious");
  // Whatever the tool's process number is going to be.
  const auto next = ::getpid();
  for (int number = next; number < next + 300; ++number) {
    fs::create_symlink(victim, scratch("scale.cubin." + std::to_string(number) + ".tmp"));
  }
  ASSERT_EQ(compile_to(scratch("scale.cubin").string()).exit_code, 0);
  EXPECT_TRUE(read(victim) == "precious");
  EXPECT_EQ(read(scratch("scale.cubin")).substr(1, 3), "ELF");
}

TEST_F(Output, HasTheRightsThatTheUserWants) {
  const auto before = ::umask(027);
  const auto outcome = compile_to(scratch("scale.cubin").string());
  ::umask(before);
  ASSERT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(fs::status(scratch("scale.cubin")).permissions(), fs::perms(0640));
}

TEST_F(Output, WritesThroughALinkInsteadOfReplacingIt) {
  const auto link = scratch("link");
  fs::create_symlink("target", link);
  ASSERT_EQ(compile_to(link.string()).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read(scratch("target")).substr(1, 3), "ELF");
}

TEST_F(Output, NamesAFileThatCannotBeWritten) {
  const auto outcome = compile_to(scratch("nowhere/scale.cubin").string());
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err,
              HasSubstr("kiln: error: cannot write " + scratch("nowhere/scale.cubin").string()));
  EXPECT_THAT(outcome.err, HasSubstr("No such file or directory"));
}

TEST_F(Output, EndsAsEverWhereStandardErrorIsClosed) {
  const std::vector<std::vector<std::string>> mistakes{
      {"frobnicate"},
      {"compile", source_, "--arch", "sm_80", "--name", "nothing"},
      {"compile", scratch("nowhere.cu").string(), "--arch", "sm_80"},
      {"clear"},
      {"--cache", scratch("stdout").string(), "ls"}};
  for (const auto& words : mistakes) {
    EXPECT_EQ(run(words, {.closed = {STDERR_FILENO}}).exit_code, run(words).exit_code) << words[0];
  }
}

TEST_F(Output, IsWholeWhereAllStreamsAreClosed) {
  const auto output = scratch("scale.cubin").string();
  const auto outcome =
      run({"compile", source_, "--arch", "sm_80", "--name", "fill", "--quiet", "-o", output},
          {.closed = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(read(output).substr(1, 3), "ELF");
}

TEST_F(Output, SaysThatAFileMayNotBeSoLarge) {
  ASSERT_EQ(compile_to(scratch("whole.cubin").string()).exit_code, 0);
  const auto image = scratch("scale.cubin");
  const auto outcome = run({"compile", source_, "--arch", "sm_80", "--name", "fill", "-o", image},
                           {.file_size = 2000});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write " + image.string() + ": File too large"));
  EXPECT_FALSE(fs::exists(image));
}

TEST_F(Output, SaysThatTheDiskIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto outcome = compile_to("/dev/full");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("/dev/full: No space left on device"));
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    const auto columns = std::ranges::count_if(
        line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
    widest = std::max(widest, static_cast<std::size_t>(columns));
  }
  return widest;
}

TEST_F(Output, FitsTheTerminal) {
  file("a/folder/with/a/rather/long/path/include/a_header_with_a_name.cuh", "#define BY 2\n");
  const auto source = file("a_program_whose_name_is_long.cu", R"(
#include <a_header_with_a_name.cuh>
template <class T, class U, int N> __global__ void a_kernel_whose_name_is_long(T* values, U by) {
#ifdef MORE
  __shared__ T own[1000];
  own[threadIdx.x] = values[N];
  __syncthreads();
  by += own[N];
#endif
  values[threadIdx.x] *= by * BY;
})");
  const auto make = [&](const std::string& cache, const std::string& option) {
    const auto made = run({"compile", source, "--arch", "sm_80", "--cache", scratch(cache), option,
                           "--name", "a_kernel_whose_name_is_long<float, float, 12>", "-I",
                           scratch("a/folder/with/a/rather/long/path/include")});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  };
  make("before", "-DLESS");
  make("after", "-DMORE");
  const auto after = scratch("after").string();
  for (const auto& words : std::vector<std::vector<std::string>>{{"show", "*", "--cache", after},
                                                                 {"config", "--cache", after},
                                                                 {"diff", scratch("before"), after},
                                                                 {"ls", "--cache", after},
                                                                 {"kernels", "--cache", after}}) {
    const auto width = [&](const char* columns) {
      const auto outcome =
          run(words, {.environment = {{"COLUMNS", columns}, {"TERM", "dumb"}}, .terminal = true});
      EXPECT_NE(outcome.out, "") << outcome.err;
      return widest_line(outcome.out);
    };
    EXPECT_LE(width("80"), 80U) << words[0];
    EXPECT_LE(width("120"), 120U) << words[0];
  }
  const auto shown = run({"diff", scratch("before"), after},
                         {.environment = {{"COLUMNS", "70"}}, .terminal = true});
  EXPECT_THAT(shown.out, HasSubstr("SHARED")) << "what changed goes last";
  EXPECT_THAT(shown.out, Not(HasSubstr("LOCAL")));
}

TEST_F(Output, IsNotLostInSilence) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  ASSERT_EQ(compile_to(scratch("x").string()).exit_code, 0);
  std::string many;  // More than what standard output holds back.
  for (int number = 0; number < 100; ++number)
    many += fmt::format("extern \"C\" __global__ void k{0}(int* x) {{ *x = {0}; }}\n", number);
  ASSERT_EQ(run({"compile", file("many.cu", many), "--arch", "sm_80", "--image", "ptx"}).exit_code,
            0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"ls"},
                                                {"--json", "ls"},
                                                {"stats"},
                                                {},
                                                {"--help"},
                                                {"ls", "--help"},
                                                {"disasm", "many.cu", "--ptx"},
                                                {"--version"}}) {
    const auto outcome = run(words, {.output = "/dev/full"});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_THAT(outcome.err, HasSubstr("cannot write standard output: No space left on device"));
  }
}

}  // namespace
}  // namespace kiln::tests
