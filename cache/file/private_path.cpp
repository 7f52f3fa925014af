#include "file/private_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

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

tl::unexpected<Error> unusable(const fs::path& path, std::string_view attempt, int error) {
  const auto problem = fmt::format("{}: {}", attempt, std::generic_category().message(error));
  return unusable(path, problem, "give the user the right to it, or name another cache directory");
}

Result<std::optional<struct stat>> look_at(const fs::path& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) == 0) return status;
  if (errno == ENOENT) return std::nullopt;
  return unusable(path, "cannot be looked at", errno);
}

constexpr mode_t mode_of_shared_directories = 02770;

bool is_of_group(const struct stat& status, const Trust& trust) {
  return trust.cache.group && status.st_gid == *trust.cache.group;
}

bool has_trusted_owner(const struct stat& status, const Trust& trust) {
  const auto& owners = trust.cache.owners;
  return status.st_uid == ::geteuid() || (trust.owned_by_root && status.st_uid == 0) ||
         trust.cache.any_owner || std::ranges::find(owners, status.st_uid) != owners.end() ||
         is_of_group(status, trust);
}

Result<void> check_owner_and_mode(const fs::path& path, const struct stat& status,
                                  const Trust& trust) {
  if (!has_trusted_owner(status, trust)) {
    const auto owner = status.st_uid == 0 ? "root" : fmt::format("{}", status.st_uid);
    return unusable(path,
                    fmt::format("belongs to user {}, not to the user {} who runs this",
                                status.st_uid, ::geteuid()),
                    fmt::format("name another cache directory, or set KILN_CACHE_TRUST_OWNERS={} "
                                "if that user may say what runs on the GPU",
                                owner));
  }
  const mode_t others = is_of_group(status, trust) ? S_IWOTH : S_IWGRP | S_IWOTH;
  if (!trust.cache.others && (status.st_mode & others) != 0) {
    return unusable(
        path, fmt::format("can be written by others (mode {:o})", status.st_mode & 07777),
        fmt::format("chmod {}-w '{}'", (others & S_IWGRP) != 0 ? "go" : "o", path.string()));
  }
  return {};
}

// In one that does not hand on its group, the members could not use each other's files.
Result<void> check_shared(const fs::path& directory, const struct stat& status,
                          const Trust& trust) {
  const auto mode = status.st_mode & 07777;
  const bool shared = is_of_group(status, trust) &&
                      (mode & mode_of_shared_directories) == mode_of_shared_directories;
  if (!trust.cache.group || shared) return {};
  return unusable(
      directory,
      fmt::format(
          "is not shared with group {} (KILN_CACHE_GROUP): it is of group {}, with mode {:o}",
          *trust.cache.group, status.st_gid, mode),
      fmt::format("chgrp {0} '{1}' && chmod {2:o} '{1}', or name a directory that is not there yet",
                  *trust.cache.group, directory.string(), mode_of_shared_directories));
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
  if (type == S_IFDIR) {
    if (auto checked = check_shared(path, **status, trust); !checked)
      return tl::unexpected(checked.error());
  }
  return true;
}

// REQUIRES: the directory was just made by this process.
Result<void> share(const fs::path& directory, const Trust& trust) {
  if (!trust.cache.group) return {};
  const int descriptor = system::open_file(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const bool shared = descriptor >= 0 &&
                      ::fchown(descriptor, static_cast<uid_t>(-1), *trust.cache.group) == 0 &&
                      set_rights(descriptor, mode_of_shared_directories);
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (shared) return {};
  return unusable(directory,
                  fmt::format("cannot be given to group {} (KILN_CACHE_GROUP)", *trust.cache.group),
                  error);
}

Result<bool> make_directory(const fs::path& directory, const Trust& trust) {
  if (::mkdir(directory.c_str(), 0700) == 0) {
    auto shared = share(directory, trust);
    if (shared) return true;
    ::rmdir(directory.c_str());  // It would be in the way of a member's.
    return tl::unexpected(shared.error());
  }
  if (errno == EEXIST) return true;
  if (errno == ENOENT && directory.has_relative_path()) return false;
  return unusable(directory, "cannot be made", errno);
}

}  // namespace

mode_t mode_of_files(const Trust& trust) noexcept { return trust.cache.group ? 0660 : 0600; }

bool set_rights(int descriptor, mode_t mode) noexcept { return ::fchmod(descriptor, mode) == 0; }

Result<void> make_private_directory(const fs::path& directory, const Trust& trust) {
  auto made = make_directory(directory, trust);
  if (made && !*made) {
    if (auto parent = make_private_directory(directory.parent_path(), trust); !parent)
      return parent;
    made = make_directory(directory, trust);
  }
  if (!made) return tl::unexpected(made.error());
  if (!*made) return unusable(directory, "cannot be made", ENOENT);
  return {};
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

bool is_only_name_of(const char* path, int descriptor) noexcept {
  struct stat opened;
  struct stat named;
  // The count of names comes from the same call as the name: a count from another moment may include another name.
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path, &named) == 0 &&
         S_ISREG(named.st_mode) && named.st_nlink == 1 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

Result<void> make_private_file(const fs::path& file, const Trust& trust) {
  const int descriptor = system::open_file(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                                           mode_of_files(trust));
  if (descriptor < 0) {
    if (errno == EEXIST) return {};
    return unusable(file, "cannot be made", errno);
  }
  const bool has_rights = set_rights(descriptor, mode_of_files(trust));
  const int error = errno;
  ::close(descriptor);
  if (!has_rights) return unusable(file, "cannot be given its rights", error);
  return {};
}

}  // namespace kiln::storage
