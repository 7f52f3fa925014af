#include "file/private_path.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "file/shared_path.h"
#include "system/descriptor.h"
#include "system/standard_streams.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view use_another = "name another cache directory";

tl::unexpected<Error> unusable(const fs::path& path, std::string_view problem,
                               std::string_view remedy) {
  return fail(ErrorCode::cache_unusable,
              fmt::format("cache path '{}' {}; {}", path.string(), problem, remedy));
}

std::string_view remedy_of(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return "give the user the right to it, or name another cache directory";
    case ENOSPC:
    case EDQUOT:
      return "make room there, or name another cache directory";
    default:
      return system::wants_descriptors(error) ? system::remedy_for_descriptors : use_another;
  }
}

tl::unexpected<Error> unusable(const fs::path& path, std::string_view attempt, int error) {
  const auto problem = fmt::format("{}: {}", attempt, std::generic_category().message(error));
  return unusable(path, problem, remedy_of(error));
}

Result<std::optional<struct stat>> look_at(const fs::path& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) == 0) return status;
  if (errno == ENOENT) return std::nullopt;
  return unusable(path, "cannot be looked at", errno);
}

// Whether the owner's own groups have this one, as far as the machine knows him.
bool is_known_member(uid_t user, gid_t group) {
  constexpr std::size_t room = 16'384;
  std::vector<char> words(room);
  struct passwd entry {};
  struct passwd* found = nullptr;
  if (::getpwuid_r(user, &entry, words.data(), words.size(), &found) != 0 || found == nullptr)
    return false;
  int count = 0;
  ::getgrouplist(found->pw_name, found->pw_gid, nullptr, &count);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 1)));
  if (::getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0) return false;
  return std::ranges::find(groups, group) != groups.end();
}

// In a group's directory, which nobody else may write, only members make files. Of a directory itself the group says nothing:
// anybody may make one of this group in a folder that hands its own on.
bool is_of_member(const struct stat& status, const Trust& trust) {
  if (!trust.cache.group || status.st_gid != *trust.cache.group) return false;
  return S_ISREG(status.st_mode) || status.st_uid == 0 ||
         is_known_member(status.st_uid, *trust.cache.group);
}

bool has_trusted_owner(const struct stat& status, const Trust& trust) {
  const auto& owners = trust.cache.owners;
  return status.st_uid == ::geteuid() || (trust.owned_by_root && status.st_uid == 0) ||
         trust.cache.any_owner || std::ranges::find(owners, status.st_uid) != owners.end() ||
         is_of_member(status, trust);
}

Outcome check_owner(const fs::path& path, const struct stat& status, const Trust& trust) {
  if (has_trusted_owner(status, trust)) return {};
  const auto owner = status.st_uid == 0 ? "root" : fmt::format("{}", status.st_uid);
  return fail(
      ErrorCode::cache_unusable,
      fmt::format("{} '{}' belongs to user {}, not to the user {} who runs this; {}, or set "
                  "KILN_CACHE_TRUST_OWNERS={} if that user may say what runs on the GPU",
                  trust.owned_by_root ? "file" : "cache path", path.string(), status.st_uid,
                  ::geteuid(), trust.owned_by_root ? "make a copy of your own" : use_another,
                  owner));
}

