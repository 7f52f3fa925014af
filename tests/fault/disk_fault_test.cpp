// F2: each call that SQLite makes of the file system fails once, or for good.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fault_cache.h"
#include "faulty_vfs.h"
#include "folder_image.h"
#include "rule_u.h"
#include "size.h"

namespace kiln {
namespace {

using test::Call;
using test::Fault;
using test::FaultKind;
using test::FaultyVfs;
using test::make_sample;
using test::RuleU;
using test::Sample;
using test::Tally;

// More than a second of waiting for a lock and some for a slow machine, and far from what a hang takes.
constexpr std::chrono::seconds hang{20};

Sample make_big_sample() {
  Sample sample = make_sample(3, std::size_t{3} << 20);
  for (unsigned header = 0; header < 5; ++header) {
    sample.headers.push_back(test::random_bytes(20'000, 100 + header));
    sample.dependencies.lookups.push_back({.spelling = "big" + std::to_string(header) + ".cuh",
                                           .content = digest_of(sample.headers.back())});
    sample.witness.stamps.push_back({.device = 1, .inode = header, .size = 20'000});
  }
  return sample;
}

/// One run of a scenario: what it works on, and what it saw.
struct Attempt {
  std::filesystem::path folder;
  std::optional<Cache> cache;
  RuleU rule;

  void open() {
    auto opened = test::open_to_write(folder);
    if (opened) {
      cache.emplace(std::move(*opened));
    } else {
      EXPECT_FALSE(opened.error().message.empty());
    }
  }

  void put(const Sample& sample) {
    if (!cache) return;
    const Tally before = test::tally_of(*cache);
    rule.offered(sample);
    const auto outcome = test::put(*cache, sample);
    const Tally after = test::tally_of(*cache);
    EXPECT_EQ(after.stores - before.stores, outcome ? 1u : 0u);
    if (!outcome) {
      EXPECT_GT(after.faults, before.faults) << "not counted: " << outcome.error().message;
    }
    if (outcome) rule.stored(sample);
  }

  void find(const Sample& sample) {
    if (!cache) return;
    const Tally before = test::tally_of(*cache);
    const auto served = test::find_checked(*cache, sample);
    const Tally after = test::tally_of(*cache);
    rule.expect_right(sample, served);
    EXPECT_EQ(after.hits - before.hits, served ? 1u : 0u);
    EXPECT_EQ(after.misses - before.misses, served ? 0u : 1u);
    if (!served) {
      EXPECT_GT(after.faults, before.faults) << "a miss for no reason that is counted";
    }
  }
};

struct Scenario {
  const char* name;
  std::function<void(Attempt&)> prepare;
  std::function<void(Attempt&)> act;
  std::size_t most_sites;  ///< Of the calls, at CI size.
  bool loses_entries = false;
};

void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

const Sample first = make_sample(1, 9'000);
const Sample second = make_sample(2, 9'000);
const Sample big = make_big_sample();

void hold_first(Attempt& run) {
  run.open();
  run.put(first);
}

void hold_first_damaged(Attempt& run) {
  hold_first(run);
  test::run_sql(test::database_of(run.folder),
                "UPDATE entries SET payload = substr(payload, 1, length(payload) - 1)");
}

class DiskFault : public ::testing::TestWithParam<Scenario> {
 protected:
  /// Runs the scenario with this fault, then looks at what is left when the disk is well again.
  void run_with(std::optional<Fault> fault) {
    test::store_folder(prepared_, folder_.path());
    FaultyVfs vfs;
    {
      Attempt run{.folder = folder_.path(), .cache = {}, .rule = prepared_rule_};
      vfs.arm(fault);
      const auto start = std::chrono::steady_clock::now();
      GetParam().act(run);
      EXPECT_LT(std::chrono::steady_clock::now() - start, hang);
      calls_ = vfs.calls();
      vfs.disarm();
      if (run.cache) {
        run.rule.expect_all_right(*run.cache);
        RuleU::expect_works(*run.cache);
      }
      run.cache.reset();
      run.rule.expect_works_anew(folder_.path());
      expect_nothing_lost(run.rule);
    }
    ++runs_;
  }

  /// A call that failed tells nothing of what is stored, so no sound entry is dropped for it.
  void expect_nothing_lost(const RuleU& rule) {
    if (GetParam().loses_entries) return;
    auto cache = test::open_to_read(folder_.path());
    ASSERT_TRUE(cache) << cache.error().message;
    EXPECT_TRUE(rule.all_kept(*cache)) << "a sound entry is gone";
  }

  void prepare() {
    Attempt run{.folder = folder_.path(), .cache = {}, .rule = {}};
    if (GetParam().prepare) GetParam().prepare(run);
    run.cache.reset();
    prepared_ = test::load_folder(folder_.path());
    prepared_rule_ = run.rule;
  }

  void fail_call(std::size_t number, Call call) {
    for (const FaultKind kind : {FaultKind::full, FaultKind::io_error, FaultKind::cannot_open}) {
      if (!test::code_of(kind, call)) continue;
      for (const bool for_good : {false, true}) {
        SCOPED_TRACE(std::string("call ") + std::to_string(number) + " (" + to_string(call) +
                     ") fails with " + to_string(kind) + (for_good ? " for good" : " once"));
        run_with(Fault{.kind = kind, .at = number, .for_good = for_good});
        if (HasFatalFailure()) return;
      }
    }
  }

  test::TemporaryFolder folder_;
  test::FolderImage prepared_;
  RuleU prepared_rule_;
  std::vector<Call> calls_;
  std::size_t runs_ = 0;
};

TEST_P(DiskFault, RuleUHoldsAtEveryCall) {
  prepare();
  run_with(std::nullopt);
  const std::vector<Call> calls = calls_;
  ASSERT_FALSE(calls.empty()) << "the cache does not use the default VFS";
  const std::size_t most = test::by_size(GetParam().most_sites, calls.size());
  const std::size_t stride = std::max<std::size_t>(1, calls.size() / most);
  for (std::size_t number = 0; number < calls.size(); number += stride) {
    fail_call(number, calls[number]);
    if (HasFailure()) break;
  }
  RecordProperty("calls", static_cast<int>(calls.size()));
  RecordProperty("runs", static_cast<int>(runs_));
  std::cout << GetParam().name << ": " << calls.size() << " calls, " << runs_ << " runs\n";
}

// A put of more than SQLite's page cache holds writes its pages before it commits.
INSTANTIATE_TEST_SUITE_P(F2, DiskFault,
                         ::testing::Values(Scenario{.name = "OpenFresh",
                                                    .prepare = {},
                                                    .act = [](Attempt& run) { run.open(); },
                                                    .most_sites = 1000},
                                           Scenario{.name = "OpenFreshPutAndFind",
                                                    .prepare = {},
                                                    .act =
                                                        [](Attempt& run) {
                                                          run.open();
                                                          run.put(first);
                                                          if (run.rule.acknowledged(first))
                                                            run.find(first);
                                                        },
                                                    .most_sites = 1000},
                                           Scenario{.name = "Put",
                                                    .prepare = hold_first,
                                                    .act =
                                                        [](Attempt& run) {
                                                          run.open();
                                                          run.put(second);
                                                        },
                                                    .most_sites = 1000},
                                           Scenario{.name = "Replace",
                                                    .prepare = hold_first,
                                                    .act =
                                                        [](Attempt& run) {
                                                          run.open();
                                                          run.put(test::new_version(first, 7));
                                                        },
                                                    .most_sites = 1000},
                                           Scenario{.name = "Find",
                                                    .prepare = hold_first,
                                                    .act =
                                                        [](Attempt& run) {
                                                          run.open();
                                                          run.find(first);
                                                        },
                                                    .most_sites = 1000},
                                           Scenario{.name = "DropADamagedRow",
                                                    .prepare = hold_first_damaged,
                                                    .act =
                                                        [](Attempt& run) {
                                                          run.open();
                                                          run.find(first);
                                                        },
                                                    .most_sites = 1000,
                                                    .loses_entries = true},
                                           Scenario{.name = "PutABigOne",
                                                    .prepare = hold_first,
                                                    .act =
                                                        [](Attempt& run) {
                                                          run.open();
                                                          run.put(big);
                                                        },
                                                    .most_sites = 50}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln
