#include "narrow/unseen_questions.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <unordered_set>

#include "source/accountability.h"
#include "source/characters.h"
#include "source/compilers_macros.h"
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
constexpr std::string_view silencing = "__NV_SILENCE_";  // A pragma in CUDA's own headers.
constexpr std::array<std::string_view, 2> paste_operators{"##", "%:%:"};
// What the compiler makes literals of by itself.
constexpr std::array<std::string_view, 7> literal_tellers{
    path_teller,     base_teller,      "__DATE__",   "__TIME__",
    "__TIMESTAMP__", "__CUDACC_VER__", "__VERSION__"};

template <class Names>
bool names_any(std::string_view text, const Names& macros) {
  return !find_word(text, [&](std::string_view word) { return macros.contains(word); }).empty();
}

/// Names that all words of long texts are looked for among: by length, beginning and end most words are none of them.
class SoughtNames {
 public:
  explicit SoughtNames(const std::set<std::string, std::less<>>& names)
      : names_(names.begin(), names.end()) {
    for (const std::string_view name : names) {
      if (!name.empty()) marks_.set(mark(name));
    }
  }

  /// REQUIRES: the word is not empty.
  [[nodiscard]] bool contains(std::string_view word) const {
    return marks_.test(mark(word)) && names_.contains(word);
  }

 private:
  static std::size_t mark(std::string_view word) {
    const auto first = static_cast<unsigned char>(word.front());
    const auto last = static_cast<unsigned char>(word.back());
    return std::size_t{256} * first + ((last + 37 * word.size()) & 255);
  }

  std::unordered_set<std::string_view> names_;
  std::bitset<65'536> marks_;
};

// By other spellings a literal may lead to one place.
bool may_be_roundabout(std::string_view text) { return holds(text, "./") || holds(text, "//"); }

// What stands between two quotes: that is every literal, and more. A quote may be escaped, in a literal that _Pragma takes.
template <class Names>
void add_literals(std::string_view code, Names& literals) {
  for (auto begin = code.find('"'); begin != std::string_view::npos;) {
    const auto end = code.find('"', begin + 1);
    if (end == std::string_view::npos) return;
    const auto between = code.substr(begin + 1, end - begin - 1);
    literals.emplace(between.substr(0, between.find_last_not_of('\\') + 1));
    begin = end;
  }
}

bool asks_by_macro(const Directives& said) {
  return !said.unfollowed.empty() ||
         std::any_of(said.includes.begin(), said.includes.end(), [](const auto& include) {
           return include.form == IncludeDirective::Form::macro && !include.beside;
         });
}

}  // namespace

UnseenQuestions::UnseenQuestions(const Program& program, const HeaderText& source,
                                 const std::vector<const HeaderText*>& headers)
    : making_literals_(literal_tellers.begin(), literal_tellers.end()) {
  const auto pieces = read(program, source, headers);
  const bool can_ask_so = can_ask(pieces.in_code, pieces.in_literals);
  may_search_on_ |= pastes_ && (can_ask_for_next(pieces.in_code, pieces.in_literals) ||
                                (holds_next_ && can_ask_so));
  spread_macros();
  beyond_guessing_ |= may_search_on_ || is_led_to_by_the_compiler();
  mark_texts(pastes_ && (can_ask_so || can_be_pasted_together(asking_, program)));
}

UnseenQuestions::Pieces UnseenQuestions::read(const Program& program, const HeaderText& source,
                                              const std::vector<const HeaderText*>& headers) {
  Pieces pieces;
  Words compilers;
  Accountability language;
  const auto note = [&](const Directives& said) {
    pastes_ |= said.pastes;
    compilers.insert(said.compilers_macros.begin(), said.compilers_macros.end());
    pieces.in_code.insert(said.question_pieces.begin(), said.question_pieces.end());
    pieces.in_literals.insert(said.literal_pieces.begin(), said.literal_pieces.end());
    may_search_on_ |=
        language.misreads(said) || (!said.unfollowed.empty() && said.unfollowed != asks_for_header);
  };
  for (const auto& option : program.options()) {
    language.read_in_language_of(option);
    has_trigraphs_ |= is_before_digit_separators(option) || option.ends_with("++14");
  }
  for (const auto* texts : {&program.options(), &program.kernels()}) {
    for (const auto& text : *texts) {
      note_spellings(text);
      note(read_directives(text));
    }
  }
  note_macros(macros_of_options(program.options()));
  add(source);
  for (const auto* header : headers) add(*header);
  for (const auto& [header, text] : texts_) note(header->directives);
  for (const auto& macro : macros_) {
    if (is_word_of_compilers_macros(macro.first) || is_compilers_macro(macro.first))
      led_to_.insert(macro.first);
  }
  for (const auto& name : compilers)
    note_macros({{name, MacroBody{.text = body_of_compilers_macro(name)}}});
  return pieces;
}

void UnseenQuestions::add(const HeaderText& header) {
  if (!texts_.try_emplace(&header).second) return;
  note_spellings(header.code());
  note_macros(header.macros());
}

