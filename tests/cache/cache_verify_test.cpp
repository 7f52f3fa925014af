#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "support.h"

namespace kiln {
namespace {

using test::as_found;
using test::make_plain_sample;
using test::make_sample;
using test::same_artifact;
using test::Sample;

constexpr auto read_only = Cache::Access::read_only;

std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& [what, name, problem] : findings)
    text += what + " " + name + ": " + problem + "\n";
  return text;
}

class CacheVerify : public ::testing::Test {
 protected:
  CacheVerify() {
    Cache cache = Cache::open(folder_.path()).value();
    samples_ = {make_sample(1, 200), make_sample(2, 3000), make_plain_sample(3), make_sample(4)};
    samples_[3].source = "__global__ void other();\n";
    samples_[3].request.source = digest_of(samples_[3].source);
    samples_[3].headers[1] = "#pragma once\n// another\n";
    samples_[3].dependencies.lookups[1].content = digest_of(samples_[3].headers[1]);
    for (const auto& sample : samples_) EXPECT_TRUE(cache.put(sample.entry()));
  }

  [[nodiscard]] std::vector<Finding> findings(bool deep) const {
    auto cache = Cache::open(folder_.path(), {read_only});
    if (!cache) return {{"file", file_.string(), cache.error().message}};
    const auto report = cache->verify(deep);
    if (!report) return {{"file", file_.string(), report.error().message}};
    return report->findings;
  }

  void expect_sound() {
    EXPECT_EQ(text_of(findings(false)), "");
    EXPECT_EQ(text_of(findings(true)), "");
  }

  /// Runs SQL on the file, expects a finding of this kind, and puts the file back.
  void expect_found(const std::string& sql, const std::string& what, bool deep_only = false) {
    SCOPED_TRACE(sql);
    const std::string sound = test::read_file(file_);
    test::run_sql(file_, sql);
    const auto has = [&](const std::vector<Finding>& found) {
      return std::any_of(found.begin(), found.end(),
                         [&](const Finding& finding) { return finding.what == what; });
    };
    EXPECT_TRUE(has(findings(true))) << text_of(findings(true));
    EXPECT_EQ(has(findings(false)), !deep_only) << text_of(findings(false));
    test::write_file(file_, sound);
  }

  /// What a listing shows and what is vouched for: times and pins are not.
  static std::vector<std::string> listing_of(Cache& cache) {
    std::vector<std::string> lines;
    const auto entries = cache.list();
    if (!entries) return {entries.error().message};
    for (const auto& entry : *entries) {
      std::string line = entry.key.hex();
      for (const auto& word : {entry.program, entry.arch, entry.kind, entry.toolchain,
                               std::to_string(entry.image_bytes), std::to_string(entry.kernels),
                               std::to_string(entry.stored_bytes)}) {
        line += " " + word;
      }
      lines.push_back(line);
    }
    return lines;
  }

  /// Whether every entry, its listing and its texts are what they were.
  [[nodiscard]] bool is_whole(const std::vector<std::string>& listing) const {
    auto cache = Cache::open(folder_.path(), {read_only});
    if (!cache || listing_of(*cache) != listing) return false;
    for (const auto& sample : samples_) {
      const auto artifact = test::find(*cache, sample);
      if (!artifact || !same_artifact(*artifact, as_found(sample))) return false;
      const auto entry = cache->entry(as_found(sample).key);
      if (!entry || !same_artifact(entry->artifact, as_found(sample))) return false;
      for (const auto& text : sample.entry().texts) {
        const auto kept = cache->text(text.digest);
        if (!kept || *kept != text.bytes) return false;
      }
    }
    return true;
  }

  void expect_damage_is_found(unsigned seed, int rounds,
                              const std::function<void(std::string&, std::mt19937&)>& damage) {
    const std::string sound = test::read_file(file_);
    const auto listing = [&] {
      Cache cache = Cache::open(folder_.path(), {read_only}).value();
      return listing_of(cache);
    }();
    std::mt19937 generator(seed);
    int found = 0;
    for (int round = 0; round < rounds; ++round) {
      std::string damaged = sound;
      damage(damaged, generator);
      test::write_file(file_, damaged);
      if (!findings(true).empty()) {
        ++found;
      } else {
        EXPECT_TRUE(is_whole(listing)) << "seed " << seed << " round " << round;
      }
    }
    EXPECT_GT(found, rounds / 20);
  }

