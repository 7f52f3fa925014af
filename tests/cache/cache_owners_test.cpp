// Caches and bundles that belong to somebody else, or to a group.
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "support.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

using test::make_sample;
using test::mode_of;
using test::User;
using testing::HasSubstr;

constexpr unsigned group = 4077;
constexpr unsigned other_group = 4078;

class CacheOwners : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to act as other users";
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  }

  // What a user gets from the cache, or why it is refused.
  [[nodiscard]] std::string ask(const User& user, const CacheTrust& trust, int number = 1) const {
    return test::run_as(user, [&]() -> std::string {
      auto cache = Cache::open(directory_, {.trust = trust});
      if (!cache) return cache.error().message;
      return test::find(*cache, make_sample(number)) ? "served" : "missed";
    });
  }

  [[nodiscard]] std::string put(const User& user, const CacheTrust& trust, int number) const {
    return test::run_as(user, [&]() -> std::string {
      auto cache = Cache::open(directory_, {.trust = trust, .tells_hits = true});
      if (!cache) return cache.error().message;
      const auto turn = cache->take_turn(digest_of("a turn"), std::chrono::seconds(1));
      const auto stored = cache->put(make_sample(number).entry());
      if (!stored) return stored.error().message;
      // Those that only hit leave a tally.
      return turn.exclusive() && test::find(*cache, make_sample(number)) ? "stored" : "alone";
    });
  }

  void make_cache_of(unsigned owner) const {
    ASSERT_TRUE(Cache::open(directory_).value().put(make_sample(1).entry()));
    for (const auto& [path, mode] : {std::pair(directory_, 0755), std::pair(database_, 0644)}) {
      ASSERT_EQ(::chown(path.c_str(), owner, owner), 0);
      ASSERT_EQ(::chmod(path.c_str(), static_cast<mode_t>(mode)), 0);
    }
    fs::remove(directory_ / "kernels.v1.lock");
  }

  test::TemporaryFolder folder_;
  const fs::path directory_ = folder_.path() / "shared";
  const fs::path database_ = directory_ / "kernels.v1.db";
};

TEST_F(CacheOwners, RootsDirectoryServesWhereRootIsTrusted) {
  make_cache_of(0);
  const auto refusal = ask({}, {});
  EXPECT_THAT(refusal, HasSubstr("belongs to user 0, not to the user 65534 who runs this"));
  EXPECT_THAT(refusal, HasSubstr("KILN_CACHE_TRUST_OWNERS=root"));
  EXPECT_EQ(ask({}, {.owners = {0}}), "served");
  EXPECT_THAT(ask({}, {.owners = {1234}}), HasSubstr("belongs to user 0"));
  EXPECT_EQ(ask({}, {.any_owner = true}), "served");
}

TEST_F(CacheOwners, AnotherUsersDirectoryServesWhereHeIsTrusted) {
  make_cache_of(1234);
  EXPECT_THAT(ask({}, {}), HasSubstr("KILN_CACHE_TRUST_OWNERS=1234"));
  EXPECT_THAT(ask({}, {.owners = {0}}), HasSubstr("belongs to user 1234"));
  EXPECT_EQ(ask({}, {.owners = {0, 1234}}), "served");
  EXPECT_EQ(ask({}, {.any_owner = true}), "served");
  const auto before = test::snapshot(directory_);
  EXPECT_THAT(put({}, {.owners = {1234}}, 2), HasSubstr("is read-only here"));
  EXPECT_EQ(test::snapshot(directory_), before);
}

TEST_F(CacheOwners, WhatOthersMayWriteIsRefusedWhoeverOwnsIt) {
  make_cache_of(1234);
  ASSERT_EQ(::chmod(database_.c_str(), 0646), 0);
  EXPECT_THAT(ask({}, {.any_owner = true}), HasSubstr("can be written by others"));
  EXPECT_EQ(ask({}, {.others = true, .any_owner = true}), "served");
}

TEST_F(CacheOwners, AnotherUsersBundleServesWhereHeIsTrusted) {
  make_cache_of(0);
  const auto bundle = folder_.path() / "b.kiln";
  ASSERT_TRUE(Cache::open(directory_).value().export_bundle(bundle));
  ASSERT_EQ(::chmod(bundle.c_str(), 0444), 0);
  const auto open = [&](const CacheTrust& trust) {
    return test::run_as({}, [&]() -> std::string {
      auto opened = Cache::open_bundle(bundle, {.trust = trust});
      return opened ? "opened" : opened.error().message;
    });
  };
  EXPECT_EQ(open({}), "opened") << "it is root's";
  ASSERT_EQ(::chown(bundle.c_str(), 1234, 1234), 0);
  EXPECT_THAT(open({}), HasSubstr("KILN_CACHE_TRUST_OWNERS=1234"));
  EXPECT_EQ(open({.owners = {1234}}), "opened");
}

