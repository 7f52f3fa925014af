#include "file/descriptor_vfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include <sqlite3.h>

namespace kiln::storage {
namespace {

/// Asked for each time, since a program may change it.
sqlite3_vfs* base() noexcept { return sqlite3_vfs_find(nullptr); }

struct File {
  sqlite3_file base;  ///< What SQLite sees. First.
  int descriptor;
};

int descriptor_of(sqlite3_file* file) noexcept { return reinterpret_cast<File*>(file)->descriptor; }

int close(sqlite3_file* file) {
  ::close(descriptor_of(file));
  return SQLITE_OK;
}

/// What lies beyond the end is zero, as SQLite wants it.
int read(sqlite3_file* file, void* to, int size, sqlite3_int64 offset) {
  auto* bytes = static_cast<char*>(to);
  while (size > 0) {
    const auto got = ::pread(descriptor_of(file), bytes, static_cast<std::size_t>(size), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SQLITE_IOERR_READ;
    if (got == 0) {
      std::memset(bytes, 0, static_cast<std::size_t>(size));
      return SQLITE_IOERR_SHORT_READ;
    }
    bytes += got;
    offset += got;
    size -= static_cast<int>(got);
  }
  return SQLITE_OK;
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  struct stat status;
  if (::fstat(descriptor_of(file), &status) != 0) return SQLITE_IOERR_FSTAT;
  *size = status.st_size;
  return SQLITE_OK;
}

int write(sqlite3_file*, const void*, int, sqlite3_int64) { return SQLITE_READONLY; }
int truncate(sqlite3_file*, sqlite3_int64) { return SQLITE_READONLY; }
int sync(sqlite3_file*, int) { return SQLITE_OK; }
int lock(sqlite3_file*, int) { return SQLITE_OK; }
int is_reserved(sqlite3_file*, int* reserved) {
  *reserved = 0;
  return SQLITE_OK;
}
int file_control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return 4096; }
int device_characteristics(sqlite3_file*) { return SQLITE_IOCAP_IMMUTABLE; }

constexpr sqlite3_io_methods io_methods{1,
                                        close,
                                        read,
                                        write,
                                        truncate,
                                        sync,
                                        file_size,
                                        lock,
                                        lock,
                                        is_reserved,
                                        file_control,
                                        sector_size,
                                        device_characteristics,
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        nullptr};

/// What is no database is a temporary file of SQLite's, and none of ours.
int open(sqlite3_vfs*, const char* name, sqlite3_file* handle, int flags, int* out_flags) {
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0)
    return base()->xOpen(base(), name, handle, flags, out_flags);
  File& file = *reinterpret_cast<File*>(handle);
  file = {};
  int number = -1;
  std::from_chars(name + 1, name + std::strlen(name), number);
  file.descriptor = ::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (file.descriptor < 0) return SQLITE_CANTOPEN;
  file.base.pMethods = &io_methods;
  if (out_flags != nullptr) *out_flags = SQLITE_OPEN_READONLY;
  return SQLITE_OK;
}

int remove(sqlite3_vfs*, const char*, int) { return SQLITE_OK; }
int access(sqlite3_vfs*, const char*, int, int* answer) {
  *answer = 0;
  return SQLITE_OK;
}
int full_pathname(sqlite3_vfs*, const char* name, int size, char* full) {
  sqlite3_snprintf(size, full, "%s", name);
  return SQLITE_OK;
}
int randomness(sqlite3_vfs*, int size, char* bytes) {
  return base()->xRandomness(base(), size, bytes);
}
int sleep(sqlite3_vfs*, int microseconds) { return base()->xSleep(base(), microseconds); }
int current_time(sqlite3_vfs*, double* time) { return base()->xCurrentTime(base(), time); }
int last_error(sqlite3_vfs*, int size, char* text) {
  return base()->xGetLastError(base(), size, text);
}

struct Registered {
  Registered() noexcept {
    sqlite3_initialize();
    if (base() == nullptr) return;
    vfs.iVersion = 1;
    vfs.szOsFile = std::max(static_cast<int>(sizeof(File)), base()->szOsFile);
    vfs.mxPathname = base()->mxPathname;
    // Its own in each copy of this library: they may be unloaded one by one.
    std::snprintf(name.data(), name.size(), "kiln-%p", static_cast<void*>(this));
    vfs.zName = name.data();
    vfs.xOpen = open;
    vfs.xDelete = remove;
    vfs.xAccess = access;
    vfs.xFullPathname = full_pathname;
    vfs.xRandomness = randomness;
    vfs.xSleep = sleep;
    vfs.xCurrentTime = current_time;
    vfs.xGetLastError = last_error;
    registered = sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
  }
  /// What is open goes on; SQLite may not find this any more when its library is unloaded.
  ~Registered() {
    if (registered) sqlite3_vfs_unregister(&vfs);
    registered = false;
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  std::array<char, 32> name = {};
  sqlite3_vfs vfs = {};
  bool registered = false;
};

}  // namespace

const char* descriptor_vfs() noexcept {
  static const Registered registered;
  return registered.registered ? registered.vfs.zName : nullptr;
}

}  // namespace kiln::storage
