// A folder as a store, where others may have written anything.

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exchange_fixture.h"
#include "kiln/cache.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

using test::Exchange;
using test::hash_in_name;
using test::make_sample;
using test::object_name;
using test::request_of;
using test::trust;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FileStore : public Exchange {
 protected:
  FileStore() { fs::create_directory(root_); }

  std::unique_ptr<ObjectStore> open_store(FileStoreOptions options = {.create = true}) const {
    return open_file_store(root_, options).value();
  }

  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    for (const auto& item : fs::recursive_directory_iterator(root_))
      if (item.is_regular_file()) files.push_back(item.path());
    return files;
  }

  const fs::path root_ = folder_.path() / "store";
};

TEST_F(FileStore, GivesWhatWasPut) {
  auto from = make_cache("from", {1, 2, 3});
  EXPECT_EQ(push(from, *open_store()).value().added, 3);
  auto to = open("to");
  const auto pulled = pull(*open_store({}), to).value();
  EXPECT_EQ(pulled.added, 3);
  EXPECT_THAT(pulled.skipped, IsEmpty());
  expect_serves(to, {1, 2, 3}, Origin::local);
  EXPECT_EQ(push(from, *open_store()).value().present, 3);
}

TEST_F(FileStore, SaysThatThereIsNone) {
  const auto none = open_file_store(root_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_THAT(none.error().message, HasSubstr(root_.string()));
  EXPECT_THAT(none.error().message, HasSubstr("kiln push"));
  static_cast<void>(open("a_cache"));
  const auto cache = open("a_cache").file().parent_path();
  EXPECT_THAT(open_file_store(cache).error().message,
              HasSubstr("it is a cache, which kiln import takes in"));
}

TEST_F(FileStore, IsNotMadeInACachesFolder) {
  const auto cache = make_cache("a_cache", {1}).file().parent_path();
  const auto refused = open_file_store(cache, {.create = true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::io_failed);
  EXPECT_THAT(refused.error().message, HasSubstr(cache.string() + "' is a cache"));
  EXPECT_FALSE(fs::exists(cache / "kiln-store.v1"));
  // As on a network's filesystem, where nobody named another.
  EXPECT_TRUE(open_file_store(cache, {.create = true, .parents = true}));
}

// What it is to lie in may not be mounted, which is no store that is yet to be made.
TEST_F(FileStore, IsToLieInAFolderThatIsThere) {
  for (const bool create : {false, true}) {
    const auto nowhere = open_file_store(root_ / "not" / "there", {.create = create});
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, ErrorCode::io_failed);
    EXPECT_THAT(nowhere.error().message, HasSubstr((root_ / "not" / "there").string()));
    EXPECT_THAT(nowhere.error().message, HasSubstr("mount it"));
  }
}

TEST_F(FileStore, FoldersTakeTheRightsOfTheirs) {
  for (const auto& [mode, umask] : {std::pair{0755, 077}, std::pair{02770, 022}}) {
    fs::remove_all(root_);
    fs::create_directory(root_);
    ASSERT_EQ(::chmod(root_.c_str(), mode), 0);
    auto from = open("from" + std::to_string(mode));
    EXPECT_TRUE(from.put(make_sample(1).entry()));
    const auto before = ::umask(umask);
    EXPECT_TRUE(push(from, *open_store()));
    ::umask(before);
    for (const auto& item : fs::recursive_directory_iterator(root_)) {
      EXPECT_EQ(test::mode_of(item.path()), item.is_directory() ? mode : 0644) << item.path();
    }
  }
}

TEST_F(FileStore, SaysWhereItCannotWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root is somebody else when it wants";
  open_store();
  fs::permissions(folder_.path(), fs::perms(0755));
  const auto said = test::run_as({}, [&] {
    auto from = Cache::open(fs::path("/tmp") / ("kiln-exchange-" + std::to_string(::getpid())));
    if (!from || !from->put(make_sample(1).entry())) return std::string("no cache");
    const auto pushed = push(*from, *open_store());
    fs::remove_all(from->file().parent_path());
    return pushed ? std::string("pushed") : pushed.error().message;
  });
  EXPECT_THAT(said, HasSubstr((root_ / "kiln-store.v1" / "objects").string()));
  EXPECT_THAT(said, HasSubstr("give the user the right to it"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(FileStore, KeepsTheStickyBit) {
  ASSERT_EQ(::chmod(root_.c_str(), 01777), 0);
  open_store();
  EXPECT_EQ(test::mode_of(root_ / "kiln-store.v1" / "objects"), 01777);
}

TEST_F(FileStore, UsersPushBesideEachOther) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root is somebody else when it wants";
  fs::permissions(folder_.path(), fs::perms(0755));
  ASSERT_EQ(::chmod(root_.c_str(), 0777), 0);
  const auto outcomes = test::run_processes(4, [&](int process) {
    const unsigned user = 2000U + static_cast<unsigned>(process) % 2;
    const auto said = test::run_as({user, user, process < 2 ? 077U : 022U}, [&] {
      const auto place = fs::path("/tmp") / ("kiln-exchange-" + std::to_string(::getpid()));
      auto from = Cache::open(place);
      for (int number = 0; from && number < 10; ++number)
        if (!from->put(make_sample(number).entry())) return std::string("not put");
      std::string outcome = from ? "pushed" : from.error().message;
      for (int round = 0; outcome == "pushed" && round < 5; ++round) {
        const auto store = open_file_store(root_ / std::to_string(round), {.create = true});
        const auto pushed = store ? push(*from, **store) : tl::unexpected(store.error());
        if (!pushed) outcome = pushed.error().message;
      }
      fs::remove_all(place);
      return outcome;
    });
    if (said != "pushed") std::fprintf(stderr, "%s\n", said.c_str());
    return said == "pushed" ? 0 : 1;
  });
  EXPECT_THAT(outcomes, Each(0));
}

// Who pushes need not trust who pushed before.
TEST_F(FileStore, ReplacesWhatItWouldNotRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  for (const auto& file : files()) ASSERT_EQ(::chown(file.c_str(), test::nobody, test::nobody), 0);
  EXPECT_EQ(push(from, *open_store()).value().added, 1);
  auto to = open("to");
  EXPECT_EQ(pull(*open_store(), to).value().added, 1);
}

TEST_F(FileStore, MendsWhatIsDamaged) {
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  for (const auto& file : files()) test::write_file(file, std::string(fs::file_size(file), '\0'));
  EXPECT_EQ(push(from, *open_store()).value().added, 1);
  auto to = open("to");
  EXPECT_EQ(pull(*open_store(), to).value().added, 1);
  expect_serves(to, {1}, Origin::local);
}

TEST_F(FileStore, ManyHintsStandInNobodysWay) {
  auto from = make_cache("from", {1});
  push(from, *open_store(), {.signing_key = farm_}).value();
  const auto request = request_of(1);
  for (int number = 0; number < 200; ++number) {
    const auto name = object_name(std::to_string(number));
    const auto hint = storage::encode_hint({digest_of("k"), hash_in_name(name)});
    ASSERT_TRUE(open_store()->add_hint(request, name, hint));
  }
  auto to = open("to");
  EXPECT_EQ(pull(*open_store({.trusted_keys = trust({farm_})}), to).value().added, 1);
}

// Nothing outside is read, listed or removed.
TEST_F(FileStore, FollowsNoLinkedFolder) {
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  const auto outside = folder_.path() / "outside";
  const auto objects = root_ / "kiln-store.v1" / "objects";
  fs::create_directory(outside);
  const auto blob = outside / ("ab" + std::string(62, '0'));
  test::write_file(blob, "another's");
  fs::remove_all(objects / "ab");
  fs::create_directory_symlink(outside, objects / "ab");
  EXPECT_TRUE(open_store()->collect({.max_bytes = 0}));
  EXPECT_TRUE(fs::exists(blob));
  EXPECT_FALSE(open_store()->get("ab" + std::string(62, '0'), 100));
  EXPECT_FALSE(open_store()->put("ab" + std::string(62, '1'), "x"));
  EXPECT_EQ(std::distance(fs::directory_iterator(outside), fs::directory_iterator()), 1);
}

TEST_F(FileStore, OneOddNameSpoilsNothing) {
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  fs::create_directory(root_ / "kiln-store.v1" / "requests" / "00");
  test::write_file(root_ / "kiln-store.v1" / "requests" / "00" / std::string(32, '0'), "");
  auto to = open("to");
  const auto pulled = pull(*open_store(), to).value();
  EXPECT_EQ(pulled.added, 1);
  EXPECT_THAT(pulled.skipped, SizeIs(1));
}

TEST_F(FileStore, HalfAStoreIsNone) {
  open_store();
  fs::remove_all(root_ / "kiln-store.v1" / "objects");
  EXPECT_FALSE(open_file_store(root_));
}

TEST_F(FileStore, MendsWhatIsOfAnotherSize) {
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  for (const auto& file : files()) fs::resize_file(file, 3);
  auto to = open("to");
  EXPECT_EQ(pull(*open_store(), to).value().added, 0);
  EXPECT_EQ(push(from, *open_store()).value().added, 1);
  EXPECT_EQ(pull(*open_store(), to).value().added, 1);
  expect_serves(to, {1}, Origin::local);
}

TEST_F(FileStore, FollowsNoLinksAndReadsOnlyFiles) {
  auto from = make_cache("from", {1});
  push(from, *open_store(), {.signing_key = farm_}).value();
  const auto secret = folder_.path() / "secret";
  test::write_file(secret, "secret");
  const auto replace = [&](std::string_view where, const auto& make) {
    for (const auto& file : files()) {
      if (file.string().find(where) == std::string::npos) continue;
      fs::remove(file);
      make(file);
    }
  };
  const auto pull_both_ways = [&](std::size_t refused) {
    auto to = open("to");
    for (const auto& keys : {TrustedKeys(), trust({farm_})}) {
      const auto pulled = pull(*open_store({.trusted_keys = keys}), to).value();
      EXPECT_EQ(pulled.missing, 1);
      EXPECT_THAT(pulled.skipped, SizeIs(refused));
    }
  };
  replace("objects", [](const fs::path& file) { ASSERT_EQ(::mkfifo(file.c_str(), 0644), 0); });
  pull_both_ways(1);
  replace("requests", [&](const fs::path& file) { fs::create_symlink(secret, file); });
  pull_both_ways(0);
}

TEST_F(FileStore, OnlyFilesOfTrustedOwnersComeWithoutKeys) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  auto from = make_cache("from", {1});
  push(from, *open_store(), {.signing_key = farm_}).value();
  for (const auto& file : files()) ASSERT_EQ(::chown(file.c_str(), test::nobody, test::nobody), 0);
  auto to = open("to");
  const auto refused = pull(*open_store(), to).value();
  EXPECT_EQ(refused.added, 0);
  ASSERT_THAT(refused.skipped, SizeIs(1));
  EXPECT_THAT(refused.skipped[0].problem, HasSubstr("belongs to user 65534"));
  EXPECT_THAT(refused.skipped[0].problem, HasSubstr("KILN_CACHE_TRUST_OWNERS"));
  // Whose they are is all the same where keys are trusted.
  const auto keys = trust({farm_});
  EXPECT_EQ(pull(*open_store({.trusted_keys = keys}), to).value().added, 1);
  auto other = open("other");
  EXPECT_EQ(pull(*open_store({.trust = {.owners = {test::nobody}}}), other).value().added, 1);
}

// As long ago as the test says.
void set_used(const fs::path& file, std::chrono::hours ago) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - ago);
}

