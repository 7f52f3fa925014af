#include "file/lock_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "file/fork_guard.h"
#include "system/no_fork.h"
#include "system/standard_streams.h"

namespace kiln::storage {

namespace {

int open_or_make(const std::filesystem::path& file, const Trust& trust) {
  // Somebody may remove it between the two.
  constexpr int tries = 100;
  int descriptor = -1;
  for (int tried = 0; descriptor < 0 && tried < tries; ++tried) {
    descriptor = make_file(file, O_RDWR | O_NONBLOCK, trust);
    if (descriptor >= 0 || errno != EEXIST) break;
    descriptor = system::open_file(file.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK);
    if (errno != ENOENT) break;
  }
  return descriptor;
}

}  // namespace

LockDescriptor::LockDescriptor(const std::filesystem::path& file, const Trust& trust)
    : process_(::getpid()) {
  const system::NoFork until_children_close_it;
  descriptor_ = open_or_make(file, trust);
  if (descriptor_ >= 0) close_in_children(descriptor_);
}

LockDescriptor::LockDescriptor(LockDescriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), process_(other.process_) {}

LockDescriptor& LockDescriptor::operator=(LockDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(process_, other.process_);
  return *this;
}

LockDescriptor::~LockDescriptor() {
  if (!is_own()) return;
  const system::NoFork no_fork;
  forget_in_children(descriptor_);
  ::close(descriptor_);
}

bool LockDescriptor::is_own() const noexcept { return descriptor_ >= 0 && process_ == ::getpid(); }

}  // namespace kiln::storage
