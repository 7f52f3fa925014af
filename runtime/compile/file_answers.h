#pragma once

#include "compile/file_snapshot.h"

namespace kiln {

/// Answers NVRTC's questions about files on this thread from a snapshot, while it lives: the functions that
/// the libraries of NVRTC import for that are replaced, once, by ones that ask the thread's snapshot, or the
/// C library where there is none. NVRTC 12.0 to 13.5 ask with `__xstat` and `fopen(path, "r")` and
/// read with `getc`; what else could tell them of a file makes the snapshot doubt.
///
/// Not to be nested.
class FileAnswers {
 public:
  /// False where no library of NVRTC is loaded, or its imports cannot be replaced or are others than are known: then nobody can say
  /// what it reads.
  [[nodiscard]] static bool possible();

  /// `snapshot` must outlive this.
  explicit FileAnswers(FileSnapshot& snapshot);
  FileAnswers(const FileAnswers&) = delete;
  FileAnswers& operator=(const FileAnswers&) = delete;
  ~FileAnswers();
};

}  // namespace kiln
