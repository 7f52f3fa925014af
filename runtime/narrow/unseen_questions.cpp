#include "narrow/unseen_questions.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "source/accountability.h"
#include "source/characters.h"
#include "source/joined_text.h"
#include "source/macro_expansion.h"
#include "source/pieces.h"
#include "source/scanner.h"
#include "source/text_search.h"

namespace kiln {

namespace {

constexpr std::string_view asks_for_header = "__has_include";
constexpr std::string_view pragma_operator = "_Pragma";
constexpr std::array<std::string_view, 2> words_of_once{"pragma", "import"};
constexpr std::string_view searches_on = "include_next";
constexpr std::array<std::string_view, 2> paste_operators{"##", "%:%:"};

bool is_any_blank(char c) {
  return std::string_view(" \t\v\f\r\n").find(c) != std::string_view::npos;
}

// Without the blanks at its end,
std::string_view without_last_blanks(std::string_view text) {
  while (!text.empty() && is_any_blank(text.back())) text.remove_suffix(1);
  return text;
}

// or at its beginning.
std::string_view without_first_blanks(std::string_view text) {
  while (!text.empty() && is_any_blank(text.front())) text.remove_prefix(1);
  return text;
}

// Whether a whole path may begin here: a slash that divides nothing.
bool may_begin_path(std::string_view code, std::size_t slash) {
  const auto before = without_last_blanks(code.substr(0, slash));
  return before.empty() ||
         std::string_view("<\"(,=#").find(before.back()) != std::string_view::npos;
}

// Whether no directive is on its line.
bool is_in_code(std::string_view text, std::size_t position) {
  const auto line = text.substr(0, position).substr(text.rfind('\n', position) + 1);
  constexpr std::array<std::string_view, 3> of_directives{"#", "%:", "?\?="};
  return std::none_of(of_directives.begin(), of_directives.end(),
                      [&](std::string_view sign) { return holds(line, sign); });
}

// Whether no folder can follow: OPERATOR(divides, /=), print("/"), OPERATOR(divides, /);
bool is_bare(std::string_view following) {
  const auto rest = trimmed(following.substr(0, 16));
  return rest.starts_with('=') || rest.starts_with('"') ||
         (rest.starts_with(')') && trimmed(rest.substr(1)).starts_with(';'));
}

bool may_hold_path(std::string_view text) {
  for (auto slash = text.find('/'); slash != std::string_view::npos;
       slash = text.find('/', slash + 1)) {
    if (may_begin_path(text, slash)) return true;
  }
  return false;
}

// The left operand, where that is a word, or a call: "a" of a/b, ")" of f(a)/b; else nothing.
std::string_view before_slash(std::string_view text, std::size_t slash) {
  const auto before = without_last_blanks(text.substr(0, slash));
  return before.ends_with(')') ? before.substr(before.size() - 1) : Scanner::last_word(before);
}

std::string_view word_at(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), continues_identifier);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

bool is_pasted(std::string_view following) {
  const auto rest = trimmed(following);
  return std::any_of(paste_operators.begin(), paste_operators.end(),
                     [&](std::string_view paste) { return rest.starts_with(paste); });
}

bool names_any(std::string_view text, const std::set<std::string, std::less<>>& macros) {
  return !find_word(text, [&](std::string_view word) { return macros.contains(word); }).empty();
}

bool asks_by_macro(const Directives& said) {
  return !said.unfollowed.empty() ||
         std::any_of(said.includes.begin(), said.includes.end(), [](const auto& include) {
           return include.form == IncludeDirective::Form::macro && !include.beside;
         });
}

}  // namespace

