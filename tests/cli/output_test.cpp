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
  EXPECT_THAT(run({"ls"}, {.environment = {{"NO_COLOR", "1"}}, .terminal = true}).out,
              Not(HasSubstr(bold)));
}

TEST_F(Output, ReplacesAFileAndLeavesNoOther) {
  const auto output = scratch("out/scale.cubin");
  file("out/scale.cubin", "old");
  ASSERT_EQ(compile_to(output.string()).exit_code, 0);
  EXPECT_EQ(read(output).substr(1, 3), "ELF");
  EXPECT_EQ(snapshot(scratch("out")).size(), 1u);
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

TEST_F(Output, SaysThatTheDiskIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto outcome = compile_to("/dev/full");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("/dev/full: No space left on device"));
}

TEST_F(Output, IsNotLostInSilence) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  ASSERT_EQ(compile_to(scratch("x").string()).exit_code, 0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"ls"}, {"--json", "ls"}, {"stats"}}) {
    const auto outcome = run(words, {.output = "/dev/full"});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_THAT(outcome.err, HasSubstr("cannot write standard output: No space left on device"));
  }
}

}  // namespace
}  // namespace kiln::tests
