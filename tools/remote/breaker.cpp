#include "breaker.h"

#include <algorithm>

namespace kiln::remote {

unsigned Breaker::begin(Time now) {
  if (pending_++ == 0) heard_ = now;
  return era_;
}

void Breaker::end(unsigned era) noexcept {
  if (era == era_) --pending_;
}

void Breaker::succeed(Time now) {
  heard_ = now;
  failures_ = 0;
  cost_ = {};
}

void Breaker::fail(Time now, Clock::duration cost) {
  ++failures_;
  cost_ += cost;
  if (failures_ >= most_failures || cost_ >= most_cost) open(now);
}

Breaker::Time Breaker::silent_until() const noexcept {
  return pending_ > 0 ? heard_ + most_cost : Time::max();
}

void Breaker::look(Time now) {
  if (now >= silent_until()) open(now);
}

void Breaker::probed(Time now, bool answers) {
  if (answers) {
    // What was on its way before may never come, and says nothing of the server as it is now.
    ++era_;
    pending_ = 0;
    open_ = false;
    failures_ = 0;
    cost_ = {};
    heard_ = now;
    rest_ = first_rest;
  } else {
    rest_ = std::min(2 * rest_, longest_rest);
    next_probe_ = now + rest_;
  }
}

void Breaker::open(Time now) {
  if (open_) return;
  open_ = true;
  next_probe_ = now + rest_;
}

}  // namespace kiln::remote
