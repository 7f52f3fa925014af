#include "narrow/narrow.h"

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

#include "narrow/asked_questions.h"
#include "narrow/look_up_order.h"
#include "narrow/narrowed_closure.h"
#include "narrow/placed_questions.h"
#include "narrow/unseen_questions.h"
#include "source/identities.h"
#include "source/places.h"

namespace kiln {

namespace {

constexpr std::uint32_t not_made = Dependency::no_other;

class Narrowing {
 public:
  Narrowing(const Query& query, const Closure& whole, const Readings& readings, HeaderFiles& files)
      : program_(query.program),
        whole_(whole),
        readings_(readings),
        search_(query.search),
        asked_(readings, search_),
        kept_(whole, files) {}

  Closure run() {
    if (!readings_.doubt.empty()) kept_.decline(readings_.doubt);
    keep_foreseen();
    const bool foresaw_all = whole_.unresolved.empty() && !asked_for_more();
    if (!was_scanned_in_part() && (foresaw_all || guess())) {
      keep_other_embedded();
      put_in_order(kept_, made_at_);
    } else {
      kept_.remove_all();
      accounted_embedded_.clear();
      keep_other_embedded();
      place_all(readings_, search_, whole_, kept_);
      decline_searching_on();
    }
    note_identities();
    account_for_texts();
    if (goes_by_working_directory()) dependencies().working_directory = readings_.working_directory;
    return std::move(kept_.closure());
  }

 private:
  // The scan follows three paths of a file: what is asked for by a fourth one, nobody foresaw. And a header that is found by the
  // front end's suffix is found by that name, too.
  [[nodiscard]] bool was_scanned_in_part() const {
    return whole_.many_paths ||
           std::any_of(readings_.files.begin(), readings_.files.end(), [](const Reading& reading) {
             return reading.found && reading.path.ends_with(front_end_suffix);
           });
  }

  // Where an embedded header's question found nothing there, each replay looks again.
  [[nodiscard]] bool goes_by_working_directory() const {
    bool is_known = false;
    for (const auto& reading : readings_.files) {
      if (reading.path.starts_with('/')) continue;
      if (reading.found || !accounted_.contains(&reading)) return true;
      is_known = true;
    }
    return readings_.relative && !is_known;
  }

  // NVRTC asks for nothing behind the last directory, so nothing would show that another one was added there.
  void decline_searching_on() {
    const UnseenQuestions unseen(program_, *whole_.source, texts_read());
    const auto count = search_.directories().size();
    if (unseen.may_search_on() && (count == 0 || !search_.is_toolkit_directory(count - 1)))
      kept_.decline("it may search on behind the last include directory");
  }

  // Takes the quoted look-ups of a header when the header has been found: then their parent is known.
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
    std::unordered_set<const void*> places;
    for (std::size_t at = 0; at < list.size(); ++at) {
      const auto kept = keep_if_made(list[at].index, list[at].parent);
      if (!kept || !was_read(*kept)) continue;
      const auto children = quoted.find(found()[*kept].place());
      if (!places.insert(kept_.place(*kept)).second || children == quoted.end()) continue;
      for (const auto child : children->second) list.push_back({child, *kept});
    }
  }

  // `parent`: the position, among those that are kept, of the header that quotes it; else as the look-up has it.
  std::optional<std::uint32_t> keep_if_made(std::size_t index, std::uint32_t parent) {
    auto lookup = whole_.dependencies.lookups[index];
    lookup.parent = parent;
    return keep_if_made(lookup, asked_.follow(lookup, includer_of(lookup)), index);
  }

  std::optional<std::uint32_t> keep_if_made(const Dependency& lookup, Walk walk,
                                            std::size_t index) {
    if (!walk.made) return std::nullopt;
    accounted_.insert(walk.questions.begin(), walk.questions.end());
    if (walk.found.embedded != nullptr) accounted_embedded_.insert(walk.found.embedded->name);
    Dependency kept{lookup.spelling, lookup.parent};
    kept.beside = walk.found.beside;
    kept.as_spelled = lookup.as_spelled;
    if (walk.reading != nullptr && walk.reading->read_at == 0)
      kept.reach = Dependency::Reach::presence;
    kept.tested = lookup.tested || kept.reach == Dependency::Reach::presence;
    made_at_.push_back(made_at(kept, walk));
    return kept_.add(std::move(kept), std::move(walk.found), walk.reading, index);
  }

  [[nodiscard]] Includer includer_of(const Dependency& lookup) const {
    if (!is_quoted_in_header(lookup)) return {search_.source()};
    return {found()[lookup.parent], kept_.reading(lookup.parent)};
  }

  [[nodiscard]] std::uint64_t made_at(const Dependency& lookup, const Walk& walk) const {
    const auto* const includer = is_quoted_in_header(lookup) ? &found()[lookup.parent] : nullptr;
    return asked_.made_at(lookup, walk, includer);
  }

  // A header that was not read cannot have asked for anything.
  [[nodiscard]] bool was_read(std::uint32_t index) const {
    return found()[index].found() && texts()[index] && asked_.read_at(found()[index]) != 0;
  }

  [[nodiscard]] bool asked_for_more() const {
    return std::any_of(readings_.files.begin(), readings_.files.end(), [&](const Reading& reading) {
      return !accounted_.contains(&reading) && !is_nowhere(reading);
    });
  }

  // Keeps all look-ups that may have asked the unforeseen questions: those that were made are among them. False if nobody can
  // tell whether they are all.
  bool guess() {
    if (!readings_.rooted) return false;
    dependencies().embedded_names = search_.embedded_names();
    const auto& lookups = dependencies().lookups;
    for (std::uint32_t index = 0; index < lookups.size(); ++index)
      guessed_.emplace(std::pair(lookups[index].spelling, lookups[index].parent), index);
    keep_other_embedded();  // Their macros may ask for more.
    for (;;) {
      const auto known = found().size();
      const UnseenQuestions unseen(program_, *whole_.source, texts_read());
      if (unseen.are_beyond_guessing()) return false;
      for (const auto includer : includers()) guess_neighbours(includer, unseen);
      guess_searches();
      if (found().size() == known) keep_spelled();  // What is left, a text spells.
      // A header that is found so may ask for more.
      if (found().size() != known) continue;
      free_texts(unseen);
      return !asked_for_more();
    }
  }

  // What was asked for below no include directory, a text spells.
  void keep_spelled() {
    for (const auto& reading : readings_.files) {
      if (reading.root != Reading::no_root || is_nowhere(reading) || accounted_.contains(&reading))
        continue;
      place_spelled(reading, readings_, kept_);
      made_at_.push_back(2 * std::uint64_t{reading.asked_at} + 1);
      accounted_.insert(&reading);
    }
  }

  // A look-up that was only guessed finds the same file here as one that was made. Elsewhere it may find only the same text.
  void free_texts(const UnseenQuestions& unseen) {
    for (std::uint32_t index = 0; index < found().size(); ++index) {
      if (was_read(index) && unseen.is_alike_anywhere(*texts()[index]))
        dependencies().lookups[index].reach = Dependency::Reach::text;
    }
  }

  [[nodiscard]] std::vector<const HeaderText*> texts_read() const {
    std::vector<const HeaderText*> read;
    for (std::uint32_t index = 0; index < texts().size(); ++index) {
      if (was_read(index)) read.push_back(texts()[index].get());
    }
    return read;
  }

  // The first look-up that found each header on the disk.
  [[nodiscard]] std::vector<std::uint32_t> includers() const {
    std::vector<std::uint32_t> all;
    std::unordered_set<const Reading*> known;
    for (std::uint32_t index = 0; index < found().size(); ++index) {
      const auto* const reading = kept_.reading(index);
      if (reading != nullptr && was_read(index) && known.insert(reading).second)
        all.push_back(index);
    }
    return all;
  }

  // Guesses look-ups in angle brackets, or in quotes in the source.
  void guess_searches() {
    for (const auto& reading : readings_.files) {
      const bool has_root = reading.root != Reading::no_root;
      const std::string directory(has_root ? search_.directories()[reading.root]
                                           : std::string(no_directory));
      if (const auto rest = below(directory, reading.path)) guess(*rest, Dependency::no_parent);
    }
  }

