#pragma once

#include "compile/file_snapshot.h"

namespace kiln {

/// While it lives, a snapshot answers NVRTC's questions about files on this thread. For that, kiln once replaces
/// the functions that NVRTC's libraries import: the replacements ask the thread's snapshot, or the C library where
/// the thread has none. NVRTC 12.0 to 13.5 ask with `__xstat` and `fopen(path, "r")` and read with `getc`; any
/// other way of asking makes the snapshot doubt.
///
/// Not to be nested.
class FileAnswers {
 public:
  /// False where no library of NVRTC is loaded, where its imports cannot be replaced, and where it has other imports
  /// than are known: then nobody can say what it reads.
  [[nodiscard]] static bool possible();

  /// `snapshot` must outlive this.
  explicit FileAnswers(FileSnapshot& snapshot);
  FileAnswers(const FileAnswers&) = delete;
  FileAnswers& operator=(const FileAnswers&) = delete;
  ~FileAnswers();
};

}  // namespace kiln
