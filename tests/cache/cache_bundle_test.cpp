// Bundles: what is exported, merged, served and imported.

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "bundle_fixture.h"
#include "kiln/cache.h"
#include "support.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using test::as_found;
using test::CacheBundle;
using test::make_plain_sample;
using test::make_sample;
using test::mode_of;
using test::same_artifact;
using test::Sample;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST_F(CacheBundle, HoldsAllEntriesAndTheirTexts) {
  Cache cache = make_cache("cache", {1, 2, 3});
  ASSERT_TRUE(cache.put(make_plain_sample(4).entry()));
  const auto report = cache.export_bundle(out_ / "b.kiln");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->entries, 4u);
  EXPECT_EQ(report->file_bytes, fs::file_size(out_ / "b.kiln"));
  EXPECT_TRUE(report->skipped.empty());
  EXPECT_EQ(mode_of(out_ / "b.kiln"), 0644u);
  EXPECT_EQ(names_in_out(), std::vector<std::string>{"b.kiln"});

  Cache bundle = Cache::open_bundle(out_ / "b.kiln").value();
  expect_serves(bundle, {1, 2, 3}, Origin::bundle);
  EXPECT_TRUE(test::find(bundle, make_plain_sample(4)));
  EXPECT_EQ(bundle.counters()[Counter::hits_bundle], 4u);
  EXPECT_EQ(bundle.statistics().value().texts, 3u);
  EXPECT_EQ(bundle.text(make_sample(1).request.source).value(), make_sample(1).source);
  const auto entries = bundle.list().value();
  for (const auto& entry : entries) {
    EXPECT_EQ(entry.created, 0);
    EXPECT_EQ(entry.compile_us, 0u);
    EXPECT_FALSE(entry.pinned);
  }
}

TEST_F(CacheBundle, TheSameContentGivesTheSameBytes) {
  Cache first = make_cache("first", {1, 2, 3, 4, 5, 6, 7, 8});
  Cache second = open("second", {.max_bytes = 1 << 20});
  for (const int number : {90, 5, 3, 91, 8, 1, 7, 2, 6, 92, 4}) {
    Sample sample = make_sample(number);
    sample.artifact.compile_us = 1000 + static_cast<std::uint64_t>(number);
    sample.witness.stamps[0].inode = 4711;
    ASSERT_TRUE(second.put(sample.entry()));
  }
  for (const int number : {90, 91, 92}) second.forget(as_found(make_sample(number)).key);
  ASSERT_TRUE(second.pin(as_found(make_sample(3)).key, true));
  EXPECT_TRUE(test::find(second, make_sample(5)));
  run_sql("second", "UPDATE entries SET created = 12345, program = 'a listing''s column'");

  ASSERT_TRUE(first.export_bundle(out_ / "first"));
  ASSERT_TRUE(second.export_bundle(out_ / "second"));
  const std::string bytes = test::read_file(out_ / "first");
  EXPECT_EQ(bytes, test::read_file(out_ / "second"));

  // So does what was imported and exported again, and what was exported over another bundle.
  Cache third = open("third");
  Cache bundle = Cache::open_bundle(out_ / "first").value();
  ASSERT_TRUE(third.import(bundle));
  ASSERT_TRUE(third.export_bundle(out_ / "second"));
  EXPECT_EQ(bytes, test::read_file(out_ / "second"));
  ASSERT_TRUE(bundle.export_bundle(out_ / "third"));
  EXPECT_EQ(bytes, test::read_file(out_ / "third"));
}