  // Guesses look-ups in quotes in a header.
  void guess_neighbours(std::uint32_t includer, const UnseenQuestions& unseen) {
    const auto text = texts()[includer];
    for (const auto& include : text->directives.includes) {
      if (include.form == IncludeDirective::Form::quoted) guess(include.spelling, includer);
    }
    const auto& path = found()[includer].path;
    const auto folder = path.substr(0, path.rfind('/') + 1);
    for (const auto& reading : readings_.files) {
      const bool may_lie_beside =
          reading.root == kept_.reading(includer)->root && reading.path.starts_with(folder);
      if (!may_lie_beside) continue;
      const auto name = std::string_view(reading.path).substr(folder.size());
      if (unseen.may_ask(*text, name)) guess(name, includer);
    }
  }

  void guess(std::string_view spelling, std::uint32_t parent) {
    Dependency lookup{std::string(spelling), parent};
    lookup.tested = true;  // Nobody knows; a compile may go on without it.
    const auto [known, is_new] = guessed_.try_emplace({lookup.spelling, parent}, not_made);
    if (is_new) {
      known->second =
          keep_if_made(lookup, asked_.follow(lookup, includer_of(lookup)), NarrowedClosure::of_none)
              .value_or(not_made);
    } else if (known->second != not_made) {
      dependencies().lookups[known->second].tested = true;
      made_at_[known->second] = made_at(lookup, asked_.follow(lookup, includer_of(lookup)));
    }
  }

  void keep_other_embedded() {
    for (const auto& [name, read_at] : readings_.embedded) {
      const auto* header = search_.find_embedded(name);
      if (header == nullptr || !accounted_embedded_.insert(header->name).second) continue;
      FoundHeader itself;
      itself.embedded = header;
      made_at_.push_back(2 * std::uint64_t{read_at});
      kept_.add({name}, std::move(itself), nullptr, NarrowedClosure::of_none);
    }
  }

  // Counts only the texts that the compiler asked for.
  void account_for_texts() {
    auto read = whole_.itself;
    for (std::size_t index = 0; index < texts().size(); ++index) {
      if (!texts()[index]) continue;
      read.add(*texts()[index], found()[index]);
      // The scan may not have come to this one.
      auto& closure = kept_.closure();
      (found()[index].in_toolkit ? closure.toolkit_tells_path : closure.own_text_tells_path) |=
          texts()[index]->directives.tells_path;
      if (!found()[index].in_toolkit)
        closure.own_path_uses.add(texts()[index]->directives.path_uses);
    }
    if (auto reason = read.reason(); !reason.empty()) kept_.decline(std::move(reason));
  }

  void note_identities() {
    Identities identities(found().size());
    for (std::size_t index = 0; index < found().size(); ++index) {
      auto& lookup = dependencies().lookups[index];
      const auto same = identities.add(found()[index], lookup.reach);
      lookup.same_path = same.path;
      lookup.same_file = same.file;
    }
  }

  [[nodiscard]] DependencySet& dependencies() { return kept_.closure().dependencies; }
  [[nodiscard]] const std::vector<FoundHeader>& found() const { return kept_.closure().found; }
  [[nodiscard]] const std::vector<std::shared_ptr<const HeaderText>>& texts() const {
    return kept_.closure().texts;
  }

  const Program& program_;
  const Closure& whole_;
  const Readings& readings_;
  const HeaderSearch& search_;
  const AskedQuestions asked_;
  NarrowedClosure kept_;
  std::vector<std::uint64_t> made_at_;  ///< Beside each look-up, as put_in_order() wants it.
  std::unordered_set<const Reading*> accounted_;
  std::unordered_set<std::string_view> accounted_embedded_;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t>
      guessed_;  ///< The look-up of each.
};

}  // namespace

Closure narrow(const Query& query, const Closure& closure, const Readings& readings,
               HeaderFiles& files) {
  return Narrowing(query, closure, readings, files).run();
}

}  // namespace kiln
