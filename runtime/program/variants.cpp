#include "program/variants.h"

#include <utility>

#include <fmt/format.h>

namespace kiln {

namespace {

bool is_for(const Architecture& since, const Architecture& target) {
  if (since.suffix == 'a') return target.suffix == 'a' && target.version == since.version;
  if (since.suffix == 'f' && (target.suffix == '\0' || target.major() != since.major()))
    return false;
  return since.version <= target.version;
}

int narrowness(const Architecture& since) {
  if (since.suffix == 'a') return 2;
  return since.suffix == 'f' ? 1 : 0;
}

bool is_more_specific(const Architecture& one, const Architecture& other) {
  return std::pair(narrowness(one), one.version) > std::pair(narrowness(other), other.version);
}

}  // namespace

Result<Architecture> read_since(std::string_view since) {
  const auto read = read_architecture(since);
  if (read && read->real) return *read;
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("since '{}' is no architecture: use sm_90a for that target alone, sm_100f "
                  "for its family, or sm_80 for it and all later ones",
                  since));
}

std::optional<std::size_t> choose_variant(const std::vector<Architecture>& since,
                                          const Architecture& target) {
  std::optional<std::size_t> best;
  for (std::size_t place = 0; place < since.size(); ++place) {
    if (!is_for(since[place], target)) continue;
    if (!best || is_more_specific(since[place], since[*best])) best = place;
  }
  return best;
}

}  // namespace kiln
