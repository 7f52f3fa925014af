#include "exchange/store_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "system/standard_streams.h"
#include "system/whole_io.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

constexpr mode_t mode_of_files = 0644;
constexpr mode_t rights_of_folders = 03777;

constexpr std::string_view unfinished = ".kiln-tmp";
constexpr const char* not_empty = ".kiln-made";
constexpr std::time_t an_hour = 3600;
constexpr std::time_t a_day = 24 * an_hour;

/// A store has some thousands of names in a folder. Others may have put any number there, which a look-up does not read.
constexpr std::size_t most_names = 100'000;

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

int open_in(int folder, const char* name, int flags, mode_t mode = 0) {
  return system::above_standard_streams(::openat(folder, name, flags | O_CLOEXEC, mode));
}

/// To be read from its beginning; null with errno.
Directory list(int folder) {
  // A copy, which closedir() closes, with a place of its own.
  const int copy = open_in(folder, ".", O_RDONLY | O_DIRECTORY);
  Directory directory(copy < 0 ? nullptr : ::fdopendir(copy));
  if (!directory && copy >= 0) ::close(copy);
  return directory;
}

std::string unfinished_name() {
  std::random_device random;
  return fmt::format(".{:08x}{:08x}{}", random(), random(), unfinished);
}

/// How many names lie in it; none where it cannot be listed.
std::optional<std::size_t> count_of_names(int folder) {
  const auto directory = list(folder);
  if (!directory) return std::nullopt;
  std::size_t count = 0;
  while (const auto* const item = ::readdir(directory.get())) {
    const std::string_view name = static_cast<const char*>(item->d_name);
    if (name != "." && name != "..") ++count;
  }
  return count;
}

/// Gives a folder that was made a moment ago the group and the rights of the one that it lies in. Where it cannot have that group, the
/// one that it has may do what anybody may.
bool share(int folder, const struct stat& parent) {
  struct stat status;
  if (::fstat(folder, &status) != 0) return false;
  auto rights = parent.st_mode & rights_of_folders;
  constexpr int bits_of_a_class = 3;
  const bool has_group = status.st_gid == parent.st_gid || ::fchown(folder, -1, parent.st_gid) == 0;
  if (!has_group) rights = (rights & ~S_IRWXG) | ((rights & S_IRWXO) << bits_of_a_class);
  // Some mounts give all folders one mode, and refuse to change it.
  return (status.st_mode & rights_of_folders) == rights || ::fchmod(folder, rights) == 0;
}

/// Where a mount gives all files one mode, readers judge that.
bool let_read(int file) {
  return ::fchmod(file, mode_of_files) == 0 || errno == EPERM || errno == ENOTSUP;
}

/// Whether it is as it was made. Of its owner and its mode mounts of other systems tell what they like.
bool is_as_made(int folder) {
  const auto count = count_of_names(folder);
  if (count && *count != 0) errno = EPERM;
  return count == 0;
}

/// NFS remembers for up to a minute that a name is not there. It asks the server about a folder that is opened.
void ask_anew(int folder) {
  const system::Descriptor opened(open_in(folder, ".", O_RDONLY | O_DIRECTORY));
}

int open_folder_in(int parent, const char* name) {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  const int opened = open_in(parent, name, flags);
  if (opened >= 0 || errno != ENOENT) return opened;
  ask_anew(parent);
  return open_in(parent, name, flags);
}

/// What another one removed since it was looked at; NFS has a word of its own for that.
bool has_gone(int error) { return error == ENOENT || error == ESTALE; }

/// What lies under a name, and be it a link. False with errno.
bool look_at(int folder, const std::string& name, struct stat& status) {
  const auto look = [&] {
    return ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  };
  if (look()) return true;
  if (errno != ENOENT) return false;
  ask_anew(folder);
  return look();
}

