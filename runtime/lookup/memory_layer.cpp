#include "lookup/memory_layer.h"

#include <utility>

namespace kiln {

std::shared_ptr<const Artifact> MemoryLayer::find(const Digest& request, const Digest& roots,
                                                  const Accept& accept) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = by_request_.equal_range(request);
  for (auto at = first; at != last; ++at) {
    const auto entry = at->second;
    const Witness* witness = entry->witness.roots == roots ? &entry->witness : nullptr;
    if (!accept(entry->dependencies, entry->toolchain, witness, nullptr)) continue;
    entries_.splice(entries_.begin(), entries_, entry);
    return entry->artifact;
  }
  return nullptr;
}

void MemoryLayer::put(const Digest& request, DependencySet dependencies, Witness witness,
                      const Toolchain& toolchain, std::shared_ptr<const Artifact> artifact) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = by_request_.equal_range(request);
  for (auto at = first; at != last; ++at) {
    if (at->second->artifact->key != artifact->key) continue;
    drop(at->second);
    break;
  }
  bytes_ += artifact->image.size();
  entries_.push_front(
      {request, std::move(dependencies), std::move(witness), toolchain, std::move(artifact)});
  by_request_.emplace(request, entries_.begin());
  drop_surplus();
}

void MemoryLayer::limit_to(std::size_t most_bytes) {
  const std::lock_guard lock(mutex_);
  most_bytes_ = most_bytes;
  drop_surplus();
}

void MemoryLayer::forget(const Digest& key) {
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->artifact->key == key) drop(entry);
    entry = next;
  }
}

void MemoryLayer::drop_surplus() {
  while (bytes_ > most_bytes_ && entries_.size() > 1) drop(std::prev(entries_.end()));
}

void MemoryLayer::drop(Entries::iterator entry) {
  const auto [first, last] = by_request_.equal_range(entry->request);
  for (auto at = first; at != last; ++at) {
    if (at->second != entry) continue;
    by_request_.erase(at);
    break;
  }
  bytes_ -= entry->artifact->image.size();
  entries_.erase(entry);
}

}  // namespace kiln
