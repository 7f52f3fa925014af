#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace kiln {

/// Where this process stands now; empty where that folder is gone, or cannot be named from here.
[[nodiscard]] inline std::string working_directory() {
  std::error_code failure;
  return std::filesystem::current_path(failure).string();
}

/// A folder that a process stands in: another process, which goes there by name, may come to another one.
struct Standing {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  bool operator==(const Standing&) const = default;
};

/// Nothing where the folder has no name, or another thread goes elsewhere all the time.
[[nodiscard]] inline std::optional<Standing> standing() {
  constexpr int most_tries = 100;
  for (int tries = 0; tries < most_tries; ++tries) {
    struct stat before {};
    struct stat after {};
    const bool there = ::stat(".", &before) == 0;
    auto path = working_directory();
    if (!there || path.empty() || ::stat(".", &after) != 0) return std::nullopt;
    if (before.st_dev == after.st_dev && before.st_ino == after.st_ino)
      return Standing{std::move(path), after.st_dev, after.st_ino};
  }
  return std::nullopt;
}

}  // namespace kiln
