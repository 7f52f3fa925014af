// What the tool does where its cache or its settings cannot be used.

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tool.h"

namespace kiln::tests {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::StartsWith;

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
  EXPECT_THAT(run({"ls"}).err, HasSubstr("; where a cache was meant, name its directory"));
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

TEST_F(UnusableCache, MayNotGrowAndSaysSoOnce) {
  compile({file("good.cu", scale_source), "--arch", "sm_80", "--name", "fill"});
  const auto outcome =
      run({"compile", file("good.cu", scale_source), "--arch", "sm_90", "--name", "fill"},
          {.file_size = 60'000});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("storing an entry failed"));
  EXPECT_THAT(outcome.err, HasSubstr("good.cu for sm_90 is not kept: as said above\n"));
}

// As of root's home, which `su` hands on: a program must not end for settings that are none of its user's.
using UnreadableSettings = ToolTest;

TEST_F(UnreadableSettings, AreLeftOutWithAWarning) {
  compile({file("good.cu", scale_source), "--arch", "sm_80", "--name", "fill"});
  file(".config/kiln/config", "KILN_LOG=loud\n");
  const auto path = scratch(".config/kiln").string();
  fs::permissions(path, fs::perms::none);
  const Circumstances other_user{.no_override = true};
  const std::string warning =
      "kiln: warning: settings file '" + path + "/config' is left out, for you may not read it: ";
  for (const auto& words : std::vector<std::vector<std::string>>{{"ls"},
                                                                 {"stats"},
                                                                 {"config"},
                                                                 {"config", "get", "KILN_LOG"},
                                                                 {"doctor"},
                                                                 {"disasm", "fill", "--ptx"}}) {
    const auto outcome = run(words, other_user);
    EXPECT_EQ(outcome.exit_code, 0) << words[0] << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith(warning)) << words[0];
    EXPECT_THAT(outcome.err, HasSubstr("set XDG_CONFIG_HOME or HOME to a folder of your own"));
    EXPECT_EQ(outcome.err.find(warning, 1), std::string::npos) << words[0] << ": once";
  }
  EXPECT_EQ(run({"--help"}, other_user).err, "");
  EXPECT_EQ(run({"ls", "--quiet"}, other_user).err, "");
  const auto doctor = run({"--json", "doctor"}, other_user).documents().at(0);
  ASSERT_EQ(doctor["unread_files"].size(), 1U);
  EXPECT_THAT(doctor["unread_files"][0].get<std::string>(), HasSubstr(path));
  fs::permissions(path, fs::perms::owner_all);
}

TEST_F(UnusableCache, IsNowhereWithoutAHome) {
  const Circumstances homeless{.environment = {{"KILN_CACHE_DIR", ""}, {"HOME", ""}}};
  const auto outcome = run({"ls"}, homeless);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("HOME"));
  EXPECT_THAT(outcome.err, HasSubstr("name a cache directory with KILN_CACHE_DIR or --cache"));
}

}  // namespace
}  // namespace kiln::tests
