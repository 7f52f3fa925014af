#include "narrow.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compile_order.h"
#include "identities.h"
#include "places.h"
#include "unseen_questions.h"

namespace kiln {

namespace {

std::string_view folder_of(std::string_view file) {
  const auto slash = file.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : file.substr(0, slash + 1);
}

constexpr std::uint32_t not_made = Dependency::no_other;

bool is_quoted_in_header(const Dependency& lookup) { return lookup.parent < Dependency::at_place; }

class Narrowing {
 public:
  Narrowing(const Program& program, const Closure& whole, const Readings& readings,
            const HeaderSearch& search, HeaderFiles& files)
      : program_(program), whole_(whole), readings_(readings), search_(search), files_(files) {
    for (const auto& reading : readings.files) asked_.emplace(reading.path, &reading);
    for (const auto& reading : readings.embedded)
      embedded_read_.emplace(reading.name, reading.read_at);
    narrowed_.embedded = whole.embedded;
    narrowed_.prelude = whole.prelude;
    narrowed_.itself = whole.itself;
    narrowed_.unresolved = whole.unresolved;
    narrowed_.own_text_tells_path = whole.own_text_tells_path;
    narrowed_.toolkit_tells_path = whole.toolkit_tells_path;
  }

  Closure run() {
    if (!readings_.doubt.empty()) decline(readings_.doubt);
    keep_foreseen();
    if ((whole_.unresolved.empty() && !asked_for_more()) || guess()) {
      keep_other_embedded();
      put_in_order(narrowed_, made_at_);
    } else {
      place_all();
    }
    note_identities();
    account_for_texts();
    if (readings_.relative) narrowed_.dependencies.working_directory = readings_.working_directory;
    return std::move(narrowed_);
  }

 private:
  // Where a look-up leads, by the compiler's own questions.
  struct Walk {
    bool made = true;  ///< Whether all its questions were asked.
    FoundHeader found;
    bool beside = false;               ///< Whether it was found beside its includer.
    const Reading* reading = nullptr;  ///< Of what was found on the disk.
    std::vector<std::string> paths;
  };

  // What is quoted in a header comes when that has been found, so that its parent is known.
  void keep_foreseen() {
    struct Next {
      std::size_t index;
      std::uint32_t parent;
    };
    const auto& lookups = whole_.dependencies.lookups;
    std::unordered_map<std::string_view, std::vector<std::size_t>> quoted;
    std::vector<Next> list;
    for (std::size_t index = 0; index < lookups.size(); ++index) {
      const auto parent = lookups[index].parent;
      if (is_quoted_in_header(lookups[index])) {
        quoted[whole_.found[parent].place()].push_back(index);
      } else {
        list.push_back({index, parent});
      }
    }
    std::unordered_set<std::string> places;
    for (std::size_t at = 0; at < list.size(); ++at) {
      const auto kept = keep_if_made(list[at].index, list[at].parent);
      if (!kept || !was_read(*kept)) continue;
      const auto [place, is_new] = places.emplace(narrowed_.found[*kept].place());
      const auto children = quoted.find(*place);
      if (!is_new || children == quoted.end()) continue;
      for (const auto child : children->second) list.push_back({child, *kept});
    }
  }

  // `parent`: the position of its includer among those that are kept, where that is a header that it is quoted
  // in.
  std::optional<std::uint32_t> keep_if_made(std::size_t index, std::uint32_t parent) {
    auto lookup = whole_.dependencies.lookups[index];
    lookup.parent = parent;
    const auto kept = keep_if_made(lookup, index);
    // What is nowhere NVRTC looks for once more, by its front end's own suffix for the standard's headers.
    if (kept && !narrowed_.found[*kept].found()) {
      lookup.spelling += ".stdh";
      lookup.tested = true;
      (void)keep_if_made(lookup, whole_.texts.size());
    }
    return kept;
  }

  std::optional<std::uint32_t> keep_if_made(const Dependency& lookup, std::size_t index) {
    auto walk = follow(lookup);
    if (!walk.made) return std::nullopt;
    for (const auto& path : walk.paths) accounted_.insert(asked_.find(path)->first);
    if (walk.found.embedded != nullptr) accounted_embedded_.insert(walk.found.embedded->name);
    Dependency kept{lookup.spelling, lookup.parent};
    kept.beside = walk.beside;
    if (walk.reading != nullptr && walk.reading->read_at == 0)
      kept.reach = Dependency::Reach::presence;
    kept.tested = lookup.tested || kept.reach == Dependency::Reach::presence;
    made_at_.push_back(made_at(kept, walk));
    return add(std::move(kept), std::move(walk.found), walk.reading, index);
  }

