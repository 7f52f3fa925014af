#include "launch/kernel_table.h"

#include <functional>

namespace kiln {
namespace {

constexpr std::size_t first_slots = 64;

std::size_t hash_of(std::uint64_t program, CUdevice device, std::string_view expression) noexcept {
  // Any odd number with bits all over mixes them; this one is 2^64 over the golden ratio.
  constexpr std::uint64_t mixer = 0x9e3779b97f4a7c15;
  const auto numbers = (program + (static_cast<std::uint64_t>(device) << 48)) * mixer;
  return std::hash<std::string_view>{}(expression) ^ (numbers ^ numbers >> 32);
}

}  // namespace

KernelTable::KernelTable() {
  all_.push_back(std::make_unique<Slots>(first_slots));
  current_ = all_.back().get();
}

const KernelRecord* KernelTable::find(std::uint64_t program, CUdevice device,
                                      std::string_view expression) const noexcept {
  const auto* entry = find_in(*current_.load(std::memory_order_acquire),
                              hash_of(program, device, expression), program, device, expression);
  return entry != nullptr ? entry->record : nullptr;
}

void KernelTable::add(std::uint64_t program, CUdevice device, std::string_view expression,
                      const KernelRecord& record) {
  const auto hash = hash_of(program, device, expression);
  const std::lock_guard lock(mutex_);
  if (find_in(*all_.back(), hash, program, device, expression) != nullptr) return;
  if (entries_.size() == most_kernels) return;
  entries_.push_back({hash, program, device, std::string(expression), &record});
  if (2 * entries_.size() > all_.back()->size()) {
    grow();
  } else {
    insert(*all_.back(), entries_.back());
  }
}

const KernelTable::Entry* KernelTable::find_in(const Slots& slots, std::size_t hash,
                                               std::uint64_t program, CUdevice device,
                                               std::string_view expression) noexcept {
  const auto mask = slots.size() - 1;
  for (auto at = hash & mask;; at = (at + 1) & mask) {
    const auto* entry = slots[at].load(std::memory_order_acquire);
    if (entry == nullptr) return nullptr;
    if (entry->hash == hash && entry->program == program && entry->device == device &&
        entry->expression == expression)
      return entry;
  }
}

void KernelTable::insert(Slots& slots, const Entry& entry) {
  const auto mask = slots.size() - 1;
  auto at = entry.hash & mask;
  while (slots[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & mask;
  slots[at].store(&entry, std::memory_order_release);
}

void KernelTable::grow() {
  auto larger = std::make_unique<Slots>(2 * all_.back()->size());
  for (const auto& entry : entries_) insert(*larger, entry);
  all_.push_back(std::move(larger));
  current_.store(all_.back().get(), std::memory_order_release);
}

}  // namespace kiln
