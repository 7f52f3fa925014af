#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "json.h"
#include "kiln/size.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

/// "90s", "12h", "30d"; nothing for anything else.
std::optional<std::chrono::seconds> parse_age(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end + 1 != text.data() + text.size()) return std::nullopt;
  const std::chrono::seconds amount(number);
  switch (*end) {
    case 's':
      return amount;
    case 'm':
      return 60 * amount;
    case 'h':
      return 3'600 * amount;
    case 'd':
      return 86'400 * amount;
    case 'w':
      return 7 * 86'400 * amount;
    default:
      return std::nullopt;
  }
}

GcOptions parse(const GcWords& words, std::uint64_t usual_cap) {
  GcOptions options{.dry_run = words.dry_run};
  if (!words.max_size.empty()) {
    options.max_bytes = parse_bytes(words.max_size);
    if (!options.max_bytes) {
      refuse(ErrorCode::invalid_argument,
             fmt::format("--max-size {}: a size is a number and a unit, such as 500M, 1.5G or 5GiB",
                         words.max_size));
    }
  }
  if (!words.older_than.empty()) {
    options.older_than = parse_age(words.older_than);
    if (!options.older_than) {
      refuse(ErrorCode::invalid_argument,
             fmt::format("--older-than {}: an age is a number and a unit, such as 30d, 12h or 90m",
                         words.older_than));
    }
  }
  if (!options.max_bytes && !options.older_than) options.max_bytes = usual_cap;
  return options;
}

}  // namespace

ExitCode collect(const Globals& globals, const GcWords& words) {
  const auto options = parse(words, settings_of(globals).cache_max_bytes);
  auto cache = words.dry_run ? open_for_inspection(globals).value() : open_for_change(globals);
  const auto removed = cache.collect(options).value();
  auto document = removed_json(removed);
  document["dry_run"] = words.dry_run;
  print_report(globals, document,
               fmt::format("{} {} entries, {}\n", words.dry_run ? "would remove" : "removed",
                           removed.entries, format_bytes(removed.bytes)));
  return ExitCode::done;
}

}  // namespace kiln::cli
