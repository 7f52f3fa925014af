#pragma once

#include <filesystem>
#include <optional>

#include "system/descriptor.h"

namespace kiln {

/// A folder of this process alone, 0700, below the directory for temporary files. The destructor removes it with all
/// that is in it. Whoever makes one removes those that killed processes left behind: each process holds a lock on its
/// own. Movable. Not synchronised.
class ScratchFolder {
 public:
  /// Nothing where no folder can be made: TMPDIR (else /tmp) may be full or not writable.
  [[nodiscard]] static std::optional<ScratchFolder> make();

  ScratchFolder(ScratchFolder&&) noexcept = default;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  ScratchFolder(std::filesystem::path path, system::Descriptor lock) noexcept;

  std::filesystem::path path_;
  system::Descriptor lock_;  ///< Nothing once it was moved from.
  int process_ = 0;          ///< A child that was forked does not remove its parent's.
};

}  // namespace kiln
