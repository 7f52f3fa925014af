#include "kiln/settings.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/runtime.h"
#include "support/scratch.h"

namespace kiln::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

std::string origin_of(const Settings& settings, const std::string& variable) {
  for (const auto& setting : settings.listing) {
    if (setting.variable == variable) return setting.origin + " " + setting.value;
  }
  return "(not listed)";
}

TEST(Settings, OptionBeforeEnvironmentBeforeDefault) {
  EXPECT_EQ(origin_of(resolve_settings({}).value(), "KILN_LOG"), "default warn");
  const ScopedVariable variable("KILN_LOG", "debug");
  EXPECT_EQ(origin_of(resolve_settings({}).value(), "KILN_LOG"), "environment debug");
  RuntimeOptions options;
  options.log_level = LogLevel::info;
  EXPECT_EQ(origin_of(resolve_settings(options).value(), "KILN_LOG"), "option info");
}

TEST(Settings, Workers) {
  EXPECT_EQ(resolve_settings({}).value().compile_workers, automatic_workers);
  EXPECT_EQ(origin_of(resolve_settings({}).value(), "KILN_COMPILE_WORKERS"), "default auto");
  const ScopedVariable variable("KILN_COMPILE_WORKERS", "0");
  const auto settings = resolve_settings({}).value();
  EXPECT_EQ(settings.compile_workers, 0U);
  EXPECT_EQ(origin_of(settings, "KILN_COMPILE_WORKERS"), "environment 0");
  RuntimeOptions options;
  options.compile_workers = 5000;
  EXPECT_FALSE(resolve_settings(options));
}

TEST(Settings, MemoryOfAWorker) {
  EXPECT_EQ(origin_of(resolve_settings({}).value(), "KILN_COMPILE_MEMORY"), "default auto");
  const ScopedVariable variable("KILN_COMPILE_MEMORY", "2G");
  EXPECT_EQ(resolve_settings({}).value().compile_memory, std::uint64_t{2} << 30);
  const ScopedVariable automatic("KILN_COMPILE_MEMORY", "auto");
  EXPECT_EQ(resolve_settings({}).value().compile_memory, automatic_memory);
}

TEST(Settings, AnEmptyVariableIsNotSet) {
  const ScopedVariable variable("KILN_LOG", "");
  EXPECT_EQ(origin_of(resolve_settings({}).value(), "KILN_LOG"), "default warn");
}

TEST(Settings, TheUsualDirectory) {
  const ScopedVariable unset("KILN_CACHE_DIR", "");
  {
    const ScopedVariable variable("XDG_CACHE_HOME", "/some/cache");
    EXPECT_EQ(resolve_settings({}).value().cache_directory, "/some/cache/kiln");
  }
  const ScopedVariable no_xdg("XDG_CACHE_HOME", "");
  const ScopedVariable home("HOME", "/some/home");
  EXPECT_EQ(resolve_settings({}).value().cache_directory, "/some/home/.cache/kiln");
}

TEST(Settings, NoHomeIsAFaultAndNoError) {
  const ScopedVariable unset("KILN_CACHE_DIR", "");
  const ScopedVariable no_xdg("XDG_CACHE_HOME", "");
  const ScopedVariable home("HOME", "");
  const auto settings = resolve_settings({}).value();
  EXPECT_TRUE(settings.cache_directory.empty());
  EXPECT_NE(settings.cache_fault.find("HOME"), std::string::npos) << settings.cache_fault;
}

struct Nonsense {
  const char* variable;
  const char* value;
  const char* message;
};

class NonsenseSetting : public ::testing::TestWithParam<Nonsense> {};

TEST_P(NonsenseSetting, IsAnErrorThatNamesTheVariable) {
  const ScopedVariable variable(GetParam().variable, GetParam().value);
  const auto runtime = Runtime::open();
  ASSERT_FALSE(runtime);
  EXPECT_EQ(runtime.error().code, ErrorCode::invalid_setting);
  EXPECT_EQ(runtime.error().message, GetParam().message);
}

const Nonsense nonsense[] = {
    Nonsense{"KILN_CACHE_MAX_SIZE", "lots",
             "KILN_CACHE_MAX_SIZE: 'lots' is not a size above nothing: use a number with K, M, G "
             "or T, such as 5G"},
    Nonsense{"KILN_CACHE_MAX_SIZE", "99999999999999999999",
             "KILN_CACHE_MAX_SIZE: '99999999999999999999' is not below 16777216T: use a smaller "
             "size, such as 5G"},
    Nonsense{"KILN_PCH_MAX_SIZE", "16777216T",
             "KILN_PCH_MAX_SIZE: '16777216T' is not below 16777216T: use a smaller size, such as "
             "5G"},
    Nonsense{"KILN_CACHE_PLAIN_IMAGES", "some",
             "KILN_CACHE_PLAIN_IMAGES: 'some' is not a switch: use 1 or 0 (or true/false, yes/no, "
             "on/off)"},
    Nonsense{"KILN_CACHE_TRUST_OTHERS", "maybe",
             "KILN_CACHE_TRUST_OTHERS: 'maybe' is not a switch: use 1 or 0 (or true/false, yes/no, "
             "on/off)"},
    Nonsense{"KILN_CACHE_TRUST_OWNERS", "root, 7",
             "KILN_CACHE_TRUST_OWNERS: 'root, 7' is not a list of owners: use root, user ids "
             "separated by commas, or any"},
    Nonsense{"KILN_CACHE_GROUP", "no such group",
             "KILN_CACHE_GROUP: 'no such group' is not a group of this machine: use its name or "
             "its id"},
    Nonsense{"KILN_TRUSTED_KEYS", "farm-1",
             "KILN_TRUSTED_KEYS: 'farm-1' is no public key: one is a name, a colon and 44 "
             "characters of base64, as kiln key show prints it; or an absolute path"},
    Nonsense{
        "KILN_SIGNING_KEY", "farm-1.key",
        "KILN_SIGNING_KEY: what is set, which is not repeated here, is not the absolute path of a "
        "key's file"},
    Nonsense{"KILN_ENGINE", "acme\t2",
             "KILN_ENGINE: 'acme\t2' is not an engine's name: leave control characters out"},
    Nonsense{"KILN_BUNDLES", "some.kiln", "KILN_BUNDLES: 'some.kiln' is not an absolute path"},
    Nonsense{"KILN_COMPILE_PATIENCE", "soon",
             "KILN_COMPILE_PATIENCE: 'soon' is not a number of seconds, at most a day"},
    Nonsense{"KILN_RECORD", "/record.txt",
             "KILN_RECORD: '/record.txt' is not a file that ends in .json"},
    Nonsense{"KILN_SOURCES_DIR", "sources", "KILN_SOURCES_DIR: 'sources' is not an absolute path"},
    Nonsense{"KILN_CACHE_DIR", "relative/cache",
             "KILN_CACHE_DIR: 'relative/cache' is not an absolute path"},
    Nonsense{"KILN_CACHE_DISABLE", "maybe",
             "KILN_CACHE_DISABLE: 'maybe' is not a switch: use 1 or 0 (or true/false, yes/no, "
             "on/off)"},
    Nonsense{
        "KILN_CACHE_READONLY", "2",
        "KILN_CACHE_READONLY: '2' is not a switch: use 1 or 0 (or true/false, yes/no, on/off)"},
    Nonsense{"KILN_NVJITLINK", "nvjitlink", "KILN_NVJITLINK: 'nvjitlink' is not an absolute path"},
    Nonsense{"KILN_NVFATBIN", "nvfatbin", "KILN_NVFATBIN: 'nvfatbin' is not an absolute path"},
    Nonsense{"KILN_NVDISASM", "nvdisasm", "KILN_NVDISASM: 'nvdisasm' is not an absolute path"},
    Nonsense{"KILN_COMPILE_WORKERS", "many",
             "KILN_COMPILE_WORKERS: 'many' is not a number of workers, at most 1024, or auto"},
    Nonsense{"KILN_COMPILE_MEMORY", "100M",
             "KILN_COMPILE_MEMORY: '100M' is not enough for the compiler: use 512M or more"},
    Nonsense{"KILN_REMOTE", "cache.example",
             "KILN_REMOTE: 'cache.example' is not a store that machines share: name one as "
             "file:///folder, "
             "redis://host, redis+unix:///socket, http://host/path/, https://host/path/ or "
             "s3://bucket/prefix"},
    Nonsense{"KILN_REMOTE_HELPER", "kiln-remote",
             "KILN_REMOTE_HELPER: 'kiln-remote' is not an absolute path"},
    Nonsense{"KILN_WORKER", "kiln-worker", "KILN_WORKER: 'kiln-worker' is not an absolute path"},
    Nonsense{"KILN_NVRTC", "libnvrtc.so", "KILN_NVRTC: 'libnvrtc.so' is not an absolute path"},
    Nonsense{"KILN_CUDA_DRIVER", "libcuda.so.1",
             "KILN_CUDA_DRIVER: 'libcuda.so.1' is not an absolute path"},
    Nonsense{"KILN_COMPILE_TIMEOUT", "0",
             "KILN_COMPILE_TIMEOUT: '0' is not a number of seconds above nothing"},
    Nonsense{"KILN_PCH_MAX_SIZE", "lots",
             "KILN_PCH_MAX_SIZE: 'lots' is not a size: use a number with K, M, G or T, such as 5G; "
             "or 0"},
    Nonsense{"KILN_COMPILE_QUEUE", "many",
             "KILN_COMPILE_QUEUE: 'many' is not a number above nothing"},
    Nonsense{"KILN_MODE", "never", "KILN_MODE: 'never' is not a mode: use jit, warn or cache-only"},
    Nonsense{"KILN_TOOLCHAINS", "mine",
             "KILN_TOOLCHAINS: 'mine' is not a rule for compilers: use own, same-major, any, or "
             "one as `kiln show` names it, such as 'NVRTC 12.8'"},
    Nonsense{"KILN_PCH_AFTER", "0.2",
             "KILN_PCH_AFTER: '0.2' is not a number of milliseconds, at most a day"},
    Nonsense{"KILN_PCH_LARGE_PAGES", "huge",
             "KILN_PCH_LARGE_PAGES: 'huge' is not a switch: use 1 or 0 (or true/false, yes/no, "
             "on/off)"},
    Nonsense{"KILN_ALLOW_PTX", "perhaps",
             "KILN_ALLOW_PTX: 'perhaps' is not a switch: use 1 or 0 (or true/false, yes/no, "
             "on/off)"},
    Nonsense{"KILN_CHECK_SOURCES", "perhaps",
             "KILN_CHECK_SOURCES: 'perhaps' is not a switch: use 1 or 0 (or true/false, yes/no, "
             "on/off)"},
    Nonsense{"KILN_LOG", "loud",
             "KILN_LOG: 'loud' is not a log level: use off, warn, info or debug"}};

