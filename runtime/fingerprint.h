#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_on_this_machine.h"
#include "header_files.h"
#include "header_search.h"
#include "kiln/program.h"
#include "kiln/request.h"
#include "kiln/target.h"

namespace kiln {

/// The first step of the key: what was asked for. REQUIRES: target is not native.
[[nodiscard]] Request request_of(const Program& program, const Target& target);

/// One way in which recorded look-ups do not hold here.
struct HeaderDifference {
  enum class Kind {
    changed,            ///< Another content is found.
    appeared,           ///< Something is found where nothing was.
    elsewhere,          ///< Its path reached the output, and is another one.
    working_directory,  ///< It reached the output, and is another one. `lookup` means nothing.
    absent,             ///< Nothing is found: holds on trust, so alone it is no difference.
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
  std::string difference;   ///< The first that does not hold, in words; empty when all does.
  std::size_t trusted = 0;  ///< Recorded headers that are not on this machine.
};

/// Replays recorded look-ups against the headers of this machine. They hold if each header that is
/// found here has the recorded content (and path, where one is recorded), and each that was absent
/// still is. A recorded header that is not found holds on trust: a machine without headers can be
/// served. A file that looks as `witness` says is not read. Ends at the first difference, unless `all`
/// wants each.
[[nodiscard]] Replayed replay(const DependencySet& recorded, const HeaderSearch& search,
                              const Witness* witness, HeaderFiles& files,
                              std::vector<HeaderDifference>* all = nullptr);

/// An image that is to be loaded: what a driver is asked to take.
struct Loading {
  int driver_version;     ///< 1000 * major + 10 * minor
  std::string_view kind;  ///< Of the image; of static lifetime.
};

/// Says of each stored entry whether it serves here, and remembers why not. What this machine's compiler
/// made goes before what others made, and headers that are not on this machine are first not trusted: once
/// all layers were asked in vain, trust() and then widen() may change that. For one look-up, on one thread.
class Fitness {
 public:
  /// `loading`: what the driver is too old for does not serve.
  Fitness(const HeaderSearch& search, CompilerOnThisMachine& compiler, HeaderFiles& files,
          std::optional<Loading> loading = {});

  bool operator()(const DependencySet& dependencies, const Toolchain& toolchain,
                  const Witness* witness);

  /// Whether to ask all layers again: where there is but one entry to trust, or no compiler to find
  /// out the truth.
  bool trust();

  /// Whether to ask all layers again for what other compilers made.
  bool widen();

  /// What speaks against the newest entry; empty when there is none.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }

  /// Of the entry that was taken; mostly empty.
  [[nodiscard]] std::string remark() const;

 private:
  bool refuse(std::string why);
  bool fits(const Toolchain& toolchain);

  const HeaderSearch& search_;
  CompilerOnThisMachine& compiler_;
  HeaderFiles& files_;
  const std::optional<Loading> loading_;
  bool trusting_ = false;
  bool wide_;            ///< Whether what other compilers made is looked at.
  bool others_ = false;  ///< Whether there is something of theirs.
  std::string made_by_;  ///< The other compiler of what was taken.
  std::size_t trusted_ = 0;
  std::set<Digest> on_trust_;
  std::string why_not_;
};

}  // namespace kiln
