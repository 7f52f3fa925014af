#include <unistd.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "file/file_system.h"
#include "file/private_path.h"
#include "kiln/cache.h"
#include "system/environment.h"

namespace kiln {
namespace {

/// The variable's value where it is an absolute path, else an empty one: the XDG specification has
/// relative paths ignored.
std::filesystem::path absolute_path_in(const char* variable) {
  const char* value = system::variable(variable);
  std::filesystem::path path(value ? value : "");
  return path.is_absolute() ? path : std::filesystem::path();
}

std::string name_for_users_of(const CacheTrust& trust) {
  return trust.group ? fmt::format("kiln-group-{}", *trust.group)
                     : fmt::format("kiln-{}", ::geteuid());
}

// The folder, if it lies on this machine's own filesystem and is private, or can be made so.
std::optional<std::filesystem::path> usable(const std::filesystem::path& above,
                                            const std::string& name, const CacheTrust& trust) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(above, ignored)) return std::nullopt;
  if (storage::file_system_of(above).locks_may_be_local) return std::nullopt;
  auto folder = above / name;
  const auto there = storage::private_directory_exists(folder, {.cache = trust});
  const bool can_be = there && (*there || ::access(above.c_str(), W_OK | X_OK) == 0);
  return can_be ? std::optional(folder) : std::nullopt;
}

// A folder that outlives a session goes before one that lies in memory.
std::optional<std::filesystem::path> folder_of_this_machine(const CacheTrust& trust) {
  if (auto folder = usable("/var/tmp", name_for_users_of(trust), trust)) return folder;
  const auto session = absolute_path_in("XDG_RUNTIME_DIR");
  return session.empty() || trust.group ? std::nullopt : usable(session, "kiln", trust);
}

}  // namespace

Result<CachePlace> place_of_cache(const std::filesystem::path& directory, const CacheTrust& trust) {
  if (!directory.is_absolute()) return CachePlace{directory, "unknown", {}};
  const auto found = storage::file_system_of(directory);
  if (!found.locks_may_be_local) return CachePlace{directory, found.name, {}};
  const auto why = fmt::format("cache '{}' lies on {}, where a lock may hold on one machine alone",
                               directory.string(), found.name);
  const auto folder = folder_of_this_machine(trust);
  if (!folder) {
    return fail(ErrorCode::cache_unusable,
                fmt::format("{}, and neither /var/tmp nor XDG_RUNTIME_DIR has room for a folder of "
                            "its own; name a directory on a disk of this machine",
                            why));
  }
  auto own = *folder / digest_of(directory.lexically_normal().string()).hex();
  auto said = fmt::format(
      "{}: this machine keeps it in '{}'; name a directory on a disk of this machine to choose the "
      "place, and share what is in it as a bundle (kiln export)",
      why, own.string());
  return CachePlace{std::move(own), found.name, std::move(said)};
}

Result<std::filesystem::path> default_cache_directory() {
  if (const auto cache = absolute_path_in("XDG_CACHE_HOME"); !cache.empty()) return cache / "kiln";
  if (const auto home = absolute_path_in("HOME"); !home.empty()) return home / ".cache" / "kiln";
  return fail(ErrorCode::cache_unusable,
              "no default cache directory: neither XDG_CACHE_HOME nor HOME is set to an absolute "
              "path; set one of them, or name a cache directory");
}

}  // namespace kiln
