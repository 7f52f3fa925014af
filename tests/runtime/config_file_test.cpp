#include "settings/config_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/settings.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

TEST(ConfigFile, IsALineForEachSetting) {
  const auto file = parse_config("config",
                                 "# all of mine\n"
                                 "\n"
                                 "  KILN_LOG =  info\t\r\n"
                                 "KILN_MODE=\n"
                                 "KILN_TOOLCHAINS=NVRTC 12.8\n"
                                 "KILN_VARIANT=a=b\n"
                                 "KILN_LOG=debug");
  ASSERT_TRUE(file) << file.error().message;
  const std::map<std::string, std::string> expected{{"KILN_LOG", "debug"},
                                                    {"KILN_MODE", ""},
                                                    {"KILN_TOOLCHAINS", "NVRTC 12.8"},
                                                    {"KILN_VARIANT", "a=b"}};
  EXPECT_EQ(file->values, expected);
}

TEST(ConfigFile, NamesTheLineThatIsNone) {
  for (const char* text : {"\n\nlog=info\n", "# x\n\nKILN_LOG info", "\n#\n[kiln]\n"}) {
    const auto file = parse_config("/home/me/config", text);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ErrorCode::invalid_setting);
    EXPECT_THAT(file.error().message, HasSubstr("/home/me/config:3: '"));
  }
}

/// A home of its own, with a file of settings.
class ConfigFiles : public testing::Test {
 protected:
  ConfigFiles() { say("KILN_LOG=info\n"); }

  void say(const std::string& text) {
    write_file(path_, text);
    fs::permissions(path_, fs::perms(0600));
  }

  static Result<Settings> settings() { return resolve_settings({.reads_config = true}); }

  std::string refusal() {
    const auto refused = settings();
    EXPECT_FALSE(refused);
    if (refused) return {};
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_setting);
    EXPECT_THAT(refused.error().message, HasSubstr(path_.string()));
    EXPECT_TRUE(resolve_settings({})) << "who does not read it is not concerned";
    return refused.error().message;
  }

  const ScratchDirectory home_;
  const ScopedVariable folder_{"XDG_CONFIG_HOME", home_.path().string()};
  const fs::path path_ = home_ / "kiln/config";
};

TEST_F(ConfigFiles, AreTheUsersAndThatOfAll) {
  EXPECT_EQ(config_files(), (std::vector<fs::path>{path_, "/etc/kiln/config"}));
  const ScopedVariable relative("XDG_CONFIG_HOME", "here");
  const ScopedVariable home("HOME", "/home/me");
  EXPECT_EQ(config_files().front(), "/home/me/.config/kiln/config");
}

TEST_F(ConfigFiles, StandBetweenEnvironmentAndDefault) {
  EXPECT_EQ(settings()->log_level, LogLevel::info);
  EXPECT_EQ(resolve_settings({})->log_level, LogLevel::warn) << "only where it is asked for";
  const auto decided = settings().value();
  const auto from_file = [&](const Setting& setting) { return setting.origin == path_; };
  EXPECT_EQ(std::ranges::count_if(decided.listing, from_file), 1);
  EXPECT_EQ(std::ranges::find_if(decided.listing, from_file)->variable, "KILN_LOG");
  const ScopedVariable variable("KILN_LOG", "debug");
  EXPECT_EQ(settings()->log_level, LogLevel::debug);
  EXPECT_EQ(resolve_settings({.log_level = LogLevel::off, .reads_config = true})->log_level,
            LogLevel::off);
}

TEST_F(ConfigFiles, HoldNoNonsense) {
  say("KILN_LOG=loud\n");
  const auto in_file = HasSubstr("(in " + path_.string() + ")");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("KILN_LOG: 'loud' is not a log level"), in_file));
  say("KILN_COMPILE_TIMEOUT=0\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("KILN_COMPILE_TIMEOUT: '0' is not"), in_file));
  say("KILN_TRUSTED_KEYS=farm-1\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("KILN_TRUSTED_KEYS: 'farm-1' is no"), in_file));
  say("LOG=info\n");
  EXPECT_THAT(refusal(), HasSubstr(":1: 'LOG...' is no setting"));
  for (const std::string sign : {" ", ":", "-> "}) {
    say("KILN_REMOTE" + sign + "redis://farm:sesame@host\n");
    EXPECT_THAT(refusal(), AllOf(HasSubstr(":1: 'KILN_REMOTE"), Not(HasSubstr("farm"))));
  }
  for (const std::string line : {"farm:sesame@host=1", "redis://farm:sesame", "sesame@host=1"}) {
    say(line + "\n");
    EXPECT_THAT(refusal(), HasSubstr(":1: '...' is no setting"));
  }
  for (const std::string line : {"wJalrXUtnFEMI/K7MDENG", "a1b2c3d4", "sesame-street"}) {
    say(line + "\n");
    EXPECT_THAT(refusal(), HasSubstr(":1: '...' is no setting"));
  }
  say("loud\n");
  EXPECT_THAT(refusal(), HasSubstr(":1: 'loud' is no setting"));
  say("mode warn\n");
  EXPECT_THAT(refusal(), HasSubstr(":1: 'mode...' is no setting"));
  say("[kiln]\n");
  EXPECT_THAT(refusal(), HasSubstr(":1: '[kiln]' is no setting"));
  say("KILN_MODE=redis://farm:sesame@host\n");
  EXPECT_THAT(refusal(), HasSubstr("KILN_MODE: '...' is not"));
  say(std::string(70'000, '#'));
  EXPECT_THAT(refusal(), HasSubstr("larger than 64 KiB"));
  say("KILN_FOO=1\nKILN_LGO=info\nKILN_OTHER_THING=1\n");
  const auto unknown = settings()->unknown;
  ASSERT_EQ(unknown.size(), 3U);
  EXPECT_EQ(unknown[0].meant, "") << "two of its three letters are not KILN_LOG's";
  EXPECT_EQ(unknown[1].variable, "KILN_LGO");
  EXPECT_EQ(unknown[1].meant, "KILN_LOG");
  EXPECT_EQ(unknown[1].file, path_);
  EXPECT_EQ(unknown[2].meant, "");
}

// As of the variable, an empty list shall not open what it was to close.
TEST_F(ConfigFiles, AListOfTrustedKeysThatIsEmptyIsNone) {
  say("KILN_TRUSTED_KEYS=\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("KILN_TRUSTED_KEYS: '' has no key"),
                               HasSubstr("(in " + path_.string() + ")")));
}

TEST_F(ConfigFiles, AreWrittenByNobodyElse) {
  fs::permissions(path_, fs::perms(0664));
  EXPECT_THAT(refusal(), HasSubstr("can be written by others (mode 664)"));
  fs::permissions(path_, fs::perms(0644));
  EXPECT_TRUE(settings());
}

TEST_F(ConfigFiles, AreNoLinksNorAnythingElse) {
  fs::rename(path_, home_ / "target");
  fs::create_symlink(home_ / "target", path_);
  EXPECT_THAT(refusal(), HasSubstr("is a symbolic link"));
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_THAT(refusal(), HasSubstr("is not a regular file"));
  fs::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(refusal(), HasSubstr("is not a regular file"));
  fs::remove(path_);
  EXPECT_TRUE(settings()) << "nobody needs one";
}

TEST_F(ConfigFiles, BelongToTheUserOrToRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give a file away";
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  EXPECT_THAT(refusal(), HasSubstr("belongs to user 65534"));
}

}  // namespace
}  // namespace kiln::test
