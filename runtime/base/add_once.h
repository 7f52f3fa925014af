#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace kiln {

/// Appends an item unless it is there. Gives whether it was appended.
template <class Item, class Given>
bool add_once(std::vector<Item>& all, Given&& item) {
  if (std::find(all.begin(), all.end(), item) != all.end()) return false;
  all.push_back(std::forward<Given>(item));
  return true;
}

}  // namespace kiln
