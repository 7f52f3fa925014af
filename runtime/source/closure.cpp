#include "source/closure.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "source/characters.h"
#include "source/compilers_macros.h"
#include "source/header_tests.h"
#include "source/joined_text.h"
#include "source/macro_expansion.h"
#include "source/spelled_neighbours.h"
#include "source/text_search.h"

namespace kiln {

namespace {

using Form = IncludeDirective::Form;

// How many paths of one header are followed.
constexpr int most_paths = 3;

// One text whose includes are followed: the source, or a header that was found.
struct Unit {
  std::shared_ptr<const HeaderText> text;
  FoundHeader where;
  std::uint32_t lookup;  // The look-up that found it; source_parent for the source.
};

// One look-up: an include's spelling, and the includer whose neighbour it asks for.
struct LookUp {
  std::string_view spelling;
  std::uint32_t parent;
  bool as_spelled;

  bool operator==(const LookUp&) const = default;
};

struct LookUpHash {
  std::size_t operator()(const LookUp& look_up) const noexcept {
    return std::hash<std::string_view>()(look_up.spelling) * 31 + look_up.parent +
           (look_up.as_spelled ? 1 : 0);
  }
};

// What lies on this machine now.
class AnswersOfNow final : public LookUpAnswers {
 public:
  AnswersOfNow(const HeaderSearch& search, HeaderFiles& files) : finder_(search), files_(files) {}

  FoundHeader find(std::string_view spelling, const FoundHeader* quoted_in) override {
    return quoted_in != nullptr ? finder_.find_quoted(spelling, *quoted_in)
                                : finder_.find(spelling);
  }

  bool is_anywhere(std::string_view spelling) override {
    return !finder_.find_all(spelling).empty();
  }

  std::shared_ptr<const HeaderText> read(const FoundHeader& found) override {
    if (found.embedded != nullptr) return files_.embedded(*found.embedded);
    return files_.read(found.path, found.stamp);
  }

 private:
  const HeaderFinder finder_;
  HeaderFiles& files_;
};

class ClosureBuilder {
 public:
  ClosureBuilder(const Program& program, std::shared_ptr<const HeaderText> source,
                 const HeaderSearch& search, LookUpAnswers& answers)
      : program_(program),
        search_(search),
        answers_(answers),
        macros_of_options_(macros_of_options(program.options())) {
    closure_.source = std::move(source);
  }

  Closure build() {
    follow_program();
    return std::move(closure_);
  }

  // Gives the compiler the embedded headers that are reached, and all of them if the closure may lack some.
  Closure build_for_compiler(HeaderFiles& files) {
    follow_program();
    auto given = search_.embedded();
    if (closure_.unresolved.empty())
      std::erase_if(given, [&](const auto* header) { return !embedded_.contains(header); });
    closure_.embedded = SpelledNeighbours(search_).spell_out(given, files);
    return std::move(closure_);
  }

 private:
  void follow_program() {
    read_options();
    read_expressions();
    add_unit({closure_.source, search_.source(), Dependency::source_parent});
    follow_all();
    // A macro may be defined anywhere, so macro includes come last. They may bring more of them, and definitions that give
    // another meaning to those that were followed.
    for (std::size_t known = 0; known != read_.size() && !macro_includes_.empty();) {
      known = read_.size();
      follow_macro_includes();
      follow_all();
    }
    closure_.not_stored = whole_.reason();
    check_header_tests();
  }

  // NVRTC tells nobody that it tests for an embedded header, so the scan must see each test.
  void check_header_tests() {
    if (pastes_) check_pasted_names();
    for (const auto& unit : read_) {
      if (header_tests_.empty()) break;
      const auto macro = used_unfollowed(unit.text->text, header_tests_);
      if (!macro.empty())
        leave_open("it uses " + macro + ", which asks for headers, in a way kiln does not follow",
                   unit);
      for (const auto& name : unit.text->directives.compilers_macros) {
        const auto body = body_of_compilers_macro(name);
        const auto is_test = [&](std::string_view word) { return header_tests_.contains(word); };
        if (!find_word(body, is_test).empty())
          leave_open("it uses " + name + ", which may come to ask for headers", unit);
      }
    }
    for (const auto& macro : header_tests_) {
      if (is_word_of_compilers_macros(macro) || is_compilers_macro(macro))
        leave_open("it defines " + macro +
                   ", by which the compiler's own macros may ask for headers");
    }
    for (const auto& unit : read_) check_neighbours(unit);
    check_asked("option", program_.options());
    check_asked("expression", program_.kernels());
  }