  test::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "kernels.v1.db";
  std::vector<Sample> samples_;
};

TEST_F(CacheVerify, CountsWhatItLooksAt) {
  Cache cache = Cache::open(folder_.path(), {read_only}).value();
  const auto report = cache.verify(true).value();
  EXPECT_EQ(report.entries, 4u);
  EXPECT_EQ(report.texts, 5u);
  EXPECT_EQ(report.dependency_sets, 2u);
  EXPECT_TRUE(report.set_aside.empty());
  expect_sound();
}

TEST_F(CacheVerify, ChangesNothing) {
  const auto before = test::snapshot(folder_.path());
  expect_sound();
  test::run_sql(file_, "UPDATE entries SET payload = x'00' WHERE id = 1");
  const auto damaged = test::snapshot(folder_.path());
  for (const auto access : {read_only, Cache::Access::read_write}) {
    Cache cache = Cache::open(folder_.path(), {access}).value();
    EXPECT_EQ(cache.verify(true).value().findings.size(), 1u);
    EXPECT_EQ(cache.counters(), CacheCounters());
  }
  EXPECT_EQ(test::snapshot(folder_.path()), damaged);
  EXPECT_NE(before, damaged);
}

TEST_F(CacheVerify, NamesTheEntry) {
  test::run_sql(file_, "UPDATE entries SET payload = x'00' WHERE id = 2");
  const auto found = findings(false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what, "entry");
  EXPECT_EQ(found[0].name, as_found(samples_[1]).key.hex());
  EXPECT_NE(found[0].problem.find("checksum"), std::string::npos);
}

