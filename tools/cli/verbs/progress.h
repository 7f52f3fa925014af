#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "words.h"

namespace kiln::cli {

/// How far a long work is: a bar on standard error where that is a terminal, else a line every few
/// seconds. For one thread at a time.
class Progress {
 public:
  enum class Shape { none, lines, bar };

  Progress(Shape shape, std::size_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Wipes the bar.
  ~Progress();

  /// `worked`: of those done, how many took work; the rate and the time left go by these.
  void show(std::size_t done, std::size_t worked, std::size_t failed, const std::string& latest);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::string text(std::size_t done, std::size_t worked, std::size_t failed) const;

  const Shape shape_;
  const std::size_t total_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
  bool drawn_ = false;
};

/// Says on a terminal what is under way, and wipes that when it is over; says nothing anywhere else. A compile may take
/// minutes, and a hit is over before anybody could read.
void show_under_way(const std::string& what);
void wipe_under_way();

/// How the command line wants it.
[[nodiscard]] Progress::Shape shape_of_progress(const Globals& globals);

}  // namespace kiln::cli
