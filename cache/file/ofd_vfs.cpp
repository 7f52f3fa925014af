#include "file/ofd_vfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "file/fork_guard.h"
#include "file/lock_descriptor.h"
#include "file/private_path.h"
#include "file/vfs.h"
#include "system/file_size_signal.h"
#include "system/standard_streams.h"

namespace kiln::storage {
namespace {

// The bytes that SQLite locks (its file format, "os.h"): the way from a reader to the only writer.
constexpr off_t pending_byte = 0x40000000;
constexpr off_t reserved_byte = pending_byte + 1;
constexpr off_t shared_first = pending_byte + 2;
constexpr off_t shared_size = 510;

struct File {
  sqlite3_file base;   ///< What SQLite sees. First.
  sqlite3_file* real;  ///< The default VFS's.
  int descriptor;      ///< Holds the locks; -1 for a file that is not locked.
  int level;           ///< SQLITE_LOCK_…
  bool plain;          ///< The default VFS locks it.
};

File& own(sqlite3_file* file) noexcept { return *reinterpret_cast<File*>(file); }
sqlite3_file* real(sqlite3_file* file) noexcept { return own(file).real; }

// Locks.

int set(const File& file, short type, off_t first, off_t size) noexcept {
  auto bytes = byte_range(type, first, size);
  while (::fcntl(file.descriptor, F_OFD_SETLK, &bytes) != 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EACCES) return SQLITE_BUSY;
    return type == F_UNLCK ? SQLITE_IOERR_UNLOCK : SQLITE_IOERR_LOCK;
  }
  return SQLITE_OK;
}

/// Gives the shared lock up again where a writer waits, so that the writer gets its turn. SQLite itself holds the
/// pending byte meanwhile, which costs every hit one call more.
int lock_shared(const File& file) noexcept {
  if (const int code = set(file, F_RDLCK, shared_first, shared_size); code != SQLITE_OK) {
    return code;
  }
  auto pending = byte_range(F_RDLCK, pending_byte, 1);
  if (::fcntl(file.descriptor, F_OFD_GETLK, &pending) == 0 && pending.l_type == F_UNLCK) {
    return SQLITE_OK;
  }
  const int code = set(file, F_UNLCK, shared_first, shared_size);
  return code != SQLITE_OK ? code : SQLITE_BUSY;
}

int lock_exclusive(File& file) noexcept {
  if (file.level < SQLITE_LOCK_PENDING) {
    if (const int code = set(file, F_WRLCK, pending_byte, 1); code != SQLITE_OK) return code;
    file.level = SQLITE_LOCK_PENDING;
  }
  return set(file, F_WRLCK, shared_first, shared_size);
}

int lock(sqlite3_file* handle, int level) {
  File& file = own(handle);
  if (file.plain) return file.real->pMethods->xLock(file.real, level);
  if (file.descriptor < 0 || file.level >= level) return SQLITE_OK;
  const int code = level == SQLITE_LOCK_SHARED     ? lock_shared(file)
                   : level == SQLITE_LOCK_RESERVED ? set(file, F_WRLCK, reserved_byte, 1)
                                                   : lock_exclusive(file);
  if (code == SQLITE_OK) file.level = level;
  return code;
}

int unlock(sqlite3_file* handle, int level) {
  File& file = own(handle);
  if (file.plain) return file.real->pMethods->xUnlock(file.real, level);
  if (file.descriptor < 0 || file.level <= level) return SQLITE_OK;
  int code = SQLITE_OK;
  if (level == SQLITE_LOCK_NONE) {
    code = set(file, F_UNLCK, 0, 0);
  } else {
    code = set(file, F_RDLCK, shared_first, shared_size);
    // The pending and the reserved byte.
    if (code == SQLITE_OK) code = set(file, F_UNLCK, pending_byte, 2);
  }
  if (code == SQLITE_OK) file.level = level;
  return code;
}

int is_reserved(sqlite3_file* handle, int* reserved) {
  File& file = own(handle);
  if (file.plain) return file.real->pMethods->xCheckReservedLock(file.real, reserved);
  *reserved = file.level > SQLITE_LOCK_SHARED ? 1 : 0;
  if (file.descriptor < 0 || *reserved != 0) return SQLITE_OK;
  auto byte = byte_range(F_WRLCK, reserved_byte, 1);
  if (::fcntl(file.descriptor, F_OFD_GETLK, &byte) != 0) return SQLITE_IOERR_CHECKRESERVEDLOCK;
  *reserved = byte.l_type != F_UNLCK ? 1 : 0;
  return SQLITE_OK;
}

// The default VFS does all else.

void close_lock(File& file) noexcept {
  if (file.descriptor < 0) return;
  forget_in_children(file.descriptor);
  ::close(file.descriptor);
  file.descriptor = -1;
}

int close(sqlite3_file* handle) {
  File& file = own(handle);
  const int code = file.real->pMethods->xClose(file.real);
  close_lock(file);
  sqlite3_free(file.real);
  return code;
}

int control(sqlite3_file* handle, int operation, void* argument) {
  const File& file = own(handle);
  if (operation != status_of_open_file)
    return file.real->pMethods->xFileControl(file.real, operation, argument);
  const bool told =
      file.descriptor >= 0 && ::fstat(file.descriptor, static_cast<struct stat*>(argument)) == 0;
  return told ? SQLITE_OK : SQLITE_NOTFOUND;
}

/// The real file's own method.
template <auto method, class... Arguments>
auto by_real(sqlite3_file* file, Arguments... arguments) {
  return (real(file)->pMethods->*method)(real(file), arguments...);
}

/// The same for a method that writes.
template <auto method, class... Arguments>
int write_by_real(sqlite3_file* file, Arguments... arguments) {
  const system::FileSizeSignalHeld held;
  return by_real<method>(file, arguments...);
}

constexpr sqlite3_io_methods io_methods = [] {
  using Methods = sqlite3_io_methods;
  Methods own{};
  // Without shared memory, and so without a write-ahead log: whoever owns the file could truncate that memory beneath a reader.
  own.iVersion = 1;
  own.xClose = close;
  own.xRead = by_real<&Methods::xRead>;
  own.xWrite = write_by_real<&Methods::xWrite>;
  own.xTruncate = write_by_real<&Methods::xTruncate>;
  own.xSync = by_real<&Methods::xSync>;
  own.xFileSize = by_real<&Methods::xFileSize>;
  own.xLock = lock;
  own.xUnlock = unlock;
  own.xCheckReservedLock = is_reserved;
  own.xFileControl = control;
  own.xSectorSize = by_real<&Methods::xSectorSize>;
  own.xDeviceCharacteristics = by_real<&Methods::xDeviceCharacteristics>;
  return own;
}();

/// Opens the descriptor that holds a database's locks. This comes before SQLite opens the file, since this neither
/// waits nor follows a symlink.
int open_lock(const char* path) noexcept {
  constexpr int careful = O_NOFOLLOW | O_NONBLOCK;
  int descriptor = system::open_file(path, O_RDWR | careful);
  if (descriptor < 0) descriptor = system::open_file(path, O_RDONLY | careful);
  if (descriptor >= 0 && !is_only_name_of(path, descriptor)) {
    ::close(descriptor);
    return -1;
  }
  if (descriptor >= 0) close_in_children(descriptor);
  return descriptor;
}

/// Some systems that stand in for Linux, such as gVisor, know no locks of open files.
bool has_locks_of_open_files() noexcept {
  static const bool has = [] {
    const int descriptor = system::open_file("/dev/null", O_RDONLY);
    if (descriptor < 0) return true;
    auto byte = byte_range(F_RDLCK, 0, 1);
    const bool unknown = ::fcntl(descriptor, F_OFD_GETLK, &byte) != 0 && errno == EINVAL;
    ::close(descriptor);
    return !unknown;
  }();
  return has;
}

/// Whether this is a regular file of one name.
bool is_plain_file(const char* path) noexcept {
  struct stat status;
  return ::lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
}

/// Whether SQLite has opened the file that the locks are on.
bool is_locked_one(const File& file, const char* path) noexcept {
  int moved = 0;
  return file.real->pMethods->xFileControl(file.real, SQLITE_FCNTL_HAS_MOVED, &moved) ==
             SQLITE_OK &&
         moved == 0 && is_only_name_of(path, file.descriptor);
}

int open_database(File& file, const char* path, int flags, int* out_flags) {
  const int code = default_vfs()->xOpen(default_vfs(), path, file.real, flags, out_flags);
  if (code != SQLITE_OK || file.plain || is_locked_one(file, path)) return code;
  file.real->pMethods->xClose(file.real);
  return SQLITE_CANTOPEN;
}

/// Whether a file can be opened without a wait: no FIFO, and no lease on it that somebody would have to give up first.
bool opens_at_once(const char* path) noexcept {
  constexpr int careful = O_NOFOLLOW | O_NONBLOCK;
  int descriptor = system::open_file(path, O_RDWR | careful);
  if (descriptor < 0 && errno != EWOULDBLOCK)
    descriptor = system::open_file(path, O_RDONLY | careful);
  if (descriptor < 0) return errno != EWOULDBLOCK;
  struct stat status;
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  ::close(descriptor);
  return regular;
}

/// Neither a block nor an inode. A filesystem without a number of inodes of its own tells of none.
bool has_no_room_beside(const char* journal) noexcept {
  constexpr std::string_view ending = "-journal";
  std::string database(journal);
  database.resize(database.size() - std::min(database.size(), ending.size()));
  struct statvfs room {};
  return ::statvfs(database.c_str(), &room) == 0 &&
         (room.f_bavail == 0 || (room.f_files != 0 && room.f_favail == 0));
}

/// A new journal gets a new file. An old file of that name is no journal any more: SQLite looks for a journal, and
/// rolls it back, before it begins to write. A journal that SQLite only reads is opened to read and write all the
/// same: a FIFO may have come since the look, and to open a FIFO only to read would wait.
int open_journal(File& file, const char* path, int flags, int* out_flags) {
  struct stat status;
  const bool found = ::lstat(path, &status) == 0;
  if (found && (!S_ISREG(status.st_mode) || status.st_nlink > 1)) return SQLITE_CANTOPEN;
  if ((flags & SQLITE_OPEN_CREATE) != 0) {
    if (found && ::unlink(path) != 0) return SQLITE_CANTOPEN;
    flags |= SQLITE_OPEN_EXCLUSIVE;
  } else {
    if (!opens_at_once(path)) return SQLITE_CANTOPEN;
    flags = (flags & ~SQLITE_OPEN_READONLY) | SQLITE_OPEN_READWRITE;
  }
  const int code = default_vfs()->xOpen(default_vfs(), path, file.real, flags, out_flags);
  // Of a journal that cannot be made SQLite tells that it is not there either.
  const bool made_nothing = (flags & SQLITE_OPEN_CREATE) != 0 && (code & 0xff) == SQLITE_CANTOPEN;
  return made_nothing && has_no_room_beside(path) ? SQLITE_FULL : code;
}

int open_real(File& file, const char* path, int flags, int* out_flags) {
  if ((flags & SQLITE_OPEN_MAIN_DB) != 0) return open_database(file, path, flags, out_flags);
  if ((flags & SQLITE_OPEN_MAIN_JOURNAL) != 0) return open_journal(file, path, flags, out_flags);
  return default_vfs()->xOpen(default_vfs(), path, file.real, flags, out_flags);
}

/// Makes ready to lock a database.
bool prepare_locks(File& file, const char* path) noexcept {
  file.plain = !has_locks_of_open_files();
  // To close a descriptor of it would drop plain locks, so none is opened.
  if (file.plain) return is_plain_file(path);
  file.descriptor = open_lock(path);
  return file.descriptor >= 0;
}

int open(sqlite3_vfs*, const char* path, sqlite3_file* handle, int flags, int* out_flags) {
  File& file = own(handle);
  file = {};
  file.descriptor = -1;
  // SQLite would remove the file that a journal names as such, with the rights of whoever opens the cache.
  if ((flags & SQLITE_OPEN_SUPER_JOURNAL) != 0) return SQLITE_CANTOPEN;
  const bool locked = (flags & SQLITE_OPEN_MAIN_DB) != 0;
  if (locked && !prepare_locks(file, path)) return SQLITE_CANTOPEN;
  file.real = static_cast<sqlite3_file*>(sqlite3_malloc(default_vfs()->szOsFile));
  const int code = file.real == nullptr ? SQLITE_NOMEM : open_real(file, path, flags, out_flags);
  if (code == SQLITE_OK) {
    file.base.pMethods = &io_methods;
    return code;
  }
  sqlite3_free(file.real);
  close_lock(file);
  return code;
}

/// Says of all but a journal that it is not there, without a look: kiln's databases have no write-ahead log, and SQLite must
/// not take somebody else's log beside one for its own. Nor have they a super-journal, which a forged journal may name.
int access(sqlite3_vfs*, const char* path, int flags, int* answer) {
  if (flags == SQLITE_ACCESS_EXISTS && !std::string_view(path).ends_with("-journal")) {
    *answer = 0;
    return SQLITE_OK;
  }
  return default_vfs()->xAccess(default_vfs(), path, flags, answer);
}

constexpr sqlite3_vfs methods = [] {
  sqlite3_vfs own{};
  own.szOsFile = sizeof(File);
  own.xOpen = open;
  own.xAccess = access;
  return own;
}();

}  // namespace

const char* ofd_vfs() noexcept {
  static const char* const name = register_vfs(methods);
  return name;
}

}  // namespace kiln::storage
