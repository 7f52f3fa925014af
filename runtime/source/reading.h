#pragma once

#include <cstdint>
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
  /// When it was first asked for, and when its text was first read: 0 where it was only looked at, as `__has_include`
  /// does. The first such event of a compile is 1, the next 2.
  std::uint32_t asked_at = 0;
  std::uint32_t read_at = 0;

  bool operator==(const Reading&) const = default;
};

/// An embedded header that the compiler read. Of one that it only looks for it tells nobody.
struct EmbeddedReading {
  std::string name;
  std::uint32_t read_at = 0;  ///< As of a Reading.

  bool operator==(const EmbeddedReading&) const = default;
};

/// All that a compile learned about files, in the order in which it first asked: what its output depends on,
/// beside the job itself.
struct Readings {
  std::vector<Reading> files;
  std::vector<EmbeddedReading> embedded;
  std::string working_directory;
  bool relative = false;  ///< A path was asked for that goes from there.
  std::string doubt;      ///< Why they may not be what the compiler went by; mostly empty.
};

}  // namespace kiln
