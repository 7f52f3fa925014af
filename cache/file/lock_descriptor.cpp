#include "file/lock_descriptor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "file/fork_guard.h"
#include "file/private_path.h"
#include "system/no_fork.h"
#include "system/standard_streams.h"

namespace kiln::storage {

namespace {

int open_or_make(const char* path, mode_t mode) noexcept {
  constexpr int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK;
  const int made = system::open_file(path, flags | O_CREAT | O_EXCL, mode);
  if (made < 0) return errno == EEXIST ? system::open_file(path, flags) : made;
  // Where it has other rights than were asked for, it locks all the same.
  static_cast<void>(set_rights(made, mode));
  return made;
}

}  // namespace

LockDescriptor::LockDescriptor(const char* path, mode_t mode) noexcept : process_(::getpid()) {
  const system::NoFork until_children_close_it;
  descriptor_ = open_or_make(path, mode);
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
