#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/digest.h"
#include "kiln/request.h"

namespace kiln {

/// A path that the compiler asked for, and what it was told.
struct Reading {
  static constexpr std::uint32_t no_root = 0xffffffff;

  std::string path;  ///< On this machine.
  /// Below which include directory it was asked for, where that is known (Readings::rooted), and it was below one.
  std::uint32_t root = no_root;
  bool found = false;   ///< Whether a regular file was there.
  Digest content = {};  ///< Of its text.
  FileStamp stamp = {};
  /// When it was first asked for, and when its text was first read (0 if it was only looked at, as `__has_include` does).
  /// The first such event of a compile is 1, the next 2.
  std::uint32_t asked_at = 0;
  std::uint32_t read_at = 0;

  bool operator==(const Reading&) const = default;
};

/// An embedded header that the compiler read. If it only looks for one, it tells nobody.
struct EmbeddedReading {
  std::string name;
  std::uint32_t read_at = 0;  ///< As Reading::read_at.

  bool operator==(const EmbeddedReading&) const = default;
};

/// All that a compile learned about files, in the order in which it first asked. Its output depends on them and on the job.
struct Readings {
  std::vector<Reading> files;
  std::vector<EmbeddedReading> embedded;
  std::string working_directory;
  bool rooted = false;    ///< The include directories had names (NamedRoots).
  bool relative = false;  ///< It asked for a path that begins there.
  std::string doubt;      ///< Why the compiler may have gone by something else; mostly empty.
};

}  // namespace kiln
