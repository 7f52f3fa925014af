#include "narrow/unseen_questions.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "source/accountability.h"
#include "source/characters.h"
#include "source/macro_expansion.h"
#include "source/text_search.h"

namespace kiln {

namespace {

constexpr std::string_view asks_for_header = "__has_include";
constexpr std::string_view pragma_operator = "_Pragma";
constexpr std::array<std::string_view, 2> words_of_once{"pragma", "import"};
constexpr std::string_view searches_on = "include_next";
constexpr std::array<std::string_view, 2> paste_operators{"##", "%:%:"};

// Whether a whole path may begin here: a slash that divides nothing and opens no comment.
bool may_begin_path(std::string_view text, std::size_t slash) {
  const auto next = slash + 1 < text.size() ? text[slash + 1] : ' ';
  if (next == '/' || next == '*') return false;
  auto before = slash;
  while (before > 0 && (text[before - 1] == ' ' || text[before - 1] == '\t')) --before;
  return before == 0 || std::string_view("<\"(,=").find(text[before - 1]) != std::string_view::npos;
}

bool may_hold_path(std::string_view text) {
  for (auto slash = text.find('/'); slash != std::string_view::npos;
       slash = text.find('/', slash + 1)) {
    if (may_begin_path(text, slash)) return true;
  }
  return false;
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
  for (const auto& reading : readings.files)
    roots_.insert(reading.path.substr(0, reading.path.find('/', 1)));
  bool pastes = false;
  Words pieces;
  Accountability language;
  const auto note = [&](const Directives& said) {
    pastes |= said.pastes;
    pieces.insert(said.question_pieces.begin(), said.question_pieces.end());
    beyond_guessing_ |= language.misreads(said);
    beyond_guessing_ |= !said.unfollowed.empty() && said.unfollowed != asks_for_header;
  };
  for (const auto& option : program.options()) language.read_in_language_of(option);
  for (const auto* texts : {&program.options(), &program.kernels()}) {
    for (const auto& text : *texts) {
      note_text(text);
      note(read_directives(text));
    }
  }
  note_macros(macros_of_options(program.options()));
  add(source);
  for (const auto* header : headers) add(*header);
  for (const auto& [header, text] : texts_) note(header->directives);
  beyond_guessing_ |= pastes && can_ask(pieces) && holds_next_;
  for (auto* const names : {&asking_, &pasting_, &pragmatic_}) spread(*names);
  for (auto& [header, text] : texts_) {
    text.asks = asks_by_macro(header->directives) || names_any(text.joined.text(), pasting_) ||
                names_any(text.joined.text(), asking_);
  }
}

void UnseenQuestions::add(const HeaderText& header) {
  const auto [place, added] = texts_.try_emplace(&header, Text{JoinedText(header.text)});
  note_text(place->second.joined.text());
  note_macros(header.macros());
}

void UnseenQuestions::note_text(std::string_view text) {
  const bool holds_next = holds(text, "next");
  holds_next_ |= holds_next;
  beyond_guessing_ = beyond_guessing_ || (holds_next && holds(text, searches_on));
  may_spell_paths_ = may_spell_paths_ || may_hold_path(text) ||
                     std::any_of(roots_.begin(), roots_.end(),
                                 [&](const std::string& root) { return holds(text, root); });
}

void UnseenQuestions::note_macros(const MacroBodies& macros) {
  for (const auto& [name, macro] : macros) {
    may_spell_paths_ |= macro.text.starts_with('/');
    if (holds(macro.text, asks_for_header)) asking_.insert(name);
    if (holds(macro.text, pragma_operator)) pragmatic_.insert(name);
    for (const auto paste : paste_operators) {
      if (holds(macro.text, paste)) pasting_.insert(name);
    }
  }
  macros_.insert(macros.begin(), macros.end());
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

bool UnseenQuestions::is_alike_anywhere(const HeaderText& header) const {
  const auto& known = texts_.at(&header);
  const auto text = known.joined.text();
  const auto& includes = header.directives.includes;
  return !known.asks && !holds(text, pragma_operator) && !names_any(text, pragmatic_) &&
         std::none_of(words_of_once.begin(), words_of_once.end(),
                      [&](std::string_view word) { return holds(text, word); }) &&
         std::none_of(includes.begin(), includes.end(), [](const IncludeDirective& include) {
           return include.form == IncludeDirective::Form::quoted;
         });
}

}  // namespace kiln
