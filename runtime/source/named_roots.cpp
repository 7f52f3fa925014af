#include "source/named_roots.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "source/places.h"

namespace kiln {

namespace {

// A folder deep, so that a compiler that takes `..` off a path does not come from one name to another.
std::string name_of_root(std::size_t index, std::size_t length) {
  auto name = fmt::format("{}{}/-", NamedRoots::beginning, index);
  name.resize(std::max(name.size(), length), '-');
  return name;
}

// The number at the beginning of a text.
std::optional<std::size_t> number_at(std::string_view text) {
  std::size_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

NamedRoots::NamedRoots(const std::vector<std::string>& directories) : directories_(directories) {
  names_.reserve(directories.size());
  for (const auto& directory : directories)
    names_.push_back(name_of_root(names_.size(), directory.size()));
}

std::optional<NamedRoots::Resolved> NamedRoots::resolve(std::string_view asked) const {
  if (!asked.starts_with(beginning)) return std::nullopt;
  const auto index = number_at(asked.substr(beginning.size()));
  if (!index || *index >= names_.size() || !asked.starts_with(names_[*index])) return std::nullopt;
  const auto rest = asked.substr(names_[*index].size());
  if (!rest.empty() && !rest.starts_with('/')) return std::nullopt;
  return Resolved{static_cast<std::uint32_t>(*index), directories_[*index] + std::string(rest)};
}

std::string NamedRoots::asked(const Reading& reading) const {
  if (reading.root >= names_.size()) return reading.path;
  const auto rest = below(directories_[reading.root], reading.path);
  return rest ? fmt::format("{}/{}", names_[reading.root], *rest) : reading.path;
}

std::string NamedRoots::with_directories(std::string text) const {
  for (auto at = text.find(beginning); at != std::string::npos; at = text.find(beginning, at + 1)) {
    const auto index = number_at(std::string_view(text).substr(at + beginning.size()));
    if (!index || *index >= names_.size()) continue;
    if (std::string_view(text).substr(at).starts_with(names_[*index]))
      text.replace(at, names_[*index].size(), directories_[*index]);
  }
  return text;
}

}  // namespace kiln