TEST_F(FileStore, CollectsWhatWasNotUsedForLongest) {
  auto from = make_cache("from", {1, 2});
  const auto store = open_store();
  push(from, *store).value();
  for (const auto& file : files()) set_used(file, std::chrono::hours(24 * 40));
  // Marks the one entry and its texts as used again.
  const auto entries = from.list().value();
  const auto kept = entries[0].request == request_of(1) ? entries[0].key : entries[1].key;
  push(from, *store, {.keys = {{kept}}}).value();
  const auto before = files().size();
  const GcOptions of_a_month{.older_than = std::chrono::hours(24 * 30)};
  auto only_told = of_a_month;
  only_told.dry_run = true;
  EXPECT_EQ(store->collect(only_told).value().entries, 1);
  EXPECT_EQ(files().size(), before);
  const auto removed = store->collect(of_a_month).value();
  EXPECT_EQ(removed.entries, 1);
  EXPECT_GT(removed.bytes, 0);
  EXPECT_EQ(files().size(), before - 2) << "its hint has gone too";
  auto to = open("to");
  const auto pulled = pull(*store, to).value();
  EXPECT_EQ(pulled.added, 1);
  EXPECT_EQ(pulled.missing, 1);
  EXPECT_THAT(pulled.skipped, IsEmpty());
  expect_serves(to, {1}, Origin::local);
}

TEST_F(FileStore, CollectsDownToASize) {
  auto from = make_cache("from", {1, 2, 3});
  const auto store = open_store();
  const auto pushed = push(from, *store).value();
  EXPECT_EQ(store->collect({.max_bytes = pushed.bytes}).value().entries, 0);
  const auto removed = store->collect({.max_bytes = pushed.bytes - 1}).value();
  EXPECT_EQ(removed.entries, 1);
  EXPECT_EQ(store->collect({.max_bytes = 0}).value().bytes, pushed.bytes - removed.bytes);
  EXPECT_THAT(files(), IsEmpty());
  EXPECT_EQ(push(from, *store).value().added, 3);
}

TEST_F(FileStore, WhatIsReadIsUsed) {
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  for (const auto& file : files()) set_used(file, std::chrono::hours(24 * 40));
  auto to = open("to");
  pull(*open_store(), to).value();
  EXPECT_EQ(open_store()->collect({.older_than = std::chrono::hours(24)}).value().entries, 0);
}

TEST_F(FileStore, ReadOnlyIsNotChanged) {
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  for (const auto& file : files()) set_used(file, std::chrono::hours(24 * 40));
  const auto times = [&] {
    std::vector<fs::file_time_type> all;
    for (const auto& file : files()) all.push_back(fs::last_write_time(file));
    return all;
  };
  const auto before = times();
  const auto store = open_store({.read_only = true});
  auto to = open("to");
  EXPECT_EQ(pull(*store, to).value().added, 1);
  EXPECT_EQ(list_store(*store, [](const StoreEntry&) { return true; }).value().entries, 1);
  EXPECT_EQ(times(), before) << "nobody used anything";
  EXPECT_EQ(store->collect({.max_bytes = 0, .dry_run = true}).value().entries, 5);
  const std::vector<Error> refused{
      store->collect({.max_bytes = 0}).error(), store->put(std::string(64, 'a'), "x").error(),
      store->add_hint(request_of(1), std::string(64, 'a'), "x").error()};
  for (const auto& error : refused) {
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_THAT(error.message, HasSubstr("read-only"));
  }
  EXPECT_EQ(times(), before);
}

