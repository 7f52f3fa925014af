#include "file/vfs.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <new>

namespace kiln::storage {
namespace {

/// The default VFS's own method.
template <auto method, class... Arguments>
auto by_default(sqlite3_vfs*, Arguments... arguments) {
  return (default_vfs()->*method)(default_vfs(), arguments...);
}

struct NamedVfs {
  sqlite3_vfs vfs;
  std::array<char, 32> name;
};

}  // namespace

const char* register_vfs(const sqlite3_vfs& own) noexcept {
  sqlite3_initialize();
  const sqlite3_vfs* const base = default_vfs();
  if (base == nullptr) return nullptr;
  auto kept = std::unique_ptr<NamedVfs>(new (std::nothrow) NamedVfs{own, {}});
  if (kept == nullptr) return nullptr;
  auto& [vfs, name] = *kept;
  vfs.iVersion = 1;
  vfs.mxPathname = base->mxPathname;
  // The default VFS opens temporary files in the same memory.
  vfs.szOsFile = std::max(vfs.szOsFile, base->szOsFile);
  // Each copy of this library has a name of its own: its methods are not another copy's.
  std::snprintf(name.data(), name.size(), "kiln-%p", static_cast<void*>(kept.get()));
  vfs.zName = name.data();
  if (vfs.xDelete == nullptr) vfs.xDelete = by_default<&sqlite3_vfs::xDelete>;
  if (vfs.xFullPathname == nullptr) vfs.xFullPathname = by_default<&sqlite3_vfs::xFullPathname>;
  vfs.xRandomness = by_default<&sqlite3_vfs::xRandomness>;
  vfs.xSleep = by_default<&sqlite3_vfs::xSleep>;
  vfs.xCurrentTime = by_default<&sqlite3_vfs::xCurrentTime>;
  vfs.xGetLastError = by_default<&sqlite3_vfs::xGetLastError>;
  if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK) return nullptr;
  return kept.release()->name.data();
}

}  // namespace kiln::storage
