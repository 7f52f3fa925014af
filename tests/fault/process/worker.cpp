// The program that preload.cpp is put before. Ends with 0 where all was as it should be; else it says
// what was not.

#include <dlfcn.h>
#include <time.h>

#include <chrono>
#include <iostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "processes.h"

namespace {

using namespace std::chrono_literals;
using kiln::Cache;
using kiln::Counter;
using kiln::test::Look;
using kiln::test::make_sample;

int failures = 0;

void expect(bool holds, std::string_view what) {
  if (holds) return;
  std::cout << "NOT SO: " << what << '\n';
  ++failures;
}

void turn_fault(bool on) {
  auto* faulty = static_cast<int*>(::dlsym(RTLD_DEFAULT, "kiln_fault_on"));
  expect(faulty != nullptr, "the faults are preloaded");
  if (faulty != nullptr) *faulty = on ? 1 : 0;
}

/// A filesystem that stops answering, in whatever way, and comes back.
void live_through_a_fault(const std::string& directory) {
  auto opened = Cache::open(directory);
  if (!opened) return expect(false, opened.error().message);
  Cache cache = std::move(*opened);
  expect(static_cast<bool>(serves(cache, make_sample(1))), "it works before");
  for (int round = 0; round < 2; ++round) {
    turn_fault(true);
    const kiln::test::Stopwatch watch;
    const auto before = cache.counters();
    expect(!cache.put(make_sample(2 + round).entry()), "a put fails");
    expect(look(cache, make_sample(1)) == Look::miss, "a look-up misses");
    static_cast<void>(cache.take_turn(kiln::digest_of("x"), 500ms));
    expect(!cache.list(), "a listing fails");
    const auto after = cache.counters();
    expect(after.errors() > before.errors(), "errors are counted");
    expect(after.misses() == before.misses() + 1, "the miss is counted");
    expect(after[Counter::misses_unreadable] > before[Counter::misses_unreadable],
           "the miss is for being unreadable");
    static_cast<void>(Cache::open(directory));
    expect(watch.passed() < 12s, "nothing hangs");
    turn_fault(false);
    expect(look(cache, make_sample(1)) == Look::hit, "it hits again");
    expect(static_cast<bool>(serves(cache, make_sample(2 + round))), "it stores again");
  }
  expect(cache.counters()[Counter::generations] == 0, "the file is kept");
}

/// Entries made at one time, used and added to at another, years off.
void live_at_another_time(const std::string& directory) {
  constexpr int entries = 20;
  const kiln::CacheOptions options{.max_bytes = 2'000'000};
  Cache now = Cache::open(directory, options).value();
  for (int n = 0; n < entries; ++n) expect(now.put(make_sample(n).entry()).has_value(), "a put");
  const auto real = ::time(nullptr);
  turn_fault(true);
  expect(std::abs(::time(nullptr) - real) > 1'000'000, "the clock is off");
  {
    Cache then = Cache::open(directory, options).value();
    const kiln::test::Stopwatch watch;
    for (int n = 0; n < entries; ++n) {
      expect(static_cast<bool>(serves(then, make_sample(100 + n))), "a put at the other time");
      expect(look(then, make_sample(n)) == Look::hit, "an entry of the first time");
    }
    expect(then.collect({.max_bytes = 2'000'000}).value().entries == 0, "nothing is collected");
    expect(then.take_turn(kiln::digest_of("x"), 200ms).exclusive(), "a turn");
    expect(then.counters()[Counter::evictions] == 0, "nothing is evicted");
    expect(watch.passed() < 10s, "nothing hangs");
  }
  turn_fault(false);
  expect(now.statistics().value().entries == 2 * entries, "all are there");
  expect(now.put(make_sample(1'000).entry()).has_value(), "a put after it");
}

}  // namespace

int main(int, char** arguments) {
  const std::string_view what = arguments[1];
  if (what == "fault") live_through_a_fault(arguments[2]);
  if (what == "clock") live_at_another_time(arguments[2]);
  return failures == 0 ? 0 : 1;
}