TEST_F(FileStore, WhatAWriterLeftBehindGoesAfterAnHour) {
  auto from = make_cache("from", {1});
  push(from, *open_store()).value();
  const auto object = fs::directory_iterator(root_ / "kiln-store.v1" / "objects")->path();
  for (const auto* const name : {".1.kiln-tmp", ".2.kiln-tmp"})
    test::write_file(object / name, "left behind");
  set_used(object / ".1.kiln-tmp", std::chrono::hours(2));
  EXPECT_EQ(open_store()->collect({.older_than = std::chrono::hours(24)}).value().entries, 0);
  EXPECT_FALSE(fs::exists(object / ".1.kiln-tmp"));
  EXPECT_TRUE(fs::exists(object / ".2.kiln-tmp"));
}

TEST_F(FileStore, RequestsThatNothingAnswersAreCollectedAfterADay) {
  auto from = make_cache("from", {1});
  const auto store = open_store();
  push(from, *store).value();
  const auto requests = root_ / "kiln-store.v1" / "requests" / request_of(1).hex().substr(0, 2);
  const auto empty = requests / (request_of(1).hex().substr(0, 2) + std::string(30, '0'));
  fs::create_directory(empty);
  const auto collect = [&] {
    EXPECT_EQ(store->collect({.older_than = std::chrono::hours(24)}).value().entries, 0);
  };
  collect();
  EXPECT_TRUE(fs::exists(empty)) << "somebody may be about to write there";
  set_used(empty, std::chrono::hours(25));
  set_used(requests / request_of(1).hex(), std::chrono::hours(25));
  collect();
  EXPECT_FALSE(fs::exists(empty));
  auto to = open("to");
  EXPECT_EQ(pull(*store, to).value().added, 1);
}

