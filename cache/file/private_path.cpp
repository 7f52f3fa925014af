#include "file/private_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

Result<void> check_owner_and_mode(const fs::path& path, const struct stat& status, Trust trust) {
  const bool owned = status.st_uid == ::geteuid() || (trust.owned_by_root && status.st_uid == 0);
  if (!owned) {
    return unusable(path,
                    fmt::format("belongs to user {}, not to the user {} who runs this",
                                status.st_uid, ::geteuid()),
                    use_another);
  }
  if (!trust.writable_by_others && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return unusable(path,
                    fmt::format("can be written by others (mode {:o})", status.st_mode & 07777),
                    fmt::format("chmod go-w '{}'", path.string()));
  }
  return {};
}

Result<bool> private_exists(const fs::path& path, mode_t type, std::string_view expected,
                            Trust trust) {
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

}  // namespace

Result<void> make_private_directory(const fs::path& directory) {
  if (::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (errno != ENOENT || !directory.has_relative_path()) {
    return unusable(directory, "cannot be made", errno);
  }
  if (auto parent = make_private_directory(directory.parent_path()); !parent) return parent;
  if (::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return unusable(directory, "cannot be made", errno);
}

Result<bool> private_directory_exists(const fs::path& directory, Trust trust) {
  return private_exists(directory, S_IFDIR, "directory", trust);
}

Result<bool> private_file_exists(const fs::path& file, Trust trust) {
  return private_exists(file, S_IFREG, "regular file", trust);
}

Result<int> open_private_file(const fs::path& file, Trust trust) {
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

Result<void> make_private_file(const fs::path& file) {
  const int descriptor =
      system::open_file(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (descriptor < 0) {
    if (errno == EEXIST) return {};
    return unusable(file, "cannot be made", errno);
  }
  ::close(descriptor);
  return {};
}

}  // namespace kiln::storage
