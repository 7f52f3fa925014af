#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "kiln/kiln.h"
#include "support/sanitized.h"
#include "support/scratch.h"

namespace kiln::test {

using namespace std::chrono_literals;

/// What a cancel may take, whatever the compiler does.
constexpr auto soon = is_sanitized ? 2000ms : 250ms;

/// How long `work` takes.
template <class Work>
std::chrono::steady_clock::duration time_of(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - begin;
}

/// Writes down which compiles begin, and holds those of one name until it is opened. Safe from any thread.
class Gate {
 public:
  /// For RuntimeOptions::observer.
  Observer observer() {
    return [this](const Event& event) {
      if (event.kind == EventKind::compile_begin) begin(std::string(event.program));
    };
  }

  void hold(const std::string& program) {
    const std::lock_guard lock(mutex_);
    held_ = program;
  }

  void open() {
    const std::lock_guard lock(mutex_);
    held_.clear();
    changed_.notify_all();
  }

  /// Whether so many compiles begin within ten seconds.
  bool wait_for_begun(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [&] { return begun_.size() >= count; });
  }

  /// When the last one began.
  std::chrono::steady_clock::time_point last_begin() {
    const std::lock_guard lock(mutex_);
    return last_begin_;
  }

  std::vector<std::string> begun() {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

 private:
  void begin(const std::string& program) {
    std::unique_lock lock(mutex_);
    begun_.push_back(program);
    last_begin_ = std::chrono::steady_clock::now();
    changed_.notify_all();
    changed_.wait(lock, [&] { return held_ != program; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string held_;
  std::vector<std::string> begun_;
  std::chrono::steady_clock::time_point last_begin_;
};

/// Compiled in some 30 ms.
inline Program plain(const std::string& name) {
  return Program::make({.name = name, .source = "__global__ void k(int* x) { *x = 1; }"}).value();
}

/// A second or so of front end.
inline Program long_front_end() {
  return Program::make({.name = "front_end.cu",
                        .source = "#include <cub/block/block_reduce.cuh>\n"
                                  "__global__ void k(int* x) { *x = 1; }"})
      .value();
}

/// Three seconds or so of optimiser, in which NVRTC does not ask whether to go on; half the rounds take a
/// quarter of that.
inline Program long_optimiser(int rounds = 600) {
  return Program::make({.name = "optimiser.cu",
                        .source = R"(
      __global__ void k(int* x) {
        int a[64];
        for (int i = 0; i < 64; i++) a[i] = x[i];
        #pragma unroll
        for (int i = 0; i < ROUNDS; i++) {
          a[i % 64] = a[i * 7 % 64] * a[(i + 1) % 64] + x[i];
          if (a[i % 64] & 1) a[i * 3 % 64] ^= x[a[i % 64] & 63];
        }
        for (int i = 0; i < 64; i++) x[i] = a[i];
      })",
                        .options = {"-DROUNDS=" + std::to_string(rounds)}})
      .value();
}

inline Target target() { return Target::parse("sm_80").value(); }

/// Runtimes on one cache in a scratch directory.
class AsyncFixture : public ::testing::Test {
 protected:
  RuntimeOptions options() {
    RuntimeOptions options;
    options.cache_directory = scratch_ / "cache";
    options.observer = gate_.observer();
    options.compile_workers = 0;  // One at a time.
    return options;
  }

  Runtime open() { return Runtime::open(options()).value(); }

  std::size_t stored() { return Cache::open(scratch_ / "cache").value().list().value().size(); }

  ScratchDirectory scratch_;
  Gate gate_;
};

}  // namespace kiln::test