INSTANTIATE_TEST_SUITE_P(Variables, NonsenseSetting, ::testing::ValuesIn(nonsense),
                         [](const auto& row) {
                           return std::string(row.param.variable) + "_" + std::to_string(row.index);
                         });

struct Sense {
  const char* variable;
  const char* value;
  bool (*reached)(const Settings&);  ///< Whether it is in its field, where it is not by itself.
};

/// Stands for the file of a key.
constexpr const char* a_key = "a.key";

const Sense sense[] = {
    {"KILN_CACHE_DIR", "/a", [](const Settings& s) { return s.cache_directory == "/a"; }},
    {"KILN_CACHE_DISABLE", "1", [](const Settings& s) { return s.cache_disabled; }},
    {"KILN_CACHE_READONLY", "1", [](const Settings& s) { return s.cache_read_only; }},
    {"KILN_CACHE_MAX_SIZE", "7M", [](const Settings& s) { return s.cache_max_bytes == 7U << 20; }},
    {"KILN_CACHE_PLAIN_IMAGES", "1", [](const Settings& s) { return s.cache_plain_images; }},
    {"KILN_CACHE_TRUST_OTHERS", "1", [](const Settings& s) { return s.cache_trust.others; }},
    {"KILN_CACHE_TRUST_OWNERS", "root,77,any",
     [](const Settings& s) {
       return s.cache_trust.any_owner && s.cache_trust.owners == std::vector<std::uint32_t>{0, 77};
     }},
    {"KILN_CACHE_GROUP", "77", [](const Settings& s) { return s.cache_trust.group == 77; }},
    {"KILN_TRUSTED_KEYS", "a:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
     [](const Settings& s) { return s.trusted_keys.keys().size() == 1; }},
    {"KILN_SIGNING_KEY", a_key, [](const Settings& s) { return !s.signing_key.empty(); }},
    {"KILN_ENGINE", "acme 2", [](const Settings& s) { return s.engine == "acme 2"; }},
    {"KILN_BUNDLES", "/a:/b", [](const Settings& s) { return s.bundles.size() == 2; }},
    {"KILN_COMPILE_PATIENCE", "7", [](const Settings& s) { return s.compile_patience == 7s; }},
    {"KILN_PCH_MAX_SIZE", "7M",
     [](const Settings& s) { return s.precompiled_max_bytes == 7U << 20; }},
    {"KILN_PCH_AFTER", "7", [](const Settings& s) { return s.precompiled_after == 7ms; }},
    {"KILN_PCH_LARGE_PAGES", "0", [](const Settings& s) { return !s.precompiled_large_pages; }},
    {"KILN_COMPILE_TIMEOUT", "7", [](const Settings& s) { return s.compile_timeout == 7s; }},
    {"KILN_COMPILE_QUEUE", "7", [](const Settings& s) { return s.compile_queue == 7; }},
    {"KILN_COMPILE_WORKERS", "7", [](const Settings& s) { return s.compile_workers == 7; }},
    {"KILN_COMPILE_MEMORY", "7G",
     [](const Settings& s) { return s.compile_memory == std::uint64_t{7} << 30; }},
    {"KILN_REMOTE", "file:///a redis://b",
     [](const Settings& s) { return s.remotes == "file:///a redis://b"; }},
    {"KILN_REMOTE_HELPER", "/a", [](const Settings& s) { return s.remote_helper == "/a"; }},
    {"KILN_WORKER", "/a", [](const Settings& s) { return s.worker == "/a"; }},
    {"KILN_MODE", "warn", [](const Settings& s) { return s.mode == Mode::warn; }},
    {"KILN_NVRTC", "/a", [](const Settings& s) { return s.nvrtc == "/a"; }},
    {"KILN_NVJITLINK", "/a", [](const Settings& s) { return s.nvjitlink == "/a"; }},
    {"KILN_NVFATBIN", "/a", [](const Settings& s) { return s.nvfatbin == "/a"; }},
    {"KILN_NVDISASM", "/a", [](const Settings& s) { return s.nvdisasm == "/a"; }},
    {"KILN_CUDA_DRIVER", "/a", [](const Settings& s) { return s.cuda_driver == "/a"; }},
    {"KILN_TOOLCHAINS", "any", [](const Settings& s) { return s.toolchains == "any"; }},
    {"KILN_ALLOW_PTX", "1", [](const Settings& s) { return s.allow_ptx; }},
    {"KILN_VARIANT", "small", [](const Settings& s) { return s.variant == "small"; }},
    {"KILN_RECORD", "/a.json", [](const Settings& s) { return s.record == "/a.json"; }},
    {"KILN_SOURCES_DIR", "/a", [](const Settings& s) { return s.sources_directory == "/a"; }},
    {"KILN_CHECK_SOURCES", "1", [](const Settings& s) { return s.check_sources; }},
    {"KILN_LOG", "debug", [](const Settings& s) { return s.log_level == LogLevel::debug; }},
};

