#include "lookup/served_handles.h"

#include <cstddef>
#include <mutex>
#include <string_view>

namespace kiln {

std::shared_ptr<const Artifact> ServedHandles::find(const Program& program,
                                                    const Target& target) const {
  const Asked<std::string_view> asked{program.id(), target.kind(), target.arch()};
  const std::shared_lock lock(mutex_);
  const auto at = served_.find(asked);
  return at != served_.end() ? at->second.lock() : nullptr;
}

void ServedHandles::remember(const Program& program, const Target& target,
                             const std::shared_ptr<const Artifact>& artifact) {
  constexpr std::size_t most = 65'536;
  const std::unique_lock lock(mutex_);
  // A host that makes its programs anew for each call would fill it without end.
  if (served_.size() >= most) served_.clear();
  served_.insert_or_assign({program.id(), target.kind(), target.arch()}, artifact);
}

void ServedHandles::forget(const Digest& key) {
  const std::unique_lock lock(mutex_);
  std::erase_if(served_, [&](const auto& served) {
    const auto artifact = served.second.lock();
    return !artifact || artifact->key == key;
  });
}

}  // namespace kiln
