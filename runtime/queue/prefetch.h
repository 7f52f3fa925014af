#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <set>
#include <stop_token>
#include <vector>

#include "kiln/compiling.h"
#include "kiln/digest.h"
#include "source/directives.h"

namespace kiln {

/// Comes after everything that somebody asked for by itself.
constexpr int prefetch_priority = std::numeric_limits<int>::min();

/// Names the preprocessing directives that a program begins with, and what else programs must agree in to
/// share a precompiled header, as far as that can be told without reading a header. `source`: what the program's says.
[[nodiscard]] Digest prelude_text_of(const Program& program, const Target& target,
                                     const Directives& source);

/// The names, as prelude_text_of() gives them, that several items have.
[[nodiscard]] std::set<Digest> repeated_preludes(const std::vector<PrefetchItem>& items);

/// The items' indices. Items that begin alike and are for one target are a group, and follow each other. Groups
/// stand in the order of their first items, and the items of a group in their own.
[[nodiscard]] std::vector<std::size_t> in_groups(const std::vector<PrefetchItem>& items);

/// What an item calls, on any thread, once it was begun.
struct PrefetchNews {
  std::function<void()> when_compiled;  ///< As CompileControl has it.
  std::function<void()> when_ready;     ///< As Compiling::State has it.
};

/// Begins one item.
using BeginItem = std::function<Compiling(const PrefetchItem& item, PrefetchNews news)>;

/// Compiles all items, for so many workers. Each worker takes one group after the other, in the order above. Where no
/// group is left, an idle worker takes half of what the busiest worker has left, by cost, unless that would take
/// longer: so only a long group is divided. A worker's next item is begun when the one before has left the compiler,
/// so that few are on their way at one time. No artifact is kept. `begin` and `progress` are called on the
/// calling thread.
[[nodiscard]] PrefetchReport prefetch_all(const std::vector<PrefetchItem>& items,
                                          std::size_t workers, const BeginItem& begin,
                                          const PrefetchProgress& progress,
                                          const std::stop_token& stop);

}  // namespace kiln
