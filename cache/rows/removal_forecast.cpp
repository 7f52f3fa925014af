#include "rows/removal_forecast.h"

#include <utility>
#include <vector>

namespace kiln::storage {
namespace {

/// The pages of one row: what does not fit into a leaf has pages of its own (SQLite's file format, 1.6). A small one frees none by
/// itself, but with its neighbours.
std::uint64_t bytes_of_row(std::uint64_t payload) {
  constexpr std::uint64_t page = 4096;
  constexpr std::uint64_t largest_in_a_leaf = page - 35;
  return payload <= largest_in_a_leaf ? payload : (payload + page - 1) / page * page;
}

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
    freed = bytes_of_row(row.count(0));
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