UnseenQuestions::UnseenQuestions(const Program& program, const HeaderText& source,
                                 const std::vector<const HeaderText*>& headers,
                                 const Readings& readings) {
  for (const auto& reading : readings.files) {
    const auto first = reading.path.find('/', 1);
    first_folders_.insert(reading.path.substr(0, first));
    roots_.insert(reading.path.substr(
        0, first == std::string::npos ? first : reading.path.find('/', first + 1)));
  }
  Words pieces;
  Words literals;
  Accountability language;
  const auto note = [&](const Directives& said) {
    pastes_ |= said.pastes;
    pieces.insert(said.question_pieces.begin(), said.question_pieces.end());
    literals.insert(said.literal_pieces.begin(), said.literal_pieces.end());
    brackets_are_open_ |= said.opens_brackets;
    may_spell_paths_ |= std::any_of(
        said.includes.begin(), said.includes.end(),
        [](const IncludeDirective& include) { return include.spelling.starts_with("//"); });
    beyond_guessing_ |= language.misreads(said);
    beyond_guessing_ |= !said.unfollowed.empty() && said.unfollowed != asks_for_header;
  };
  for (const auto& option : program.options()) language.read_in_language_of(option);
  for (const auto* texts : {&program.options(), &program.kernels()}) {
    for (const auto& text : *texts) {
      note_next(text);
      note(read_directives(text));
    }
  }
  note_macros(macros_of_options(program.options()));
  add(source);
  for (const auto* header : headers) add(*header);
  for (const auto& [header, text] : texts_) note(header->directives);
  const bool may_paste_next = can_ask_for_next(pieces, literals);
  beyond_guessing_ |= pastes_ && (may_paste_next || (holds_next_ && can_ask(pieces, literals)));
  for (auto* const names : {&asking_, &pasting_, &pragmatic_}) spread(*names);
  for (std::size_t known = 0; known != empty_.size();) {
    known = empty_.size();
    for (const auto& [name, macro] : macros_)
      if (empty_.contains(std::string_view(macro.text))) empty_.insert(name);
  }
  for (const auto& [name, macro] : macros_) note_operands(macro);
  const bool pastes_questions =
      pastes_ && (can_ask(pieces, literals) || can_be_pasted_together(asking_, program));
  auto pragmas = pragmatic_;
  pragmas.emplace(pragma_operator);
  const bool pastes_pragmas = pastes_ && can_be_pasted_together(pragmas, program);
  for (auto& [header, text] : texts_) {
    text.pastes = names_any(text.code, pasting_);
    text.asks = asks_by_macro(header->directives) || (pastes_questions && text.pastes) ||
                names_any(text.code, asking_);
    // Code asks by __has_include, or gets into a pragma that does.
    note_paths(text.code, brackets_are_open_ || text.asks || (pastes_pragmas && text.pastes) ||
                              may_be_pragma(text.code) || holds(text.code, asks_for_header) ||
                              header->directives.raw_literals);
  }
  for (const auto* texts : {&program.options(), &program.kernels()})
    for (const auto& text : *texts) note_paths(text, true);
  may_spell_paths_ |= std::any_of(begun_.begin(), begun_.end(), [&](const auto& begun) {
    return may_begin_root(begun.first, begun.second);
  });
  // A name that nobody could read may be that of any macro.
  if (macros_.contains("")) may_spell_paths_ = beyond_guessing_ = true;
}

void UnseenQuestions::add(const HeaderText& header) {
  const auto [place, added] = texts_.try_emplace(&header);
  if (!added) return;
  place->second.code = without_comments(JoinedText(header.text).text());
  note_next(place->second.code);
  note_macros(header.macros());
}

void UnseenQuestions::note_next(std::string_view text) {
  const bool holds_next = holds(text, "next");
  holds_next_ |= holds_next;
  beyond_guessing_ = beyond_guessing_ || (holds_next && holds(text, searches_on));
}

// Where code does not count, a slash in it is an operator, or text.
void UnseenQuestions::note_paths(std::string_view text, bool code_counts) {
  for (auto slash = text.find('/'); slash != std::string_view::npos;
       slash = text.find('/', slash + 1)) {
    const auto following = text.substr(slash + 1);
    const bool is_known = first_folders_.contains('/' + std::string(word_at(following)));
    if (is_known) continue;
    const bool counts = code_counts || !is_in_code(text, slash);
    // A macro of nothing, or one that comes to nothing, may stand before a path. A blank behind the slash would stay.
    const auto before = before_slash(text, slash);
    const bool may_be_first = empty_.contains(before) || (before == ")" && counts);
    if (may_be_first && !word_at(following).empty()) note_beginning("/", following);
    if (may_begin_path(text, slash) && (counts || !is_bare(following)))
      note_beginning("/", following);
  }
  for (const auto& folder : first_folders_) note_folder(folder, text);
}

// A path that was asked for begins as one of the roots, spelled out or made by macros: </em> begins none, and neither does
// what divides a quoted word. `folders` are what is spelled already, `following` is what follows.
void UnseenQuestions::note_beginning(std::string folders, std::string_view following) {
  const auto rest = without_first_blanks(following);
  const auto word = word_at(rest);
  if (word.empty()) {
    // <br/>
    may_spell_paths_ |= !rest.starts_with('>') ||
                        roots_.lower_bound(folders + '>') != roots_.upper_bound(folders + '?');
    return;
  }
  // It may be the first half of a macro's name.
  const auto behind = rest.substr(word.size());
  may_spell_paths_ |= is_pasted(behind) || (pastes_ && !behind.starts_with('/') &&
                                            !behind.starts_with('>') && may_begin_macro(word));
  begun_.emplace(std::move(folders), word);
}

