#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::cli {

enum class Align { left, right };

struct Column {
  std::string heading;
  Align align = Align::left;
  int dispensable =
      0;  ///< Where there is no room, columns of the greatest number go first; those of 0 stay.
};

/// A width that nothing exceeds, as of a file.
inline constexpr std::size_t any_width = std::numeric_limits<std::size_t>::max();

/// Rows of text under headings, each column as wide as its widest cell.
class Table {
 public:
  explicit Table(std::vector<Column> columns);

  /// Control characters are spelled out. REQUIRES: as many cells as there are columns.
  void add(std::vector<std::string> cells);

  /// One line per row; with colour the headings stand out. Lines that would be wider than `width` lose the ends of long
  /// cells, which are marked with "…", and dispensable columns. What nobody can do without stays, however wide.
  [[nodiscard]] std::string text(bool colour, std::size_t width = any_width) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Spells out what a terminal would not merely show - control characters but for those allowed, those that turn the direction
/// of a text, bytes that are no UTF-8. Names come from bundles that others write: an escape among them
/// must not reach the terminal, nor a line break a table.
[[nodiscard]] std::string printable(std::string_view text, std::string_view allowed = {});

/// A label and what belongs to it; further lines of the value are indented below the first.
using Field = std::pair<std::string, std::string>;

/// Labels in one column, values beside them; with colour the labels stand out.
[[nodiscard]] std::string field_list(const std::vector<Field>& fields, bool colour);

[[nodiscard]] std::string bold(std::string_view text, bool colour);

/// "-" for what is empty.
[[nodiscard]] std::string or_dash(const std::string& text);

/// "512 B", "26.3 KiB", "1.9 MiB".
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

/// "870 us", "38.1 ms", "1.2 s"; "-" for none, as of what came from a bundle.
[[nodiscard]] std::string format_duration(std::uint64_t microseconds);

/// How long ago, in the largest unit that fits: "12s", "5m", "3h", "40d"; "-" for a time
/// that is not known, 0. Seconds since 1970.
[[nodiscard]] std::string format_age(std::int64_t then, std::int64_t now);

/// UTC, e.g. "2026-01-31 12:00:00 UTC".
[[nodiscard]] std::string format_time(std::int64_t seconds_since_1970);

}  // namespace kiln::cli
