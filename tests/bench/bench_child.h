#pragma once

// What benchmarks have other processes do: this program, started anew.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "timing.h"

namespace kiln::bench {

/// Another process at work. Its times are what it prints.
class Child {
 public:
  /// Opens the cache and finds this entry: one time, from before the opening until the bytes are there.
  [[nodiscard]] static Child first_hit(const std::filesystem::path& cache, std::uint64_t number);

  /// Puts entries from `first` on for so many seconds: one time for each put.
  [[nodiscard]] static Child writer(const std::filesystem::path& cache, std::uint64_t first,
                                    double seconds);

  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  /// Waits for its end.
  void add_times(Times& times);

 private:
  explicit Child(const std::string& arguments);
  std::FILE* output_;
};

/// Whether this process is such a child; it then has done its work.
[[nodiscard]] bool ran_as_child(int count, char** arguments);

}  // namespace kiln::bench