  // As put_in_order() wants it. An include was made, at the latest, when its header or its includer was read, whichever
  // came later; all others, at the earliest, when the last of their questions was first asked. Twice the
  // number of the event, so that there is room between two.
  [[nodiscard]] std::uint64_t made_at(const Dependency& lookup, const Walk& walk) const {
    const std::uint64_t includer =
        is_quoted_in_header(lookup) ? read_at(narrowed_.found[lookup.parent]) : 0;
    if (walk.found.found() && !lookup.tested)
      return std::max(2 * read_at(walk.found), 2 * includer + 1);
    auto earliest = includer;
    for (const auto& path : walk.paths)
      earliest = std::max<std::uint64_t>(earliest, asked_.at(path)->asked_at);
    return 2 * earliest + 1;
  }

  // What was not read cannot have asked for anything.
  [[nodiscard]] bool was_read(std::uint32_t index) const {
    const auto& found = narrowed_.found[index];
    return found.found() && narrowed_.texts[index] && read_at(found) != 0;
  }

  [[nodiscard]] std::uint64_t read_at(const FoundHeader& found) const {
    if (found.embedded == nullptr) return asked_.at(found.path)->read_at;
    const auto read = embedded_read_.find(found.embedded->name);
    return read != embedded_read_.end() ? read->second : 0;
  }