class SharedCache : public CacheOwners,
                    public ::testing::WithParamInterface<std::tuple<unsigned, unsigned>> {
 protected:
  // This machine knows neither member, so that the directory has to be of somebody who is trusted.
  const CacheTrust shared_{.owners = {1001, 1002}, .group = group};
  const User anne_{1001, group, std::get<0>(GetParam())};
  const User bert_{1002, group, std::get<1>(GetParam())};
  const User carl_{1003, other_group, 022};
};

TEST_P(SharedCache, IsItsMembersAndNobodyElses) {
  EXPECT_EQ(put(anne_, shared_, 1), "stored");
  EXPECT_EQ(put(bert_, shared_, 2), "stored");
  EXPECT_EQ(put(anne_, shared_, 3), "stored");
  for (int number = 1; number <= 3; ++number) {
    EXPECT_EQ(ask(anne_, shared_, number), "served");
    EXPECT_EQ(ask(bert_, shared_, number), "served");
  }
  EXPECT_EQ(mode_of(directory_), 02770U);
  for (const auto& file : fs::directory_iterator(directory_))
    EXPECT_EQ(mode_of(file.path()), 0660U) << file.path();

  const auto before = test::snapshot(directory_);
  for (const CacheTrust& trust : {CacheTrust{}, shared_, CacheTrust{.group = other_group},
                                  CacheTrust{.others = true, .any_owner = true}}) {
    const auto refusal = put(carl_, trust, 4);
    EXPECT_THAT(refusal, HasSubstr(directory_.string())) << "names the place";
    EXPECT_THAT(refusal, HasSubstr(";")) << "and a remedy";
  }
  EXPECT_EQ(test::snapshot(directory_), before);
}

TEST_P(SharedCache, IsWrittenByManyAtOnce) {
  constexpr int processes = 6;
  constexpr int entries = 8;
  ASSERT_EQ(put(bert_, shared_, 0), "stored");
  const auto results = test::run_processes(processes, [&](int process) {
    const auto& user = process % 2 == 0 ? anne_ : bert_;
    const gid_t own = user.group;
    ::umask(user.umask);
    if (::setgroups(1, &own) != 0 || ::setgid(user.id) != 0 || ::setuid(user.id) != 0) return 1;
    auto cache = Cache::open(directory_, {.trust = shared_});
    if (!cache) return 2;
    for (int number = 0; number < entries; ++number) {
      auto sample = make_sample(1 + process * entries + number);
      sample.artifact.compile_us = 60'000'000;  // Worth waiting for.
      if (!cache->put(sample.entry())) return 3;
    }
    return 0;
  });
  EXPECT_EQ(results, std::vector<int>(processes, 0));
  const auto all = test::run_as(anne_, [&]() -> std::string {
    auto cache = Cache::open(directory_, {.trust = shared_});
    return cache ? std::to_string(cache->list().value().size()) : cache.error().message;
  });
  EXPECT_EQ(all, std::to_string(1 + processes * entries));
}

INSTANTIATE_TEST_SUITE_P(Umask, SharedCache,
                         ::testing::Values(std::tuple(077U, 002U), std::tuple(002U, 077U),
                                           std::tuple(077U, 077U)));

TEST_F(CacheOwners, APrivateDirectoryIsNotSharedByItself) {
  ASSERT_TRUE(Cache::open(directory_));
  const auto before = test::snapshot(directory_);
  const auto refused = Cache::open(directory_, {.trust = {.group = group}});
  ASSERT_FALSE(refused);
  const auto& message = refused.error().message;
  EXPECT_THAT(message, HasSubstr("is not shared with group 4077 (KILN_CACHE_GROUP)"));
  EXPECT_EQ(test::snapshot(directory_), before);
  const auto begin = message.find("chgrp -R 4077 '" + directory_.string() + "'");
  ASSERT_NE(begin, message.npos) << message;
  const auto remedy = message.substr(begin, message.find(", or name") - begin);
  ASSERT_EQ(std::system(remedy.c_str()), 0) << remedy;
  const CacheTrust shared{.group = group};  // The directory is root's.
  EXPECT_EQ(put({1001, group}, shared, 1), "stored") << remedy;
  EXPECT_EQ(put({1002, group}, shared, 2), "stored");
}

