#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/request.h"
#include "source/header_search.h"

namespace kiln {

/// The first look-ups that found the path and the file that another one finds: Dependency::same_path and same_file. A path
/// that leads into the same folder by another way is the same path.
struct Same {
  std::uint32_t path = Dependency::no_other;
  std::uint32_t file = Dependency::no_other;

  bool operator==(const Same&) const = default;
};

/// Tells which look-ups of a program find one path or one file. An embedded header is a file of its own.
class Identities {
 public:
  /// REQUIRES: no more look-ups than these.
  explicit Identities(std::size_t look_ups);

  /// To be called for each look-up in order, also for those that find nothing. If a header is only asked for, it does not
  /// matter which file it is. Borrows `found`.
  [[nodiscard]] Same add(const FoundHeader& found, Dependency::Reach reach);

 private:
  /// A path of a file, and the first look-up that found it so.
  struct Path {
    const FoundHeader* found = nullptr;
    std::uint32_t lookup = Dependency::no_other;
  };

  Path& first_of(const FoundHeader& found);

  std::uint32_t count_ = 0;
  std::vector<Path> first_;   ///< The first path of each file, hashed; a power of two, never full.
  std::vector<Path> others_;  ///< Of files with several paths, which are few.
};

}  // namespace kiln