/// Some filesystems, as NFS, know no renaming that spares what is there, and replace an empty folder: whoever has that open would go
/// on in the old one. So none is named there without something in it.
bool name_folder(int parent, int folder, const char* made, const char* name) {
  if (::renameat2(parent, made, parent, name, RENAME_NOREPLACE) == 0 || errno == EEXIST)
    return true;
  if (errno != EINVAL) return false;
  // Closed at once: what is removed while it is open keeps a name on some filesystems.
  if (!system::Descriptor(
          open_in(folder, not_empty, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode_of_files)))
    return false;
  if (::renameat(parent, made, parent, name) == 0) return true;
  const int error = errno;
  ::unlinkat(folder, not_empty, 0);
  // NFS may go on saying that it is not there, until it is asked to make it. If it has gone meanwhile, nothing is left.
  const bool is_full = error == ENOTEMPTY || error == EEXIST;
  if (is_full && ::mkdirat(parent, name, S_IRWXU) == 0) ::unlinkat(parent, name, AT_REMOVEDIR);
  // In the place of another user's there are other words for that.
  const bool is_there = is_full || system::Descriptor(open_folder_in(parent, name));
  errno = error;
  return is_there;
}

/// Leaves one with anything else in it.
void remove_empty(int parent, const char* name) {
  {
    const system::Descriptor folder(open_folder_in(parent, name));
    if (folder && count_of_names(folder.get()) == 1) ::unlinkat(folder.get(), not_empty, 0);
  }
  ::unlinkat(parent, name, AT_REMOVEDIR);
}

bool has_digits(std::string_view name, std::size_t digits) {
  return name.size() == digits && name.find_first_not_of("0123456789abcdef") == name.npos;
}

void mark_used(int file, const struct stat& status) {
  // Who may not mark another's file leaves it as old as it is.
  if (status.st_mtim.tv_sec < std::time(nullptr) - a_day)
    static_cast<void>(::futimens(file, nullptr));
}

}  // namespace

StoreFolder::StoreFolder(system::Descriptor descriptor, fs::path path) noexcept
    : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

Result<std::optional<StoreFolder>> StoreFolder::open(const fs::path& path) {
  system::Descriptor opened(system::open_file(path.c_str(), O_RDONLY | O_DIRECTORY));
  if (!opened && errno == ENOENT) return std::optional<StoreFolder>();
  const int error = errno;
  StoreFolder folder(std::move(opened), path);
  if (!folder.descriptor_) return folder.failure("opening", {}, error);
  return std::optional(std::move(folder));
}

Result<std::optional<StoreFolder>> StoreFolder::folder(const std::string& name) const {
  system::Descriptor opened(open_folder_in(descriptor_.get(), name.c_str()));
  if (!opened && errno == ENOENT) return std::optional<StoreFolder>();
  if (!opened) return failure("opening", name, errno);
  return std::optional(StoreFolder(std::move(opened), path_ / name));
}

Result<StoreFolder> StoreFolder::make_folder(const std::string& name) const {
  auto there = folder(name);
  if (!there) return tl::unexpected(std::move(there.error()));
  if (*there) return std::move(**there);
  const auto made = unfinished_name();
  struct stat own;
  if (::fstat(descriptor_.get(), &own) != 0 ||
      ::mkdirat(descriptor_.get(), made.c_str(), S_IRWXU) != 0) {
    return failure("making", name, errno);
  }
  const system::Descriptor opened(open_folder_in(descriptor_.get(), made.c_str()));
  const bool named = opened && is_as_made(opened.get()) && share(opened.get(), own) &&
                     name_folder(descriptor_.get(), opened.get(), made.c_str(), name.c_str());
  const int error = errno;
  ::unlinkat(descriptor_.get(), made.c_str(), AT_REMOVEDIR);
  if (!named) return failure("making", name, error);
  there = folder(name);
  if (!there) return tl::unexpected(std::move(there.error()));
  if (!*there) return failure("making", name, ENOENT);
  return std::move(**there);
}

Result<bool> StoreFolder::make_new_folder(const std::string& name) const {
  struct stat own;
  if (::fstat(descriptor_.get(), &own) != 0) return failure("making", name, errno);
  if (::mkdirat(descriptor_.get(), name.c_str(), S_IRWXU) != 0)
    return errno == EEXIST ? Result<bool>(false) : failure("making", name, errno);
  const system::Descriptor opened(open_folder_in(descriptor_.get(), name.c_str()));
  if (opened && is_as_made(opened.get()) && share(opened.get(), own)) return true;
  const int error = errno;
  ::unlinkat(descriptor_.get(), name.c_str(), AT_REMOVEDIR);
  return failure("making", name, error);
}

