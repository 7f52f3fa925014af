// Settings, and the files that they stand in.

#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "care_fixture.h"
#include "tool.h"

namespace kiln::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;
namespace fs = std::filesystem;

using Config = Care;

TEST_F(Config, TellsWhereEachSettingComesFrom) {
  const auto outcome = care({"config"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, testing::StartsWith("SETTING"));
  EXPECT_THAT(outcome.out, HasSubstr(cache().string()));
  std::map<std::string, Json> settings;
  for (const auto& line :
       care({"--json", "config", "--cache", scratch("x").string()}).documents()) {
    settings[line["variable"]] = line;
  }
  EXPECT_EQ(settings["KILN_CACHE_DIR"]["value"], scratch("x").string());
  EXPECT_EQ(settings["KILN_CACHE_DIR"]["origin"], "option");
  EXPECT_EQ(settings["KILN_NVRTC"]["origin"], "environment");
  EXPECT_EQ(settings["KILN_CACHE_READONLY"]["origin"], "default");
  EXPECT_FALSE(fs::exists(scratch("x")));
}

TEST_F(Config, SetsGetsAndForgets) {
  const auto path = scratch(".config/kiln/config");
  EXPECT_EQ(care({"config", "get", "KILN_LOG"}).out, "warn\n");
  const auto set = care({"config", "set", "KILN_LOG", "info"});
  EXPECT_EQ(set.exit_code, 0) << set.err;
  EXPECT_EQ(set.out, "KILN_LOG is set in " + path.string() + "\n");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0600));
  EXPECT_EQ(care({"config", "get", "KILN_LOG"}).out, "info\n");
  EXPECT_EQ(json({"config", "get", "KILN_LOG"})["origin"], path.string());
  EXPECT_EQ(care({"config", "get", "KILN_LOG"}, {.environment = {{"KILN_LOG", "off"}}}).out,
            "off\n");

  file(".config/kiln/config", "# mine\n KILN_LOG = info\nKILN_LOG=off\nKILN_MODE=warn");
  EXPECT_EQ(care({"config", "set", "KILN_LOG=debug"}).exit_code, 0);
  EXPECT_EQ(read(path), "# mine\nKILN_LOG=debug\nKILN_MODE=warn\n");
  EXPECT_THAT(care({"config", "unset", "KILN_LOG"}).out, HasSubstr("is no longer set in"));
  EXPECT_THAT(care({"config", "unset", "KILN_LOG"}).out, HasSubstr("was not set in"));
  EXPECT_EQ(read(path), "# mine\nKILN_MODE=warn\n");
  EXPECT_EQ(care({"config", "get", "KILN_LOG"}).out, "warn\n");
}

TEST_F(Config, TakesNoNonsense) {
  const auto refused = [&](const std::vector<std::string>& words, const std::string& what) {
    const auto outcome = care(words);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(what));
    EXPECT_FALSE(fs::exists(scratch(".config")));
  };
  refused({"config", "set", "KILN_LOG", "loud"}, "KILN_LOG: 'loud' is not a log level");
  refused({"config", "set", "KILN_LGO", "info"}, "did you mean KILN_LOG?");
  refused({"config", "set", "KILN_LOG"}, "say to what");
  refused({"config", "set"}, "name a setting");
  refused({"config", "get", "KILN_LOG", "info"}, "'info' is one word too many");
  refused({"config", "put", "KILN_LOG", "info"}, "put");
  refused({"config", "set", "KILN_VARIANT", "a\nKILN_LOG=off"}, "a value is one line");
  refused({"config", "set", "KILN_VARIANT", ""}, "says nothing");
  refused({"config", "set", "KILN_VARIANT", "a "}, "ends with a space");
  refused({"config", "set", "KILN_VARIANT", std::string(5000, 'a')}, "4,096 characters");
  refused({"--cache", scratch("x").string(), "config", "set", "KILN_CACHE_DIR", "relative"},
          "KILN_CACHE_DIR: 'relative' is not an absolute path");
}

