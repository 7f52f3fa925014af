#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gpu_run.h"
#include "images.h"
#include "second_process.h"

namespace demo {

/// The cache that stays.
struct KeptCache {
  std::filesystem::path path;
  std::uint64_t entries = 0;
  std::uint64_t stored_bytes = 0;
  std::size_t left = 0;  ///< Of the images asked for: how many an earlier run had left there.
};

/// What one run of the demo found.
struct Report {
  std::vector<Image> cold;         ///< As they were compiled, into an empty cache.
  Served warm;                     ///< The same, served to a second process.
  std::vector<int> text;           ///< The decoder's tokens.
  std::string by;                  ///< What computed them, in words.
  std::optional<GpuRun> gpu = {};  ///< Where there is one.
  std::optional<KeptCache> kept = {};
};

/// What is wrong with a run, in words; empty where all is right.
[[nodiscard]] std::vector<std::string> faults(const Report& report);

/// Five lines; with `bold` their labels stand out.
[[nodiscard]] std::string verdict(const Report& report, bool bold);

/// A row for each kernel: what it needs, cold and warm; where there is a GPU, how far it was from its reference.
[[nodiscard]] std::string rows(const Report& report);

/// Three command lines for a shell in the working directory, by the tool `kiln` that lies beside this program.
[[nodiscard]] std::vector<std::string> next_commands(const Report& report);

}  // namespace demo
