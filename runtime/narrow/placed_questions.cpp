#include "narrow/placed_questions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "narrow/asked_questions.h"
#include "source/places.h"

namespace kiln {

namespace {

void add_placed(std::string place, const Reading& reading, bool in_toolkit, std::size_t index,
                NarrowedClosure& kept) {
  Dependency lookup{std::move(place), Dependency::at_place};
  lookup.tested = true;  // Nobody knows; a compile may go on without it.
  FoundHeader found;
  if (reading.found) {
    found.path = reading.path;
    found.stamp = reading.stamp;
    found.in_toolkit = in_toolkit;
  }
  kept.add(std::move(lookup), std::move(found), reading.found ? &reading : nullptr, index);
}

class Placing {
 public:
  Placing(const Readings& readings, const HeaderSearch& search, const Closure& whole,
          NarrowedClosure& kept)
      : readings_(readings), search_(search), kept_(kept) {
    for (std::size_t index = 0; index < whole.found.size(); ++index)
      positions_.emplace(whole.found[index].path, index);
  }

  void run() {
    note_holding();
    kept_.closure().dependencies.embedded_names = search_.embedded_names();
    for (const auto& reading : readings_.files) {
      if (!is_nowhere(reading)) place(reading);
    }
  }

 private:
  // The part of a path below a directory, where it was, or may have been, asked for there.
  [[nodiscard]] std::optional<std::string_view> rest_below(std::size_t directory,
                                                           const Reading& reading) const {
    if (readings_.rooted && reading.root != directory) return std::nullopt;
    return below(search_.directories()[directory], reading.path);
  }

  // Numbers the directories that hold any of what was asked for.
  void note_holding() {
    const auto& directories = search_.directories();
    std::vector<std::string_view> rests;
    for (const auto& reading : readings_.files) {
      for (std::size_t index = 0; index < directories.size(); ++index) {
        if (const auto rest = rest_below(index, reading)) rests.push_back(*rest);
      }
    }
    const auto holding = directories_with(rests, directories);
    std::uint32_t number = 0;
    for (const auto& directory : directories) {
      const bool holds = std::find(holding.begin(), holding.end(), directory) != holding.end();
      numbers_.push_back(holds ? std::optional(number++) : std::nullopt);
    }
    kept_.closure().dependencies.directories = number;
  }

  // Places it below each directory in which it may have been asked for. What is asked for where there are no directories, none
  // may have.
  void place(const Reading& reading) {
    if (const auto rest = below(std::string(no_directory), reading.path))
      return place_elsewhere(*rest, reading);
    bool placed = false;
    for (std::size_t index = 0; index < numbers_.size(); ++index) {
      const auto rest = rest_below(index, reading);
      if (!rest) continue;
      placed = true;
      if (numbers_[index]) {
        add_placed(fmt::format("{}/{}", *numbers_[index], *rest), reading,
                   search_.is_toolkit_directory(index), position_of(reading), kept_);
        continue;
      }
      if (reading.found)
        kept_.decline(fmt::format("while it was compiled, header {} went away", reading.path));
      place_elsewhere(*rest, reading);
    }
    if (!placed || !readings_.rooted) place_spelled(reading, readings_, kept_);
  }

  void place_elsewhere(std::string_view rest, const Reading& reading) {
    if (elsewhere_.insert(rest).second)
      add_placed(fmt::format("{}/{}", Place::elsewhere, rest), reading, false, position_of(reading),
                 kept_);
  }

  // The position of a look-up that found this file, so that it need not be read again.
  [[nodiscard]] std::size_t position_of(const Reading& reading) const {
    const auto at = positions_.find(reading.path);
    return at != positions_.end() ? at->second : NarrowedClosure::of_none;
  }

  const Readings& readings_;
  const HeaderSearch& search_;
  NarrowedClosure& kept_;
  std::vector<std::optional<std::uint32_t>> numbers_;  ///< Of each include directory.
  std::unordered_set<std::string_view> elsewhere_;
  std::unordered_map<std::string_view, std::size_t> positions_;
};

}  // namespace

void place_all(const Readings& readings, const HeaderSearch& search, const Closure& whole,
               NarrowedClosure& kept) {
  Placing(readings, search, whole, kept).run();
}

void place_spelled(const Reading& reading, const Readings& readings, NarrowedClosure& kept) {
  // NVRTC asks so for what an embedded header quotes.
  const bool relative = !reading.path.starts_with('/');
  const auto path =
      relative ? fmt::format("{}/{}", readings.working_directory, reading.path) : reading.path;
  add_placed(path, reading, false, NarrowedClosure::of_none, kept);
  if (below(readings.working_directory, path))
    kept.closure().dependencies.working_directory = readings.working_directory;
}

}  // namespace kiln
