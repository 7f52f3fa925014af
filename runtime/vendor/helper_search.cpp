#include "vendor/helper_search.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace kiln {

namespace {

namespace fs = std::filesystem;

// Why it cannot be run; empty where it can.
std::string obstacle_of(const fs::path& file) {
  std::error_code failure;
  const auto status = fs::status(file, failure);
  if (!fs::exists(status)) return "no such file";
  if (!fs::is_regular_file(status)) return "not a file";
  return ::access(file.c_str(), X_OK) == 0 ? "" : "may not be executed";
}

bool was_tried(const HelperSearch& search, const fs::path& file) {
  return std::ranges::any_of(search.steps,
                             [&](const auto& step) { return step.place == file.string(); });
}

bool try_file(HelperSearch& search, const std::string& origin, const fs::path& file) {
  const auto obstacle = obstacle_of(file);
  search.steps.push_back({origin, file.string(), obstacle.empty() ? "found" : obstacle});
  if (obstacle.empty()) search.executable = file;
  return obstacle.empty();
}

bool try_around(HelperSearch& search, const std::string& origin, const fs::path& folder,
                const std::string& name) {
  for (const auto* place : {KILN_HELPERS_FROM_LIBRARY, "../libexec/kiln", "."}) {
    const auto file = (folder / place / name).lexically_normal();
    if (!was_tried(search, file) && try_file(search, origin, file)) return true;
  }
  return false;
}

}  // namespace

HelperSearch find_helper(const std::string& name, const std::string& variable,
                         const std::optional<fs::path>& exact) {
  HelperSearch search;
  if (exact) {
    try_file(search, variable, *exact);
    return search;
  }
  const auto own = vendor::own_file();
  if (!own.empty() && try_around(search, "beside kiln", own.parent_path(), name)) return search;
  std::error_code failure;
  const auto program = fs::read_symlink("/proc/self/exe", failure);
  if (!failure && program != own)
    try_around(search, "beside the program", program.parent_path(), name);
  return search;
}

}  // namespace kiln