TEST_F(CacheBundle, LargeContentGivesTheSameBytesToo) {
  std::vector<int> numbers(60);
  for (int i = 0; i < 60; ++i) numbers[static_cast<std::size_t>(i)] = i;
  const auto fill = [&](const std::string& name) {
    Cache cache = open(name);
    for (const int i : numbers) ASSERT_TRUE(cache.put(make_sample(i, 100'000).entry()));
    ASSERT_TRUE(cache.export_bundle(out_ / name));
  };
  fill("first");
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(1));
  fill("second");
  EXPECT_GT(fs::file_size(out_ / "first"), 5'000'000u);
  EXPECT_TRUE(test::read_file(out_ / "first") == test::read_file(out_ / "second"));
}

TEST_F(CacheBundle, HasTheRightsOfNewFiles) {
  const auto rights_under = [this](mode_t mask) {
    const auto before = ::umask(mask);
    const auto written = open("cache").export_bundle(out_ / "b");
    ::umask(before);
    EXPECT_TRUE(written);
    return test::mode_of(out_ / "b");
  };
  EXPECT_EQ(rights_under(022), 0644);
  EXPECT_EQ(rights_under(002), 0644);
  EXPECT_EQ(rights_under(077), 0600);
}

TEST_F(CacheBundle, AnEmptyCacheGivesAnEmptyBundle) {
  EXPECT_EQ(open("cache").export_bundle(out_ / "b").value().entries, 0u);
  expect_bundle_serves(out_ / "b", {});
}

TEST_F(CacheBundle, LeavesSourcesOutWhereAsked) {
  const fs::path file = make_bundle({1, 2}, {.without_sources = true});
  expect_bundle_serves(file, {1, 2});
  Cache bundle = Cache::open_bundle(file).value();
  EXPECT_EQ(bundle.statistics().value().texts, 0u);
  const std::string bytes = test::read_file(file);
  EXPECT_EQ(bytes.find("#pragma once"), std::string::npos);
  EXPECT_EQ(bytes.find("__global__"), std::string::npos);

  // What is put on top of such an import brings the texts, and they go with the last that needs them.
  Cache cache = open("cache");
  EXPECT_EQ(cache.import(bundle).value().added, 2u);
  ASSERT_TRUE(cache.put(make_sample(3).entry()));
  EXPECT_EQ(cache.statistics().value().texts, 3u);
  for (const int number : {3, 1}) cache.forget(as_found(make_sample(number)).key);
  EXPECT_EQ(cache.statistics().value().texts, 3u);
  cache.forget(as_found(make_sample(2)).key);
  EXPECT_EQ(cache.statistics().value().texts, 0u);
}

TEST_F(CacheBundle, LeavesDamagedRowsOutAndNamesThem) {
  Cache cache = make_cache("cache", {1, 2, 3});
  const std::string key = as_found(make_sample(2)).key.hex();
  const std::string header = digest_of(make_sample(1).headers[0]).hex();
  run_sql("cache",
          "UPDATE entries SET payload = x'00' WHERE id = 2;"
          "UPDATE texts SET frame = x'00' WHERE digest = x'" +
              header + "'");
  const auto report = cache.export_bundle(out_ / "b");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->entries, 2u);
  ASSERT_EQ(report->skipped.size(), 2u);
  const auto named = [&](const std::string& what, const std::string& name) {
    return std::any_of(report->skipped.begin(), report->skipped.end(), [&](const Finding& finding) {
      return finding.what == what && finding.name == name && !finding.problem.empty();
    });
  };
  EXPECT_TRUE(named("entry", key));
  EXPECT_TRUE(named("text", header));
  expect_bundle_serves(out_ / "b", {1, 3});
  EXPECT_EQ(cache.statistics().value().entries, 3u) << "the cache is left as it is";

  // The bundle is as if the damaged entry had never been.
  run_sql("cache", "DELETE FROM entries WHERE id = 2");
  EXPECT_EQ(cache.export_bundle(out_ / "c").value().skipped.size(), 1u);
  EXPECT_EQ(test::read_file(out_ / "b"), test::read_file(out_ / "c"));
}

TEST_F(CacheBundle, ARowOfNoKeyIsNamedByItsNumber) {
  Cache cache = make_cache("cache", {1});
  run_sql("cache", "UPDATE entries SET key = 7");
  const auto report = cache.export_bundle(out_ / "b").value();
  ASSERT_EQ(report.skipped.size(), 1u);
  EXPECT_EQ(report.skipped[0].name, "row 1");
}

TEST_F(CacheBundle, MergesSeveral) {
  Cache first = make_cache("first", {1, 2});
  Cache second = make_cache("second", {2, 3});
  Cache whole = make_cache("whole", {3, 1, 2});
  Cache bundle = Cache::open_bundle(make_bundle({1, 2, 3}, {.without_sources = true})).value();
  run_sql("first", "UPDATE entries SET payload = x'00' WHERE id = 2");
  const auto report = bundle.export_bundle(out_ / "merged", {.also = {&first, &second}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->entries, 3u);
  expect_bundle_serves(out_ / "merged", {1, 2, 3});
  ASSERT_TRUE(whole.export_bundle(out_ / "whole"));
  EXPECT_EQ(test::read_file(out_ / "merged"), test::read_file(out_ / "whole"))
      << "texts come from whoever has them";
  EXPECT_EQ(first.export_bundle(out_ / "merged", {.also = {&second}}).value().entries, 3u);
}

TEST_F(CacheBundle, IsNotWrittenOverACachesOwnFile) {
  Cache cache = make_cache("cache", {1});
  fs::create_symlink(cache.file(), out_ / "link");
  for (const fs::path& place :
       {cache.file(), out_ / "link", folder_.path() / "cache" / "kernels.v1.g2.db"}) {
    const auto report = cache.export_bundle(place);
    ASSERT_FALSE(report) << place;
    EXPECT_EQ(report.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(report.error().message.find(place.string()), std::string::npos);
  }
  expect_serves(cache, {1}, Origin::local);
  Cache bundle = Cache::open_bundle(make_bundle({1})).value();
  EXPECT_FALSE(bundle.export_bundle(out_ / "made.kiln"));
}

TEST_F(CacheBundle, APlaceThatCannotBeWrittenIsNamed) {
  Cache cache = make_cache("cache", {1});
  test::write_file(out_ / "file", "a file");
  for (const fs::path& place :
       {out_ / "absent" / "b", out_ / "file" / "b", out_, out_ / "", fs::path()}) {
    const auto report = cache.export_bundle(place);
    ASSERT_FALSE(report) << place;
    EXPECT_EQ(report.error().code, ErrorCode::io_failed);
    EXPECT_NE(report.error().message.find(place.string()), std::string::npos);
  }
  EXPECT_EQ(names_in_out(), std::vector<std::string>{"file"});
}

TEST_F(CacheBundle, OddPathsAndSymlinkedFoldersAreTaken) {
  Cache cache = make_cache("cache", {1});
  fs::create_directory(out_ / "a %41?b#c d");
  fs::create_directory_symlink(out_ / "a %41?b#c d", out_ / "link");
  const fs::path file = out_ / "link" / "the %20 bundle?x=1#y .kiln";
  ASSERT_TRUE(cache.export_bundle(file));
  expect_bundle_serves(file, {1});
  expect_bundle_serves(out_ / "a %41?b#c d" / file.filename(), {1});
  Cache other = open("other");
  Cache bundle = Cache::open_bundle(file).value();
  EXPECT_EQ(other.import(bundle).value().added, 1u);

  const fs::path before = fs::current_path();
  fs::current_path(out_);
  EXPECT_TRUE(cache.export_bundle("relative"));
  EXPECT_TRUE(Cache::open_bundle("relative"));
  fs::current_path(before);
}

TEST_F(CacheBundle, ServesFromWhereNothingMayBeWritten) {
  const fs::path file = make_bundle({1, 2});
  fs::permissions(file, fs::perms(0444));
  fs::permissions(out_, fs::perms(0555));
  fs::permissions(folder_.path(), fs::perms(0755));
  const auto before = test::snapshot(out_);
  expect_bundle_serves(file, {1, 2});
  if (::geteuid() == 0) {
    EXPECT_EQ(test::run_as({},
                           [&]() -> std::string {
                             auto bundle = Cache::open_bundle(file);
                             if (!bundle) return bundle.error().message;
                             return test::find(*bundle, make_sample(2)) ? "served" : "missed";
                           }),
              "served");
  }
  EXPECT_EQ(test::snapshot(out_), before);
  fs::permissions(out_, fs::perms(0755));
}

TEST_F(CacheBundle, ServesFromAReadOnlyMount) {
  const fs::path file = make_bundle({1});
  if (::mount(out_.c_str(), out_.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    GTEST_SKIP() << "may not mount";
  }
  EXPECT_EQ(::mount(nullptr, out_.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr), 0);
  expect_bundle_serves(file, {1});
  const auto report = Cache::open_bundle(file).value().export_bundle(out_ / "b");
  EXPECT_FALSE(report);
  ::umount2(out_.c_str(), MNT_DETACH);
}

TEST_F(CacheBundle, WhatOthersMayWriteIsRefused) {
  const fs::path file = make_bundle({1});
  fs::permissions(file, fs::perms(0646));
  const auto bundle = Cache::open_bundle(file);
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.error().code, ErrorCode::cache_unusable);
  EXPECT_NE(bundle.error().message.find(file.string()), std::string::npos);
  EXPECT_TRUE(Cache::open_bundle(file, {.trust = {.others = true}}));
}

// The name is given to the user's own bundle and to somebody else's in turn while it is opened.
TEST_F(CacheBundle, WhatIsServedIsOfTheOwnerWhoWasLookedAt) {
  const fs::path own = out_ / "own", foreign = out_ / "foreign", name = out_ / "b.kiln";
  ASSERT_TRUE(make_cache("own", {1}).export_bundle(own));
  ASSERT_TRUE(make_cache("foreign", {2}).export_bundle(foreign));
  constexpr uid_t somebody = 65534;
  if (::chown(foreign.c_str(), somebody, somebody) != 0) {
    GTEST_SKIP() << "no right to give a file to another user";
  }
  fs::rename(own, name);
  std::atomic<bool> done = false;
  std::thread exchanging([&] {
    while (!done) {
      ::renameat2(AT_FDCWD, name.c_str(), AT_FDCWD, foreign.c_str(), RENAME_EXCHANGE);
    }
  });
  int served = 0;
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    auto bundle = Cache::open_bundle(name);
    served += bundle && test::find(*bundle, make_sample(1));
    refused += !bundle && bundle.error().code == ErrorCode::cache_unusable;
    EXPECT_FALSE(bundle && test::find(*bundle, make_sample(2))) << "of another user, " << round;
  }
  done = true;
  exchanging.join();
  EXPECT_GT(served, 0);
  EXPECT_GT(refused, 0);
}

TEST_F(CacheBundle, ABundleIsNotWritten) {
  Cache bundle = Cache::open_bundle(make_bundle({1})).value();
  const auto put = bundle.put(make_sample(2).entry());
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::cache_unusable);
  Cache other = make_cache("other", {2});
  EXPECT_FALSE(bundle.import(other));
}

TEST_F(CacheBundle, ServesFromMemory) {
  const std::string bytes = test::read_file(make_bundle({1, 2}));
  fs::remove_all(out_);
  auto bundle = Cache::open_bundle(bytes_of(bytes));
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(bundle->file(), fs::path());
  expect_serves(*bundle, {1, 2}, Origin::bundle);
  Cache cache = open("cache");
  EXPECT_EQ(cache.import(*bundle).value().added, 2u);
}

TEST_F(CacheBundle, ServesFromMemoryInAForkedChild) {
  const std::string bytes = test::read_file(make_bundle({1}));
  Cache bundle = Cache::open_bundle(bytes_of(bytes)).value();
  const auto results =
      test::run_processes(2, [&](int) { return test::find(bundle, make_sample(1)) ? 0 : 1; });
  EXPECT_EQ(results, std::vector<int>(2, 0));
}

/// Whatever the bytes are: a refusal, nothing, or the right thing.
void expect_right_or_nothing(const std::string& bytes) {
  auto bundle = Cache::open_bundle(bytes_of(bytes));
  if (!bundle) return;
  const Sample sample = make_sample(1);
  const auto artifact = test::find(*bundle, sample);
  if (artifact) {
    EXPECT_TRUE(same_artifact(*artifact, as_found(sample)));
  }
  static_cast<void>(bundle->list());
  static_cast<void>(bundle->statistics());
}

TEST_F(CacheBundle, TruncatedBytesInMemoryAreRefusedOrMissed) {
  const std::string bytes = test::read_file(make_bundle({1}));
  // Copied, so that a sanitizer sees the end.
  for (std::size_t size = 0; size < bytes.size(); size += 113) {
    expect_right_or_nothing(std::string(bytes, 0, size));
  }
  for (const std::size_t size : {0u, 1u, 16u, 99u, 100u, 4095u, 4096u, 4097u}) {
    expect_right_or_nothing(std::string(bytes, 0, size));
  }
}

TEST_F(CacheBundle, DamagedBytesInMemoryAreRefusedOrMissed) {
  const std::string bytes = test::read_file(make_bundle({1}));
  std::mt19937 generator(3);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    const std::size_t range = round % 2 == 0 ? std::size_t{200} : bytes.size();
    for (int flips = 1 << round % 4; flips > 0; --flips) {
      damaged[generator() % range] ^= static_cast<char>(1 << generator() % 8);
    }
    SCOPED_TRACE(round);
    expect_right_or_nothing(damaged);
  }
}

