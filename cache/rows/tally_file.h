#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "file/private_path.h"
#include "kiln/cache.h"
#include "kiln/error.h"

namespace kiln::storage {

// What tools counted and did not tell the database, in a text file beside it, so that their hits change no database.
// A line is a day and its counters, each with its sum, the earliest day first:
//
//     20781 hits_local=5 saved_us=190000
//
// Days are counted from 1970-01-01, in UTC; day 0 is the sum of all that are more than days_kept old.

inline constexpr const char* tally_file_name = "kernels.v1.tally";
inline constexpr std::int64_t older_days = 0;

/// Nothing where `text` is none that tally_text() gives, but for counters of a later version, which are left out.
[[nodiscard]] std::optional<std::vector<DayCounters>> parse_tally(std::string_view text);
[[nodiscard]] std::string tally_text(const std::vector<DayCounters>& days);

/// What the file in `directory` holds; nothing where there is none. Errors: cache_unusable where it is not private;
/// io_failed where it cannot be read or is not as kiln wrote it.
[[nodiscard]] Result<std::vector<DayCounters>> read_tally_file(
    const std::filesystem::path& directory, const Trust& trust);

/// Adds to today. The new file takes the old one's place whole; one that is not as kiln wrote it begins anew.
/// REQUIRES: the writers' lock. Errors: cache_unusable where the old file is not private; io_failed.
[[nodiscard]] Outcome add_to_tally_file(const std::filesystem::path& directory, const Trust& trust,
                                        const CacheCounters& counters);

/// REQUIRES: the writers' lock. Errors: io_failed.
[[nodiscard]] Outcome remove_tally_file(const std::filesystem::path& directory);

}  // namespace kiln::storage