  // A toolkit's own texts are left out where names are its own: they do the same for everybody.
  void check_pasted_names() {
    if (can_ask(question_pieces_, literal_pieces_))
      leave_open("it may paste together __has_include");
    Words names = header_tests_;
    names.emplace(base_teller);
    names.emplace(path_teller);
    Words pieces;
    for (const auto& unit : read_) {
      if (!unit.where.in_toolkit) pieces.merge(unit.text->pieces_of(names));
    }
    for (const auto* texts : {&program_.options(), &program_.kernels()}) {
      for (const auto& text : *texts) add_pieces(code_in(text), names, pieces);
    }
    closure_.tells_base |= can_be_pasted_to_teller(base_teller, pieces);
    if (can_be_pasted_to_teller(path_teller, pieces))
      closure_.own_text_tells_path = closure_.own_path_uses.computes = true;
    for (const auto& macro : header_tests_) {
      if (can_be_pasted_with_letters(macro, pieces))
        leave_open("it may paste together " + macro + ", which asks for headers");
    }
  }

  // What cannot be spelled out as the neighbour that it asks for, the compiler looks for elsewhere.
  void check_neighbours(const Unit& unit) {
    if (unit.where.embedded == nullptr) return;
    for (const auto& include : unit.text->directives.includes) {
      if (include.form == Form::quoted && !can_be_spelled_out(include))
        leave_open("it asks for \"" + include.spelling + "\", which no brackets can hold", unit);
    }
  }

  void check_asked(std::string_view what, const std::vector<std::string>& texts) {
    for (const auto& text : texts) {
      const bool names_one =
          std::any_of(header_tests_.begin(), header_tests_.end(),
                      [&](const std::string& macro) { return holds(text, macro); });
      if (names_one || holds(text, "__has_include"))
        leave_open(fmt::format("{} {} asks for headers", what, text));
    }
  }

  void add_unit(Unit unit) {
    const auto& said = unit.text->directives;
    if (unit.lookup == Dependency::source_parent) {
      closure_.itself.add(said, unit.where.place());
      whole_.add(said, unit.where.place());
    } else {
      whole_.add(*unit.text, unit.where);
    }
    note_pieces(said);
    header_tests_.insert(said.header_tests.begin(), said.header_tests.end());
    if (!said.unfollowed.empty()) leave_open("it uses " + said.unfollowed, unit);
    if (whole_.misreads(said)) leave_open("where its literals and comments end is not sure", unit);
    (unit.where.in_toolkit ? closure_.toolkit_tells_path : closure_.own_text_tells_path) |=
        said.tells_path;
    if (!unit.where.in_toolkit) closure_.own_path_uses.add(said.path_uses);
    pending_.push_back(std::move(unit));
  }

  void note_pieces(const Directives& said) {
    pastes_ |= said.pastes;
    closure_.tells_base |= said.tells_base;
    question_pieces_.insert(said.question_pieces.begin(), said.question_pieces.end());
    literal_pieces_.insert(said.literal_pieces.begin(), said.literal_pieces.end());
  }

  // A macro of -D may tell the time or a place wherever it is used.
  void read_options() {
    for (const auto& option : program_.options()) {
      for (auto* all : {&closure_.itself, &whole_}) all->read_in_language_of(option);
      read_asked(option, "option " + option);
    }
  }

  // The compiler reads a name expression as code of the program.
  void read_expressions() {
    for (const auto& expression : program_.kernels())
      read_asked(expression, "expression " + expression);
  }

  void read_asked(const std::string& text, const std::string& place) {
    const auto said = read_directives(text);
    closure_.own_text_tells_path |= said.tells_path;
    closure_.own_path_uses.add(said.path_uses);
    for (auto* all : {&closure_.itself, &whole_}) all->add(said, place);
    note_pieces(said);
  }

  void follow_all() {
    for (; !pending_.empty(); pending_.pop_front()) {
      const Unit& unit = read_.emplace_back(std::move(pending_.front()));
      for (const auto& include : unit.text->directives.includes) {
        if (include.form == Form::macro) {
          // A toolkit's questions stand in no other macro's call.
          if (!include.beside || !unit.where.in_toolkit)
            macro_includes_.push_back({include, &unit});
        } else {
          follow(include, unit);
        }
      }
    }
  }

  void follow(const IncludeDirective& include, const Unit& includer) {
    if (include.next) return follow_next(include, includer);
    const bool quoted = include.form == Form::quoted;
    // The includer is part of it, not its folder: files that lie together here may lie apart elsewhere.
    const auto parent = quoted ? includer.lookup : Dependency::no_parent;
    const bool as_spelled =
        quoted && parent != Dependency::source_parent && !can_be_spelled_out(include);
    const auto position = static_cast<std::uint32_t>(closure_.dependencies.lookups.size());
    // Headers repeat each other's includes many times over, and each search asks the filesystem.
    const auto [known, is_new_lookup] =
        lookups_.try_emplace(LookUp{include.spelling, parent, as_spelled}, position);
    if (!is_new_lookup) {
      closure_.dependencies.lookups[known->second].tested |= include.tested;
      return;
    }
    auto found = answers_.find(include.spelling,
                               quoted ? searched_beside(as_spelled, includer.where) : nullptr);
    auto text = found.found() ? answers_.read(found) : nullptr;
    if (!text) found = {};
    Dependency lookup{include.spelling, parent};
    lookup.tested = include.tested;
    lookup.as_spelled = as_spelled;
    if (text) lookup.content = text->digest;
    // The source lies where no machine has a folder.
    lookup.beside = found.beside && includer.lookup != Dependency::source_parent;
    closure_.dependencies.lookups.push_back(std::move(lookup));
    closure_.found.push_back(found);
    closure_.includers.push_back(includer.lookup);
    closure_.texts.push_back(text);
    if (text && is_new(found)) add_unit({std::move(text), std::move(found), position});
  }

