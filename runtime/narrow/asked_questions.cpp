#include "narrow/asked_questions.h"

#include <algorithm>

namespace kiln {

namespace {

std::string_view folder_of(std::string_view file) {
  const auto slash = file.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : file.substr(0, slash + 1);
}

}  // namespace

bool is_nowhere(const Reading& reading) {
  return !reading.found && reading.path.starts_with(virtual_name(""));
}

AskedQuestions::AskedQuestions(const Readings& readings, const HeaderSearch& search)
    : search_(search) {
  for (const auto& reading : readings.files) asked_.emplace(reading.path, &reading);
  for (const auto& reading : readings.embedded)
    embedded_read_.emplace(reading.name, reading.read_at);
}

std::uint32_t AskedQuestions::read_at(const FoundHeader& found) const {
  if (found.embedded == nullptr) return asked_.at(found.path)->read_at;
  const auto read = embedded_read_.find(found.embedded->name);
  return read != embedded_read_.end() ? read->second : 0;
}

// An include was made, at the latest, when its header or its includer was read, whichever
// came later; all others, at the earliest, when the last of their questions was first asked. Twice the
// number of the event, so that there is room between two.
std::uint64_t AskedQuestions::made_at(const Dependency& lookup, const Walk& walk,
                                      const FoundHeader* includer) const {
  const std::uint64_t includer_read = includer != nullptr ? read_at(*includer) : 0;
  if (walk.found.found() && !lookup.tested)
    return std::max(2 * std::uint64_t{read_at(walk.found)}, 2 * includer_read + 1);
  auto earliest = includer_read;
  for (const auto& path : walk.paths)
    earliest = std::max<std::uint64_t>(earliest, asked_.at(path)->asked_at);
  return 2 * earliest + 1;
}

Walk AskedQuestions::follow(const Dependency& lookup, const FoundHeader& includer) const {
  const bool quoted = lookup.parent != Dependency::no_parent;
  Walk walk;
  if (quoted && includer.embedded != nullptr)
    walk.found.embedded = search_.neighbour(lookup.spelling, *includer.embedded);
  walk.beside = walk.found.embedded != nullptr;
  if (walk.found.embedded == nullptr) walk.found.embedded = search_.find_embedded(lookup.spelling);
  if (const auto* embedded = walk.found.embedded; embedded != nullptr) {
    // That one is only asked for, NVRTC tells nobody.
    walk.made = lookup.tested || embedded_read_.contains(embedded->name);
    return walk;
  }
  if (lookup.spelling.starts_with('/')) {
    ask(lookup.spelling, false, walk);
    return walk;
  }
  if (quoted && includer.embedded == nullptr) {
    const auto path = std::string(folder_of(includer.path)).append(lookup.spelling);
    // The source lies in a folder that no machine has, and the compiler knows.
    const bool is_asked = is_quoted_in_header(lookup) || asked_.contains(path);
    if (is_asked && ask(path, includer.in_toolkit, walk)) {
      walk.beside = walk.made && is_quoted_in_header(lookup);
      return walk;
    }
  }
  search_directories(lookup.spelling, walk);
  return walk;
}

void AskedQuestions::search_directories(const std::string& spelling, Walk& walk) const {
  const auto& directories = search_.directories();
  for (std::size_t index = 0; index < directories.size(); ++index) {
    if (ask(directories[index] + '/' + spelling, search_.is_toolkit_directory(index), walk)) return;
  }
  if (directories.empty()) ask(std::string(no_directory) + '/' + spelling, false, walk);
}

// Whether the walk ends here.
bool AskedQuestions::ask(const std::string& path, bool in_toolkit, Walk& walk) const {
  const auto at = asked_.find(path);
  if (at == asked_.end()) {
    walk.made = false;
    return true;
  }
  walk.paths.push_back(path);
  if (!at->second->found) return false;
  walk.reading = at->second;
  walk.found.path = path;
  walk.found.stamp = at->second->stamp;
  walk.found.in_toolkit = in_toolkit;
  return true;
}

}  // namespace kiln
