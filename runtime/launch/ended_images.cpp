#include "launch/ended_images.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace kiln {

namespace {

struct OfProcess {
  explicit OfProcess(pid_t id) noexcept : process(id) {}

  const pid_t process;
  EndedImages images;
};

}  // namespace

EndedImages& EndedImages::of_process() {
  // What a parent had locked when it forked stays locked in the child.
  static std::atomic<OfProcess*> current{nullptr};
  auto* known = current.load();
  const auto process = ::getpid();
  while (known == nullptr || known->process != process) {
    auto fresh = std::make_unique<OfProcess>(process);
    if (current.compare_exchange_strong(known, fresh.get())) known = fresh.release();
  }
  return known->images;
}

void EndedImages::keep(Node image) noexcept {
  const std::lock_guard lock(mutex_);
  images_.insert(std::move(image));
}

EndedImages::Node EndedImages::take(const ImageIdentity& identity, const Artifact& artifact) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = images_.equal_range(identity);
  const auto at =
      std::find_if(first, last, [&](const auto& known) { return known.second->is_of(artifact); });
  return at != last ? images_.extract(at) : Node();
}

}  // namespace kiln
