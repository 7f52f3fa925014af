#include "file/vfs.h"

#include <algorithm>
#include <cstdio>

namespace kiln::storage {
namespace {

/// The default VFS's own method.
template <auto method, class... Arguments>
auto by_default(sqlite3_vfs*, Arguments... arguments) {
  return (default_vfs()->*method)(default_vfs(), arguments...);
}

}  // namespace

RegisteredVfs::RegisteredVfs(const sqlite3_vfs& own) noexcept : vfs_(own) {
  sqlite3_initialize();
  const sqlite3_vfs* const base = default_vfs();
  if (base == nullptr) return;
  vfs_.iVersion = 1;
  vfs_.mxPathname = base->mxPathname;
  // The default VFS opens temporary files in the same memory.
  vfs_.szOsFile = std::max(vfs_.szOsFile, base->szOsFile);
  // Each copy of this library has a name of its own: copies may be unloaded one by one.
  std::snprintf(name_.data(), name_.size(), "kiln-%p", static_cast<void*>(this));
  vfs_.zName = name_.data();
  if (vfs_.xDelete == nullptr) vfs_.xDelete = by_default<&sqlite3_vfs::xDelete>;
  if (vfs_.xFullPathname == nullptr) vfs_.xFullPathname = by_default<&sqlite3_vfs::xFullPathname>;
  vfs_.xRandomness = by_default<&sqlite3_vfs::xRandomness>;
  vfs_.xSleep = by_default<&sqlite3_vfs::xSleep>;
  vfs_.xCurrentTime = by_default<&sqlite3_vfs::xCurrentTime>;
  vfs_.xGetLastError = by_default<&sqlite3_vfs::xGetLastError>;
  registered_ = sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK;
}

RegisteredVfs::~RegisteredVfs() {
  if (registered_) sqlite3_vfs_unregister(&vfs_);
  registered_ = false;
}

}  // namespace kiln::storage
