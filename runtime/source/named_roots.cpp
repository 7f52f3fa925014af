#include "source/named_roots.h"

#include <algorithm>
#include <charconv>
#include <random>

#include <fmt/format.h>

#include "source/places.h"

namespace kiln {

namespace {

// A folder deep, so that a compiler that takes `..` off a path does not come from one name to another.
std::string name_of_root(std::size_t index) {
  return fmt::format("{}{}/-", NamedRoots::beginning(), index);
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
  while (names_.size() < directories.size()) names_.push_back(name_of_root(names_.size()));
}

const std::string& NamedRoots::beginning() {
  // Never destroyed: a compile that nobody waits for any more may go on while the process ends.
  static const auto& made = *new const std::string([] {  // NOLINT(cppcoreguidelines-owning-memory)
    std::random_device random;
    return fmt::format("/kiln-{:08x}{:08x}/", random(), random());
  }());
  return made;
}

bool NamedRoots::can_name(const std::vector<std::string>& directories) {
  return std::none_of(directories.begin(), directories.end(), [](const std::string& directory) {
    return directory.find('\n') != std::string::npos;
  });
}

std::optional<NamedRoots::Resolved> NamedRoots::resolve(std::string_view asked) const {
  if (!asked.starts_with(beginning())) return std::nullopt;
  const auto index = number_at(asked.substr(beginning().size()));
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

}  // namespace kiln