TEST_F(CacheOwners, AGroupsCacheBringsNobodyIntoItsParents) {
  const auto refused = Cache::open(folder_.path() / "home" / "kiln", {.trust = {.group = group}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("cannot be made: No such file or directory; name another cache directory"));
  EXPECT_FALSE(fs::exists(folder_.path() / "home"));
}

TEST_F(CacheOwners, AGroupsNameOnADirectoryOfSomebodyElseIsNotEnough) {
  ASSERT_TRUE(
      Cache::open(directory_, {.trust = {.group = group}}).value().put(make_sample(1).entry()));
  ASSERT_EQ(::chown(directory_.c_str(), 1003, group), 0);
  ASSERT_EQ(::chmod(directory_.c_str(), 02770), 0);
  EXPECT_THAT(ask({1001, group}, {.group = group}), HasSubstr("belongs to user 1003"));
  EXPECT_EQ(ask({1001, group}, {.owners = {1003}, .group = group}), "served");
  // Debian's user 1 is of group 1.
  for (const auto& path : {directory_, database_}) ASSERT_EQ(::chown(path.c_str(), 1, 1), 0);
  ASSERT_EQ(::chmod(directory_.c_str(), 02770), 0);
  EXPECT_EQ(ask({1001, 1}, {.group = 1}), "served");
}

TEST_F(CacheOwners, TheMembersMayMakeItAllAtOnce) {
  const CacheTrust shared{.owners = {1001, 1002}, .group = group};
  for (int round = 0; round < 20; ++round) {
    const auto directory = folder_.path() / std::to_string(round);
    const auto results = test::run_processes(4, [&](int process) {
      const gid_t own = group;
      ::umask(077);
      const auto user = static_cast<uid_t>(1001 + process % 2);
      if (::setgroups(1, &own) != 0 || ::setgid(user) != 0 || ::setuid(user) != 0) return 1;
      auto cache = Cache::open(directory, {.trust = shared});
      if (!cache) std::cerr << cache.error().message << '\n';
      if (!cache) return 2;
      return cache->put(make_sample(process).entry()) ? 0 : 3;
    });
    ASSERT_EQ(results, std::vector<int>(4, 0)) << "round " << round;
  }
}

// A journal that names a file as the super-journal which it belongs to.
void forge_journal(const fs::path& database, const fs::path& victim) {
  const std::string magic("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7");
  const auto big_endian = [](std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
    return bytes;
  };
  constexpr std::uint32_t page = 4096;
  constexpr std::uint32_t sector = 512;
  const auto name = victim.string();
  const auto pages = static_cast<std::uint32_t>(fs::file_size(database) / page);
  std::string journal = magic + big_endian(0) + big_endian(0) + big_endian(pages) +
                        big_endian(sector) + big_endian(page);
  journal.resize(sector);
  std::uint32_t sum = 0;
  for (const unsigned char c : name) sum += c;
  journal += big_endian(0x40000000 / page + 1) + name +
             big_endian(static_cast<std::uint32_t>(name.size())) + big_endian(sum) + magic;
  test::write_file(database.string() + "-journal", journal);
  fs::permissions(database.string() + "-journal", fs::perms(0600));
}

TEST_F(CacheOwners, AForgedJournalRemovesNoFileOfWhoOpensTheCache) {
  ASSERT_TRUE(Cache::open(directory_).value().put(make_sample(1).entry()));
  for (const auto* name : {"thesis", "mail.db-journal"}) {
    const auto victim = folder_.path() / name;
    test::write_file(victim, "precious");
    forge_journal(database_, victim);
    {
      auto cache = Cache::open(directory_);
      if (cache) static_cast<void>(cache->put(make_sample(2).entry()));
    }
    EXPECT_TRUE(fs::exists(victim)) << name;
    fs::remove(database_.string() + "-journal");
  }
}

TEST_F(CacheOwners, OnlyAMemberMakesTheGroupsCache) {
  const auto refusal = ask({.id = 1003, .group = other_group}, {.group = group});
  EXPECT_THAT(refusal, HasSubstr("cannot be given to group 4077 (KILN_CACHE_GROUP)"));
  EXPECT_THAT(refusal, HasSubstr("add user 1003 to it"));
  EXPECT_FALSE(fs::exists(directory_)) << "it would be in the members' way";
}

}  // namespace
}  // namespace kiln
