#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
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
  /// What the cache may grow to, in bytes; the least recently used entries make room.
  /// `KILN_CACHE_MAX_SIZE` (such as 500M or 5GiB), else 5 GiB.
  std::optional<std::uint64_t> cache_max_bytes = {};
  /// Accept a cache and bundles that others may write: what they hold runs on the GPU.
  /// `KILN_CACHE_TRUST_OTHERS`.
  std::optional<bool> cache_trust_others = {};
  /// Bundles beneath the cache, asked in this order; absolute. `KILN_BUNDLES`, separated by colons.
  std::optional<std::vector<std::filesystem::path>> bundles = {};
  /// Bundles in memory, such as kiln_embed_bundle() links in; asked last. Borrowed: they must outlive
  /// the runtime.
  std::vector<std::span<const std::byte>> embedded_bundles = {};
  /// How long to wait for another process that compiles the same, before compiling it here as well.
  /// `KILN_COMPILE_PATIENCE`, in seconds, else 60.
  std::optional<std::chrono::milliseconds> compile_patience = {};
  /// Exactly this libnvrtc, and no other; absolute. `KILN_NVRTC`.
  std::optional<std::filesystem::path> nvrtc = {};
  /// Exactly this libcuda, and no other; absolute. `KILN_CUDA_DRIVER`.
  std::optional<std::filesystem::path> cuda_driver = {};
  /// Where to write down, as a manifest, each program and target that is asked for: a file that ends in
  /// .json, absolute; added to where it is there. `KILN_RECORD`.
  std::optional<std::filesystem::path> record = {};
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
  std::uint64_t cache_max_bytes = 0;
  bool cache_trust_others = false;
  std::vector<std::filesystem::path> bundles;
  std::vector<std::span<const std::byte>> embedded_bundles;
  std::chrono::milliseconds compile_patience{};
  std::optional<std::filesystem::path> nvrtc;
  std::optional<std::filesystem::path> cuda_driver;
  std::optional<std::filesystem::path> record;
  LogLevel log_level = LogLevel::warn;
  std::vector<Setting> listing;  ///< Each of the above with where it came from.
};

/// Decides the settings from options and the environment, without touching the disk.
/// Errors: invalid_setting, naming the variable or field, its value and what it may be.
[[nodiscard]] Result<Settings> resolve_settings(const RuntimeOptions& options);

}  // namespace kiln
