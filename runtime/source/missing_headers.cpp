#include "source/missing_headers.h"

#include <cstddef>
#include <set>

namespace kiln {

std::vector<std::string> missing_headers(const Closure& closure) {
  const auto& lookups = closure.dependencies.lookups;
  std::set<std::string> told;
  for (const auto& lookup : lookups) {
    if (lookup.tested) told.insert(lookup.spelling);
  }
  std::vector<std::string> missing;
  for (std::size_t at = 0; at < lookups.size(); ++at) {
    const auto includer = closure.includers[at];
    const bool by_toolkit =
        includer != Dependency::source_parent && closure.found[includer].in_toolkit;
    if (closure.found[at].found() || by_toolkit) continue;
    if (told.insert(lookups[at].spelling).second) missing.push_back(lookups[at].spelling);
  }
  return missing;
}

}  // namespace kiln