Outcome check_writers(const fs::path& path, const struct stat& status, const Trust& trust) {
  if (trust.cache.others || (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return unusable(path, fmt::format("can be written by others (mode {:o})", status.st_mode & 07777),
                  fmt::format("chmod go-w '{}'{}", path.string(),
                              (status.st_mode & (S_IWGRP | S_IWOTH)) == S_IWGRP
                                  ? ", or set KILN_CACHE_GROUP if its group shares it"
                                  : ""));
}

// What is the group's is the members' alike, and nobody else's.
Outcome check_shared(const fs::path& path, const struct stat& status, const Trust& trust) {
  const auto mode = status.st_mode & 07777;
  const auto wanted = S_ISDIR(status.st_mode) ? mode_of_shared_directories : mode_of_shared_files;
  const bool has_rights = mode == wanted || (trust.just_made && (mode & ~wanted) == 0);
  if (status.st_gid == *trust.cache.group && has_rights) return {};
  const auto directory = S_ISDIR(status.st_mode) ? path : path.parent_path();
  return unusable(
      path,
      fmt::format("is not shared with group {} (KILN_CACHE_GROUP): it is of group {}, with mode "
                  "{:o} and not {:o}",
                  *trust.cache.group, status.st_gid, mode, wanted),
      fmt::format("chgrp -R {0} '{1}' && chmod {2:o} '{1}' && chmod -f {3:o} '{1}'/*, or name a "
                  "directory that is not there yet",
                  *trust.cache.group, directory.string(), mode_of_shared_directories,
                  mode_of_shared_files));
}

Outcome check_owner_and_mode(const fs::path& path, const struct stat& status, const Trust& trust) {
  if (auto checked = check_owner(path, status, trust); !checked) return checked;
  return trust.cache.group ? check_shared(path, status, trust) : check_writers(path, status, trust);
}

Result<bool> private_exists(const fs::path& path, mode_t type, std::string_view expected,
                            const Trust& trust) {
  const auto status = look_at(path);
  if (!status) return tl::unexpected(status.error());
  if (!status->has_value()) return false;
  const mode_t found = (*status)->st_mode & S_IFMT;
  if (found == S_IFLNK) {
    return unusable(path, "is a symbolic link", "name what it points to, or remove it");
  }
  if (found != type) return unusable(path, fmt::format("is not a {}", expected), use_another);
  // A second name would be a way around the rights of the directory.
  if (type == S_IFREG && (*status)->st_nlink > 1 && !trust.owned_by_root) {
    return unusable(path, "has several names (hard links)", "remove the others, or copy it");
  }
  if (auto checked = check_owner_and_mode(path, **status, trust); !checked) {
    return tl::unexpected(checked.error());
  }
  return true;
}

struct Unmade {
  fs::path directory;
  int error;
};

// Nothing where all are there; else the one that the others wait for.
std::optional<Unmade> make_with_parents(const fs::path& directory) {
  const auto make = [&] {
    return ::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
  };
  int error = make();
  if (error == ENOENT && directory.has_relative_path()) {
    if (auto unmade = make_with_parents(directory.parent_path())) return unmade;
    error = make();
  }
  if (error == 0) return std::nullopt;
  return Unmade{directory, error};
}

tl::unexpected<Error> cannot_be_shared(const fs::path& path, const Trust& trust, int error) {
  return unusable(
      path,
      fmt::format("cannot be given to group {} (KILN_CACHE_GROUP): {}", *trust.cache.group,
                  std::generic_category().message(error)),
      fmt::format("let a member of the group do it, or add user {} to it", ::geteuid()));
}

}  // namespace

int make_file(const fs::path& file, int flags, const Trust& trust) {
  if (trust.cache.group) return make_shared_file(file, flags);
  return system::open_file(file.c_str(), flags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

Outcome make_private_directory(const fs::path& directory, const Trust& trust) {
  if (trust.cache.group) {
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(directory, ignored))) return {};
    const auto made = make_shared_directory(directory, *trust.cache.group);
    if (made == SharedDirectory::not_given) return cannot_be_shared(directory, trust, errno);
    if (made == SharedDirectory::not_made) return unusable(directory, "cannot be made", errno);
    return {};
  }
  const auto unmade = make_with_parents(directory);
  if (!unmade) return {};
  if (unmade->directory == directory) return unusable(directory, "cannot be made", unmade->error);
  return unusable(directory,
                  fmt::format("lies below '{}', which cannot be made", unmade->directory.string()),
                  unmade->error);
}

Result<bool> private_directory_exists(const fs::path& directory, const Trust& trust) {
  return private_exists(directory, S_IFDIR, "directory", trust);
}

Result<bool> private_file_exists(const fs::path& file, const Trust& trust) {
  return private_exists(file, S_IFREG, "regular file", trust);
}

Result<int> open_private_file(const fs::path& file, const Trust& trust) {
  if (auto exists = private_file_exists(file, trust); !exists || !*exists) {
    if (!exists) return tl::unexpected(exists.error());
    return -1;
  }
  // O_NONBLOCK and O_NOFOLLOW: something else may have taken its place since.
  const int descriptor = system::open_file(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return unusable(file, "cannot be opened", errno);
  struct stat status;
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  auto checked = regular ? check_owner_and_mode(file, status, trust)
                         : unusable(file, "is not a regular file", use_another);
  if (checked) return descriptor;
  ::close(descriptor);
  return tl::unexpected(checked.error());
}

Outcome check_private(const fs::path& path, const struct stat& status, const Trust& trust) {
  return check_owner_and_mode(path, status, trust);
}

bool is_of_another(const fs::path& directory, const CacheTrust& trust) noexcept {
  struct stat status;
  return !trust.group && ::stat(directory.c_str(), &status) == 0 && status.st_uid != ::geteuid();
}

bool may_be_of_others(const fs::path& directory) noexcept {
  const auto is_open = [](const char* path) {
    struct stat status;
    return ::stat(path, &status) == 0 &&
           (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0);
  };
  if (is_open(directory.c_str())) return true;
  std::error_code error;
  for (fs::directory_iterator item(directory, error), end; !error && item != end;
       item.increment(error)) {
    if (item->path().extension() == ".db" && is_open(item->path().c_str())) return true;
  }
  return false;
}

bool is_only_name_of(const char* path, int descriptor) noexcept {
  struct stat opened;
  struct stat named;
  // The count of names comes from the same call as the name: a count from another moment may include another name.
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path, &named) == 0 &&
         S_ISREG(named.st_mode) && named.st_nlink == 1 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

Outcome make_private_file(const fs::path& file, const Trust& trust) {
  const int descriptor = make_file(file, O_WRONLY, trust);
  if (descriptor < 0) {
    if (errno == EEXIST) return {};
    return unusable(file, "cannot be made", errno);
  }
  ::close(descriptor);
  return {};
}

}  // namespace kiln::storage
