#include "identities.h"

#include <algorithm>
#include <cstdint>

namespace kiln {

Same Identities::add(const FoundHeader& found) {
  const auto lookup = count_++;
  if (!found.found()) return {};
  const bool embedded = found.embedded != nullptr;
  const File file{embedded ? 0 : found.stamp.device,
                  embedded ? reinterpret_cast<std::uintptr_t>(found.embedded) : found.stamp.inode};
  auto& paths = files_[file];
  const auto at = std::find_if(paths.begin(), paths.end(),
                               [&](const Path& path) { return path.place == found.place(); });
  Same same;
  if (!paths.empty()) same.file = paths.front().lookup;
  if (at != paths.end()) {
    same.path = at->lookup;
  } else {
    paths.push_back({found.place(), lookup});
  }
  return same;
}

}  // namespace kiln
