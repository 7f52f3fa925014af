#include "verbs/entry_list.h"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <optional>

#include <fmt/format.h>

#include "kiln/target.h"
#include "output.h"

namespace kiln::cli {

namespace {

/// Nothing for what is no age.
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

/// A fatbin is of several: "sm_80,sm_90a".
bool is_of(std::string_view archs, const std::vector<std::string>& wanted) {
  while (!archs.empty()) {
    const auto one = archs.substr(0, archs.find(','));
    if (std::ranges::count(wanted, one) != 0) return true;
    archs.remove_prefix(std::min(archs.size(), one.size() + 1));
  }
  return wanted.empty();
}

}  // namespace

bool matches(const std::string& glob, const std::string& text) {
  return glob.empty() || fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

bool is_of_engine(const EntrySummary& entry, const std::string& glob) {
  return glob.empty() || (!entry.engine.empty() && matches(glob, entry.engine));
}

std::chrono::seconds age_of(std::string_view option, const std::string& text) {
  const auto age = parse_age(text);
  if (!age) {
    refuse(ErrorCode::invalid_argument,
           fmt::format("{} {}: an age is a number below 2^32 and a unit, such as 30d, 12h or 90m",
                       option, text));
  }
  return *age;
}

void check_architectures(const ListWords& words) {
  // Entries of PTX are of virtual ones, too.
  for (const auto& arch : words.archs) {
    if (value_of("--arch", Target::parse(arch, ImageKind::ptx)).is_native()) {
      refuse(ErrorCode::invalid_argument,
             "--arch native: an entry is of an architecture by its name, such as sm_90");
    }
  }
}

std::vector<EntrySummary> wanted_entries(std::vector<EntrySummary> entries,
                                         const ListWords& words) {
  const bool any_age = words.age.empty();
  const auto age = any_age ? std::chrono::seconds() : age_of("--age", words.age);
  // What a bundle holds was made at a time that nobody knows, which is 0.
  const std::int64_t earliest = std::time(nullptr) - age.count();
  std::erase_if(entries, [&](const EntrySummary& entry) {
    const bool of_arch = words.archs.empty() || is_of(entry.arch, words.archs);
    const bool young = any_age || entry.created >= std::max<std::int64_t>(earliest, 1);
    return !of_arch || !young || !matches(words.program, entry.program) ||
           !is_of_engine(entry, words.engine);
  });
  return entries;
}

// In key order the nearest neighbours have the longest prefix in common.
std::size_t shortest_unique_prefix(const std::vector<EntrySummary>& entries) {
  std::size_t digits = 8;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const auto one = entries[i - 1].key.hex();
    const auto other = entries[i].key.hex();
    const auto differs = std::ranges::mismatch(one, other).in1;
    digits = std::max(digits, static_cast<std::size_t>(differs - one.begin()) + 1);
  }
  return digits;
}

std::string kernel_count_text(const EntrySummary& entry) {
  const bool is_counted = entry.kernels != 0 || entry.kind == to_string(ImageKind::cubin);
  return is_counted ? std::to_string(entry.kernels) : "-";
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string counted_of(std::size_t count, std::size_t all, std::string_view one,
                       std::string_view many) {
  return count == all ? counted(all, one, many)
                      : fmt::format("{} of {}", count, counted(all, one, many));
}

}  // namespace kiln::cli
