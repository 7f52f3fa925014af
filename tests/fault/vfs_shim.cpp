#include "vfs_shim.h"

#include <cstdlib>
#include <new>

namespace kiln::test {
namespace {

/// An open file: SQLite's part first, the real VFS's own file in the same allocation behind it.
struct ShimFile {
  sqlite3_file base;
  VfsShim* shim;
  const char* path;

  sqlite3_file* real() noexcept { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

ShimFile& of(sqlite3_file* file) noexcept { return *reinterpret_cast<ShimFile*>(file); }
VfsShim& of(sqlite3_vfs* vfs) noexcept { return *static_cast<VfsShim*>(vfs->pAppData); }

/// The real call, unless the shim has another answer.
template <class Real>
int made(VfsShim& shim, const Operation& operation, Real real) {
  const int code = shim.intercept(operation);
  return code == SQLITE_OK ? real() : code;
}

int close_file(sqlite3_file* file) { return of(file).real()->pMethods->xClose(of(file).real()); }

int read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
  ShimFile& f = of(file);
  return made(*f.shim, {.call = Call::read, .path = f.path},
              [&] { return f.real()->pMethods->xRead(f.real(), bytes, size, offset); });
}

int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  ShimFile& f = of(file);
  const std::string_view view(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
  return made(*f.shim, {.call = Call::write, .path = f.path, .bytes = view, .offset = offset},
              [&] { return f.real()->pMethods->xWrite(f.real(), bytes, size, offset); });
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  ShimFile& f = of(file);
  return made(*f.shim, {.call = Call::truncate, .path = f.path, .offset = size},
              [&] { return f.real()->pMethods->xTruncate(f.real(), size); });
}

int sync(sqlite3_file* file, int flags) {
  ShimFile& f = of(file);
  return made(*f.shim, {.call = Call::sync, .path = f.path},
              [&] { return f.real()->pMethods->xSync(f.real(), flags); });
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  ShimFile& f = of(file);
  return made(*f.shim, {.call = Call::file_size, .path = f.path},
              [&] { return f.real()->pMethods->xFileSize(f.real(), size); });
}

int lock(sqlite3_file* file, int level) {
  ShimFile& f = of(file);
  return made(*f.shim, {.call = Call::lock, .path = f.path},
              [&] { return f.real()->pMethods->xLock(f.real(), level); });
}

int unlock(sqlite3_file* file, int level) {
  ShimFile& f = of(file);
  const int code = f.real()->pMethods->xUnlock(f.real(), level);
  return made(*f.shim, {.call = Call::unlock, .path = f.path}, [&] { return code; });
}

int check_lock(sqlite3_file* file, int* reserved) {
  ShimFile& f = of(file);
  return made(*f.shim, {.call = Call::check_lock, .path = f.path},
              [&] { return f.real()->pMethods->xCheckReservedLock(f.real(), reserved); });
}

int file_control(sqlite3_file* file, int request, void* argument) {
  return of(file).real()->pMethods->xFileControl(of(file).real(), request, argument);
}

int sector_size(sqlite3_file* file) {
  return of(file).real()->pMethods->xSectorSize(of(file).real());
}

int device_characteristics(sqlite3_file* file) {
  return of(file).real()->pMethods->xDeviceCharacteristics(of(file).real());
}

// Version 1: no shared memory and no mapping, neither of which kiln uses.
const sqlite3_io_methods io_methods = [] {
  sqlite3_io_methods methods{};
  methods.iVersion = 1;
  methods.xClose = close_file;
  methods.xRead = read;
  methods.xWrite = write;
  methods.xTruncate = truncate;
  methods.xSync = sync;
  methods.xFileSize = file_size;
  methods.xLock = lock;
  methods.xUnlock = unlock;
  methods.xCheckReservedLock = check_lock;
  methods.xFileControl = file_control;
  methods.xSectorSize = sector_size;
  methods.xDeviceCharacteristics = device_characteristics;
  return methods;
}();

int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  auto* f = new (file) ShimFile{.base = {.pMethods = nullptr}, .shim = &of(vfs), .path = path};
  return made(*f->shim, {.call = Call::open, .path = path, .flags = flags}, [&] {
    sqlite3_vfs* real = f->shim->real();
    const int code = real->xOpen(real, path, f->real(), flags, out_flags);
    if (f->real()->pMethods) f->base.pMethods = &io_methods;
    return code;
  });
}

int remove(sqlite3_vfs* vfs, const char* path, int sync_directory) {
  sqlite3_vfs* real = of(vfs).real();
  return made(of(vfs), {.call = Call::remove, .path = path, .flags = sync_directory},
              [&] { return real->xDelete(real, path, sync_directory); });
}

int access(sqlite3_vfs* vfs, const char* path, int flags, int* result) {
  sqlite3_vfs* real = of(vfs).real();
  return made(of(vfs), {.call = Call::access, .path = path},
              [&] { return real->xAccess(real, path, flags, result); });
}

int full_path(sqlite3_vfs* vfs, const char* path, int size, char* out) {
  sqlite3_vfs* real = of(vfs).real();
  return made(of(vfs), {.call = Call::full_path, .path = path},
              [&] { return real->xFullPathname(real, path, size, out); });
}

}  // namespace

const char* to_string(Call call) noexcept {
  constexpr const char* names[] = {"open",      "remove", "access",   "full_path",
                                   "read",      "write",  "truncate", "sync",
                                   "file_size", "lock",   "unlock",   "check_lock"};
  return names[static_cast<int>(call)];
}

VfsShim::VfsShim() : real_(sqlite3_vfs_find(nullptr)), vfs_(std::make_unique<sqlite3_vfs>(*real_)) {
  // What is not about files (time, randomness, sleep) stays the real one's, which looks at no state.
  vfs_->iVersion = 2;
  vfs_->szOsFile = static_cast<int>(sizeof(ShimFile)) + real_->szOsFile;
  vfs_->pNext = nullptr;
  vfs_->zName = "kiln-shim";
  vfs_->pAppData = this;
  vfs_->xOpen = open;
  vfs_->xDelete = remove;
  vfs_->xAccess = access;
  vfs_->xFullPathname = full_path;
  if (sqlite3_vfs_register(vfs_.get(), 1) != SQLITE_OK) std::abort();
}

VfsShim::~VfsShim() {
  sqlite3_vfs_unregister(vfs_.get());
  sqlite3_vfs_register(real_, 1);
}

}  // namespace kiln::test
