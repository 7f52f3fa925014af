#include "narrow/look_up_order.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace kiln {

namespace {

bool has_parent(const Dependency& lookup) { return lookup.parent < Dependency::at_place; }

// For each look-up the first one made of those that found its includer.
std::vector<std::uint32_t> first_parents(const NarrowedClosure& kept,
                                         const std::vector<std::uint64_t>& made_at) {
  const auto& lookups = kept.closure().dependencies.lookups;
  std::unordered_map<const void*, std::uint32_t> first;
  for (std::uint32_t index = 0; index < lookups.size(); ++index) {
    if (kept.place(index) == nullptr) continue;
    const auto [known, is_new] = first.try_emplace(kept.place(index), index);
    if (!is_new && made_at[index] < made_at[known->second]) known->second = index;
  }
  std::vector<std::uint32_t> parents;
  parents.reserve(lookups.size());
  for (const auto& lookup : lookups)
    parents.push_back(has_parent(lookup) ? first.at(kept.place(lookup.parent)) : lookup.parent);
  return parents;
}

// The new position of each.
std::vector<std::uint32_t> inverse(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> places(order.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) places[order[place]] = place;
  return places;
}

template <class Item>
void permute(std::vector<Item>& items, const std::vector<std::uint32_t>& order) {
  std::vector<Item> permuted;
  permuted.reserve(items.size());
  for (const auto index : order) permuted.push_back(std::move(items[index]));
  items = std::move(permuted);
}

}  // namespace

void put_in_order(NarrowedClosure& kept, const std::vector<std::uint64_t>& made_at) {
  auto& closure = kept.closure();
  auto& lookups = closure.dependencies.lookups;
  const auto parents = first_parents(kept, made_at);
  std::vector<std::uint32_t> order(lookups.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    return made_at[left] < made_at[right];
  });
  const auto places = inverse(order);
  const bool parents_first = std::all_of(order.begin(), order.end(), [&](std::uint32_t index) {
    return !has_parent(lookups[index]) || places[parents[index]] < places[index];
  });
  if (!parents_first) {
    for (auto& lookup : lookups) lookup.tested = true;
    return;
  }
  for (std::uint32_t index = 0; index < lookups.size(); ++index) {
    if (has_parent(lookups[index])) lookups[index].parent = places[parents[index]];
  }
  permute(lookups, order);
  permute(closure.found, order);
  permute(closure.texts, order);
}

}  // namespace kiln
