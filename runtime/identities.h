#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "header_search.h"
#include "kiln/request.h"

namespace kiln {

/// The first look-ups that found the same as another: Dependency::same_path and same_file. A path by another way
/// into the same folder is the same path.
struct Same {
  std::uint32_t path = Dependency::no_other;
  std::uint32_t file = Dependency::no_other;

  bool operator==(const Same&) const = default;
};

/// Tells which look-ups of a program find one path or one file. An embedded header is a file of its own.
class Identities {
 public:
  /// For about so many look-ups.
  explicit Identities(std::size_t look_ups) { first_.reserve(look_ups); }

  /// To be called for each look-up in order, also for those that find nothing. Of what is only there it does not matter
  /// which file it is.
  [[nodiscard]] Same add(const FoundHeader& found, Dependency::Reach reach);

 private:
  struct File {
    std::uint64_t device;
    std::uint64_t inode;

    bool operator==(const File&) const = default;
  };
  struct FileHash {
    std::size_t operator()(const File& file) const noexcept {
      return static_cast<std::size_t>((file.inode + file.device * 0x9e3779b97f4a7c15u) *
                                      0xff51afd7ed558ccdu);
    }
  };
  // The first look-up that found a file by this path.
  struct Path {
    std::string_view place;
    std::uint32_t lookup;
  };

  std::uint32_t count_ = 0;
  std::unordered_map<File, Path, FileHash> first_;  ///< Of each file.
  std::vector<std::pair<File, Path>> others_;       ///< Of files with several paths, which are few.
};

}  // namespace kiln