// A variable that came out empty shall not open what it was to close.
TEST(Settings, AnEmptyListOfTrustedKeysIsNone) {
  const ScopedVariable variable("KILN_TRUSTED_KEYS", "");
  const auto settings = resolve_settings({});
  ASSERT_FALSE(settings);
  EXPECT_EQ(settings.error().message,
            "KILN_TRUSTED_KEYS: '' has no key: in a folder, those in files that end in .pub count");
}

TEST(Settings, NoKeyIsReadWhereAnotherSettingIsNonsense) {
  const ScopedVariable trusted("KILN_TRUSTED_KEYS", "/no/such/file");
  const ScopedVariable signing("KILN_SIGNING_KEY", "a.key");
  EXPECT_THAT(resolve_settings({}).error().message, StartsWith("KILN_SIGNING_KEY: "));
}

TEST(Settings, EachReachesItsFieldAndIsListedAsItWasSaid) {
  const ScratchDirectory folder;
  const auto key = folder / a_key;
  ASSERT_TRUE(SigningKey::generate("a").value().write(key));
  std::set<std::string> tried;
  for (const auto& row : sense) {
    const std::string value = row.value == a_key ? key.string() : row.value;
    const ScopedVariable variable(row.variable, value.c_str());
    const auto settings = resolve_settings({});
    ASSERT_TRUE(settings) << settings.error().message;
    EXPECT_TRUE(row.reached(*settings)) << row.variable;
    EXPECT_EQ(origin_of(*settings, row.variable), "environment " + value);
    tried.insert(row.variable);
  }
  const auto settings = resolve_settings({}).value();
  for (const auto& setting : settings.listing)
    EXPECT_TRUE(tried.contains(setting.variable)) << setting.variable;
}

