#include "lookup/nearest_entry.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kiln/link.h"
#include "lookup/replay.h"
#include "lookup/request_differences.h"

namespace kiln {

namespace {

using Field = Difference::Field;
using Kind = HeaderDifference::Kind;

// Looks at the headers of so many entries: those whose requests are nearest.
constexpr std::size_t most_finalists = 8;
constexpr std::size_t longest_chain = 4;

constexpr unsigned toolchain_weight = 8;
// A new version of a library changes hundreds of headers, and is one change to the person who installed it.
constexpr unsigned most_header_weight = 6;

struct NearCandidate {
  StoredRequest entry;
  Layers::Store store;
  WeighedDifferences found;
};

class NearestSearch {
 public:
  NearestSearch(const Missed& missed, Layers& layers, HeaderFiles& files)
      : missed_(missed), layers_(layers), files_(files) {}

  std::optional<NearestEntry> run(const AlikeLimits& limits) {
    auto finalists = finalists_of(limits);
    if (finalists.empty()) return std::nullopt;
    for (auto& finalist : finalists) compare_headers(finalist);
    auto& nearest = *std::min_element(finalists.begin(), finalists.end(), is_nearer);
    tell_source(nearest);
    if (nearest.found.differences.empty()) {
      // It would serve, were it not for what the look-up met.
      nearest.found.differences.push_back(
          {Field::entry, fmt::format("the entry cannot be used: {}", missed_.reason)});
    }
    return result(std::move(nearest));
  }

 private:
  static bool is_nearer(const NearCandidate& one, const NearCandidate& other) {
    return one.found.weight < other.found.weight;
  }

  // Picks those whose requests are nearest. Of equal ones, those of the layer that is asked first, then the newer.
  std::vector<NearCandidate> finalists_of(const AlikeLimits& limits) {
    std::vector<NearCandidate> candidates;
    for (const auto& store : layers_.stores()) {
      auto alike = store.cache->alike(missed_.query.request, limits);
      if (!alike) continue;
      for (auto& entry : *alike) {
        // It has a program's name, and none of its source.
        if (made_of_images(entry.request)) continue;
        auto found = differences_of(missed_.query.request, entry.request);
        compare_toolchain(entry, found);
        candidates.push_back({std::move(entry), store, std::move(found)});
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(), is_nearer);
    if (candidates.size() > most_finalists) candidates.resize(most_finalists);
    return candidates;
  }

  void compare_toolchain(const StoredRequest& entry, WeighedDifferences& found) const {
    const auto* here = missed_.toolchain;
    if (here == nullptr || here->identity == entry.toolchain.identity) return;
    found.differences.push_back(toolchain_difference(*here, entry.toolchain));
    found.weight += toolchain_weight;
  }

  void compare_headers(NearCandidate& candidate) {
    const auto recorded = candidate.store.cache->dependencies(candidate.entry.key);
    if (!recorded) return;
    std::vector<HeaderDifference> headers;
    static_cast<void>(replay(*recorded, missed_.query.search, nullptr, files_, &headers));
    auto& found = candidate.found;
    unsigned weight = 0;
    for (const auto& header : headers) {
      if (header.kind == Kind::absent) continue;
      Difference difference{field_of(header.kind), words_of(header, *recorded)};
      // A header may be asked for more than once, on ways that are told alike.
      if (std::ranges::count(found.differences, difference) == 0)
        found.differences.push_back(std::move(difference));
      weight = std::min(weight + 1, most_header_weight);
    }
    found.weight += weight;
    if (found.differences.empty()) tell_absent(headers, *recorded, found);
  }

  // If several entries hold on trust, none is taken. So the absent headers make the difference.
  static void tell_absent(const std::vector<HeaderDifference>& headers,
                          const DependencySet& recorded, WeighedDifferences& found) {
    for (const auto& header : headers) {
      found.differences.push_back({Field::header, in_words(header, recorded, {})});
    }
  }

  static Field field_of(Kind kind) {
    return kind == Kind::elsewhere           ? Field::path
           : kind == Kind::working_directory ? Field::working_directory
                                             : Field::header;
  }

  std::string words_of(const HeaderDifference& header, const DependencySet& recorded) {
    if (header.kind == Kind::working_directory) return in_words(header, recorded, {});
    auto through = includers_of(header, recorded);
    if (through.size() > longest_chain) {
      through.resize(longest_chain);
      through.emplace_back("…");
    }
    auto words = in_words(header, recorded, through);
    if (header.kind == Kind::changed) words += shadowing(header, recorded.lookups[header.lookup]);
    return words;
  }

  // The header as the program includes it now or, if it no longer does, as it was recorded.
  std::vector<std::string> includers_of(const HeaderDifference& header,
                                        const DependencySet& recorded) {
    const auto& lookups = missed_.closure.dependencies.lookups;
    const auto& spelling = recorded.lookups[header.lookup].spelling;
    const auto at = std::find_if(lookups.begin(), lookups.end(), [&](const Dependency& lookup) {
      return lookup.spelling == spelling;
    });
    if (at == lookups.end()) return parents_of(recorded, header.lookup);
    std::vector<std::string> includers;
    auto index = missed_.closure.includers[static_cast<std::size_t>(at - lookups.begin())];
    while (index < lookups.size()) {
      includers.push_back(lookups[index].spelling);
      index = missed_.closure.includers[index];
    }
    return includers;
  }

  // Whether what was recorded still lies on the path, behind another file of its name.
  std::string shadowing(const HeaderDifference& header, const Dependency& lookup) {
    for (const auto& place : HeaderFinder(missed_.query.search).find_all(lookup.spelling)) {
      if (place.place() == header.place) continue;
      const auto content = place.embedded != nullptr ? std::optional(place.embedded->digest)
                                                     : files_.digest(place.path, place.stamp);
      if (content != lookup.content) continue;
      return fmt::format(": {} now comes before {}", header.place, place.place());
    }
    return {};
  }

  // The line that differs, if the store still has the source.
  void tell_source(NearCandidate& nearest) const {
    const auto at = std::find_if(
        nearest.found.differences.begin(), nearest.found.differences.end(),
        [](const Difference& difference) { return difference.field == Field::source; });
    if (at == nearest.found.differences.end() || !missed_.query.program.has_source()) return;
    const auto stored = nearest.store.cache->text(nearest.entry.request.source);
    if (stored)
      at->text = "source: " + first_line_that_differs(missed_.query.program.source(), *stored);
  }

  static NearestEntry result(NearCandidate nearest) {
    auto& entry = nearest.entry;
    return {entry.key,
            std::move(entry.request.program),
            std::move(entry.request.arch),
            std::move(entry.request.kind),
            std::move(entry.toolchain.text),
            nearest.store.origin,
            nearest.store.cache->file().string(),
            std::move(nearest.found.differences)};
  }

  const Missed& missed_;
  Layers& layers_;
  HeaderFiles& files_;
};

}  // namespace

std::optional<NearestEntry> nearest_entry(const Missed& missed, Layers& layers, HeaderFiles& files,
                                          const AlikeLimits& limits) {
  return NearestSearch(missed, layers, files).run(limits);
}

}  // namespace kiln