void StoreFolder::remove_folder(const std::string& name,
                                const std::vector<std::string>& files) const {
  const auto inner = folder(name);
  if (!inner || !*inner) return;
  for (const auto& file : files) ::unlinkat((*inner)->descriptor_.get(), file.c_str(), 0);
  remove_empty(descriptor_.get(), name.c_str());
}

Result<std::optional<std::string>> StoreFolder::read(const std::string& name,
                                                     std::uint64_t most_bytes,
                                                     const StoreReaders& readers) const {
  const auto file = open_file(name, readers);
  if (!file) return tl::unexpected(file.error());
  if (!*file) return std::optional<std::string>();
  struct stat status;
  if (::fstat(file->get(), &status) != 0) return failure("reading", name, errno);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > most_bytes) {
    return fail(ErrorCode::too_large, fmt::format("store: '{}' has {} bytes, more than it can have",
                                                  (path_ / name).string(), size));
  }
  auto bytes = system::read_whole(file->get(), size);
  if (!bytes && has_gone(errno)) return std::optional<std::string>();
  if (!bytes) return failure("reading", name, errno);
  if (readers.mark_used) mark_used(file->get(), status);
  return bytes;
}

/// An empty descriptor where there is nothing.
Result<system::Descriptor> StoreFolder::open_file(const std::string& name,
                                                  const StoreReaders& readers) const {
  struct stat status;
  if (!look_at(descriptor_.get(), name, status)) {
    if (errno == ENOENT) return system::Descriptor();
    return failure("looking at", name, errno);
  }
  const auto is_no_file = [&] {
    return fail(ErrorCode::cache_unusable,
                fmt::format("store: '{}' is no regular file; remove it", (path_ / name).string()));
  };
  // Devices are not even opened.
  if (!S_ISREG(status.st_mode)) return is_no_file();
  system::Descriptor opened(
      open_in(descriptor_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (!opened && has_gone(errno)) return system::Descriptor();
  if (!opened) return failure("opening", name, errno);
  if (::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) return is_no_file();
  if (!readers.of_anybody) {
    if (auto own = check_private(path_ / name, status, readers.trust); !own)
      return tl::unexpected(std::move(own.error()));
  }
  return opened;
}

Result<bool> StoreFolder::write(const std::string& name, std::string_view bytes,
                                const StoreReaders& readers) const {
  if (is_there(name, bytes, readers)) return false;
  const auto unnamed = unfinished_name();
  const system::Descriptor file(open_in(descriptor_.get(), unnamed.c_str(),
                                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                                        S_IRUSR | S_IWUSR));
  const bool whole =
      file && system::write_whole(file.get(), bytes) && let_read(file.get()) &&
      ::fsync(file.get()) == 0 &&
      ::renameat(descriptor_.get(), unnamed.c_str(), descriptor_.get(), name.c_str()) == 0;
  if (whole) return true;
  const int error = errno;
  if (file) ::unlinkat(descriptor_.get(), unnamed.c_str(), 0);
  return failure("writing", name, error);
}

void StoreFolder::change_again() const {
  const auto unnamed = unfinished_name();
  // Closed at once: what is removed while it is open keeps a name on some filesystems.
  if (system::Descriptor(open_in(descriptor_.get(), unnamed.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, S_IRUSR | S_IWUSR)))
    ::unlinkat(descriptor_.get(), unnamed.c_str(), 0);
}

/// What is damaged, or of somebody whom the readers do not trust, is not.
bool StoreFolder::is_there(const std::string& name, std::string_view bytes,
                           const StoreReaders& readers) const {
  struct stat status;
  const bool may_be =
      ::fstatat(descriptor_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      static_cast<std::uint64_t>(status.st_size) == bytes.size();
  if (!may_be) return false;
  const auto there = read(name, bytes.size(), readers);
  return there && *there == bytes;
}

Result<std::vector<std::string>> StoreFolder::names(std::size_t digits) const {
  std::vector<std::string> names;
  std::size_t seen = 0;
  auto listed = for_each([&](const std::string& name) -> Outcome {
    if (++seen > most_names) {
      return fail(
          ErrorCode::too_large,
          fmt::format("store: '{}' has more than {} names; kiln gc --store removes those of "
                      "no use, or remove it",
                      path_.string(), most_names));
    }
    if (has_digits(name, digits)) names.push_back(name);
    return {};
  });
  if (!listed) return tl::unexpected(std::move(listed.error()));
  return names;
}

Result<std::vector<StoreFile>> StoreFolder::files(std::size_t digits, std::size_t most) const {
  const auto names = this->names(digits);
  if (!names) return tl::unexpected(names.error());
  std::vector<StoreFile> files;
  for (const auto& name : *names) {
    if (files.size() == most) break;
    if (auto there = file(name)) files.push_back(std::move(*there));
  }
  return files;
}

Outcome StoreFolder::for_each_name(std::size_t digits, const Visit& visit) const {
  return for_each(
      [&](const std::string& name) { return has_digits(name, digits) ? visit(name) : Outcome(); });
}

std::optional<StoreFile> StoreFolder::file(const std::string& name) const noexcept {
  struct stat status;
  const bool regular = look_at(descriptor_.get(), name, status) && S_ISREG(status.st_mode);
  if (!regular) return std::nullopt;
  const auto tomorrow = std::time(nullptr) + a_day;
  const auto used = status.st_mtim.tv_sec > tomorrow ? 0 : status.st_mtim.tv_sec;
  return StoreFile{name, used, static_cast<std::uint64_t>(status.st_size)};
}

Outcome StoreFolder::remove_file(const std::string& name) const {
  if (::unlinkat(descriptor_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return failure("removing", name, errno);
}

// What cannot be listed has nothing that could be removed.
void StoreFolder::remove_left_behind() const {
  static_cast<void>(for_each([&](const std::string& name) -> Outcome {
    struct stat status;
    const bool left = name.ends_with(unfinished) &&
                      ::fstatat(descriptor_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!left || status.st_mtim.tv_sec > std::time(nullptr) - an_hour) return {};
    if (S_ISDIR(status.st_mode)) {
      remove_empty(descriptor_.get(), name.c_str());
    } else {
      ::unlinkat(descriptor_.get(), name.c_str(), 0);
    }
    return {};
  }));
}

void StoreFolder::remove_old(int depth) const {
  static_cast<void>(for_each([&](const std::string& name) -> Outcome {
    struct stat status;
    if (::fstatat(descriptor_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
    const bool is_folder = S_ISDIR(status.st_mode);
    if (is_folder && depth > 0) {
      if (const auto inner = folder(name); inner && *inner) (*inner)->remove_old(depth - 1);
    }
    const bool is_old = status.st_mtim.tv_sec < std::time(nullptr) - a_day && name != not_empty;
    if (is_old && is_folder) remove_empty(descriptor_.get(), name.c_str());
    if (is_old && !is_folder) ::unlinkat(descriptor_.get(), name.c_str(), 0);
    return {};
  }));
}

Outcome StoreFolder::for_each(const Visit& visit) const {
  const auto directory = list(descriptor_.get());
  if (!directory) return failure("listing", {}, errno);
  for (;;) {
    errno = 0;
    const auto* const item = ::readdir(directory.get());
    if (item == nullptr) break;
    const std::string name(static_cast<const char*>(item->d_name));
    if (name == "." || name == "..") continue;
    if (auto visited = visit(name); !visited) return visited;
  }
  if (errno != 0) return failure("listing", {}, errno);
  return {};
}

tl::unexpected<Error> StoreFolder::failure(std::string_view doing, const std::string& name,
                                           int error) const {
  const char* const remedy = error == ENOSPC || error == EDQUOT ? "free some room"
                             : error == EACCES || error == EPERM || error == EROFS
                                 ? "give the user the right to it"
                                 : "look at what is there";
  return fail(ErrorCode::io_failed, fmt::format("store: {} '{}' failed: {}; {}", doing,
                                                (name.empty() ? path_ : path_ / name).string(),
                                                std::generic_category().message(error), remedy));
}

}  // namespace kiln::storage
