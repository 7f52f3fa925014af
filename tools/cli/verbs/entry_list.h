#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/cache.h"
#include "words.h"

namespace kiln::cli {

/// Whether a text fits a shell's glob; everything fits the empty one.
[[nodiscard]] bool matches(const std::string& glob, const std::string& text);

/// Whether an entry is of an engine that fits the glob; every entry fits the empty one, and one of no engine fits no other.
[[nodiscard]] bool is_of_engine(const EntrySummary& entry, const std::string& glob);

/// The age that an option gives: "90s", "12h", "30d". Errors: invalid_argument, naming the option.
[[nodiscard]] std::chrono::seconds age_of(std::string_view option, const std::string& text);

/// Refuses an --arch that no entry can be of. Errors: those of Target::parse().
void check_architectures(const ListWords& words);

/// The entries that the words ask for, in the order given; whatever their kernels are. Errors: invalid_argument.
[[nodiscard]] std::vector<EntrySummary> wanted_entries(std::vector<EntrySummary> entries,
                                                       const ListWords& words);

/// Sorts the rows of a list, and keeps those that are asked for.
template <class Row, class Order>
void arrange(std::vector<Row>& rows, const Order& order, const ListWords& words) {
  std::stable_sort(rows.begin(), rows.end(), order);
  if (words.reverse) std::reverse(rows.begin(), rows.end());
  if (words.limit && *words.limit < rows.size())
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(*words.limit), rows.end());
}

/// How many of a key's first digits tell each of these entries from the others; 8 at least. REQUIRES: `entries` in key order.
[[nodiscard]] std::size_t shortest_unique_prefix(const std::vector<EntrySummary>& entries);

/// How many kernels an entry has; "-" where nobody counted them: of images other than cubins those alone that were asked for.
[[nodiscard]] std::string kernel_count_text(const EntrySummary& entry);

/// "3 entries", "1 entry".
[[nodiscard]] std::string counted(std::size_t count, std::string_view one, std::string_view many);

/// "3 entries"; "3 of 20 entries" where a limit left others out.
[[nodiscard]] std::string counted_of(std::size_t count, std::size_t all, std::string_view one,
                                     std::string_view many);

}  // namespace kiln::cli
