#include "lookup/replay.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "source/identities.h"
#include "source/places.h"

namespace kiln {

namespace {

using Clock = std::chrono::steady_clock;

// It has no content that could be the same.
bool may_not_be_read(const std::string& place) {
  return ::faccessat(AT_FDCWD, place.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES;
}

// One pass over the recorded look-ups; each parent is found before its children.
class Replay {
 public:
  Replay(const DependencySet& recorded, const HeaderSearch& search, const Witness* witness,
         HeaderFiles& files, std::vector<HeaderDifference>* all, Clock::time_point end)
      : recorded_(recorded),
        search_(search),
        finder_(search),
        files_(files),
        all_(all),
        end_(end),
        identities_(recorded.lookups.size()) {
    const bool fits = witness != nullptr && witness->stamps.size() == recorded.lookups.size();
    stamps_ = fits ? &witness->stamps : nullptr;
  }

  Replayed run() {
    if (!surroundings_hold()) return std::move(result_);
    found_.reserve(recorded_.lookups.size());
    for (std::size_t index = 0; index < recorded_.lookups.size(); ++index) {
      if (is_late()) {
        result_.difference = "to compare its headers took too long";
        break;
      }
      found_.push_back(find(recorded_.lookups[index]));
      const auto difference = compare(index);
      if (!difference) continue;
      if (!go_on({*difference, index, std::string(found_.back().place())})) break;
    }
    result_.compiles = may_compile();
    result_.found = std::move(found_);
    return std::move(result_);
  }

 private:
  using Kind = HeaderDifference::Kind;

  // Of a hit of this machine's own nobody asks the clock.
  [[nodiscard]] bool is_late() const {
    return end_ != Clock::time_point::max() && Clock::now() >= end_;
  }

  // Gives whether to go on: the surroundings hold, or all differences are wanted.
  bool surroundings_hold() {
    if (!in_its_directory() && !go_on({Kind::working_directory})) return false;
    const auto& names = recorded_.embedded_names;
    if (!names.empty() && names != search_.embedded_names() && !go_on({Kind::embedded}))
      return false;
    find_holding();
    return holding_.size() == recorded_.directories || go_on({Kind::directories});
  }

  // A compile goes as before up to the first look-up that finds nothing any more. If that was an include, it fails there for
  // sure, unless another look-up still finds the same file: then that one may have been made, and this one never.
  [[nodiscard]] bool may_compile() const {
    if (absences_.empty()) return true;
    std::set<std::uint32_t> still_found;
    for (std::uint32_t index = 0; index < found_.size(); ++index) {
      if (found_[index].found()) still_found.insert(file_of(index));
    }
    for (const auto index : absences_) {
      if (recorded_.lookups[index].tested) return true;
      if (!still_found.contains(file_of(static_cast<std::uint32_t>(index)))) return false;
    }
    return true;
  }

  // The first look-up that found the same file when this was recorded.
  [[nodiscard]] std::uint32_t file_of(std::uint32_t index) const {
    const auto first = recorded_.lookups[index].same_file;
    return first != Dependency::no_other ? first : index;
  }

  [[nodiscard]] bool in_its_directory() const {
    if (recorded_.working_directory.empty()) return true;
    std::error_code failure;
    const auto here = std::filesystem::current_path(failure);
    return !failure && here == recorded_.working_directory;
  }

  void find_holding() {
    std::vector<std::string_view> rests;
    for (const auto& lookup : recorded_.lookups) {
      if (lookup.parent != Dependency::at_place) continue;
      const auto place = read_place(lookup.spelling);
      if (!place.directory.empty()) rests.push_back(place.rest);
    }
    if (!rests.empty()) holding_ = directories_with(rests, search_.directories());
  }

  // Notes a difference. Gives whether the replay goes on.
  bool go_on(HeaderDifference difference) {
    const bool is_absence = difference.kind == Kind::absent || difference.kind == Kind::untold;
    auto& first = is_absence ? result_.absence : result_.difference;
    if (first.empty())
      first = in_words(difference, recorded_, parents_of(recorded_, difference.lookup));
    if (is_absence) {
      ++result_.absent;
      absences_.push_back(difference.lookup);
    }
    if (all_ != nullptr) all_->push_back(std::move(difference));
    return is_absence || all_ != nullptr;
  }

  FoundHeader find(const Dependency& lookup) const {
    if (lookup.parent == Dependency::no_parent) return finder_.find(lookup.spelling);
    if (lookup.parent == Dependency::at_place) return find_placed(read_place(lookup.spelling));
    if (lookup.parent == Dependency::source_parent)
      return finder_.find_quoted(lookup.spelling, search_.source());
    if (lookup.parent >= found_.size()) return finder_.find(lookup.spelling);
    const auto& includer = found_[lookup.parent];
    const auto* const beside =
        includer.found() ? searched_beside(lookup.as_spelled, includer) : nullptr;
    return beside != nullptr ? finder_.find_quoted(lookup.spelling, *beside)
                             : finder_.find(lookup.spelling);
  }

  // A place that no directory held is in none of the holding ones.
  FoundHeader find_placed(const Place& place) const {
    if (place.directory.empty()) return HeaderFinder::find_file(std::string(place.rest));
    std::size_t number = holding_.size();
    const auto& digits = place.directory;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (number >= holding_.size()) return {};
    auto found =
        HeaderFinder::find_file(std::string(holding_[number]).append("/").append(place.rest));
    for (std::size_t index = 0; index < search_.directories().size(); ++index) {
      if (search_.directories()[index] == holding_[number])
        found.in_toolkit = search_.is_toolkit_directory(index);
    }
    return found;
  }

  std::optional<Kind> compare(std::size_t index) {
    const auto& lookup = recorded_.lookups[index];
    const auto& here = found_[index];
    const auto same = identities_.add(here, lookup.reach);
    if (is_in_working_directory(index)) return Kind::embedded;
    if (!here.found()) {
      if (lookup.content.empty()) return std::nullopt;
      return lookup.tested ? Kind::untold : Kind::absent;
    }
    if (lookup.content.empty()) return Kind::appeared;
    if (!lookup.path.empty() && !lies_at(here, lookup.path)) return Kind::elsewhere;
    if (lookup.modified_ns != 0 && lookup.modified_ns != here.stamp.modified_ns)
      return Kind::touched;
    if (lookup.reach == Dependency::Reach::presence) return std::nullopt;
    const bool as_it_was =
        here.embedded != nullptr ? here.embedded->digest == lookup.content : has_content(index);
    if (!as_it_was) return Kind::changed;
    const bool is_any = lookup.reach != Dependency::Reach::file;
    if (!is_any && !(same == Same{lookup.same_path, lookup.same_file})) return Kind::identity;
    return std::nullopt;
  }

  [[nodiscard]] bool is_in_working_directory(std::size_t index) const {
    const auto& lookup = recorded_.lookups[index];
    if (lookup.parent >= index || found_[index].embedded != nullptr) return false;
    const auto& includer = found_[lookup.parent];
    if (!looks_in_working_directory(lookup, includer)) return false;
    auto path = HeaderSearch::below_working_directory(lookup.spelling, *includer.embedded);
    return HeaderFinder::find_file(path).found() ||
           (has_no_extension(path) &&
            HeaderFinder::find_file(path.append(front_end_suffix)).found());
  }

  // What an embedded header quotes, the compiler finds by a path that begins in the working directory.
  [[nodiscard]] bool lies_at(const FoundHeader& here, const std::string& recorded) const {
    if (here.place() == recorded) return true;
    return here.embedded == nullptr && !recorded.starts_with('/') &&
           below(recorded_.working_directory, here.path) == recorded;
  }

  bool has_content(std::size_t index) {
    const auto& here = found_[index];
    if (stamps_ != nullptr && (*stamps_)[index] == here.stamp) return true;
    return files_.digest(here.path, here.stamp) == recorded_.lookups[index].content;
  }

  const DependencySet& recorded_;
  const HeaderSearch& search_;
  const HeaderFinder finder_;
  HeaderFiles& files_;
  const std::vector<FileStamp>* stamps_;
  std::vector<HeaderDifference>* all_;
  const Clock::time_point end_;
  Replayed result_;
  std::vector<FoundHeader> found_;
  std::vector<std::size_t> absences_;
  std::vector<std::string> holding_;  ///< The directories that places are numbered by.
  Identities identities_;
};

}  // namespace

std::string in_words(const HeaderDifference& difference, const DependencySet& recorded,
                     const std::vector<std::string>& through) {
  using Kind = HeaderDifference::Kind;
  if (difference.kind == Kind::working_directory)
    return fmt::format("the working directory {} reached the output", recorded.working_directory);
  if (difference.kind == Kind::directories)
    return "the headers that the compiler asked for lie in another number of include directories";
  if (difference.kind == Kind::embedded) return "other headers are embedded";
  const auto& lookup = recorded.lookups[difference.lookup];
  std::string words = fmt::format("header {} ", name_of(lookup));
  switch (difference.kind) {
    case Kind::appeared:
      words += "was absent and now is there";
      break;
    case Kind::elsewhere:
      words += fmt::format("reached the output as {} and is now elsewhere", lookup.path);
      break;
    case Kind::absent:
    case Kind::untold:
      words += "is not here";
      break;
    case Kind::identity:
      words += "is one file with others no more, or has become so";
      break;
    case Kind::touched:
      words += "has another time, which reached the output";
      break;
    default:
      words += may_not_be_read(difference.place) ? "may not be read" : "changed";
  }
  if (!through.empty()) words += fmt::format(", reached through {}", fmt::join(through, " from "));
  return words;
}

std::vector<std::string> parents_of(const DependencySet& recorded, std::size_t lookup) {
  std::vector<std::string> parents;
  // A parent always stands before its child, so this ends.
  while (lookup < recorded.lookups.size()) {
    lookup = recorded.lookups[lookup].parent;
    if (lookup < recorded.lookups.size()) parents.push_back(recorded.lookups[lookup].spelling);
  }
  return parents;
}

Replayed replay(const DependencySet& recorded, const HeaderSearch& search, const Witness* witness,
                HeaderFiles& files, std::vector<HeaderDifference>* all, Clock::time_point end) {
  return Replay(recorded, search, witness, files, all, end).run();
}

}  // namespace kiln
