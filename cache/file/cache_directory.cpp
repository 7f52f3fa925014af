#include <filesystem>

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

}  // namespace

Result<std::filesystem::path> default_cache_directory() {
  if (const auto cache = absolute_path_in("XDG_CACHE_HOME"); !cache.empty()) return cache / "kiln";
  if (const auto home = absolute_path_in("HOME"); !home.empty()) return home / ".cache" / "kiln";
  return fail(ErrorCode::cache_unusable,
              "no default cache directory: neither XDG_CACHE_HOME nor HOME is set to an absolute "
              "path; set one of them, or name a cache directory");
}

}  // namespace kiln