  Walk follow(const Dependency& lookup) const {
    const auto& includer =
        is_quoted_in_header(lookup) ? narrowed_.found[lookup.parent] : search_.source();
    const bool quoted = lookup.parent != Dependency::no_parent;
    Walk walk;
    if (quoted && includer.embedded != nullptr)
      walk.found.embedded = search_.neighbour(lookup.spelling, *includer.embedded);
    walk.beside = walk.found.embedded != nullptr;
    if (walk.found.embedded == nullptr)
      walk.found.embedded = search_.find_embedded(lookup.spelling);
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

  void search_directories(const std::string& spelling, Walk& walk) const {
    const auto& directories = search_.directories();
    for (std::size_t index = 0; index < directories.size(); ++index) {
      if (ask(directories[index] + '/' + spelling, search_.is_toolkit_directory(index), walk))
        return;
    }
    if (directories.empty()) ask(std::string(no_directory) + '/' + spelling, false, walk);
  }

  // Whether the walk ends here.
  bool ask(const std::string& path, bool in_toolkit, Walk& walk) const {
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

  // `index`: the look-up of the whole closure that it is, whose text it may be.
  std::uint32_t add(Dependency lookup, FoundHeader found, const Reading* reading,
                    std::size_t index) {
    std::shared_ptr<const HeaderText> text;
    if (found.embedded != nullptr) {
      lookup.content = found.embedded->digest;
      text = index < whole_.texts.size() ? whole_.texts[index] : nullptr;
      if (!text || text->digest != lookup.content)
        text = scan_text(std::string(found.embedded->text()));
    } else if (reading != nullptr) {
      lookup.content = reading->content;
      text = text_of(*reading, index);
    }
    const auto position = static_cast<std::uint32_t>(narrowed_.found.size());
    narrowed_.dependencies.lookups.push_back(std::move(lookup));
    narrowed_.found.push_back(std::move(found));
    narrowed_.texts.push_back(std::move(text));
    return position;
  }

  // The compiler's own, whatever lies on the disk by now.
  std::shared_ptr<const HeaderText> text_of(const Reading& reading, std::size_t index) {
    if (index < whole_.texts.size() && whole_.texts[index] &&
        whole_.texts[index]->digest == reading.content) {
      return whole_.texts[index];
    }
    auto text = files_.read(reading.path, reading.stamp);
    if (text && text->digest == reading.content) return text;
    decline(fmt::format("while it was compiled, header {} changed", reading.path));
    return nullptr;
  }

  [[nodiscard]] bool asked_for_more() const {
    return std::any_of(readings_.files.begin(), readings_.files.end(), [&](const Reading& reading) {
      return !accounted_.contains(reading.path) && !is_nowhere(reading);
    });
  }

  // Below the folder of the source, which no machine has.
  static bool is_nowhere(const Reading& reading) {
    return !reading.found && reading.path.starts_with(virtual_name(""));
  }

  // Keeps all look-ups that may have asked these questions unforeseen: those that were made are among them. False where
  // nobody can tell whether they are all.
  bool guess() {
    narrowed_.dependencies.embedded_names = search_.embedded_names();
    const auto& lookups = narrowed_.dependencies.lookups;
    for (std::uint32_t index = 0; index < lookups.size(); ++index)
      guessed_.emplace(std::pair(lookups[index].spelling, lookups[index].parent), index);
    // A header that is found so may ask for more.
    for (std::size_t known = 0; known != narrowed_.found.size();) {
      known = narrowed_.found.size();
      const UnseenQuestions unseen(program_, texts_read());
      if (unseen.may_ask_for_places()) return false;
      for (const auto includer : includers()) guess_neighbours(includer, unseen);
      guess_searches();
      if (known == narrowed_.found.size()) free_texts(unseen);
    }
    return !asked_for_more();
  }

  // What was guessed beside what was made finds the same files here, and elsewhere perhaps only the same texts.
  void free_texts(const UnseenQuestions& unseen) {
    for (std::uint32_t index = 0; index < narrowed_.found.size(); ++index) {
      if (was_read(index) && unseen.is_alike_anywhere(*narrowed_.texts[index]))
        narrowed_.dependencies.lookups[index].reach = Dependency::Reach::text;
    }
  }

  [[nodiscard]] std::vector<const HeaderText*> texts_read() const {
    std::vector<const HeaderText*> texts;
    for (std::uint32_t index = 0; index < narrowed_.texts.size(); ++index) {
      if (was_read(index)) texts.push_back(narrowed_.texts[index].get());
    }
    return texts;
  }

  // The first look-up that found each header on the disk.
  [[nodiscard]] std::vector<std::uint32_t> includers() const {
    std::vector<std::uint32_t> all;
    std::unordered_set<std::string_view> known;
    for (std::uint32_t index = 0; index < narrowed_.found.size(); ++index) {
      const auto& found = narrowed_.found[index];
      if (was_read(index) && found.embedded == nullptr && known.insert(found.path).second)
        all.push_back(index);
    }
    return all;
  }

  // In angle brackets, or in quotes in the source.
  void guess_searches() {
    for (const auto& reading : readings_.files) {
      for (const auto& directory : search_.directories()) {
        if (const auto rest = below(directory, reading.path)) guess(*rest, Dependency::no_parent);
      }
    }
  }

  // In quotes in a header.
  void guess_neighbours(std::uint32_t includer, const UnseenQuestions& unseen) {
    const auto text = narrowed_.texts[includer];
    for (const auto& include : text->directives.includes) {
      if (include.form == IncludeDirective::Form::quoted) guess(include.spelling, includer);
    }
    const std::string folder(folder_of(narrowed_.found[includer].path));
    for (const auto& reading : readings_.files) {
      if (reading.path.starts_with(folder) && unseen.may_ask(*text, reading.path))
        guess(std::string_view(reading.path).substr(folder.size()), includer);
    }
  }

  void guess(std::string_view spelling, std::uint32_t parent) {
    Dependency lookup{std::string(spelling), parent};
    lookup.tested = true;  // Nobody knows; a compile may go on without it.
    const auto [known, is_new] = guessed_.try_emplace({lookup.spelling, parent}, not_made);
    if (is_new) {
      known->second = keep_if_made(lookup, whole_.texts.size()).value_or(not_made);
    } else if (known->second != not_made) {
      narrowed_.dependencies.lookups[known->second].tested = true;
      made_at_[known->second] = made_at(lookup, follow(lookup));
    }
  }

  void keep_other_embedded() {
    for (const auto& [name, read_at] : readings_.embedded) {
      const auto* header = search_.find_embedded(name);
      if (header == nullptr || accounted_embedded_.contains(header->name)) continue;
      FoundHeader found;
      found.embedded = header;
      made_at_.push_back(2 * std::uint64_t{read_at});
      add({name}, std::move(found), nullptr, whole_.texts.size());
    }
  }

  // Every question at its place, and every embedded header by its name.
  void place_all() {
    narrowed_.dependencies.lookups.clear();
    narrowed_.found.clear();
    narrowed_.texts.clear();
    accounted_embedded_.clear();
    keep_other_embedded();
    narrowed_.dependencies.embedded_names = search_.embedded_names();
    const auto holding = directories_with(rests(), search_.directories());
    narrowed_.dependencies.directories = static_cast<std::uint32_t>(holding.size());
    for (const auto& reading : readings_.files) {
      if (!is_nowhere(reading)) place(reading, holding);
    }
  }

  [[nodiscard]] std::vector<std::string_view> rests() const {
    std::vector<std::string_view> all;
    for (const auto& reading : readings_.files) {
      for (const auto& directory : search_.directories()) {
        if (const auto rest = below(directory, reading.path)) all.push_back(*rest);
      }
    }
    return all;
  }

  // Below each directory that it is in: by which of them the compiler came to it is not known.
  void place(const Reading& reading, const std::vector<std::string>& holding) {
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
        decline(fmt::format("while it was compiled, header {} went away", reading.path));
      if (elsewhere_.insert(*rest).second)
        add_placed(fmt::format("{}/{}", Place::elsewhere, *rest), reading);
      placed = true;
    }
    if (placed) return;
    add_placed(reading.path, reading);
    // 13.5 asks so for what a header quotes that lies in no folder.
    if (below(readings_.working_directory, reading.path))
      narrowed_.dependencies.working_directory = readings_.working_directory;
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
    add(std::move(lookup), std::move(found), reading.found ? &reading : nullptr,
        position_of(reading));
  }

  [[nodiscard]] bool is_in_toolkit(const std::string& path) const {
    for (std::size_t index = 0; index < search_.directories().size(); ++index) {
      if (below(search_.directories()[index], path)) return search_.is_toolkit_directory(index);
    }
    return false;
  }

  // Of a look-up of the closure that found this file, so that it need not be read again.
  [[nodiscard]] std::size_t position_of(const Reading& reading) {
    if (positions_.empty()) {
      for (std::size_t index = 0; index < whole_.found.size(); ++index)
        positions_.emplace(whole_.found[index].path, index);
    }
    const auto at = positions_.find(reading.path);
    return at != positions_.end() ? at->second : whole_.texts.size();
  }

  // For those alone that the compiler asked for.
  void account_for_texts() {
    auto read = whole_.itself;
    for (std::size_t index = 0; index < narrowed_.texts.size(); ++index) {
      if (narrowed_.texts[index]) read.add(*narrowed_.texts[index], narrowed_.found[index]);
    }
    if (auto reason = read.reason(); !reason.empty()) decline(std::move(reason));
  }

  void note_identities() {
    Identities identities(narrowed_.found.size());
    for (std::size_t index = 0; index < narrowed_.found.size(); ++index) {
      auto& lookup = narrowed_.dependencies.lookups[index];
      const auto same = identities.add(narrowed_.found[index], lookup.reach);
      lookup.same_path = same.path;
      lookup.same_file = same.file;
    }
  }

  void decline(std::string reason) {
    if (narrowed_.unaccountable.empty()) narrowed_.unaccountable = std::move(reason);
  }

  const Program& program_;
  const Closure& whole_;
  const Readings& readings_;
  const HeaderSearch& search_;
  HeaderFiles& files_;
  Closure narrowed_;
  std::unordered_map<std::string_view, const Reading*> asked_;
  std::unordered_map<std::string_view, std::uint32_t> embedded_read_;
  std::vector<std::uint64_t> made_at_;  ///< Beside each look-up that is kept as one.
  std::unordered_set<std::string_view> accounted_;
  std::unordered_set<std::string_view> accounted_embedded_;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t>
      guessed_;  ///< The look-up of each.
  std::unordered_set<std::string_view> elsewhere_;
  std::unordered_map<std::string_view, std::size_t> positions_;
};

}  // namespace

Closure narrow(const Program& program, const Closure& closure, const Readings& readings,
               const HeaderSearch& search, HeaderFiles& files) {
  return Narrowing(program, closure, readings, search, files).run();
}

}  // namespace kiln
