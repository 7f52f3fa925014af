#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "kiln/error.h"
#include "system/descriptor.h"

namespace kiln {

/// A folder for files whose names somebody else chose. Nothing outside it is written, whatever the names are and
/// whatever lies in it: no name leads upwards, and no link in it is followed. It is a folder of kiln's own, which a
/// file in it marks, so that no name meets a file of the user's. Movable. Safe to use from any thread.
class ContainedFolder {
 public:
  /// Makes it where there is none. Errors: invalid_argument for a folder that holds other things; io_failed.
  [[nodiscard]] static Result<ContainedFolder> make(const std::filesystem::path& folder);

  /// Writes a file below it, and the folders on the way. The file appears whole or not at all, and replaces what had
  /// its name. `name` is a path; empty parts and a slash in front count for nothing. `modified_ns` is the time that the file
  /// is given, in nanoseconds since 1970; 0 for now.
  /// Errors: invalid_argument for a name with "..", a control character, or none at all; io_failed, also where a link or
  /// a file lies on the way. All name the file.
  [[nodiscard]] Outcome write(std::string_view name, std::string_view text,
                              std::int64_t modified_ns) const;

 private:
  ContainedFolder(std::filesystem::path path, system::Descriptor folder) noexcept;

  std::filesystem::path path_;
  system::Descriptor folder_;
};

}  // namespace kiln
