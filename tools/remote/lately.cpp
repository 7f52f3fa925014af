#include "lately.h"

#include <utility>

namespace kiln::remote {

// Whoever writes into a store may give each request as many hints as are read, and as large ones.
void Lately::keep(const Digest& request, std::vector<WireHint> hints, std::size_t known) {
  std::uint64_t bytes = 0;
  for (const auto& hint : hints) bytes += hint.object.size() + hint.record.size();
  const std::lock_guard lock(mutex_);
  if (const auto at = heard_.find(request); at != heard_.end()) forget_heard(at);
  if (bytes > most_bytes_of_hints) return;
  if (heard_.size() >= most_requests || bytes_of_hints_ + bytes > most_bytes_of_hints) {
    heard_.clear();
    bytes_of_hints_ = 0;
  }
  const auto until = Clock::now() + (hints.empty() ? nothing_holds : hints_hold);
  heard_.emplace(request, Heard{std::move(hints), known, bytes, until});
  bytes_of_hints_ += bytes;
}

std::optional<std::vector<WireHint>> Lately::hints(const Digest& request, std::size_t most) {
  const std::lock_guard lock(mutex_);
  const auto at = heard_.find(request);
  if (at == heard_.end()) return std::nullopt;
  if (Clock::now() >= at->second.until) {
    forget_heard(at);
    return std::nullopt;
  }
  return most <= at->second.known ? std::optional(at->second.hints) : std::nullopt;
}

void Lately::forget(const Digest& request) {
  const std::lock_guard lock(mutex_);
  if (const auto at = heard_.find(request); at != heard_.end()) forget_heard(at);
}

void Lately::forget_heard(std::map<Digest, Heard>::iterator at) {
  bytes_of_hints_ -= at->second.bytes;
  heard_.erase(at);
}

void Lately::keep(const std::string& name, const std::string& object) {
  const std::lock_guard lock(mutex_);
  if (object.size() > most_bytes) return;
  forget_kept(name);
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

void Lately::forget_object(const std::string& name) {
  const std::lock_guard lock(mutex_);
  forget_kept(name);
}

void Lately::forget_kept(const std::string& name) {
  const auto at = by_name_.find(name);
  if (at == by_name_.end()) return;
  bytes_ -= at->second->bytes.size();
  objects_.erase(at->second);
  by_name_.erase(at);
}

}  // namespace kiln::remote
