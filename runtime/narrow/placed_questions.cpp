#include "narrow/placed_questions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

class Placing {
 public:
  Placing(const Readings& readings, const HeaderSearch& search, const Closure& whole,
          bool may_spell_paths, NarrowedClosure& kept)
      : readings_(readings), search_(search), may_spell_paths_(may_spell_paths), kept_(kept) {
    for (std::size_t index = 0; index < whole.found.size(); ++index)
      positions_.emplace(whole.found[index].path, index);
  }

  void run() {
    const auto holding = directories_with(rests(), search_.directories());
    auto& dependencies = kept_.closure().dependencies;
    dependencies.embedded_names = search_.embedded_names();
    dependencies.directories = static_cast<std::uint32_t>(holding.size());
    for (const auto& reading : readings_.files) {
      if (!is_nowhere(reading)) place(reading, holding);
    }
  }

 private:
  [[nodiscard]] std::vector<std::string_view> rests() const {
    std::vector<std::string_view> all;
    for (const auto& reading : readings_.files) {
      for (const auto& directory : search_.directories()) {
        if (const auto rest = below(directory, reading.path)) all.push_back(*rest);
      }
    }
    return all;
  }

  // Places it below each directory that it lies in: nobody knows by which the compiler came to it. What is asked for where there
  // are no directories, none may have.
  void place(const Reading& reading, const std::vector<std::string>& holding) {
    if (const auto rest = below(std::string(no_directory), reading.path)) {
      if (elsewhere_.insert(*rest).second)
        add_placed(fmt::format("{}/{}", Place::elsewhere, *rest), reading);
      return;
    }
    bool placed = false;
    for (std::size_t index = 0; index < holding.size(); ++index) {
      const auto rest = below(holding[index], reading.path);
      if (!rest) continue;
      add_placed(fmt::format("{}/{}", index, *rest), reading);
      placed = true;
    }
    for (const auto& directory : search_.directories()) {
      const bool holds = std::find(holding.begin(), holding.end(), directory) != holding.end();
      const auto rest = holds ? std::nullopt : below(directory, reading.path);
      if (!rest) continue;
      if (reading.found)
        kept_.decline(fmt::format("while it was compiled, header {} went away", reading.path));
      if (elsewhere_.insert(*rest).second)
        add_placed(fmt::format("{}/{}", Place::elsewhere, *rest), reading);
      placed = true;
    }
    if (placed && !may_spell_paths_) return;
    add_placed(reading.path, reading);
    if (placed) return;
    // NVRTC 13.5 asks so for what a header without a folder quotes.
    if (below(readings_.working_directory, reading.path))
      kept_.closure().dependencies.working_directory = readings_.working_directory;
  }

  void add_placed(std::string place, const Reading& reading) {
    Dependency lookup{std::move(place), Dependency::at_place};
    lookup.tested = true;  // Nobody knows; a compile may go on without it.
    FoundHeader found;
    if (reading.found) {
      found.path = reading.path;
      found.stamp = reading.stamp;
      found.in_toolkit = is_in_toolkit(reading.path);
    }
    kept_.add(std::move(lookup), std::move(found), reading.found ? &reading : nullptr,
              position_of(reading));
  }

  [[nodiscard]] bool is_in_toolkit(const std::string& path) const {
    for (std::size_t index = 0; index < search_.directories().size(); ++index) {
      if (below(search_.directories()[index], path)) return search_.is_toolkit_directory(index);
    }
    return false;
  }

  // The position of a look-up that found this file, so that it need not be read again.
  [[nodiscard]] std::size_t position_of(const Reading& reading) const {
    const auto at = positions_.find(reading.path);
    return at != positions_.end() ? at->second : NarrowedClosure::of_none;
  }

  const Readings& readings_;
  const HeaderSearch& search_;
  const bool may_spell_paths_;
  NarrowedClosure& kept_;
  std::unordered_set<std::string_view> elsewhere_;
  std::unordered_map<std::string_view, std::size_t> positions_;
};

}  // namespace

void place_all(const Readings& readings, const HeaderSearch& search, const Closure& whole,
               bool may_spell_paths, NarrowedClosure& kept) {
  Placing(readings, search, whole, may_spell_paths, kept).run();
}

}  // namespace kiln
