#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace kiln {

/// A hash of a number.
[[nodiscard]] constexpr std::size_t mixed(std::uint64_t number) noexcept {
  // Any odd number with bits all over mixes them; this one is 2^64 over the golden ratio.
  const auto product = number * 0x9e3779b97f4a7c15;
  return product ^ product >> 32;
}

/// Entries that are found by a hash, which they hold as `hash`. A look-up takes no lock and nothing from the heap, so that
/// a thread that launches never waits for one that loads. Entries are never moved or removed. find() is safe beside
/// everything; add() and size() are for one thread at a time.
template <class Entry>
class GrowingTable {
 public:
  GrowingTable() {
    all_.push_back(std::make_unique<Slots>(first_slots));
    current_ = all_.back().get();
  }

  /// The entry of this hash that `is_meant` takes, or nullptr. Valid as long as the table.
  template <class IsMeant>
  [[nodiscard]] const Entry* find(std::size_t hash, const IsMeant& is_meant) const noexcept {
    const Slots& slots = *current_.load(std::memory_order_acquire);
    const auto mask = slots.size() - 1;
    for (auto at = hash & mask;; at = (at + 1) & mask) {
      const Entry* entry = slots[at].load(std::memory_order_acquire);
      if (entry == nullptr || (entry->hash == hash && is_meant(*entry))) return entry;
    }
  }

  /// Adds the entry that these make. REQUIRES: find() does not find it.
  template <class... Members>
  void add(Members&&... members) {
    const Entry& entry = entries_.emplace_back(std::forward<Members>(members)...);
    if (2 * entries_.size() > all_.back()->size()) {
      grow();
    } else {
      insert(*all_.back(), entry);
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  static constexpr std::size_t first_slots = 64;
  // A power of two of them, at most half of them taken; a chain ends at the first that is null.
  using Slots = std::vector<std::atomic<const Entry*>>;

  static void insert(Slots& slots, const Entry& entry) {
    const auto mask = slots.size() - 1;
    auto at = entry.hash & mask;
    while (slots[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & mask;
    slots[at].store(&entry, std::memory_order_release);
  }

  void grow() {
    auto larger = std::make_unique<Slots>(2 * all_.back()->size());
    for (const auto& entry : entries_) insert(*larger, entry);
    all_.push_back(std::move(larger));
    current_.store(all_.back().get(), std::memory_order_release);
  }

  std::atomic<const Slots*> current_;
  std::deque<Entry> entries_;
  std::vector<std::unique_ptr<Slots>>
      all_;  ///< Also outgrown ones, since somebody may be reading them.
};

}  // namespace kiln
