#include "table.h"

#include <algorithm>
#include <array>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace kiln::cli {

namespace {

constexpr std::string_view gap = "  ";

// Code points stand for columns: right for all that C++ names and paths usually hold.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string padded(const std::string& cell, Align align, std::size_t width) {
  const std::string padding(width - std::min(width, width_of(cell)), ' ');
  return align == Align::left ? cell + padding : padding + cell;
}

std::string joined(const std::vector<std::string>& cells, const std::vector<Column>& columns,
                   const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i != 0) line += gap;
    line += padded(cells[i], columns[i].align, widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string Table::text(bool colour) const {
  std::vector<std::string> headings;
  std::vector<std::size_t> widths;
  for (const auto& column : columns_) {
    headings.push_back(column.heading);
    widths.push_back(width_of(column.heading));
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string result = bold(joined(headings, columns_, widths), colour) + '\n';
  for (const auto& row : rows_) result += joined(row, columns_, widths) + '\n';
  return result;
}

std::string field_list(const std::vector<Field>& fields, bool colour) {
  std::size_t width = 0;
  for (const auto& [label, value] : fields) width = std::max(width, width_of(label));
  const std::string indentation(width + gap.size(), ' ');

  std::string result;
  for (const auto& [label, value] : fields) {
    result += bold(padded(label, Align::left, width), colour);
    result += gap;
    for (const char c : value) {
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
  auto amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < units.size()) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", amount, units[unit]);
}

std::string format_duration(std::uint64_t microseconds) {
  if (microseconds == 0) return "-";
  const auto amount = static_cast<double>(microseconds);
  if (microseconds < 1'000) return fmt::format("{} us", microseconds);
  if (microseconds < 1'000'000) return fmt::format("{:.1f} ms", amount / 1e3);
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
