#include "file/lock_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "file/fork_guard.h"
#include "system/no_fork.h"
#include "system/standard_streams.h"

namespace kiln::storage {

LockDescriptor::LockDescriptor(const std::filesystem::path& file, const Trust& trust)
    : process_(::getpid()) {
  const system::NoFork until_children_close_it;
  descriptor_ = make_file(file, O_RDWR | O_NONBLOCK, trust);
  if (descriptor_ < 0 && errno == EEXIST)
    descriptor_ = system::open_file(file.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK);
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
