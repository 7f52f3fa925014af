#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <vector>

#include "kiln/digest.h"

namespace kiln {

/// Gives each job one of several places; a place has one worker. A job goes to a free place where others of
/// its group were before, because what they share is in that worker's memory; else to the free place that
/// knows the fewest groups. A place that comes free takes a waiting job of a group that it knows, else one of
/// a group that no place knows, so that each group stays in one place. No job is passed over too often. Safe
/// to use from any thread.
class WorkerQueue {
 public:
  explicit WorkerQueue(std::size_t places);

  /// Waits for a place. `group` is empty for a job that shares nothing. Nothing if stopped.
  [[nodiscard]] std::optional<std::size_t> take(const Digest& group, const std::stop_token& stop);

  void give_back(std::size_t place);

  /// Forgets what the place knew, since its worker is gone. REQUIRES: the place is taken.
  void forget(std::size_t place);

 private:
  struct Place {
    bool taken = false;
    std::set<Digest> known;
    std::size_t jobs = 0;
  };
  struct Waiting {
    const Digest& group;
    std::optional<std::size_t> place;
    std::size_t passed_over = 0;
  };
  using Line = std::list<Waiting*>;

  void assign();
  [[nodiscard]] Line::iterator next_in_line();
  [[nodiscard]] bool knows(const Digest& group, bool free_ones_alone) const;
  /// There must be one.
  [[nodiscard]] Place& best_free_place(const Digest& group);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Place> places_;
  Line line_;
};

}  // namespace kiln
