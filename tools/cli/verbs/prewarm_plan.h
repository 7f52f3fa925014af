#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kiln/kiln.h"

namespace kiln::cli {

/// What is to be in the cache, and where that is written down.
struct PrewarmSources {
  std::vector<std::filesystem::path> manifests;
  std::optional<std::filesystem::path> from;  ///< A cache or a bundle.
  std::vector<std::string> archs;             ///< In the place of those written down; may be empty.
  std::optional<ImageKind> image;             ///< The same.
  Settings settings = {};                     ///< From whom `from` is taken.
};

/// A program that is not there in the end, and why.
struct PrewarmFailure {
  std::string program;
  std::string arch;
  std::string image;  ///< Its kind; empty where that is not known.
  Error error;
};

/// All compiles to be made, and what could not even be begun.
struct PrewarmPlan {
  std::vector<PrefetchItem> items;
  std::vector<bool> recorded;  ///< Beside each item: whether a record is all there is of it.
  std::vector<PrewarmFailure> failures;
};

/// Reads all sources before anything is compiled. Errors: those of read_manifest() and
/// recorded_programs(); invalid_argument, naming the program, where no target is named for it.
[[nodiscard]] PrewarmPlan plan_prewarm(Runtime& runtime, const PrewarmSources& sources);

}  // namespace kiln::cli
