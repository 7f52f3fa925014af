#include "report/compiled_again.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace kiln::cli {

namespace {

constexpr std::size_t most_requests = 100;
constexpr std::size_t most_headers = 8;

/// The entries of one request, the newest first.
using Group = std::vector<const EntrySummary*>;

std::vector<Group> groups_of(const std::vector<EntrySummary>& entries) {
  std::map<Digest, Group> by_request;
  for (const auto& entry : entries) by_request[entry.request].push_back(&entry);
  std::vector<Group> groups;
  for (auto& [request, group] : by_request) {
    if (group.size() < 2) continue;
    std::ranges::stable_sort(group, std::ranges::greater(), &EntrySummary::created);
    groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), &Group::size);
  if (groups.size() > most_requests) groups.resize(most_requests);
  return groups;
}

/// Each header's content by its spelling; of several of one spelling that of the last.
std::map<std::string, Digest> contents_of(const DependencySet& dependencies) {
  std::map<std::string, Digest> contents;
  for (const auto& lookup : dependencies.lookups)
    contents.insert_or_assign(lookup.spelling, lookup.content);
  return contents;
}

std::vector<std::string> header_differences(const DependencySet& before,
                                            const DependencySet& after) {
  const auto old_contents = contents_of(before);
  const auto new_contents = contents_of(after);
  std::vector<std::string> differences;
  for (const auto& [name, content] : new_contents) {
    const auto old = old_contents.find(name);
    if (old == old_contents.end()) {
      differences.push_back("also reads " + name);
    } else if (old->second != content) {
      differences.push_back(name + (content.empty()       ? " is gone"
                                    : old->second.empty() ? " is there now"
                                                          : " has changed"));
    }
  }
  for (const auto& [name, content] : old_contents) {
    if (!new_contents.contains(name)) differences.push_back("no longer reads " + name);
  }
  return differences;
}

std::vector<std::string> differences_of(Cache& cache, const EntrySummary& older,
                                        const EntrySummary& newer) {
  std::vector<std::string> differences;
  if (older.toolchain != newer.toolchain)
    differences.push_back(fmt::format("{} after {}", newer.toolchain, older.toolchain));
  const auto before = cache.dependencies(older.key);
  const auto after = cache.dependencies(newer.key);
  if (before && after) {
    for (auto& difference : header_differences(*before, *after))
      differences.push_back(std::move(difference));
  }
  if (differences.size() > most_headers) {
    const auto more = differences.size() - most_headers;
    differences.resize(most_headers);
    differences.push_back(fmt::format("… and {} more", more));
  }
  // Builds of one version of a compiler have one name.
  if (differences.empty())
    differences.emplace_back("another build of the compiler, or where its headers lie");
  return differences;
}

}  // namespace

Json compiled_again(Cache& cache, const std::vector<EntrySummary>& entries) {
  auto rows = Json::array();
  for (const auto& group : groups_of(entries)) {
    const auto& newest = *group.front();
    rows.push_back({{"program", newest.program},
                    {"arch", newest.arch},
                    {"image", newest.kind},
                    {"entries", group.size()},
                    {"differences", differences_of(cache, *group[1], newest)}});
  }
  return rows;
}

}  // namespace kiln::cli
