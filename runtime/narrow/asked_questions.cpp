#include "narrow/asked_questions.h"

#include <algorithm>

#include <fmt/format.h>

namespace kiln {

namespace {

std::string key_of(std::uint32_t root, const std::string& path) {
  return fmt::format("{} {}", root, path);
}

// The root below which a path is asked for: that of its directory, or of the includer that it lies beside.
std::uint32_t root_of(std::size_t directory, bool absolute, const Includer& includer) {
  if (directory != HeaderSearch::of_none) return static_cast<std::uint32_t>(directory);
  const bool beside = !absolute && includer.reading != nullptr;
  return beside ? includer.reading->root : Reading::no_root;
}

}  // namespace

bool is_nowhere(const Reading& reading) {
  return !reading.found && reading.path.starts_with(virtual_name("")) &&
         !reading.path.starts_with(no_directory);
}

AskedQuestions::AskedQuestions(const Readings& readings, const HeaderSearch& search)
    : search_(search), rooted_(readings.rooted) {
  for (const auto& reading : readings.files) {
    asked_.emplace(key_of(reading.root, reading.path), &reading);
    by_path_.emplace(reading.path, &reading);
  }
  for (const auto& reading : readings.embedded)
    embedded_read_.emplace(reading.name, reading.read_at);
}

std::uint32_t AskedQuestions::read_at(const FoundHeader& found) const {
  if (found.embedded == nullptr) return by_path_.at(found.path)->read_at;
  const auto read = embedded_read_.find(found.embedded->name);
  return read != embedded_read_.end() ? read->second : 0;
}

// An include was made, at the latest, when both its header and its includer had been read. Any other look-up was made, at the
// earliest, when the last of its questions was first asked. Numbers of events are doubled, so that there is room between two.
std::uint64_t AskedQuestions::made_at(const Dependency& lookup, const Walk& walk,
                                      const FoundHeader* includer) const {
  const std::uint64_t includer_read = includer != nullptr ? read_at(*includer) : 0;
  if (walk.found.found() && !lookup.tested)
    return std::max(2 * std::uint64_t{read_at(walk.found)}, 2 * includer_read + 1);
  auto earliest = includer_read;
  for (const auto* question : walk.questions)
    earliest = std::max<std::uint64_t>(earliest, question->asked_at);
  return 2 * earliest + 1;
}

Walk AskedQuestions::follow(const Dependency& lookup, const Includer& includer) const {
  const bool quoted = lookup.parent != Dependency::no_parent;
  const bool absolute = lookup.spelling.starts_with('/');
  bool ended = absolute;
  Walk walk;
  walk.found = search_.find(
      lookup.spelling, quoted ? searched_beside(lookup.as_spelled, includer.header) : nullptr,
      [&](const std::string& path, std::size_t directory, bool suffixed, FoundHeader& header) {
        const auto root = root_of(directory, absolute, includer);
        // The source lies in a folder that no machine has, so the compiler need not ask beside it.
        const bool need_not_ask = lookup.parent == Dependency::source_parent && !absolute &&
                                  directory == HeaderSearch::of_none;
        if (need_not_ask && asked(root, path) == nullptr) return false;
        return ended |= ask(root, path, suffixed, walk, header);
      });
  if (const auto* embedded = walk.found.embedded; embedded != nullptr) {
    // NVRTC tells nobody that it only tests for one.
    walk.made = lookup.tested || embedded_read_.contains(embedded->name);
  } else if (!ended && search_.directories().empty()) {
    const auto path = std::string(no_directory) + '/' + lookup.spelling;
    ask(Reading::no_root, path, false, walk, walk.found);
    ask(Reading::no_root, path + std::string(front_end_suffix), true, walk, walk.found);
  }
  ask_in_working_directory(lookup, includer, walk);
  walk.found.beside &= lookup.parent != Dependency::source_parent;
  return walk;
}

// Gives whether the walk ends here. Where the suffix was not asked for, it is for the compiler as if nothing had it.
bool AskedQuestions::ask(std::uint32_t root, const std::string& path, bool suffixed, Walk& walk,
                         FoundHeader& header) const {
  const auto* const question = asked(root, path);
  if (question == nullptr) {
    walk.made &= suffixed;
    return !suffixed;
  }
  walk.questions.push_back(question);
  if (!question->found) return false;
  walk.reading = question;
  header.path = path;
  header.stamp = question->stamp;
  return true;
}

// What is found there is no look-up that can be made again.
void AskedQuestions::ask_in_working_directory(const Dependency& lookup, const Includer& includer,
                                              Walk& walk) const {
  if (walk.found.embedded != nullptr || !is_quoted_in_header(lookup) ||
      !looks_in_working_directory(lookup, includer.header))
    return;
  const auto path =
      HeaderSearch::below_working_directory(lookup.spelling, *includer.header.embedded);
  for (const auto* question : {asked(Reading::no_root, path),
                               asked(Reading::no_root, path + std::string(front_end_suffix))}) {
    if (question == nullptr) continue;
    walk.made &= !question->found;
    walk.questions.push_back(question);
  }
}

const Reading* AskedQuestions::asked(std::uint32_t root, const std::string& path) const {
  const auto at = asked_.find(key_of(rooted_ ? root : Reading::no_root, path));
  return at != asked_.end() ? at->second : nullptr;
}

}  // namespace kiln
