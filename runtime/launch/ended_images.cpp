#include "launch/ended_images.h"

#include <algorithm>

namespace kiln {

EndedImages& EndedImages::of_process() {
  static auto& images = *new EndedImages;  // NOLINT(cppcoreguidelines-owning-memory)
  return images;
}

void EndedImages::keep(const ImageIdentity& identity, std::unique_ptr<LoadedImage> image) {
  const std::lock_guard lock(mutex_);
  images_.emplace(identity, std::move(image));
}

std::unique_ptr<LoadedImage> EndedImages::take(const ImageIdentity& identity,
                                               const Artifact& artifact) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = images_.equal_range(identity);
  const auto at =
      std::find_if(first, last, [&](const auto& known) { return known.second->is_of(artifact); });
  return at != last ? std::move(images_.extract(at).mapped()) : nullptr;
}

}  // namespace kiln