TEST_F(FileStore, LeasesThatNobodyProlongedForADayAreCollected) {
  const auto store = open_store();
  const auto leases = root_ / "kiln-store.v1" / "leases" / "ab";
  const auto old = leases / ("ab" + std::string(62, '0'));
  const auto young = leases / ("ab" + std::string(62, '1'));
  const auto age = [](const fs::path& lease) {
    set_used(lease / "00000001" / "beat", std::chrono::hours(25));
    set_used(lease / "00000001", std::chrono::hours(25));
    set_used(lease, std::chrono::hours(25));
  };
  for (const auto& lease : {old, young}) {
    fs::create_directories(lease / "00000001");
    test::write_file(lease / "00000001" / "beat", "token held 1");
    age(lease);
  }
  test::write_file(young / "00000001" / "beat", "token held 2");
  EXPECT_TRUE(store->collect({.max_bytes = 0, .dry_run = true}));
  EXPECT_TRUE(fs::exists(old));
  EXPECT_TRUE(store->collect({.older_than = std::chrono::hours(24)}));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young / "00000001" / "beat"));
  EXPECT_TRUE(fs::exists(leases)) << "somebody may be about to take one there";
}

// With more than a look-up reads. New files would take long, and one file has 65,000 names at most.
void fill(const fs::path& folder, const std::string& beginning, std::size_t digits) {
  fs::create_directories(folder);
  fs::path file;
  for (int number = 0; number <= 100'000; ++number) {
    const auto name = fmt::format("{}{:0{}}", beginning, number, digits - beginning.size());
    if (number % 50'000 == 0) {
      file = folder / name;
      test::write_file(file, "");
    } else {
      ASSERT_EQ(::link(file.c_str(), (folder / name).c_str()), 0);
    }
  }
}

TEST_F(FileStore, WhatSomebodyFilledIsListedAndCollected) {
  auto from = make_cache("from", {1, 2});
  const auto store = open_store();
  push(from, *store).value();
  const auto requests = root_ / "kiln-store.v1" / "requests";
  const auto name = request_of(1).hex();
  fill(requests / name.substr(0, 2) / name, "", 64);
  const auto listed = list_store(*store, [](const StoreEntry&) { return true; }).value();
  EXPECT_EQ(listed.entries, 1);
  ASSERT_THAT(listed.skipped, SizeIs(1));
  EXPECT_THAT(listed.skipped[0].problem, HasSubstr("kiln gc --store"));
  fill(requests / "cd", "cd", 32);
  EXPECT_THAT(store->requests().value(), SizeIs(100'003));
  EXPECT_EQ(store->collect({.older_than = std::chrono::hours(24)}).value().entries, 0);
  auto to = open("to");
  EXPECT_EQ(pull(*store, to, {.requests = {{request_of(1), request_of(2)}}}).value().added, 2);
}

TEST_F(FileStore, ManyPushAndPullAtATime) {
  const auto outcomes = test::run_processes(6, [&](int process) {
    auto cache = open("cache" + std::to_string(process));
    for (int number = 0; number < 20; ++number)
      if (!cache.put(make_sample(number).entry())) return 1;
    if (!push(cache, *open_store())) return 2;
    auto to = open("to" + std::to_string(process));
    const auto pulled = pull(*open_store(), to);
    if (!pulled || pulled->added != 20 || !pulled->skipped.empty()) return 3;
    return 0;
  });
  EXPECT_THAT(outcomes, Each(0));
}

}  // namespace
}  // namespace kiln