// Any text is a variant's name.
TEST(Settings, EachHasItsNonsense) {
  std::set<std::string> listed = {"KILN_VARIANT"};
  for (const Nonsense& row : nonsense) listed.insert(row.variable);
  const auto settings = resolve_settings({}).value();
  for (const auto& setting : settings.listing)
    EXPECT_TRUE(listed.contains(setting.variable)) << setting.variable;
}

// Otherwise a host would learn of it where it is used, if it does.
TEST(Settings, AnOptionThatIsTextHasNoNonsenseEither) {
  const auto message = [](const RuntimeOptions& options) {
    const auto settings = resolve_settings(options);
    return settings ? "" : settings.error().message;
  };
  EXPECT_EQ(message({.engine = "acme\t2"}),
            "KILN_ENGINE: 'acme\t2' is not an engine's name: leave control characters out");
  EXPECT_THAT(message({.cache_trust_owners = "root, 7"}),
              HasSubstr("KILN_CACHE_TRUST_OWNERS: 'root, 7' is not a list of owners"));
  EXPECT_THAT(message({.cache_group = "no such group"}),
              HasSubstr("KILN_CACHE_GROUP: 'no such group' is not a group"));
  EXPECT_THAT(message({.toolchains = "mine"}),
              HasSubstr("KILN_TOOLCHAINS: 'mine' is not a rule for compilers"));
  EXPECT_THAT(message({.trusted_keys = ""}), HasSubstr("KILN_TRUSTED_KEYS: '' has no key"));
  const ScopedVariable group("KILN_CACHE_GROUP", "77");
  EXPECT_EQ(resolve_settings({.cache_group = ""})->cache_trust.group, std::nullopt);
}

}  // namespace
}  // namespace kiln::test