  // By another path a header has other neighbours. But headers that include each other as `../b/b.h` have a new path in each
  // round, without end.
  bool is_new(const FoundHeader& found) {
    if (found.embedded != nullptr) return embedded_.insert(found.embedded).second;
    if (!on_disk_.insert(found.path).second) return false;
    const auto paths = ++paths_[{found.stamp.device, found.stamp.inode}];
    closure_.many_paths |= paths > most_paths;
    return paths == 1 || !closure_.many_paths;
  }

  // The compiler will say which of several headers it is. A header that no search finds, #include_next does not find
  // either: libcu++ of CUDA 12 has such directives in branches that are not for NVRTC.
  void follow_next(const IncludeDirective& include, const Unit& includer) {
    if (answers_.is_anywhere(include.spelling)) {
      return leave_open("it uses #include_next of " + std::string(include.spelling), includer);
    }
    follow(keep({include.spelling, Form::angled, 0, 0}), includer);
  }

  void follow_macro_includes() {
    const auto macros = all_macros();
    for (const auto& [include, includer] : macro_includes_) {
      const Unit& unit = *includer;
      const auto& name = include.spelling;
      const auto spellings = expand_include_macro(name, macros);
      if (spellings.empty())
        leave_open(fmt::format("it {} {}, which kiln cannot expand",
                               include.tested ? "asks for" : "includes", name),
                   unit);
      for (const auto& spelling : spellings) {
        const auto form = spelling.front() == '"' ? Form::quoted : Form::angled;
        follow(keep({spelling.substr(1, spelling.size() - 2), form, 0, 0, include.tested,
                     include.next}),
               unit);
      }
    }
  }

  // Keeps an include that no text holds: a look-up refers to its spelling.
  const IncludeDirective& keep(IncludeDirective include) {
    return made_.emplace_back(std::move(include));
  }

  // Nobody knows what the program reads there before it is compiled.
  void leave_open(const std::string& reason) {
    if (closure_.unresolved.empty()) closure_.unresolved = reason;
  }
  void leave_open(const std::string& reason, const Unit& unit) {
    leave_open(fmt::format("{}: {}", unit.where.place(), reason));
  }

  // Of the texts that were read so far and of the options.
  [[nodiscard]] std::vector<const MacroBodies*> all_macros() const {
    std::vector<const MacroBodies*> macros{&macros_of_options_};
    for (const auto& unit : read_) macros.push_back(&unit.text->macros());
    return macros;
  }

  const Program& program_;
  const HeaderSearch& search_;
  LookUpAnswers& answers_;
  const MacroBodies macros_of_options_;
  Closure closure_;
  std::deque<Unit> pending_;
  std::deque<Unit> read_;  // A deque: includers are referred to while it grows.
  std::deque<IncludeDirective> made_;
  std::unordered_map<LookUp, std::uint32_t, LookUpHash>
      lookups_;  // By position; spelled by the texts, which stay.
  std::unordered_set<const EmbeddedHeader*> embedded_;            ///< That are reached,
  std::unordered_set<std::string> on_disk_;                       ///< and paths that are.
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> paths_;  ///< By device and inode.
  std::vector<std::pair<IncludeDirective, const Unit*>> macro_includes_;
  Words header_tests_;
  bool pastes_ = false;
  Words question_pieces_;
  Words literal_pieces_;
  Accountability whole_;  // Goes by all that the program may read.
};

}  // namespace

Closure close_over(const Program& program, std::shared_ptr<const HeaderText> source,
                   const HeaderSearch& search, LookUpAnswers& answers) {
  return ClosureBuilder(program, std::move(source), search, answers).build();
}

Closure close_over(const Program& program, std::shared_ptr<const HeaderText> source,
                   const HeaderSearch& search, HeaderFiles& files) {
  AnswersOfNow now(search, files);
  return ClosureBuilder(program, std::move(source), search, now).build_for_compiler(files);
}

Closure close_over(const Program& program, const HeaderSearch& search, HeaderFiles& files) {
  return close_over(program, scan_text(program.source()), search, files);
}

}  // namespace kiln
