#include "lately.h"

#include <utility>

namespace kiln::remote {

void Lately::keep(const Digest& request, std::vector<WireHint> hints) {
  const std::lock_guard lock(mutex_);
  if (heard_.size() >= most_requests) heard_.clear();
  const auto until = Clock::now() + (hints.empty() ? nothing_holds : hints_hold);
  heard_.insert_or_assign(request, Heard{std::move(hints), until});
}

std::optional<std::vector<WireHint>> Lately::hints(const Digest& request) {
  const std::lock_guard lock(mutex_);
  const auto at = heard_.find(request);
  if (at == heard_.end()) return std::nullopt;
  if (Clock::now() < at->second.until) return at->second.hints;
  heard_.erase(at);
  return std::nullopt;
}

void Lately::forget(const Digest& request) {
  const std::lock_guard lock(mutex_);
  heard_.erase(request);
}

void Lately::keep(const std::string& name, const std::string& object) {
  const std::lock_guard lock(mutex_);
  if (object.size() > most_bytes || by_name_.contains(name)) return;
  objects_.push_front({name, object});
  by_name_.emplace(name, objects_.begin());
  for (bytes_ += object.size(); bytes_ > most_bytes; objects_.pop_back()) {
    bytes_ -= objects_.back().bytes.size();
    by_name_.erase(objects_.back().name);
  }
}

std::optional<std::string> Lately::object(const std::string& name, std::uint64_t most_bytes) {
  const std::lock_guard lock(mutex_);
  const auto at = by_name_.find(name);
  if (at == by_name_.end() || at->second->bytes.size() > most_bytes) return std::nullopt;
  objects_.splice(objects_.begin(), objects_, at->second);
  return at->second->bytes;
}

}  // namespace kiln::remote
