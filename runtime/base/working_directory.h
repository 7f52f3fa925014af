#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace kiln {

/// Where this process stands now; empty where that folder is gone.
[[nodiscard]] inline std::string working_directory() {
  std::error_code failure;
  return std::filesystem::current_path(failure).string();
}

}  // namespace kiln
