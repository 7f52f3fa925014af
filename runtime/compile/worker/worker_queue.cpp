#include "compile/worker/worker_queue.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace kiln {

namespace {

// No worker keeps more preludes than that.
constexpr std::size_t most_known = 64;
constexpr std::size_t most_passed_over = 32;

}  // namespace

WorkerQueue::WorkerQueue(std::size_t places) : places_(places) {}

std::optional<std::size_t> WorkerQueue::take(const Digest& group, const std::stop_token& stop) {
  Waiting self{group, std::nullopt};
  std::unique_lock lock(mutex_);
  line_.push_back(&self);
  assign();
  changed_.wait(lock, stop, [&] { return self.place.has_value(); });
  if (!self.place) line_.remove(&self);
  return self.place;
}

void WorkerQueue::give_back(std::size_t place) {
  const std::lock_guard lock(mutex_);
  places_[place].taken = false;
  assign();
}

void WorkerQueue::forget(std::size_t place) {
  const std::lock_guard lock(mutex_);
  places_[place] = Place{true, {}, 0};
}

void WorkerQueue::assign() {
  const auto free = [](const Place& place) { return !place.taken; };
  while (!line_.empty() && std::any_of(places_.begin(), places_.end(), free)) {
    const auto next = next_in_line();
    for (auto passed = line_.begin(); passed != next; ++passed) ++(*passed)->passed_over;
    const Digest& group = (*next)->group;
    Place& place = best_free_place(group);
    place.taken = true;
    ++place.jobs;
    if (place.known.size() >= most_known) place.known.clear();
    if (!group.empty()) place.known.insert(group);
    (*next)->place = static_cast<std::size_t>(&place - places_.data());
    line_.erase(next);
    changed_.notify_all();
  }
}

WorkerQueue::Line::iterator WorkerQueue::next_in_line() {
  if (line_.front()->passed_over >= most_passed_over) return line_.begin();
  const auto at_home = std::find_if(line_.begin(), line_.end(), [this](const Waiting* waiting) {
    return knows(waiting->group, true);
  });
  if (at_home != line_.end()) return at_home;
  const auto homeless = std::find_if(line_.begin(), line_.end(), [this](const Waiting* waiting) {
    return !knows(waiting->group, false);
  });
  return homeless != line_.end() ? homeless : line_.begin();
}

bool WorkerQueue::knows(const Digest& group, bool free_ones_alone) const {
  return std::any_of(places_.begin(), places_.end(), [&](const Place& place) {
    return (!free_ones_alone || !place.taken) && place.known.contains(group);
  });
}

WorkerQueue::Place& WorkerQueue::best_free_place(const Digest& group) {
  // For a job that shares nothing no new worker is started while one is free that has run before.
  const auto rank = [&](const Place& place) {
    return std::tuple(place.taken, !place.known.contains(group),
                      group.empty() ? std::size_t{0} : place.known.size(), place.jobs == 0);
  };
  return *std::min_element(
      places_.begin(), places_.end(),
      [&](const Place& left, const Place& right) { return rank(left) < rank(right); });
}

}  // namespace kiln
