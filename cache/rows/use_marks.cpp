#include "rows/use_marks.h"

#include <algorithm>
#include <string_view>

#include "rows/state.h"

namespace kiln::storage {
namespace {

constexpr std::string_view clock_name = "clock";

}  // namespace

bool mark_stored(Connection& connection, std::int64_t entry, std::uint64_t bytes) {
  const std::int64_t clock = state(connection, clock_name) + static_cast<std::int64_t>(bytes);
  return set_state(connection, clock_name, clock) &&
         connection.run(
             "INSERT INTO marks(entry, used, pinned) VALUES(?1, ?2, 0) "
             "ON CONFLICT(entry) DO UPDATE SET used = ?2",
             entry, clock);
}

std::set<std::int64_t> aged(Connection& connection, const std::set<std::int64_t>& used,
                            std::uint64_t age) {
  const std::int64_t before = state(connection, clock_name) - static_cast<std::int64_t>(age);
  std::set<std::int64_t> found;
  for (const std::int64_t entry : used) {
    const auto old =
        connection.has_row("SELECT 1 FROM marks WHERE entry = ? AND used < ?", entry, before);
    if (old == true) found.insert(entry);
  }
  return found;
}

bool mark_used(Connection& connection, const std::set<std::int64_t>& used) {
  const std::int64_t clock = state(connection, clock_name);
  return std::all_of(used.begin(), used.end(), [&](std::int64_t entry) {
    return connection.run("UPDATE marks SET used = ? WHERE entry = ?", clock, entry);
  });
}

}  // namespace kiln::storage
