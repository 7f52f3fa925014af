#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "kiln/request.h"
#include "source/header_files.h"
#include "source/header_search.h"

namespace kiln {

/// One way in which recorded look-ups do not hold here.
struct HeaderDifference {
  enum class Kind {
    changed,            ///< Another content is found.
    appeared,           ///< Something is found where nothing was.
    elsewhere,          ///< Its path reached the output, and is another one.
    working_directory,  ///< It reached the output, and is another one. `lookup` means nothing.
    directories,        ///< Others hold what was asked for. `lookup` means nothing.
    embedded,           ///< Other headers are embedded. `lookup` means nothing.
    identity,  ///< It is one path or one file with another look-up's, and was not, or the reverse.
    touched,   ///< Its time reached the output, and is another one.
    untold,    ///< Nothing is found where `__has_include` found something.
    absent,    ///< Nothing is found where something was included. A compile here would fail.
  };
  Kind kind;
  std::size_t lookup = 0;
  std::string place = {};  ///< Where it is found now; empty where nothing is.
};

/// Gives "header engine/vec.cuh changed, reached through engine/attn.cuh". `through`: the includers, the nearest first.
[[nodiscard]] std::string in_words(const HeaderDifference& difference,
                                   const DependencySet& recorded,
                                   const std::vector<std::string>& through);

/// The spellings of a look-up's recorded parents, the nearest first.
[[nodiscard]] std::vector<std::string> parents_of(const DependencySet& recorded,
                                                  std::size_t lookup);

/// The result of replaying recorded look-ups.
struct Replayed {
  std::string
      difference;  ///< The first difference in a header that is here, in words; empty if there is none.
  std::string absence;     ///< The first recorded header that is not here, in words.
  std::size_t absent = 0;  ///< Recorded headers that are not here.
  bool compiles =
      true;  ///< False if one of them is included, so that a compile would fail for sure.
  std::vector<FoundHeader> found;  ///< Of each look-up, up to where the replay ended.

  /// Whether all is as it was recorded.
  [[nodiscard]] bool holds() const noexcept { return difference.empty() && absent == 0; }
};

/// Replays recorded look-ups against the headers of this machine. They hold if each finds the recorded content, at the recorded
/// path if there is one; if those that found one file still do; and if those that found nothing still do. A file whose stamp is
/// that of `witness` is not read. Ends at the first difference in a header that is here, unless `all` wants each; and at `end`, which
/// is a difference too: somebody else may have recorded what takes for ever.
[[nodiscard]] Replayed replay(
    const DependencySet& recorded, const HeaderSearch& search, const Witness* witness,
    HeaderFiles& files, std::vector<HeaderDifference>* all = nullptr,
    std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max());

}  // namespace kiln
