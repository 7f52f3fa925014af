#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/scratch_folder.h"
#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/headers.h"
#include "kiln/request.h"

namespace kiln {

/// The headers of records as files: each list of them in an include directory of its own, below a folder for temporary files that
/// goes with this. Safe to use from any thread.
class RecordedTrees {
 public:
  /// Whether a search of a directory finds a file under this name, and nothing outside is meant by it.
  [[nodiscard]] static bool can_hold(std::string_view name);

  /// The include directory of these headers, each under its name. REQUIRES: can_hold() each name. Errors: io_failed.
  [[nodiscard]] Result<std::filesystem::path> directory_of(
      const std::vector<HeaderSet::SharedText>& headers);

  /// A compiler's message, its headers by the names that they are included by.
  [[nodiscard]] std::string without_folders(std::string message) const;

  /// Why an image that depends on these headers is of no use: where one of them lay meanwhile counts. Empty if it does not.
  [[nodiscard]] std::string told_by(const DependencySet& dependencies) const;

 private:
  /// What each of their paths begins with; empty while there is none.
  [[nodiscard]] std::string beginning() const;

  mutable std::mutex mutex_;
  std::optional<ScratchFolder> folder_;
  std::set<Digest> laid_out_;  ///< Lists of headers, whole.
};

}  // namespace kiln
