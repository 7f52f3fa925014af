#include "rows/removal_forecast.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kiln::storage {
namespace {

constexpr std::uint64_t page = 4096;

/// A row's share of a leaf, which holds as many as fit whole: one frees no page by itself, but with its neighbours.
std::uint64_t share_of_leaf(std::uint64_t bytes) {
  constexpr std::uint64_t room = page - 8 - 3;  // Without the page's header.
  constexpr std::uint64_t around_a_row = 4;
  return page / std::max<std::uint64_t>(1, room / (bytes + around_a_row));
}

/// What a row takes whose largest column has so many bytes: what does not fit into a leaf has pages of its own (SQLite's file
/// format, 1.6).
std::uint64_t bytes_of_row(std::uint64_t column) {
  constexpr std::uint64_t other_columns = 20;
  constexpr std::uint64_t largest_in_a_leaf = page - 35;
  constexpr std::uint64_t in_a_page_of_its_own = page - 4;
  constexpr std::uint64_t least_in_a_leaf = (page - 12) * 32 / 255 - 23;
  const auto bytes = column + other_columns;
  if (bytes <= largest_in_a_leaf) return share_of_leaf(bytes);
  const auto most = least_in_a_leaf + (bytes - least_in_a_leaf) % in_a_page_of_its_own;
  const auto in_the_leaf = most <= largest_in_a_leaf ? most : least_in_a_leaf;
  const auto pages = (bytes - in_the_leaf + in_a_page_of_its_own - 1) / in_a_page_of_its_own;
  return pages * page + share_of_leaf(in_the_leaf);
}

/// Of an entry: its other columns, its mark, and its places in indexes.
constexpr std::uint64_t bytes_beside_an_entry = 300;

}  // namespace

std::optional<RemovalForecast> RemovalForecast::read(Connection& connection) {
  RemovalForecast forecast(connection);
  const bool done =
      forecast.count(
          "SELECT dependencies, count(*) FROM entries WHERE dependencies IS NOT NULL GROUP BY 1",
          forecast.sets_) &&
      forecast.count("SELECT text, count(*) FROM set_texts GROUP BY 1", forecast.texts_) &&
      forecast.count(
          "SELECT texts.id, count(*) FROM entries JOIN texts ON texts.digest = entries.source "
          "GROUP BY 1",
          forecast.texts_);
  return done ? std::optional(std::move(forecast)) : std::nullopt;
}

bool RemovalForecast::count(const char* sql, Needs& needs) {
  Statement row(*connection_, sql);
  return row.for_each([&] { needs[row.integer(0)] += row.integer(1); });
}

std::optional<std::uint64_t> RemovalForecast::remove(std::int64_t entry) {
  std::uint64_t freed = 0;
  std::optional<std::int64_t> set;
  std::optional<std::int64_t> source;
  {
    Statement row(*connection_,
                  "SELECT length(payload) + length(material), dependencies, texts.id FROM entries "
                  "LEFT JOIN texts ON texts.digest = entries.source WHERE entries.id = ?",
                  entry);
    const auto found = row.next();
    if (!found) return std::nullopt;
    if (!*found) return 0;
    freed = bytes_of_row(row.count(0)) + bytes_beside_an_entry;
    if (!row.is_null(1)) set = row.integer(1);
    if (!row.is_null(2)) source = row.integer(2);
  }
  if (set && --sets_[*set] <= 0 && !remove_set(*set, freed)) return std::nullopt;
  if (source && !remove_text(*source, freed)) return std::nullopt;
  return freed;
}

bool RemovalForecast::remove_set(std::int64_t set, std::uint64_t& freed) {
  std::vector<std::int64_t> texts;
  {
    Statement row(*connection_, "SELECT text FROM set_texts WHERE dependencies = ?", set);
    if (!row.for_each([&] { texts.push_back(row.integer(0)); })) return false;
  }
  for (const char* const sql : {"SELECT length(frame) FROM dependency_sets WHERE id = ?",
                                "SELECT length(frame) FROM witnesses WHERE dependencies = ?"}) {
    Statement row(*connection_, sql, set);
    if (!row.for_each([&] { freed += bytes_of_row(row.count(0)); })) return false;
  }
  for (const auto text : texts) {
    if (!remove_text(text, freed)) return false;
  }
  return true;
}

bool RemovalForecast::remove_text(std::int64_t text, std::uint64_t& freed) {
  if (--texts_[text] > 0) return true;
  Statement row(*connection_, "SELECT length(frame) FROM texts WHERE id = ?", text);
  return row.for_each([&] { freed += bytes_of_row(row.count(0)); });
}

}  // namespace kiln::storage
