#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <set>
#include <stop_token>
#include <vector>

#include "kiln/compiling.h"
#include "kiln/digest.h"

namespace kiln {

/// Behind everything that somebody asked for by itself.
constexpr int prefetch_priority = std::numeric_limits<int>::min();

/// Names the preprocessing directives that a program begins with, and what else programs must agree in to
/// share a precompiled header, as far as it can be told without looking at one.
[[nodiscard]] Digest prelude_text_of(const Program& asked, const Target& target);

/// Those that several items have.
[[nodiscard]] std::set<Digest> repeated_preludes(const std::vector<PrefetchItem>& items);

/// The items' indices, such that those which begin alike and are for one target follow each other; groups
/// in the order of their first items, items of one group in their own.
[[nodiscard]] std::vector<std::size_t> in_groups(const std::vector<PrefetchItem>& items);

/// What an item that was begun tells, on any thread.
struct PrefetchNews {
  std::function<void()> when_compiled;  ///< As CompileControl has it.
  std::function<void()> when_ready;     ///< As Compiling::State has it.
};

/// Begins one item.
using BeginItem = std::function<Compiling(const PrefetchItem& item, PrefetchNews news)>;

/// Has all items, for so many workers, each of which gets one group after the other in the order above and,
/// where none is left, the half by cost of what another one has left. A group of items that begin alike is
/// shared out only where it is long. A worker's next item is begun when the one before has left the compiler, so few
/// are on their way at one time; no artifact is kept. Everything is called on the calling thread.
[[nodiscard]] PrefetchReport prefetch_all(const std::vector<PrefetchItem>& items,
                                          std::size_t workers, const BeginItem& begin,
                                          const PrefetchProgress& progress,
                                          const std::stop_token& stop);

}  // namespace kiln
