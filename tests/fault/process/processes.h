#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "kiln/cache.h"
#include "support.h"

namespace kiln::test {

/// The first number, or with KILN_FAULT_SIZE=nightly the second.
[[nodiscard]] int sized(int ci, int nightly);

/// A forked process that runs `work` and ends with what that returns; killed with this object.
class Child {
 public:
  explicit Child(const std::function<int()>& work);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  [[nodiscard]] pid_t id() const noexcept { return process_; }
  void signal(int number) const;
  /// Its exit status, or minus the signal that ended it; nothing while it runs past the limit.
  [[nodiscard]] std::optional<int> result(
      std::chrono::milliseconds limit = std::chrono::seconds(60));

 private:
  pid_t process_;
  std::optional<int> result_;
};

/// Runs `work` and its expectations in a child process, so that what it does to the process or to its
/// mounts ends with it. False where an expectation failed.
[[nodiscard]] bool holds_in_child(const std::function<void()>& work,
                                  std::chrono::milliseconds limit = std::chrono::seconds(60));

/// Gives the process mounts of its own. False without the right to.
[[nodiscard]] bool own_mounts();

/// Whether a process may have mounts of its own.
[[nodiscard]] bool may_mount();

/// From now on the modes of files and folders hold for this process, too, where it is root's. That needs no right.
void obey_modes();

/// What a look-up came to. Anything that is served and is not what was put is `wrong`.
enum class Look { hit, miss, wrong };
[[nodiscard]] Look look(Cache& cache, const Sample& sample);

/// Puts and finds one entry.
[[nodiscard]] ::testing::AssertionResult serves(Cache& cache, const Sample& sample);

/// Opens the cache anew, puts, finds, and lets SQLite check the whole file.
void expect_in_order(const std::filesystem::path& directory);

/// What SQLite's own check of the file says: "ok".
[[nodiscard]] std::string integrity(const std::filesystem::path& file);

/// Marks left by several processes in one file: each a byte, appended.
class Marks {
 public:
  explicit Marks(std::filesystem::path file) : file_(std::move(file)) {}
  void leave(char mark) const;
  [[nodiscard]] std::string all() const { return read_file(file_); }
  [[nodiscard]] int count(char mark) const;
  /// Waits until there are so many; false past the limit.
  [[nodiscard]] bool wait_for(char mark, int how_many,
                              std::chrono::milliseconds limit = std::chrono::seconds(20)) const;

 private:
  std::filesystem::path file_;
};

/// Milliseconds since it was made.
class Stopwatch {
 public:
  [[nodiscard]] std::chrono::milliseconds passed() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

void nap(std::chrono::microseconds time);

}  // namespace kiln::test