TEST_F(CacheBundle, ImportAddsWhatIsNotHere) {
  Cache cache = make_cache("cache", {1, 2});
  Sample own = make_sample(2);
  Cache bundle = Cache::open_bundle(make_bundle({2, 3, 4})).value();
  const auto report = cache.import(bundle);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->added, 2u);
  EXPECT_EQ(report->present, 1u);
  EXPECT_TRUE(report->skipped.empty());
  expect_serves(cache, {1, 2, 3, 4}, Origin::local);
  EXPECT_EQ(cache.statistics().value().texts, 3u);
  EXPECT_EQ(cache.statistics().value().dependency_sets, 1u);
  EXPECT_EQ(cache.entry(as_found(own).key).value().summary.compile_us, own.artifact.compile_us)
      << "what was here is left as it was";
  EXPECT_GT(cache.entry(as_found(make_sample(3)).key).value().summary.created, 0)
      << "or it would be collected as old";
  EXPECT_EQ(cache.import(bundle).value().present, 3u);
  EXPECT_EQ(cache.import(cache).value().present, 4u);
  EXPECT_EQ(cache.counters()[Counter::stores], 4u);
}

TEST_F(CacheBundle, ImportTakesManyAndACacheToo) {
  std::vector<int> numbers(100);
  for (int i = 0; i < 100; ++i) numbers[static_cast<std::size_t>(i)] = i;
  Cache from = make_cache("from", numbers);
  Cache cache = open("cache");
  EXPECT_EQ(cache.import(from).value().added, 100u);
  expect_serves(cache, numbers, Origin::local);
  EXPECT_EQ(cache.history().value()[Counter::stores], 100u);
}

