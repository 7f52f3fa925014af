#include "table.h"

#include <algorithm>
#include <array>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace kiln::cli {

namespace {

constexpr std::string_view gap = "  ";

// Where a byte is no UTF-8.
constexpr char32_t no_character = 0xffff'ffff;

struct Character {
  std::size_t length;  // Bytes.
  char32_t code_point;
};

// The first character of a text that is not empty. Takes no overlong spelling, no surrogate and nothing above U+10FFFF.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {1, no_character};
  char32_t code_point = lead & (0xffU >> (length + 1));
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xc0U) != 0x80) return {1, no_character};
    code_point = code_point << 6U | (byte(at) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x1'0000};
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (code_point < least.at(length) || surrogate || code_point > 0x10'ffff)
    return {1, no_character};
  return {length, code_point};
}

// Whether a terminal only shows it: no control character (C0, DEL, C1), and none that ends a line or turns the direction of
// those after it (Unicode's Bidi_Control).
bool is_harmless(char32_t code_point) {
  const auto within = [&](char32_t first, char32_t last) {
    return code_point >= first && code_point <= last;
  };
  return code_point != no_character && !within(0, 0x1f) && !within(0x7f, 0x9f) &&
         code_point != 0x61c && !within(0x200e, 0x200f) && !within(0x2028, 0x202e) &&
         !within(0x2066, 0x2069);
}

// Code points stand for columns: right for all that C++ names and paths usually hold.
std::size_t shown_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string padded(const std::string& cell, Align align, std::size_t width) {
  const std::string padding(width - std::min(width, shown_width(cell)), ' ');
  return align == Align::left ? cell + padding : padding + cell;
}

/// At most so many columns of it; "…" stands for the rest.
std::string cut(const std::string& cell, std::size_t width) {
  if (shown_width(cell) <= width) return cell;
  std::size_t end = 0;
  for (std::size_t columns = 0; end < cell.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(cell[end]) & 0xc0) != 0x80;
    if (begins && ++columns == width) break;
  }
  return cell.substr(0, end) + "…";
}

/// A column that is shown, and how wide.
struct Shown {
  std::size_t at = 0;
  Column column;
  std::size_t width = 0;
};

/// Fits columns into a width.
class Fitting {
 public:
  Fitting(std::vector<Shown> columns, std::size_t width)
      : columns_(std::move(columns)), width_(width) {}

  [[nodiscard]] std::vector<Shown> fitted() {
    cut_down_to(comfortable);
    while (excess() > 0 && drop()) {
    }
    cut_down_to(least);
    return columns_;
  }

 private:
  // Names of kernels and paths still tell something when they are so wide.
  static constexpr std::size_t comfortable = 24;
  static constexpr std::size_t least = 12;

  [[nodiscard]] std::size_t excess() const {
    std::size_t total = columns_.empty() ? 0 : gap.size() * (columns_.size() - 1);
    for (const auto& column : columns_) total += column.width;
    return total - std::min(total, width_);
  }

  // The widest text loses first; a number is never cut.
  void cut_down_to(std::size_t lowest) {
    const auto cuttable = [&](const Shown& shown) {
      return shown.column.align == Align::left ? std::max(shown.width, lowest) - lowest : 0;
    };
    for (auto over = excess(); over > 0; over = excess()) {
      const auto widest = std::ranges::max_element(columns_, {}, cuttable);
      if (widest == columns_.end() || cuttable(*widest) == 0) return;
      --widest->width;
    }
  }

  bool drop() {
    const auto first = std::ranges::max_element(
        columns_, {}, [](const Shown& shown) { return shown.column.dispensable; });
    if (first == columns_.end() || first->column.dispensable == 0) return false;
    columns_.erase(first);
    return true;
  }

  std::vector<Shown> columns_;
  std::size_t width_;
};

std::string joined(const std::vector<std::string>& cells, const std::vector<Shown>& columns) {
  std::string line;
  for (const auto& [at, column, width] : columns) {
    if (!line.empty()) line += gap;
    line += padded(cut(cells[at], width), column.align, width);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string printable(std::string_view text, std::string_view allowed) {
  std::string result;
  while (!text.empty()) {
    const auto [length, code_point] = first_of(text);
    const auto bytes = text.substr(0, length);
    const bool is_allowed = allowed.find(bytes) != std::string_view::npos;
    if (is_allowed || is_harmless(code_point)) {
      result += bytes;
    } else {
      for (const char c : bytes) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    text.remove_prefix(length);
  }
  return result;
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
  for (auto& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text(bool colour, std::size_t width) const {
  std::vector<std::string> headings;
  std::vector<Shown> columns;
  for (std::size_t at = 0; at < columns_.size(); ++at) {
    headings.push_back(columns_[at].heading);
    columns.push_back({at, columns_[at], shown_width(columns_[at].heading)});
  }
  for (const auto& row : rows_) {
    for (auto& column : columns) column.width = std::max(column.width, shown_width(row[column.at]));
  }
  columns = Fitting(std::move(columns), width).fitted();
  std::string result = bold(joined(headings, columns), colour) + '\n';
  for (const auto& row : rows_) result += joined(row, columns) + '\n';
  return result;
}

std::string field_list(const std::vector<Field>& fields, bool colour) {
  std::size_t width = 0;
  for (const auto& [label, value] : fields) width = std::max(width, shown_width(label));
  const std::string indentation(width + gap.size(), ' ');

  std::string result;
  for (const auto& [label, value] : fields) {
    result += bold(padded(label, Align::left, width), colour);
    result += gap;
    for (const char c : printable(value, "\n\t")) {
      result += c;
      if (c == '\n') result += indentation;
    }
    result += '\n';
  }
  return result;
}

std::string bold(std::string_view text, bool colour) {
  return colour ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  // What would be rounded to 1024.0 is 1.0 of the next unit.
  constexpr double next_unit = 1023.95;
  auto amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (amount >= next_unit && unit + 1 < units.size()) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", amount, units[unit]);
}

std::string format_duration(std::uint64_t microseconds) {
  if (microseconds == 0) return "-";
  const auto amount = static_cast<double>(microseconds);
  if (microseconds < 1'000) return fmt::format("{} us", microseconds);
  // From there on it would be rounded to 1000.0 ms.
  if (microseconds < 999'950) return fmt::format("{:.1f} ms", amount / 1e3);
  return fmt::format("{:.1f} s", amount / 1e6);
}

std::string format_age(std::int64_t then, std::int64_t now) {
  if (then == 0) return "-";
  constexpr std::int64_t minute = 60;
  constexpr std::int64_t hour = 60 * minute;
  constexpr std::int64_t day = 24 * hour;
  const auto seconds = std::max<std::int64_t>(now - then, 0);
  if (seconds < minute) return fmt::format("{}s", seconds);
  if (seconds < hour) return fmt::format("{}m", seconds / minute);
  if (seconds < day) return fmt::format("{}h", seconds / hour);
  return fmt::format("{}d", seconds / day);
}

std::string format_time(std::int64_t seconds_since_1970) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC",
                     fmt::gmtime(static_cast<std::time_t>(seconds_since_1970)));
}

}  // namespace kiln::cli
