#pragma once

#include <string>
#include <vector>

#include "kiln/digest.h"
#include "kiln/request.h"

namespace kiln {

/// A path that the compiler asked for, and what it was told.
struct Reading {
  std::string path;     ///< As the compiler spelled it.
  bool found = false;   ///< Whether a regular file was there.
  Digest content = {};  ///< Of its text.
  FileStamp stamp = {};

  bool operator==(const Reading&) const = default;
};

/// All that a compile learned about files, in the order in which it first asked: what its output depends on,
/// beside the job itself.
struct Readings {
  std::vector<Reading> files;
  std::vector<std::string> embedded;  ///< The embedded headers that were read.
  std::string working_directory;
  bool relative = false;  ///< A path was asked for that goes from there.
  std::string doubt;      ///< Why they may not be what the compiler went by; mostly empty.
};

}  // namespace kiln
