#include "source/places.h"

#include <algorithm>

#include "source/header_files.h"

namespace kiln {

Place read_place(std::string_view spelling) {
  if (spelling.starts_with('/')) return {{}, spelling};
  const auto slash = spelling.find('/');
  if (slash == std::string_view::npos) return {Place::elsewhere, spelling};
  return {spelling.substr(0, slash), spelling.substr(slash + 1)};
}

std::string_view name_of(const Dependency& lookup) {
  return lookup.parent == Dependency::at_place ? read_place(lookup.spelling).rest
                                               : std::string_view(lookup.spelling);
}

std::vector<std::string> directories_with(const std::vector<std::string_view>& rests,
                                          const std::vector<std::string>& all) {
  std::vector<std::string> holding;
  for (const auto& directory : all) {
    const auto holds = [&](std::string_view rest) {
      return stamp_of(std::string(directory).append("/").append(rest)).has_value();
    };
    if (std::any_of(rests.begin(), rests.end(), holds)) holding.push_back(directory);
  }
  return holding;
}

std::optional<std::string_view> below(const std::string& directory, std::string_view path) {
  if (!path.starts_with(directory) || path.size() <= directory.size() + 1 ||
      path[directory.size()] != '/') {
    return std::nullopt;
  }
  return path.substr(directory.size() + 1);
}

}  // namespace kiln