TEST_F(Config, UnsetMendsAFile) {
  const auto path = scratch(".config/kiln/config");
  file(".config/kiln/config", "KILN_MODE=garbage\nKILN_LGO=info\n\rKILN_LOG=off\n");
  EXPECT_EQ(care({"ls"}).exit_code, 2);
  for (const auto* name : {"KILN_MODE", "KILN_LGO", "KILN_LOG"}) {
    EXPECT_EQ(care({"config", "unset", name}).exit_code, 0) << name;
  }
  EXPECT_EQ(read(path), "");
  EXPECT_EQ(care({"ls"}).exit_code, 0);
}

// Or nothing that is set there would be, and nobody had said so.
TEST_F(Config, SaysWhatElseIsWrongWithTheFile) {
  const auto path = scratch(".config/kiln/config");
  file(".config/kiln/config", "nonsense\n");
  const auto set = care({"config", "set", "KILN_MODE", "warn"});
  EXPECT_EQ(set.exit_code, 2);
  EXPECT_THAT(set.err, HasSubstr("nonsense"));
  EXPECT_EQ(read(path), "nonsense\nKILN_MODE=warn\n") << "which may be what mends it";
  fs::rename(path, scratch("elsewhere"));
  fs::create_symlink(scratch("elsewhere"), path);
  const auto through = care({"config", "set", "KILN_MODE", "jit"});
  EXPECT_EQ(through.exit_code, 2);
  EXPECT_THAT(through.err, HasSubstr("is a symbolic link"));
  EXPECT_EQ(read(scratch("elsewhere")), "nonsense\nKILN_MODE=warn\n");
}

TEST_F(Config, ASettingsFileIsTheUsersAlone) {
  const auto path = file(".config/kiln/config", "KILN_LOG=off\n");
  fs::permissions(path, fs::perms(0666));
  EXPECT_EQ(care({"config", "set", "KILN_LOG", "warn"}).exit_code, 0);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0600));
}

TEST_F(Config, WaitsForNoPipeAndReadsNoFolder) {
  const auto path = scratch(".config/kiln/config");
  fs::create_directories(path);
  const auto expect_refused = [&](const std::vector<std::string>& words) {
    const auto outcome = care(words);
    EXPECT_EQ(outcome.exit_code, 2) << words[1];
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(path.string()), HasSubstr("not a regular file")));
  };
  expect_refused({"config", "set", "KILN_LOG", "warn"});
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  expect_refused({"config", "set", "KILN_LOG", "warn"});
  expect_refused({"config", "unset", "KILN_LOG"});
}

TEST_F(Config, SetsOneAfterTheOther) {
  const std::vector<std::string> names{"KILN_LOG", "KILN_MODE", "KILN_VARIANT", "KILN_TOOLCHAINS"};
  const std::vector<std::string> values{"info", "warn", "a", "any"};
  std::vector<pid_t> running;
  for (std::size_t at = 0; at < names.size(); ++at)
    running.push_back(
        start({"config", "set", names[at], values[at]}, names[at] + ".out", names[at] + ".err"));
  for (const auto process : running) {
    int status = -1;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0);
  }
  for (std::size_t at = 0; at < names.size(); ++at)
    EXPECT_EQ(care({"config", "get", names[at]}).out, values[at] + "\n");
}

TEST_F(Config, AFileOfSettingsIsReadByEachVerb) {
  file(".config/kiln/config", "KILN_CACHE_MAX_SIZE=1G\nKILN_LGO=info\n");
  EXPECT_EQ(json({"stats"})["max_bytes"], std::uint64_t{1} << 30);
  const auto slip = json({"doctor"}, care({"doctor"}).exit_code)["unknown_variables"][0];
  EXPECT_EQ(slip["variable"], "KILN_LGO");
  EXPECT_EQ(slip["meant"], "KILN_LOG");
  EXPECT_EQ(slip["file"], scratch(".config/kiln/config").string());
  file(".config/kiln/config", "KILN_CACHE_MAX_SIZE=much\n");
  const auto wrong = care({"ls"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("KILN_CACHE_MAX_SIZE: 'much' is not a size"));
  EXPECT_THAT(wrong.err, HasSubstr("(in " + scratch(".config/kiln/config").string() + ")"));
}

}  // namespace
}  // namespace kiln::tests
