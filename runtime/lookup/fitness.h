#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "image/toolchains.h"
#include "kiln/cache.h"
#include "kiln/digest.h"
#include "kiln/request.h"
#include "lookup/why_not.h"
#include "source/header_files.h"
#include "source/header_search.h"
#include "source/query.h"
#include "vendor/installed_compiler.h"

namespace kiln {

/// An image that is to be loaded: what a driver is asked to take.
struct Loading {
  int driver_version;     ///< 1000 * major + 10 * minor
  std::string_view kind;  ///< Of the image; of static lifetime.
};

/// Says of each stored entry whether it serves here, and tells `why_not` what speaks against it. An entry of this
/// machine's compiler goes before those of others: once all layers were asked in vain, widen() may change that. An
/// absent header is a difference like any other; trust() is the last resort, for a program that cannot be compiled
/// here at all. For one look-up, on one thread.
class Fitness {
 public:
  /// `eligible`: which other compilers' entries serve. `loading`: what the driver is too old for does not.
  Fitness(const Query& query, InstalledCompiler& compiler, const EligibleToolchains& eligible,
          HeaderFiles& files, WhyNot& why_not, std::optional<Loading> loading = {});

  bool operator()(const DependencySet& dependencies, const Toolchain& toolchain,
                  const Witness* witness, const SignedTexts* signed_texts);

  /// What takes longer to compare than until then does not serve.
  void end_at(std::chrono::steady_clock::time_point end) noexcept { end_ = end; }

  /// Whether to ask all layers again, for what differs in nothing but headers that are not here: where there is no
  /// compiler, or one of them is included, so that it would fail. With a compiler, only where there is but
  /// one such entry.
  bool trust();

  /// Whether to ask all layers again for what other compilers made.
  bool widen();

  /// Of the entry that was taken; mostly empty.
  [[nodiscard]] std::string remark() const;

  /// Whether the entry that was taken was trusted.
  [[nodiscard]] bool trusted() const noexcept { return trusted_ != 0; }

 private:
  bool refuse(std::string why);
  bool fits(const Toolchain& toolchain);
  bool are_texts(const SignedTexts& signed_texts, const DependencySet& dependencies,
                 const std::vector<FoundHeader>& found, const Witness* witness);

  const Query& query_;
  InstalledCompiler& compiler_;
  const EligibleToolchains& eligible_;
  HeaderFiles& files_;
  WhyNot& why_not_;
  const std::optional<Loading> loading_;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::time_point::max();
  bool trusting_ = false;
  bool wide_;            ///< Whether what other compilers made is looked at.
  bool others_ = false;  ///< Whether there is something of theirs.
  std::string made_by_;  ///< The other compiler of what was taken.
  std::size_t trusted_ = 0;
  std::set<Digest> on_trust_;
  std::string absence_;  ///< Of what may be trusted.
};

}  // namespace kiln