TEST_F(CacheVerify, ASoundCacheHasNoFindingWhateverItWentThrough) {
  Cache cache = Cache::open(folder_.path(), {.max_bytes = 400'000}).value();
  ASSERT_TRUE(cache.pin(as_found(samples_[0]).key, true));
  for (int number = 10; number < 60; ++number) {
    Sample sample = make_sample(number, 12'000);
    sample.headers[0] = "// version " + std::to_string(number / 3);
    sample.dependencies.lookups[0].content = digest_of(sample.headers[0]);
    sample.source = "// source " + std::to_string(number / 2);
    sample.request.source = digest_of(sample.source);
    sample.request.source_bytes = sample.source.size();
    ASSERT_TRUE(cache.put(sample.entry()));
    ASSERT_TRUE(cache.put(sample.entry())) << "replaced";
    static_cast<void>(test::find(cache, make_sample(number - 5, 12'000)));
    if (number % 10 == 0) expect_sound();
  }
  EXPECT_GT(cache.counters()[Counter::evictions], 0u);
  expect_sound();
  ASSERT_TRUE(cache.pin(as_found(samples_[0]).key, false));
  ASSERT_TRUE(cache.collect({.max_bytes = 150'000}));
  expect_sound();
  EXPECT_EQ(text_of(cache.verify(true).value().findings), "");
  ASSERT_TRUE(cache.clear());
  expect_sound();
}

TEST_F(CacheVerify, ManyVersionsOfOneProgramAreSound) {
  Cache cache = Cache::open(folder_.path()).value();
  for (int version = 0; version < 700; ++version) {
    Sample sample = make_sample(1, 50);
    sample.toolchain.identity = digest_of(std::to_string(version));
    ASSERT_TRUE(cache.put(sample.entry()));
  }
  expect_sound();
  EXPECT_EQ(cache.verify(false).value().entries, 704u);
  EXPECT_EQ(cache.list().value().size(), 704u);
}

TEST_F(CacheVerify, ADamagedEntryIsFound) {
  for (const char* digest : {"key", "request", "toolchain", "source"}) {
    expect_found(std::string("UPDATE entries SET ") + digest + " = randomblob(16) WHERE id = 1",
                 "entry");
    expect_found(std::string("UPDATE entries SET ") + digest + " = 7 WHERE id = 1", "entry");
  }
  expect_found("UPDATE entries SET dependencies = NULL WHERE id = 1", "entry");
  expect_found("UPDATE entries SET dependencies = 2 WHERE id = 1", "entry");
  expect_found("UPDATE entries SET dependencies = 77 WHERE id = 1", "entry");
  expect_found("UPDATE entries SET dependencies = 1 WHERE id = 3", "entry");
  for (const char* text : {"arch", "kind", "program"}) {
    expect_found(std::string("UPDATE entries SET ") + text + " = 'x' WHERE id = 1", "entry");
  }
  expect_found("UPDATE entries SET toolchain_text = 'x' WHERE id = 1", "entry", true);
  expect_found("UPDATE entries SET image_bytes = image_bytes + 1 WHERE id = 1", "entry", true);
  expect_found("UPDATE entries SET kernels = kernels + 1 WHERE id = 1", "entry", true);
  for (const char* number : {"image_bytes", "kernels", "compile_us", "created"}) {
    expect_found(std::string("UPDATE entries SET ") + number + " = 'x' WHERE id = 1", "entry");
    expect_found(std::string("UPDATE entries SET ") + number + " = -1 WHERE id = 1", "entry");
  }
  expect_found("UPDATE entries SET material = material || x'00' WHERE id = 1", "entry");
  expect_found("UPDATE entries SET material = x'' WHERE id = 1", "entry");
  expect_found("UPDATE entries SET payload = substr(payload, 2) WHERE id = 1", "entry");
  expect_found(
      "UPDATE entries SET payload = (SELECT payload FROM entries WHERE id = 2) WHERE id = 1",
      "entry");
  expect_found("UPDATE entries SET id = 99 WHERE id = 1", "entry");
  expect_found("DELETE FROM entries WHERE id = 1", "mark");
}

TEST_F(CacheVerify, ADamagedTextIsFound) {
  expect_found("UPDATE texts SET digest = randomblob(16) WHERE id = 1", "text");
  expect_found("UPDATE texts SET digest = 7 WHERE id = 1", "text");
  expect_found("UPDATE texts SET raw_bytes = raw_bytes + 1 WHERE id = 1", "text");
  expect_found("UPDATE texts SET raw_bytes = 'x' WHERE id = 1", "text");
  expect_found("UPDATE texts SET frame = x'' WHERE id = 1", "text");
  expect_found("UPDATE texts SET frame = (SELECT frame FROM texts WHERE id = 2) WHERE id = 1",
               "text");
  expect_found("UPDATE texts SET id = 99 WHERE id = 2", "link");
  expect_found("DELETE FROM texts WHERE id = 2", "link");
  expect_found("INSERT INTO texts SELECT 99, randomblob(16), raw_bytes, frame FROM texts LIMIT 1",
               "text");
}

TEST_F(CacheVerify, ADamagedDependencySetIsFound) {
  expect_found("UPDATE dependency_sets SET digest = randomblob(16) WHERE id = 1", "dependency set");
  expect_found("UPDATE dependency_sets SET frame = x'00' WHERE id = 1", "dependency set");
  expect_found(
      "UPDATE dependency_sets SET frame = (SELECT frame FROM dependency_sets WHERE id = 2)",
      "dependency set");
  expect_found("UPDATE dependency_sets SET id = 99 WHERE id = 1", "dependency set");
  expect_found("DELETE FROM dependency_sets WHERE id = 1", "entry");
  expect_found("UPDATE set_texts SET text = 77 WHERE dependencies = 1 AND text = 2", "link");
  expect_found("UPDATE set_texts SET dependencies = 77 WHERE dependencies = 1", "link");
  expect_found("INSERT OR IGNORE INTO set_texts SELECT 2, id FROM texts", "link");
  // Of another one, in the place of its own.
  expect_found(
      "UPDATE set_texts SET text = (SELECT max(text) FROM set_texts WHERE dependencies = 2) "
      "WHERE dependencies = 1 AND text = (SELECT max(text) FROM set_texts WHERE dependencies = 1)",
      "link");
}

// As where an entry came without its texts: that some are here again changes nothing.
TEST_F(CacheVerify, ATextThatIsNotKeptForASetIsCounted) {
  test::run_sql(file_, "DELETE FROM set_texts WHERE dependencies = 1");
  const auto report = Cache::open(folder_.path(), {read_only})->verify(true).value();
  EXPECT_EQ(report.texts_left_out, samples_[0].headers.size());
}

TEST_F(CacheVerify, ADamagedWitnessIsFound) {
  expect_found("UPDATE witnesses SET roots = randomblob(16) WHERE dependencies = 1", "witness");
  expect_found("UPDATE witnesses SET roots = 7 WHERE dependencies = 1", "witness");
  expect_found("UPDATE witnesses SET dependencies = 77 WHERE dependencies = 1", "witness");
  expect_found("UPDATE witnesses SET frame = x'00' WHERE dependencies = 1", "witness");
}

TEST_F(CacheVerify, ADamagedMarkOrStateIsFound) {
  expect_found("UPDATE marks SET entry = 77 WHERE entry = 1", "mark");
  expect_found("DELETE FROM marks WHERE entry = 1", "entry");
  expect_found("UPDATE marks SET used = -1 WHERE entry = 1", "mark");
  expect_found("UPDATE marks SET used = 'x' WHERE entry = 1", "mark");
  expect_found("UPDATE marks SET used = 1000000000 WHERE entry = 1", "mark");
  expect_found("UPDATE marks SET pinned = 2 WHERE entry = 1", "mark");
  expect_found("UPDATE state SET value = -1 WHERE name = 'counter.stores'", "state");
  expect_found("UPDATE state SET value = 'x' WHERE name = 'clock'", "state");
  expect_found("UPDATE state SET name = 'clok' WHERE name = 'clock'", "mark");
}

TEST_F(CacheVerify, AMissingOrOtherIndexIsFound) {
  expect_found("DROP INDEX entries_by_request", "structure");
  expect_found("DROP INDEX marks_by_use; CREATE INDEX marks_by_use ON marks(used)", "structure");
  expect_found("DROP TABLE witnesses", "structure");
}

/// The index stays as it is while its table changes, as after a lost write.
TEST_F(CacheVerify, AnIndexThatLagsBehindIsFound) {
  const std::string sound = test::read_file(file_);
  for (const auto& [index, change] : std::vector<std::pair<std::string, std::string>>{
           {"entries_by_request", "DELETE FROM entries WHERE id = 1"},
           {"entries_by_source", "UPDATE entries SET source = randomblob(16) WHERE id = 1"},
           {"entries_by_dependencies", "UPDATE entries SET dependencies = 2 WHERE id = 1"},
           {"set_texts_by_text", "DELETE FROM set_texts WHERE dependencies = 1"},
           {"marks_by_use", "UPDATE marks SET used = 1 WHERE entry = 1"}}) {
    SCOPED_TRACE(index);
    test::run_sql(file_,
                  "PRAGMA writable_schema = ON;"
                  "UPDATE sqlite_schema SET type = 'table', sql = 'CREATE TABLE ' || name || '(x)',"
                  "tbl_name = name WHERE name = '" +
                      index + "'");
    test::run_sql(file_, change);
    const std::string damaged = test::read_file(file_);
    // The schema as it was, on the pages as they are now.
    test::write_file(file_, sound.substr(0, 4096) + damaged.substr(4096));
    const auto found = findings(false);
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [name = index](const Finding& finding) {
      return finding.name == name;
    })) << text_of(found);
    test::write_file(file_, sound);
  }
}

TEST_F(CacheVerify, RandomBitsAreFoundOrHarmless) {
  expect_damage_is_found(11, 1000, [](std::string& bytes, std::mt19937& generator) {
    const auto bit = generator() % (8 * bytes.size());
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
  });
}

TEST_F(CacheVerify, RandomBytesAreFoundOrHarmless) {
  expect_damage_is_found(12, 700, [](std::string& bytes, std::mt19937& generator) {
    for (int count = 0; count < 4; ++count) {
      bytes[generator() % bytes.size()] = static_cast<char>(generator());
    }
  });
}

TEST_F(CacheVerify, LostPagesAreFoundOrHarmless) {
  expect_damage_is_found(13, 300, [](std::string& bytes, std::mt19937& generator) {
    const std::size_t page = generator() % (bytes.size() / 4096) * 4096;
    if (generator() % 2) {
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(page), 4096, '\0');
    } else {
      bytes.resize(page + generator() % 4096);
    }
  });
}

TEST_F(CacheVerify, WorksOnABundle) {
  test::run_sql(file_, "DELETE FROM marks; DELETE FROM state; UPDATE entries SET created = 0");
  {
    Cache bundle = Cache::open_bundle(file_).value();
    EXPECT_EQ(text_of(bundle.verify(true).value().findings), "");
  }
  std::string bytes = test::read_file(file_);
  {
    Cache bundle = Cache::open_bundle(std::as_bytes(std::span(bytes))).value();
    EXPECT_EQ(text_of(bundle.verify(true).value().findings), "");
  }
  test::run_sql(file_, "DELETE FROM texts; DELETE FROM set_texts");
  Cache bundle = Cache::open_bundle(file_).value();
  const auto without_sources = bundle.verify(true).value();
  EXPECT_EQ(text_of(without_sources.findings), "");
  EXPECT_GE(without_sources.texts_left_out, without_sources.entries);
  test::run_sql(file_, "UPDATE entries SET payload = x'00' WHERE id = 1");
  EXPECT_EQ(Cache::open_bundle(file_)->verify(false)->findings.size(), 1u);
}

TEST_F(CacheVerify, ASourceThatIsNotKeptIsCounted) {
  test::run_sql(file_, "DELETE FROM texts WHERE id = 1");
  const auto report = Cache::open(folder_.path(), {read_only})->verify(true).value();
  EXPECT_EQ(text_of(report.findings), "");
  EXPECT_GE(report.texts_left_out, 1u);
}

TEST_F(CacheVerify, WhatCameWithoutItsSourcesIsSound) {
  const auto shipped = folder_.path() / "shipped.kiln";
  const auto taken = folder_.path() / "taken";
  ASSERT_TRUE(Cache::open(folder_.path())->export_bundle(shipped, {.without_sources = true}));
  Cache cache = Cache::open(taken).value();
  Cache bundle = Cache::open_bundle(shipped).value();
  const auto imported = cache.import(bundle).value();
  EXPECT_GT(imported.added, 0u);
  const auto report = cache.verify(true).value();
  EXPECT_EQ(text_of(report.findings), "");
  EXPECT_GE(report.texts_left_out, imported.added);
  EXPECT_EQ(Cache::open(folder_.path())->verify(true)->texts_left_out, 0u);
  // It brings a header that the others have as well, and keeps it for itself.
  ASSERT_TRUE(cache.put(samples_[3].entry()));
  EXPECT_EQ(text_of(cache.verify(true).value().findings), "");
}

TEST_F(CacheVerify, NamesTheGenerationsKeptAside) {
  test::write_file(file_, "no database");
  ASSERT_TRUE(Cache::open(folder_.path()));
  const auto report = Cache::open(folder_.path(), {read_only})->verify(true).value();
  EXPECT_EQ(report.set_aside, std::vector{file_});
  EXPECT_TRUE(report.findings.empty());
}

TEST_F(CacheVerify, WritersGoOnMeanwhile) {
  const pid_t writer = ::fork();
  if (writer == 0) {
    auto cache = Cache::open(folder_.path(), {.max_bytes = 2'000'000});
    for (int number = 100; cache && number < 400; ++number) {
      test::Sample sample = make_sample(number, 20'000);
      sample.artifact.compile_us = 60'000'000;  // Worth waiting for.
      if (!cache->put(sample.entry())) ::_exit(1);
    }
    ::_exit(cache && cache->counters().errors() == 0 ? 0 : 2);
  }
  int status = 0;
  int rounds = 0;
  for (; ::waitpid(writer, &status, WNOHANG) == 0; ++rounds) {
    EXPECT_EQ(text_of(findings(rounds % 2 == 0)), "");
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_GT(rounds, 0);
  expect_sound();
}

}  // namespace
}  // namespace kiln
