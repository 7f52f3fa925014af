#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "image/toolchains.h"
#include "kiln/request.h"
#include "source/header_files.h"
#include "source/header_search.h"
#include "vendor/compiler_on_this_machine.h"

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
    identity,           ///< Found is one path or one file with another look-up's, or no longer so.
    touched,            ///< Its time reached the output, and is another one.
    untold,             ///< Nothing is found where something was asked for and was there.
    absent,  ///< Nothing is found where something was included: a compile here would fail.
  };
  Kind kind;
  std::size_t lookup = 0;
  std::string place = {};  ///< Where it is found now; empty where nothing is.
};

/// "header engine/vec.cuh changed, reached through engine/attn.cuh". `through`: the includers, the
/// nearest first.
[[nodiscard]] std::string in_words(const HeaderDifference& difference,
                                   const DependencySet& recorded,
                                   const std::vector<std::string>& through);

/// The spellings of a look-up's recorded parents, the nearest first.
[[nodiscard]] std::vector<std::string> parents_of(const DependencySet& recorded,
                                                  std::size_t lookup);

/// What replaying recorded look-ups came to.
struct Replayed {
  std::string difference;  ///< The first in what is here, in words; empty where there is none.
  std::string absence;     ///< The first recorded header that is not here, in words.
  std::size_t absent = 0;  ///< Recorded headers that are not here.
  bool compiles =
      true;  ///< False where one of them is included, so that a compile would fail for sure.

  /// Whether all is as it was recorded.
  [[nodiscard]] bool holds() const noexcept { return difference.empty() && absent == 0; }
};

/// Replays recorded look-ups against the headers of this machine. They hold if each finds the recorded content (at the
/// recorded path, where one is), what was one file still is one, and what was absent still is. A file that looks as
/// `witness` says is not read. Ends at the first difference in what is here, unless `all` wants each.
[[nodiscard]] Replayed replay(const DependencySet& recorded, const HeaderSearch& search,
                              const Witness* witness, HeaderFiles& files,
                              std::vector<HeaderDifference>* all = nullptr);

/// An image that is to be loaded: what a driver is asked to take.
struct Loading {
  int driver_version;     ///< 1000 * major + 10 * minor
  std::string_view kind;  ///< Of the image; of static lifetime.
};

/// Says of each stored entry whether it serves here, and remembers why not. What this machine's compiler
/// made goes before what others made: once all layers were asked in vain, widen() may change that. An absent
/// header is a difference like any other; trust() is the last resort, for what cannot be compiled here at all. For
/// one look-up, on one thread.
class Fitness {
 public:
  /// `eligible`: which other compilers' entries serve. `loading`: what the driver is too old for does not.
  Fitness(const HeaderSearch& search, CompilerOnThisMachine& compiler,
          const EligibleToolchains& eligible, HeaderFiles& files,
          std::optional<Loading> loading = {});

  bool operator()(const DependencySet& dependencies, const Toolchain& toolchain,
                  const Witness* witness);

  /// Whether to ask all layers again, for what differs in nothing but headers that are not here: where there is no
  /// compiler, or one of them is included, so that it would fail. With a compiler, only where there is but
  /// one such entry.
  bool trust();

  /// Whether to ask all layers again for what other compilers made.
  bool widen();

  /// What speaks against the newest entry; empty when there is none.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }

  /// Of the entry that was taken; mostly empty.
  [[nodiscard]] std::string remark() const;

  /// Whether the entry that was taken was trusted.
  [[nodiscard]] bool trusted() const noexcept { return trusted_ != 0; }

 private:
  bool refuse(std::string why);
  bool fits(const Toolchain& toolchain);

  const HeaderSearch& search_;
  CompilerOnThisMachine& compiler_;
  const EligibleToolchains& eligible_;
  HeaderFiles& files_;
  const std::optional<Loading> loading_;
  bool trusting_ = false;
  bool wide_;            ///< Whether what other compilers made is looked at.
  bool others_ = false;  ///< Whether there is something of theirs.
  std::string made_by_;  ///< The other compiler of what was taken.
  std::size_t trusted_ = 0;
  std::set<Digest> on_trust_;
  std::string absence_;  ///< Of what may be trusted.
  std::string why_not_;
};

}  // namespace kiln
