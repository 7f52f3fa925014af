#include "remote/remote_address.h"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/kiln.h"

namespace kiln {
namespace {

using Kind = RemoteAddress::Kind;
using testing::HasSubstr;
using testing::Not;

RemoteAddress parsed(const std::string& text) {
  auto address = parse_remote(text);
  EXPECT_TRUE(address) << text << ": " << (address ? "" : address.error().message);
  return address.value_or(RemoteAddress{.url = "none://none"});
}

TEST(RemoteAddress, KnowsEachKind) {
  EXPECT_EQ(parsed("file:///mnt/kernels").kind, Kind::file);
  EXPECT_EQ(parsed("redis://cache").kind, Kind::redis);
  EXPECT_EQ(parsed("redis://user:word@cache:6380/2").kind, Kind::redis);
  EXPECT_EQ(parsed("redis://[::1]:6379").kind, Kind::redis);
  EXPECT_EQ(parsed("redis+unix:///run/redis.sock").kind, Kind::redis_socket);
  EXPECT_EQ(parsed("http://cache:8080/kernels/").kind, Kind::http);
  EXPECT_EQ(parsed("https://user:word@[2001:db8::1]/kernels/").kind, Kind::http);
  EXPECT_EQ(parsed("s3://bucket/prefix").kind, Kind::s3);
}

TEST(RemoteAddress, TakesOptionsInAnyOrder) {
  const auto plain = parsed("redis://cache");
  EXPECT_FALSE(plain.read_only);
  EXPECT_EQ(plain.timeout, std::chrono::seconds(2));
  const auto address =
      parsed("s3://bucket?endpoint=http://minio:9000&timeout=1&region=here&read-only");
  EXPECT_EQ(address.url, "s3://bucket");
  EXPECT_EQ(address.endpoint, "http://minio:9000");
  EXPECT_EQ(address.region, "here");
  EXPECT_EQ(address.timeout, std::chrono::milliseconds(1));
  EXPECT_TRUE(address.read_only);
  EXPECT_FALSE(parsed("redis://cache?").read_only);
  EXPECT_TRUE(parsed("file:///a?parents").parents);
  EXPECT_FALSE(parsed("file:///a").parents);
}

TEST(RemoteAddress, DecodesPaths) {
  EXPECT_EQ(parsed("file:///a%20b/%25%zz%4").path(), "/a b/%%zz%4");
  EXPECT_EQ(parsed("file:///a@b:c").path(), "/a@b:c");
}

TEST(RemoteAddress, RefusesWhatIsNone) {
  for (const auto* text : {"",
                           "redis",
                           "redis:",
                           "redis://",
                           "redis://?read-only",
                           "redis:///0",
                           "redis://:6379",
                           "redis://cache:",
                           "redis://cache:port",
                           "redis://cache:0",
                           "redis://cache:65536",
                           "redis://cache:99999",
                           "http://cache:65536/",
                           "redis://user@",
                           "ftp://host/",
                           "file://",
                           "file://a/b",
                           "/mnt/kernels",
                           "redis+unix://host/socket",
                           "http:///path",
                           "http://:80/",
                           "s3://",
                           "s3:///prefix",
                           "redis://cache?timeout",
                           "redis://cache?timeout=",
                           "redis://cache?timeout=0",
                           "redis://cache?timeout=60001",
                           "redis://cache?timeout=-1",
                           "redis://cache?timeout=5s",
                           "redis://cache?read-only=1",
                           "redis://cache?region=x",
                           "redis://cache?parents",
                           "file:///a%00b",
                           "file:///a?parents=1",
                           "s3://bucket?endpoint=",
                           "redis://cache?&",
                           "redis://a b",
                           "http://a/b#c",
                           "http://a/\x7f"}) {
    const auto address = parse_remote(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, ErrorCode::invalid_argument) << text;
    EXPECT_THAT(address.error().message, HasSubstr("is not a store that machines share")) << text;
  }
  EXPECT_THAT(parse_remote("/mnt/kernels").error().message,
              HasSubstr("name a folder with file:// before its path"));
}

TEST(RemoteAddress, SaysWhichOneItDoesNotTake) {
  EXPECT_THAT(parse_remote("redis://cache?timout=5").error().message,
              HasSubstr("'redis://cache?timout=...'"));
  EXPECT_THAT(parse_remote("s3://bucket?region=here&keys=&often").error().message,
              HasSubstr("'s3://bucket?region=...&keys=...&...'"));
}

TEST(RemoteAddress, SaysThatSpacesSeparateStores) {
  EXPECT_THAT(parse_remotes("file:///tmp/a b").error().message,
              HasSubstr("spaces separate stores, and one in a path is written %20"));
  EXPECT_THAT(parse_remote("redis").error().message, Not(HasSubstr("%20")));
}

TEST(RemoteAddress, RepeatsWhatIsNoAddressAndNoPieceOfOne) {
  for (const std::string text : {"/mnt/kernels", "/home/ada/a:b", "cache.example", "cache:6379",
                                 "file:/tmp/a", "file:relative"})
    EXPECT_THAT(parse_remote(text).error().message, HasSubstr("'" + text + "' is not")) << text;
  for (const auto* text : {"farm:sesame", "cache?key=sesame", "sesame@cache"})
    EXPECT_THAT(parse_remote(text).error().message, HasSubstr("'...' is not")) << text;
  EXPECT_THAT(parse_remotes("/mnt/kernels /b").error().message, HasSubstr("'/mnt/kernels' is not"));
  EXPECT_THAT(parse_remotes("redis://user:12 sesame x@host").error().message,
              HasSubstr("'...' is not"))
      << "a password with a space in it";
}

TEST(RemoteAddress, TakesSeveralWithSpacesBetween) {
  const auto addresses = parse_remotes("  file:///a   redis://b ").value();
  ASSERT_EQ(addresses.size(), 2U);
  EXPECT_EQ(addresses[0].url, "file:///a");
  EXPECT_EQ(addresses[1].url, "redis://b");
  EXPECT_TRUE(parse_remotes("").value().empty());
  EXPECT_FALSE(parse_remotes("file:///a nonsense"));
}

TEST(RemoteAddress, IsShownWithoutUserAndPassword) {
  EXPECT_EQ(parsed("redis://user:word@cache:1/2").shown(), "redis://cache:1/2");
  EXPECT_EQ(parsed("http://a:b@c@host/path").shown(), "http://host/path");
  EXPECT_EQ(parsed("redis+unix://:word@/run/r@dis").shown(), "redis+unix:///run/r@dis");
  EXPECT_EQ(parsed("s3://key:word@bucket/x").shown(), "s3://bucket/x");
  EXPECT_EQ(parsed("file:///home/a@b").shown(), "file:///home/a@b");
}

// With each mistake that a person makes with passwords.
const std::vector<std::string> with_passwords{"redis://:sesame@cache",
                                              "redis://user:sesame@cache?timout=5",
                                              "redis://user:sesame@",
                                              "redis://:ses/ame@cache",
                                              "redis://user:ses/ame@cache",
                                              "redis://user:12/sesame@cache",
                                              "redis://user:ses?ame@cache",
                                              "redis://:12?sesame@cache",
                                              "redis://user:12?sesame@cache",
                                              "redis://:ses ame@cache",
                                              "redis://user:ses ame@cache",
                                              "redis://user:ses#ame@cache",
                                              "redis://user:ses@ame@cache",
                                              "http://user:sesame@",
                                              "http://user:ses/ame@host/path/",
                                              "https://user:sesame@host/a b/",
                                              "ftp://user:sesame@host",
                                              "user:sesame@host",
                                              "sesame@host",
                                              "redis+unix://:ses/ame@/run/redis",
                                              "redis+unix://:sesame@host/run",
                                              "s3://key:sesame@bucket?endpoint",
                                              "s3://bucket?endpoint=http://user:sesame@host&x=1",
                                              "redis://cache?endpoint=http://user:sesame@host",
                                              "redis://user:sesame",
                                              "redis://:sesame",
                                              "redis://cache ftp://user:sesame@host",
                                              "redis:/user:sesame@cache",
                                              "redis://user:sesame@cache:port",
                                              "redis://cache?password=sesame",
                                              "s3://bucket?secret=x&region=sesame&sesame",
                                              "s3://bucket?endpoint=http://host/?token=sesame&odd",
                                              "redis://cache?sesame",
                                              "redis?x=redis://sesame",
                                              "user:sesame@redis://cache",
                                              "sesame@redis://cache",
                                              "http://cache/?X-Amz-Signature=sesame"};

void expect_no_password(const std::string& text, const std::string& of) {
  for (const auto* part : {"sesame", "ses", "ame@", "12"})
    EXPECT_THAT(text, Not(HasSubstr(part))) << of;
}

TEST(RemoteAddress, NeverRepeatsAPassword) {
  for (const auto& text : with_passwords) {
    const auto addresses = parse_remotes(text);
    if (!addresses) expect_no_password(addresses.error().message, text);
    if (addresses)
      for (const auto& address : *addresses) expect_no_password(address.shown(), text);
    const auto one = parse_remote(text);
    expect_no_password(one ? one->shown() : one.error().message, text);
  }
}

TEST(RemoteAddress, NoListingAndNoErrorOfSettingsHasAPassword) {
  for (const auto& text : with_passwords) {
    RuntimeOptions options;
    options.remotes = text;
    const auto settings = resolve_settings(options);
    if (!settings) {
      expect_no_password(settings.error().message, text);
      continue;
    }
    for (const auto& setting : settings->listing)
      expect_no_password(setting.variable == "KILN_REMOTE" ? setting.value : "", text);
  }
}

TEST(RemoteAddress, NoLogAndNoStateHasAPassword) {
  for (const auto& text : with_passwords) {
    std::string log;
    RuntimeOptions options;
    options.cache_disabled = true;
    options.compile_workers = 0;
    options.remotes = text;
    options.remote_helper = "/nowhere/kiln-remote";
    options.log_level = LogLevel::debug;
    options.log = [&](LogLevel, std::string_view line) { log += std::string(line) + '\n'; };
    const auto runtime = Runtime::open(options);
    if (!runtime) {
      expect_no_password(runtime.error().message, text);
      continue;
    }
    for (const auto& state : runtime->remotes(true)) {
      expect_no_password(state.url, text);
      if (!state.status) expect_no_password(state.status.error().message, text);
    }
    expect_no_password(log, text);
  }
}

}  // namespace
}  // namespace kiln