// Of names with trigraphs, and of searches that go on.
void UnseenQuestions::note_spellings(std::string_view text) {
  beyond_guessing_ = beyond_guessing_ || (has_trigraphs_ && holds(text, "?\?"));
  const bool holds_next = holds(text, "next");
  holds_next_ |= holds_next;
  may_search_on_ = may_search_on_ || (holds_next && holds(text, searches_on));
}

void UnseenQuestions::note_macros(const MacroBodies& macros) {
  for (const auto& [name, macro] : macros) {
    beyond_guessing_ |= name.empty();  // One that nobody could read may be that of any macro.
    if (holds(macro.text, asks_for_header)) asking_.insert(name);
    if (holds(macro.text, pragma_operator)) pragmatic_.insert(name);
    for (const auto paste : paste_operators) {
      if (holds(macro.text, paste)) pasting_.insert(name);
    }
    const bool holds_literal = holds_rare(macro.text, "\"");
    if (is_beyond_following(macro.text) || (holds_literal && may_be_roundabout(macro.text)))
      making_literals_.insert(name);
    if (!holds_literal) continue;
    using_literals_.insert(name);
    add_literals(macro.text, literals_);
  }
  macros_.insert(macros.begin(), macros.end());
}

void UnseenQuestions::spread_macros() {
  const auto users = users_of_words();
  for (auto* const names : {&asking_, &pasting_, &pragmatic_, &making_literals_, &using_literals_})
    spread(*names, users);
}

// What a text asks for so, it does not name. That the macros known by name make more of names than they say is known.
bool UnseenQuestions::is_led_to_by_the_compiler() const {
  return std::any_of(led_to_.begin(), led_to_.end(), [&](const std::string& name) {
    const bool leads = pragmatic_.contains(name) || using_literals_.contains(name);
    return asking_.contains(name) || (leads && !name.starts_with(silencing)) ||
           (is_word_of_compilers_macros(name) &&
            (pasting_.contains(name) || making_literals_.contains(name)));
  });
}

void UnseenQuestions::mark_texts(bool pastes_questions) {
  const SoughtNames asking(asking_);
  const SoughtNames pasting(pasting_);
  const SoughtNames making(making_literals_);
  const SoughtNames using_macros(using_literals_);
  for (auto& [header, text] : texts_) {
    const auto& code = header->code();
    text.pastes = names_any(code, pasting);
    text.asks = asks_by_macro(header->directives) || (pastes_questions && text.pastes) ||
                names_any(code, asking);
    if (!text.asks) continue;
    text.makes_literals = text.pastes || names_any(code, making) || may_be_roundabout(code);
    text.uses_literals = names_any(code, using_macros);
    add_literals(code, text.literals);
  }
}

bool UnseenQuestions::can_be_pasted_together(const Names& names, const Program& program) const {
  Words pieces;
  for (const auto* texts : {&program.options(), &program.kernels()})
    for (const auto& text : *texts) add_pieces(code_in(text), names, pieces);
  for (const auto& [header, text] : texts_) pieces.merge(header->pieces_of(names));
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return can_be_pasted_with_letters(name, pieces);
  });
}

// The macros in whose bodies a word stands.
UnseenQuestions::Users UnseenQuestions::users_of_words() const {
  Users users;
  for (const auto& macro : macros_) {
    (void)find_word(macro.second.text, [&](std::string_view word) {
      users[word].push_back(macro.first);
      return false;
    });
  }
  return users;
}

// Adds the macros that come to one of them.
void UnseenQuestions::spread(Names& names, const Users& users) {
  std::vector<std::string_view> pending(names.begin(), names.end());
  while (!pending.empty()) {
    const auto found = users.find(pending.back());
    pending.pop_back();
    if (found == users.end()) continue;
    for (const auto user : found->second) {
      if (names.emplace(user).second) pending.push_back(user);
    }
  }
}

bool UnseenQuestions::may_be_pragma(std::string_view code) const {
  return holds(code, pragma_operator) || names_any(code, pragmatic_);
}

bool UnseenQuestions::may_ask(const HeaderText& header, std::string_view name) const {
  const auto& known = texts_.at(&header);
  const bool needs_escapes = name.find_first_of("\"\\") != std::string_view::npos;
  return known.asks && (known.makes_literals || needs_escapes || known.literals.contains(name) ||
                        (known.uses_literals && literals_.contains(name)));
}

bool UnseenQuestions::is_alike_anywhere(const HeaderText& header) const {
  const auto& known = texts_.at(&header);
  const auto& includes = header.directives.includes;
  const bool may_quote =
      known.makes_literals || known.uses_literals || holds_rare(header.code(), "\"");
  return !(known.asks && may_quote) && !known.pastes && !may_be_pragma(header.code()) &&
         std::none_of(words_of_once.begin(), words_of_once.end(),
                      [&](std::string_view word) { return holds(header.code(), word); }) &&
         std::none_of(includes.begin(), includes.end(), [](const IncludeDirective& include) {
           return include.form == IncludeDirective::Form::quoted;
         });
}

}  // namespace kiln
