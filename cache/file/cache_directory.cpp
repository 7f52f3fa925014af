#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "file/file_system.h"
#include "file/generation.h"
#include "file/private_path.h"
#include "kiln/cache.h"
#include "system/environment.h"

namespace kiln {
namespace {

std::string name_for_users_of(const CacheTrust& trust) {
  return trust.group ? fmt::format("kiln-group-{}", *trust.group)
                     : fmt::format("kiln-{}", ::geteuid());
}

// The folder, if it lies on this machine's own filesystem and is private, or can be made so; else why not.
Result<std::filesystem::path> usable(const std::filesystem::path& above, const std::string& name,
                                     const CacheTrust& trust) {
  if (storage::file_system_of(above).locks_may_be_local)
    return fail(ErrorCode::cache_unusable, above.string() + " lies on a network as well");
  auto folder = above / name;
  const auto there = storage::private_directory_exists(folder, {.cache = trust});
  if (!there) return tl::unexpected(there.error());
  if (*there || ::access(above.c_str(), W_OK | X_OK) == 0) return folder;
  return fail(ErrorCode::cache_unusable,
              fmt::format("{}: {}", above.string(), std::generic_category().message(errno)));
}

// A folder that outlives a session goes before one that lies in memory.
Result<std::filesystem::path> folder_of_this_machine(const CacheTrust& trust) {
  auto lasting = usable("/var/tmp", name_for_users_of(trust), trust);
  const auto session = system::absolute_path_in("XDG_RUNTIME_DIR");
  if (lasting || session.empty() || trust.group) return lasting;
  const auto is_own = storage::private_directory_exists(session);
  if (is_own && !*is_own) return lasting;
  auto passing = is_own ? usable(session, "kiln", trust) : tl::unexpected(is_own.error());
  if (!passing) passing.error().message = lasting.error().message + "; " + passing.error().message;
  return passing;
}

// The same directory has the same name for everybody, by whatever way it is reached.
std::filesystem::path settled(const std::filesystem::path& directory) {
  std::error_code error;
  auto real = std::filesystem::weakly_canonical(directory, error);
  if (error) real = directory.lexically_normal();
  return real.has_filename() ? real : real.parent_path();
}

// What was put there before, an importer reads without locks.
std::string way_to(const std::filesystem::path& directory) {
  const auto generation = storage::current_generation(directory);
  if (generation == 0) return {};
  return fmt::format("; what lies there already, kiln import '{}' brings over",
                     (directory / storage::generation_name(generation)).string());
}

}  // namespace

CachePlace place_of_cache(const std::filesystem::path& directory, const CacheTrust& trust) {
  if (!directory.is_absolute()) return {directory, "unknown", {}};
  const auto named = settled(directory);
  const auto found = storage::file_system_of(named);
  if (!found.locks_may_be_local) return {directory, found.name, {}};
  const auto why = fmt::format("cache '{}' lies on {}, where a lock may hold on one machine alone",
                               directory.string(), found.name);
  // Whom that directory may belong to, nobody said of folders that all users make beside each other.
  const auto folder = folder_of_this_machine({.group = trust.group});
  if (!folder) {
    return {{},
            found.name,
            fmt::format("{}, and this machine has no place for it ({}); name a directory on a disk "
                        "of this machine",
                        why, folder.error().message)};
  }
  auto own = *folder / digest_of(named.string()).hex();
  auto said = fmt::format(
      "{}: this machine keeps it in '{}', and what machines share goes through that directory as a "
      "store, unless KILN_REMOTE says otherwise; name a directory on a disk of this machine to "
      "choose the place{}",
      why, own.string(), way_to(named));
  return {std::move(own), found.name, std::move(said)};
}

Result<std::filesystem::path> default_cache_directory() {
  if (const auto cache = system::absolute_path_in("XDG_CACHE_HOME"); !cache.empty())
    return cache / "kiln";
  if (const auto home = system::absolute_path_in("HOME"); !home.empty())
    return home / ".cache" / "kiln";
  return fail(ErrorCode::cache_unusable,
              "no default cache directory: neither XDG_CACHE_HOME nor HOME is set to an absolute "
              "path; set one of them, or name a cache directory with KILN_CACHE_DIR or --cache");
}

}  // namespace kiln
