#include "rows/tally_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "rows/history.h"
#include "rows/tally.h"
#include "system/descriptor.h"
#include "system/standard_streams.h"
#include "system/whole_io.h"

namespace kiln::storage {
namespace {

/// A year's lines take some 100 KB at most; no file of kiln's is larger.
constexpr std::size_t most_bytes = std::size_t{1} << 20;

/// Takes the next number of `text` away from it; nothing where it does not begin with one.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// What stands before the separator, which goes with it; nothing where there is none.
std::optional<std::string_view> take_until(std::string_view& text, char separator) {
  const auto end = text.find(separator);
  if (end == std::string_view::npos) return std::nullopt;
  const auto part = text.substr(0, end);
  text.remove_prefix(end + 1);
  return part;
}

bool is_counter_name(std::string_view name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_";
  return !name.empty() && name.find_first_not_of(letters) == std::string_view::npos;
}

std::optional<DayCounters> parse_line(std::string_view line) {
  const auto day = take_number<std::int64_t>(line);
  if (!day || *day < 0) return std::nullopt;
  DayCounters counted{*day, {}};
  while (line.starts_with(' ')) {
    line.remove_prefix(1);
    const auto name = take_until(line, '=');
    const auto value =
        name && is_counter_name(*name) ? take_number<std::uint64_t>(line) : std::nullopt;
    if (!value) return std::nullopt;
    const auto at = counter_of_name(*name);
    if (at < counter_count) counted.counters.values[at] = *value;
  }
  return line.empty() ? std::optional(counted) : std::nullopt;
}

Error failure(const std::filesystem::path& file, std::string_view what) {
  return {ErrorCode::io_failed,
          fmt::format("{} {}: {}", what, file.string(), std::generic_category().message(errno)),
          {},
          0};
}

Outcome replace(const std::filesystem::path& file, const Trust& trust, std::string_view text) {
  // The writers' lock makes this name its holder's own; whatever lies there, a killed writer left.
  const auto next = file.string() + ".new";
  static_cast<void>(::unlink(next.c_str()));
  const system::Descriptor open(make_file(next, O_WRONLY, trust));
  if (open.get() >= 0 && system::write_whole(open.get(), text) &&
      ::rename(next.c_str(), file.c_str()) == 0)
    return {};
  auto error = failure(file, "cannot write");
  static_cast<void>(::unlink(next.c_str()));
  return tl::unexpected(std::move(error));
}

/// Makes one line of all days that are too old to be told apart.
void fold_days_before(std::vector<DayCounters>& days, std::int64_t day) {
  CacheCounters older;
  const auto kept = std::ranges::find_if(days, [&](const auto& it) { return it.day >= day; });
  for (auto it = days.begin(); it != kept; ++it) add(older, it->counters);
  days.erase(days.begin(), kept);
  if (older != CacheCounters()) days.insert(days.begin(), {older_days, older});
}

}  // namespace

std::optional<std::vector<DayCounters>> parse_tally(std::string_view text) {
  std::vector<DayCounters> days;
  while (!text.empty()) {
    const auto line = take_until(text, '\n');
    const auto day = line ? parse_line(*line) : std::nullopt;
    if (!day || (!days.empty() && days.back().day >= day->day)) return std::nullopt;
    days.push_back(*day);
  }
  return days;
}

std::string tally_text(const std::vector<DayCounters>& days) {
  std::string text;
  for (const auto& [day, counters] : days) {
    text += std::to_string(day);
    for (std::size_t at = 0; at < counter_count; ++at) {
      if (counters.values[at] == 0) continue;
      text += fmt::format(" {}={}", to_string(static_cast<Counter>(at)), counters.values[at]);
    }
    text += '\n';
  }
  return text;
}

Result<std::vector<DayCounters>> read_tally_file(const std::filesystem::path& directory,
                                                 const Trust& trust) {
  const auto file = directory / tally_file_name;
  const auto opened = open_private_file(file, trust);
  if (!opened) return tl::unexpected(opened.error());
  if (*opened < 0) return std::vector<DayCounters>();
  const system::Descriptor open(*opened);
  const auto text = system::read_whole(open.get(), most_bytes);
  if (!text) return tl::unexpected(failure(file, "cannot read"));
  auto days = text->size() <= most_bytes ? parse_tally(*text) : std::nullopt;
  if (days) return std::move(*days);
  return fail(ErrorCode::io_failed,
              fmt::format("tally '{}' is not as kiln wrote it", file.string()));
}

Outcome add_to_tally_file(const std::filesystem::path& directory, const Trust& trust,
                          const CacheCounters& counters) {
  auto days = read_tally_file(directory, trust);
  if (!days && days.error().code != ErrorCode::io_failed) return tl::unexpected(days.error());
  auto now = std::move(days).value_or(std::vector<DayCounters>());
  const auto today = this_day();
  fold_days_before(now, today - days_kept);
  add_to_day(now, today, counters);
  return replace(directory / tally_file_name, trust, tally_text(now));
}

Outcome remove_tally_file(const std::filesystem::path& directory) {
  const auto file = directory / tally_file_name;
  if (::unlink(file.c_str()) == 0 || errno == ENOENT) return {};
  return tl::unexpected(failure(file, "cannot remove"));
}

}  // namespace kiln::storage