bool UnseenQuestions::may_begin_macro(std::string_view word) const {
  const auto next = macros_.lower_bound(word);
  return may_be_predefined(word) || (next != macros_.end() && next->first.starts_with(word));
}

// Anything may stand before a path: a macro of nothing. /dev/null is none below /dev/shm, and cub/device none below /dev.
void UnseenQuestions::note_folder(const std::string& folder, std::string_view text) {
  if (!holds(text, folder)) return;
  for (auto at = text.find(folder); at != std::string_view::npos; at = text.find(folder, at + 1)) {
    const auto following = text.substr(at + folder.size());
    if (!following.empty() && continues_identifier(following.front())) continue;
    may_spell_paths_ |= !following.starts_with('/');
    if (following.starts_with('/')) note_beginning(folder + '/', following.substr(1));
  }
}

bool UnseenQuestions::may_begin_root(const std::string& folders, const std::string& word) const {
  return word.starts_with('_') || word == "linux" || word == "unix" || may_be_predefined(word) ||
         macros_.contains(word) ||
         std::any_of(roots_.begin(), roots_.end(),
                     [&](const std::string& root) { return root.starts_with(folders + word); });
}

void UnseenQuestions::note_macros(const MacroBodies& macros) {
  for (const auto& [name, macro] : macros) {
    // Its parameters are no macros, and may be anything.
    const std::string_view body = macro.text;
    may_spell_paths_ |= body.starts_with('/') || may_hold_path(body) ||
                        std::any_of(first_folders_.begin(), first_folders_.end(),
                                    [&](const auto& folder) { return holds(body, folder); });
    if (macro.text.empty()) empty_.insert(name);
    if (holds(macro.text, asks_for_header)) asking_.insert(name);
    if (holds(macro.text, pragma_operator)) pragmatic_.insert(name);
    for (const auto paste : paste_operators) {
      if (holds(macro.text, paste)) pasting_.insert(name);
    }
  }
  macros_.insert(macros.begin(), macros.end());
}

// A parameter or a macro may be nothing, and what stands behind it then begins a path: <a/b>, <EMPTY/b>.
void UnseenQuestions::note_operands(const MacroBody& macro) {
  const auto is_parameter = [&](std::string_view word) {
    return word == "__VA_ARGS__" || std::find(macro.parameters.begin(), macro.parameters.end(),
                                              word) != macro.parameters.end();
  };
  const std::string_view text = macro.text;
  for (auto slash = text.find('/'); slash != std::string_view::npos;
       slash = text.find('/', slash + 1)) {
    const auto before = before_slash(text, slash);
    if (!is_parameter(before) && !empty_.contains(before)) continue;
    const auto word = word_at(text.substr(slash + 1));
    if (word.empty()) continue;
    may_spell_paths_ |= is_parameter(word);
    note_beginning("/", text.substr(slash + 1));
  }
}

bool UnseenQuestions::can_be_pasted_together(const Names& names, const Program& program) const {
  Words pieces;
  for (const auto* texts : {&program.options(), &program.kernels()})
    for (const auto& text : *texts) add_pieces(text, names, pieces);
  for (const auto& [header, text] : texts_) add_pieces(text.code, names, pieces);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return can_be_pasted_with_letters(name, pieces);
  });
}

// Adds the macros that name one of them.
void UnseenQuestions::spread(Names& names) const {
  for (bool spreads = true; spreads;) {
    spreads = false;
    for (const auto& [name, macro] : macros_) {
      if (names.contains(name) || !names_any(macro.text, names)) continue;
      names.insert(name);
      spreads = true;
    }
  }
}

bool UnseenQuestions::may_be_pragma(std::string_view code) const {
  return holds(code, pragma_operator) || names_any(code, pragmatic_);
}

bool UnseenQuestions::is_alike_anywhere(const HeaderText& header) const {
  const auto& known = texts_.at(&header);
  const auto& includes = header.directives.includes;
  return !known.asks && !known.pastes && !may_be_pragma(known.code) &&
         std::none_of(words_of_once.begin(), words_of_once.end(),
                      [&](std::string_view word) { return holds(known.code, word); }) &&
         std::none_of(includes.begin(), includes.end(), [](const IncludeDirective& include) {
           return include.form == IncludeDirective::Form::quoted;
         });
}

}  // namespace kiln
