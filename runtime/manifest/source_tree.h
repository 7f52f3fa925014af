#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/reporter.h"
#include "kiln/cache.h"
#include "kiln/digest.h"
#include "kiln/request.h"

namespace kiln {

/// A source or a header, and where a source tree has it.
struct PlacedText {
  std::string
      place;  ///< Absolute and lexically normal: the image's own name for it, where it tells one.
  Digest text;
  std::int64_t modified_ns = 0;  ///< The file's time, where it reaches the output; else 0.
  /// The folders below which it is found by the names that it is included by; none where it is always its includer's
  /// neighbour.
  std::vector<std::string> include_dirs = {};

  bool operator==(const PlacedText&) const = default;
};

/// The program, then each header that it read, each place and text once.
[[nodiscard]] std::vector<PlacedText> source_tree_of(const Request& request,
                                                     const DependencySet& dependencies);

/// Lays out what is compiled, as lay_out_sources() does, into a folder that all programs share. Safe to use from any
/// thread.
class SourcesDirectory {
 public:
  /// Borrows the reporter.
  SourcesDirectory(std::filesystem::path folder, const Reporter& reporter);

  /// Never fails: the first fault is warned of, and no other. `texts` has the texts that the compile read.
  void lay_out(const Request& request, const DependencySet& dependencies,
               const std::vector<Text>& texts);

 private:
  void warn(const std::string& why);

  const std::filesystem::path folder_;
  const Reporter& reporter_;
  std::atomic<bool> warned_{false};
};

}  // namespace kiln
