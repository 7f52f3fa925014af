#include "file/descriptor_vfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include <sqlite3.h>

#include "file/vfs.h"

namespace kiln::storage {
namespace {

struct File {
  sqlite3_file base;  ///< What SQLite sees. First.
  int descriptor;
};

int descriptor_of(sqlite3_file* file) noexcept { return reinterpret_cast<File*>(file)->descriptor; }

int close(sqlite3_file* file) {
  ::close(descriptor_of(file));
  return SQLITE_OK;
}

/// SQLite wants zeros for what lies beyond the end.
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

constexpr sqlite3_io_methods io_methods = [] {
  sqlite3_io_methods own{};
  own.iVersion = 1;
  own.xClose = close;
  own.xRead = read;
  own.xWrite = write;
  own.xTruncate = truncate;
  own.xSync = sync;
  own.xFileSize = file_size;
  own.xLock = lock;
  own.xUnlock = lock;
  own.xCheckReservedLock = is_reserved;
  own.xFileControl = file_control;
  own.xSectorSize = sector_size;
  own.xDeviceCharacteristics = device_characteristics;
  return own;
}();

/// Any file but the database is one of SQLite's temporary files, which the default VFS opens.
int open(sqlite3_vfs*, const char* name, sqlite3_file* handle, int flags, int* out_flags) {
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) {
    return default_vfs()->xOpen(default_vfs(), name, handle, flags, out_flags);
  }
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

constexpr sqlite3_vfs methods = [] {
  sqlite3_vfs own{};
  own.szOsFile = sizeof(File);
  own.xOpen = open;
  own.xDelete = remove;
  own.xAccess = access;
  own.xFullPathname = full_pathname;
  return own;
}();

}  // namespace

const char* descriptor_vfs() noexcept {
  static const char* const name = register_vfs(methods);
  return name;
}

}  // namespace kiln::storage
