#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kiln/error.h"
#include "kiln/observer.h"

namespace kiln {

/// How a runtime is set up. A field that is set goes before its `KILN_*` variable, which goes before
/// the default. An empty variable counts as not set.
struct RuntimeOptions {
  /// Where the cache lives; absolute. `KILN_CACHE_DIR`, else default_cache_directory().
  std::optional<std::filesystem::path> cache_directory = {};
  /// No cache on disk at all. `KILN_CACHE_DISABLE`.
  std::optional<bool> cache_disabled = {};
  /// Read what is there, write nothing. `KILN_CACHE_READONLY`.
  std::optional<bool> cache_read_only = {};
  /// Exactly this libnvrtc, and no other; absolute. `KILN_NVRTC`.
  std::optional<std::filesystem::path> nvrtc = {};
  /// Exactly this libcuda, and no other; absolute. `KILN_CUDA_DRIVER`.
  std::optional<std::filesystem::path> cuda_driver = {};
  /// What is logged. `KILN_LOG` (off, warn, info, debug), else warn.
  std::optional<LogLevel> log_level = {};
  /// Where it is logged; standard error when empty.
  LogCallback log = {};
  Observer observer = {};
};

/// One setting as a person asks for it.
struct Setting {
  std::string variable;  ///< E.g. "KILN_CACHE_DIR".
  std::string value;     ///< Empty where there is none.
  std::string origin;    ///< "option", "environment" or "default".
};

/// All settings, decided.
struct Settings {
  /// Empty when the default could not be determined; `cache_fault` then says why.
  std::filesystem::path cache_directory;
  std::string cache_fault;
  bool cache_disabled = false;
  bool cache_read_only = false;
  std::optional<std::filesystem::path> nvrtc;
  std::optional<std::filesystem::path> cuda_driver;
  LogLevel log_level = LogLevel::warn;
  std::vector<Setting> listing;  ///< Each of the above with where it came from.
};

/// Decides the settings from options and the environment, without touching the disk.
/// Errors: invalid_setting, naming the variable or field, its value and what it may be.
[[nodiscard]] Result<Settings> resolve_settings(const RuntimeOptions& options);

}  // namespace kiln