TEST_F(CacheBundle, ImportKeepsToTheSizeCap) {
  Cache from = open("from");
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(from.put(make_sample(i, 20'000).entry()));
  constexpr std::uint64_t cap = 800'000;
  Cache cache = open("cache", {.max_bytes = cap});
  ASSERT_TRUE(cache.put(make_sample(200).entry()));
  ASSERT_TRUE(cache.pin(as_found(make_sample(200)).key, true));
  const auto report = cache.import(from);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->added, 100u);
  EXPECT_LE(cache.statistics().value().stored_bytes, cap);
  EXPECT_GT(cache.counters()[Counter::evictions], 50u);
  EXPECT_TRUE(test::find(cache, make_sample(200)));

  Cache small = open("small", {.max_bytes = 10'000});
  const auto too_large = small.import(from).value();
  EXPECT_EQ(too_large.added, 0u);
  EXPECT_EQ(too_large.skipped.size(), 100u);
}

TEST_F(CacheBundle, ImportNamesDamagedRows) {
  Cache from = make_cache("from", {1, 2, 3});
  run_sql("from", "UPDATE entries SET material = x'00' WHERE id = 3");
  Cache cache = open("cache");
  const auto report = cache.import(from).value();
  EXPECT_EQ(report.added, 2u);
  ASSERT_EQ(report.skipped.size(), 1u);
  EXPECT_EQ(report.skipped[0].name, as_found(make_sample(3)).key.hex());
}

}  // namespace
}  // namespace kiln
