#include "manifest/recorded_headers.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "source/places.h"

namespace kiln {

namespace {

// What HeaderSearch makes of a quoted include in an embedded header.
std::string neighbour_of(std::string_view includer, std::string_view spelling) {
  const auto slash = includer.rfind('/');
  const auto folder =
      slash == std::string_view::npos ? std::string_view{} : includer.substr(0, slash + 1);
  return std::filesystem::path(std::string(folder).append(spelling))
      .lexically_normal()
      .generic_string();
}

bool has_neighbours(const Dependency& lookup) {
  return lookup.beside && lookup.parent < Dependency::at_place;
}

const std::string* find(const NamedHeaders& headers, const std::string& name) {
  const auto at = headers.find(name);
  return at != headers.end() && !at->second.empty() ? &at->first : nullptr;
}

// Replays look-ups among embedded headers, as HeaderSearch would find them.
class EmbeddedReplay {
 public:
  explicit EmbeddedReplay(const NamedHeaders& headers) : headers_(headers) {}

  /// The name that was found, or nullptr. To be called for each look-up in order.
  const std::string* next(const Dependency& lookup) {
    const std::string* found = nullptr;
    const auto* includer = includer_of(lookup);
    if (includer != nullptr) found = find(headers_, neighbour_of(*includer, lookup.spelling));
    if (found == nullptr) found = find(headers_, std::string(name_of(lookup)));
    found_.push_back(found);
    return found;
  }

  [[nodiscard]] const std::string* includer_of(const Dependency& lookup) const {
    return has_neighbours(lookup) && lookup.parent < found_.size() ? found_[lookup.parent]
                                                                   : nullptr;
  }

 private:
  const NamedHeaders& headers_;
  std::vector<const std::string*> found_;
};

// That one place held nothing says nothing about the others.
bool is_right(const Dependency& lookup, const NamedHeaders& headers, const std::string* found) {
  if (lookup.parent == Dependency::at_place && lookup.content.empty()) return true;
  return found != nullptr ? headers.at(*found) == lookup.content : lookup.content.empty();
}

// Headers in angle brackets, and those that the source quotes, can only go by their spelling.
std::optional<std::string> add_by_spelling(const DependencySet& recorded, NamedHeaders& headers) {
  for (const auto& lookup : recorded.lookups) {
    if (has_neighbours(lookup) || lookup.content.empty()) continue;
    const auto [at, added] = headers.emplace(name_of(lookup), lookup.content);
    if (!added && at->second != lookup.content) return at->first;
  }
  return std::nullopt;
}

// A header that was found beside another one is its neighbour.
void add_neighbours(const DependencySet& recorded, NamedHeaders& headers) {
  EmbeddedReplay replay(headers);
  for (const auto& lookup : recorded.lookups) {
    const auto* includer = replay.includer_of(lookup);
    if (has_neighbours(lookup) && !lookup.content.empty()) {
      headers.emplace(
          includer != nullptr ? neighbour_of(*includer, lookup.spelling) : lookup.spelling,
          lookup.content);
    }
    (void)replay.next(lookup);
  }
}

// By their spelling alone: the replay knows beside which file a quoted one was absent.
void add_absent(const DependencySet& recorded, NamedHeaders& headers) {
  for (const auto& lookup : recorded.lookups) {
    if (lookup.content.empty()) headers.emplace(name_of(lookup), Digest{});
  }
}

// The first look-up that finds another thing than it did when it was recorded, or nullptr.
const Dependency* first_wrong(const DependencySet& recorded, const NamedHeaders& headers) {
  EmbeddedReplay replay(headers);
  for (const auto& lookup : recorded.lookups) {
    if (!is_right(lookup, headers, replay.next(lookup))) return &lookup;
  }
  return nullptr;
}

}  // namespace

Result<NamedHeaders> name_headers(const DependencySet& recorded) {
  NamedHeaders headers;
  auto wrong = add_by_spelling(recorded, headers);
  if (!wrong) {
    add_neighbours(recorded, headers);
    if (const auto* lookup = first_wrong(recorded, headers)) wrong = lookup->spelling;
  }
  if (wrong) {
    return fail(ErrorCode::header_not_found,
                fmt::format("the record holds different headers that are included as \"{}\", and "
                            "does not tell where they lay; prewarm the program from its sources",
                            *wrong));
  }
  add_absent(recorded, headers);
  return headers;
}

bool holds(const DependencySet& recorded, const NamedHeaders& headers) {
  return first_wrong(recorded, headers) == nullptr;
}

std::map<std::string, std::string> paths_of(const DependencySet& recorded,
                                            const NamedHeaders& headers) {
  std::map<std::string, std::string> paths;
  EmbeddedReplay replay(headers);
  for (const auto& lookup : recorded.lookups) {
    const auto* name = replay.next(lookup);
    if (name != nullptr && !lookup.path.empty()) paths.emplace(*name, lookup.path);
  }
  return paths;
}

std::map<std::string, std::uint32_t> directories_of(const DependencySet& recorded) {
  std::map<std::string, std::uint32_t> directories;
  for (const auto& lookup : recorded.lookups) {
    if (lookup.parent != Dependency::at_place || lookup.content.empty()) continue;
    const auto [directory, rest] = read_place(lookup.spelling);
    std::uint32_t number = 0;
    const auto* const end = directory.data() + directory.size();
    const auto [behind, error] = std::from_chars(directory.data(), end, number);
    if (error == std::errc() && behind == end && !directory.empty())
      directories.emplace(rest, number);
  }
  return directories;
}

bool merge(NamedHeaders& headers, const NamedHeaders& others) {
  auto merged = headers;
  for (const auto& [name, content] : others) {
    if (const auto [at, added] = merged.emplace(name, content); !added && at->second != content)
      return false;
  }
  headers = std::move(merged);
  return true;
}

}  // namespace kiln
