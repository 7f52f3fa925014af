#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

constexpr const char* elf =
    "\x7f"
    "ELF";

// What goes to standard output in the place of a report, by "-o -".
class StandardOutput : public ToolTest {
 protected:
  [[nodiscard]] Words compile_words(const Words& more = {}) const {
    Words words{"compile", source_, "--arch", "sm_80", "--name", "fill", "-o", "-"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  // Verbs that write what is binary, for a cache that holds an entry.
  [[nodiscard]] std::vector<Words> binary_verbs() const {
    return {compile_words(),
            {"extract", key_},
            {"export", "-"},
            {"merge", cache().string(), "-o", "-"}};
  }

  const std::string source_ = file("scale.cu", scale_source);
  const std::string key_ = compile({source_, "--arch", "sm_80", "--name", "fill"})["key"];
};

TEST_F(StandardOutput, TakesAnImageAndNothingElse) {
  const auto image = run({"extract", key_}).out;
  EXPECT_THAT(image, StartsWith(elf));
  const auto served = run(compile_words());
  EXPECT_EQ(served.exit_code, 0) << served.err;
  EXPECT_TRUE(served.out == image) << "no report around it";
  EXPECT_EQ(served.err, "");
  fs::remove_all(cache());
  EXPECT_TRUE(run(compile_words()).out == image) << "nor where it is compiled";
  EXPECT_THAT(run(compile_words({"--image", "ptx"})).out, StartsWith("//"));
}

TEST_F(StandardOutput, MessagesGoElsewhere) {
  const auto warned =
      file("warned.cu", "#warning careful\nextern \"C\" __global__ void fill() {}\n");
  const auto outcome = run({"compile", warned, "--arch", "sm_80", "-o", "-"});
  EXPECT_THAT(outcome.out, StartsWith(elf));
  EXPECT_THAT(outcome.err, HasSubstr("careful"));
  const auto failed = run({"compile", warned, "--arch", "sm_80", "--name", "none", "-o", "-"});
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_EQ(failed.out, "");
}

TEST_F(StandardOutput, TakesALinkedImage) {
  const auto input = run({"compile", source_, "--arch", "sm_80", "--name", "fill", "--image",
                          "ltoir", "-o", scratch("fill.ltoir").string()});
  ASSERT_EQ(input.exit_code, 0) << input.err;
  const Words words{"link", scratch("fill.ltoir").string(), "--arch", "sm_80", "-o"};
  auto to_file = words;
  to_file.push_back(scratch("linked.cubin").string());
  if (const auto linked = run(to_file); linked.exit_code != 0) GTEST_SKIP() << linked.err;
  auto to_output = words;
  to_output.emplace_back("-");
  const auto outcome = run(to_output);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out == read(scratch("linked.cubin")));
}

TEST_F(StandardOutput, TakesABundle) {
  const auto bundle = scratch("b.kiln").string();
  ASSERT_EQ(run({"export", bundle}).exit_code, 0);
  fs::create_directory(scratch("tmp"));
  const Circumstances temporary{.environment = {{"TMPDIR", scratch("tmp").string()}}};
  for (const auto& words : {Words{"export", "-"}, Words{"merge", bundle, "-o", "-"}}) {
    const auto outcome = run(words, temporary);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(outcome.out == read(bundle)) << words[0];
  }
  EXPECT_TRUE(fs::is_empty(scratch("tmp"))) << "nothing is left behind";
  const auto line = "TMPDIR='" + scratch("tmp").string() + "' KILN_CACHE_DIR='" + cache().string() +
                    "' '" KILN_TOOL "' export - | true";
  EXPECT_EQ(std::system(line.c_str()), 0);
  EXPECT_TRUE(fs::is_empty(scratch("tmp"))) << "nor where the reader goes away";
  const auto nowhere = run({"export", "-"}, {.environment = {{"TMPDIR", "/nonexistent"}}});
  EXPECT_EQ(nowhere.exit_code, 3);
  EXPECT_THAT(nowhere.err, HasSubstr("TMPDIR"));
}

TEST_F(StandardOutput, ATerminalTakesTextAlone) {
  for (const auto& words : binary_verbs()) {
    const auto outcome = run(words, {.terminal = true});
    EXPECT_EQ(outcome.exit_code, 2) << words[0];
    EXPECT_THAT(outcome.err, HasSubstr("standard output is a terminal")) << words[0];
    EXPECT_THAT(outcome.out, Not(HasSubstr("ELF"))) << words[0];
  }
  const auto text = run(compile_words({"--image", "ptx"}), {.terminal = true});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr(".entry fill"));
  fs::remove_all(cache());
  EXPECT_EQ(run(compile_words(), {.terminal = true}).exit_code, 2);
  EXPECT_FALSE(fs::exists(cache())) << "before anything is compiled";
}

TEST_F(StandardOutput, ThatCannotTakeItIsAFailure) {
  for (const auto& words : binary_verbs()) {
    const auto closed = run(words, {.closed = {STDOUT_FILENO}});
    EXPECT_EQ(closed.exit_code, 3) << words[0];
    EXPECT_EQ(closed.err, "kiln: error: cannot write standard output: Bad file descriptor\n");
    if (!fs::exists("/dev/full")) continue;
    const auto full = run(words, {.output = "/dev/full"});
    EXPECT_EQ(full.exit_code, 3) << words[0];
    EXPECT_EQ(full.err,
              "kiln: error: cannot write standard output: No space left on device; make room, or "
              "name another place\n");
  }
}

TEST_F(StandardOutput, TakesOneThing) {
  const auto refused = [&](const Words& words, const std::string& said) {
    const auto outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 2) << words[0];
    EXPECT_THAT(outcome.err, HasSubstr(said));
  };
  refused(compile_words({"--json"}), "with --json, standard output has documents");
  refused({"--json", "export", "-"}, "with --json, standard output has documents");
  refused({"--json", "extract", key_}, "with --json, standard output has documents");
  refused({"--json", "extract", key_, "--source", "-o", "-"},
          "with --json, standard output has documents");
  refused({"--json", "stats", "--openmetrics", "-"}, "with --json, standard output has documents");
  refused({"--json", "merge", cache().string(), "-o", "-"},
          "with --json, standard output has documents");
  refused({"--json", "link", key_, "--arch", "sm_80", "-o", "-"},
          "with --json, standard output has documents");
  refused({"--json", "trace", source_, "--arch", "sm_80", "-o", "-"},
          "with --json, standard output has documents");
  refused({"compile", source_, "--arch", "sm_80,sm_90", "--name", "fill", "-o", "-"},
          "-o -: one file cannot hold the images of 2 architectures");
}

}  // namespace
}  // namespace kiln::tests
