#include "source/directives.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "source/characters.h"
#include "source/joined_text.h"
#include "source/text_search.h"

namespace kiln {

namespace {

constexpr std::string_view asks_for_header = "__has_include";
constexpr std::string_view asks_for_next_header = "__has_include_next";
constexpr std::array<std::string_view, 5> name_tests{"ifdef", "ifndef", "elifdef", "elifndef",
                                                     "undef"};
constexpr std::array<std::string_view, 3> time_tellers{"__DATE__", "__TIME__", "__TIMESTAMP__"};
constexpr std::array<std::string_view, 6> path_tellers{
    "__FILE__",       "__BASE_FILE__",   "assert",
    "__builtin_FILE", "source_location", "__builtin_source_location"};

template <std::size_t size>
bool is_one_of(std::string_view word, const std::array<std::string_view, size>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Walks a joined text one step at a time.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text_[at_]; }
  [[nodiscard]] std::size_t position() const { return at_; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  void advance() { ++at_; }

  // Over blanks and comments, but not over the end of the line.
  void skip_blanks() {
    do {
      while (!done() && is_blank(text_[at_])) ++at_;
    } while (skip_comment());
  }

  bool skip_comment() {
    if (peek() != '/' || at_ + 1 == text_.size()) return false;
    const char next = text_[at_ + 1];
    if (next == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return true;
    }
    if (next == '*') {
      const auto end = text_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? text_.size() : end + 2;
      return true;
    }
    return false;
  }

  // A string or character literal; the scanner stands at its opening quote.
  void skip_literal() {
    const char quote = peek();
    for (++at_; !done() && peek() != quote && peek() != '\n'; ++at_) {
      if (peek() == '\\' && at_ + 1 < text_.size()) ++at_;
    }
    if (peek() == quote) ++at_;
    // Its suffix belongs to it: in "a"R"(" is no raw literal.
    while (!done() && continues_identifier(peek())) ++at_;
  }

  // R"tag(...)tag"; the scanner stands at the quote. A broken one is skipped like a plain literal.
  void skip_raw_literal() {
    const auto open = text_.find('(', at_);
    if (open == std::string_view::npos || open - at_ > 17) return skip_literal();
    const auto close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const auto end = text_.find(close, open);
    if (end == std::string_view::npos) return skip_literal();
    at_ = end + close.size();
  }

  std::string_view identifier() {
    const auto begin = at_;
    while (!done() && continues_identifier(text_[at_])) ++at_;
    return {text_.data() + begin, at_ - begin};
  }

  // Up to `close` on the same line; the scanner then stands at it, or at the end of the line.
  std::string_view up_to(char close) {
    const auto begin = at_;
    while (!done() && peek() != close && peek() != '\n') ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // The rest of the line without comments, trimmed.
  std::string rest_of_line() {
    std::string line;
    while (!done() && peek() != '\n') {
      const auto begin = at_;
      if (skip_comment()) {
        line += ' ';
      } else if (peek() == '"' || peek() == '\'') {
        skip_literal();  // Whole, since what looks like a comment inside is none.
        line.append(text_.substr(begin, at_ - begin));
      } else {
        line += text_[at_++];
      }
    }
    while (!line.empty() && is_blank(line.back())) line.pop_back();
    return line;
  }

  // As a preprocessor reads one: as a whole, so that the quote in 1'000 opens no character literal, nor the R in
  // 1.R"(" a raw one.
  void skip_number() {
    while (!done() && continues_number()) ++at_;
  }

  [[nodiscard]] bool continues_number() const {
    const char c = peek();
    const bool is_sign = c == '+' || c == '-';
    if (is_sign)
      return at_ > 0 && std::string_view("eEpP").find(text_[at_ - 1]) != std::string_view::npos;
    if (c == '\'') return at_ + 1 < text_.size() && continues_identifier(text_[at_ + 1]);
    return c == '.' || continues_identifier(c);
  }

  // Whether a number begins here, which may be with a point.
  [[nodiscard]] bool at_number() const {
    if (is_digit(peek())) return true;
    return peek() == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
  }

  // A number, a literal or a sign.
  void skip_token() {
    if (at_number()) return skip_number();
    if (peek() == '"' || peek() == '\'') return skip_literal();
    advance();
  }

  // Whether what is behind the word that began at `begin` is only asked for by name: `#ifdef word`, `defined(word)`.
  [[nodiscard]] bool is_tested_by_name(std::size_t begin) const {
    auto before = trimmed(text_.substr(0, begin));
    const bool in_brackets = before.ends_with('(');
    if (in_brackets) before = trimmed(before.substr(0, before.size() - 1));
    const auto word = last_word(before);
    if (word == "defined") return true;
    before = trimmed(before.substr(0, before.size() - word.size()));
    return !in_brackets && is_one_of(word, name_tests) &&
           (before.ends_with('#') || before.ends_with("%:"));
  }

  static std::string_view last_word(std::string_view text) {
    auto begin = text.size();
    while (begin > 0 && continues_identifier(text[begin - 1])) --begin;
    return text.substr(begin);
  }

  // '#' or its digraph.
  bool skip_hash() {
    if (peek() == '%' && text_.substr(at_).starts_with("%:")) return at_ += 2, true;
    if (peek() == '#') return ++at_, true;
    return false;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr std::array<std::string_view, 5> raw_prefixes{"R", "LR", "uR", "UR", "u8R"};

// What a line is to the preprocessor, as far as it matters here.
enum class Line { code, definition, condition };

// A macro's, as far as it matters here.
struct Definition {
  std::string name;
  std::string parameters;  // As they stand between the brackets; empty for an object-like one.
};

// REQUIRES: the scanner stands at the quote or bracket.
void add_header_name(Scanner& scanner, bool tested, Directives& directives) {
  using Form = IncludeDirective::Form;
  const bool quoted = scanner.peek() == '"';
  const char close = quoted ? '"' : '>';
  scanner.advance();
  const auto begin = scanner.position();
  const auto spelling = scanner.up_to(close);
  if (scanner.peek() != close) return;
  scanner.advance();
  directives.includes.push_back({std::string(spelling), quoted ? Form::quoted : Form::angled, begin,
                                 spelling.size(), tested});
}

void add_operand(std::string operand, bool tested, Directives& directives) {
  directives.includes.push_back({std::move(operand), IncludeDirective::Form::macro, 0, 0, tested});
}

void read_include(Scanner& scanner, bool next, Directives& directives) {
  const auto before = directives.includes.size();
  scanner.skip_blanks();
  const char c = scanner.peek();
  if (c == '"' || c == '<') {
    add_header_name(scanner, false, directives);
  } else {
    add_operand(scanner.rest_of_line(), false, directives);
  }
  if (directives.includes.size() > before) directives.includes.back().next = next;
}

// Up to the bracket that closes the one before.
std::string operand(Scanner& scanner) {
  std::string text;
  for (int depth = 1; !scanner.done() && scanner.peek() != '\n'; scanner.advance()) {
    if (scanner.peek() == '(') ++depth;
    if (scanner.peek() == ')' && --depth == 0) break;
    text += scanner.peek();
  }
  return std::string(trimmed(text));
}

void leave_to_the_compiler(Directives& directives) {
  if (directives.unfollowed.empty()) directives.unfollowed = asks_for_header;
}

void read_has_include(Scanner& scanner, const Definition* definition, Directives& directives) {
  const auto begin = scanner.position() - asks_for_header.size();
  scanner.skip_blanks();
  if (scanner.peek() != '(') {
    // A macro's other name for it, or one that has the bracket.
    if (definition != nullptr || !scanner.is_tested_by_name(begin))
      leave_to_the_compiler(directives);
    return;
  }
  scanner.advance();
  scanner.skip_blanks();
  const char c = scanner.peek();
  const bool literal = c == '"' || c == '<';
  // What a macro quotes is looked for beside the file that uses it.
  if (literal && (definition == nullptr || (definition->parameters.empty() && c == '<')))
    return add_header_name(scanner, true, directives);
  const auto asked = operand(scanner);
  if (definition == nullptr) return add_operand(asked, true, directives);
  // `#define HAS(x) __has_include(x)`: what x is stands where HAS is used, in a condition.
  if (definition->parameters == asked) {
    directives.header_tests.push_back(definition->name);
  } else {
    leave_to_the_compiler(directives);
  }
}

// Most words do not, by their first letter.
bool may_matter(std::string_view word) {
  return word.front() == '_' || word.front() == 'a' || word.front() == 's';
}

constexpr std::size_t longest_nobody_pastes = 3;

// By its first letter most are none.
bool may_be_question_piece(std::string_view word) {
  return word.size() <= asks_for_next_header.size() &&
         std::string_view("_hasincludex").find(word.front()) != std::string_view::npos;
}

bool holds_inside(std::string_view name, std::string_view word) {
  const auto at = name.find(word);
  return at != std::string_view::npos && at != 0 && at + word.size() != name.size();
}

constexpr std::size_t shortest_piece = 2;  // As can_be_pasted() has it.
constexpr std::size_t longest_piece = 12;  // Of __TIMESTAMP__, but for a letter.

// By its first letter most are none.
bool may_be_time_piece(std::string_view word) {
  return word.size() >= shortest_piece && word.size() <= longest_piece &&
         std::string_view("_ADEIMPST").find(word.front()) != std::string_view::npos;
}

void note_time_piece(std::string_view word, Directives& directives) {
  const auto holds = [&](std::string_view name) {
    return name.find(word) != std::string_view::npos;
  };
  if (std::any_of(time_tellers.begin(), time_tellers.end(), holds))
    directives.time_pieces.emplace(word);
}

// A directive's own name is no word.
void note_question_piece(std::string_view word, QuestionPieces& pieces) {
  if (word == asks_for_header || word == asks_for_next_header || word.size() < shortest_piece)
    return;
  // All that __has_include_next needs beside the whole of the other, or beside its own rest.
  const bool is_longer =
      word.size() > asks_for_header.size() && asks_for_next_header.starts_with(word);
  if (word == "_next" || is_longer) pieces.begin = asks_for_header.size();
  if (asks_for_header.starts_with(word)) pieces.begin = std::max(pieces.begin, word.size());
  const auto end = word.ends_with("_next") ? word.substr(0, word.size() - 5) : word;
  if (end.size() >= shortest_piece && asks_for_header.ends_with(end))
    pieces.end = std::max(pieces.end, end.size());
  pieces.middle |= word.size() > longest_nobody_pastes && holds_inside(asks_for_header, word);
}

// `definition`: where the word stands in one.
void read_word(Scanner& scanner, const Definition* definition, Directives& directives) {
  const auto word = scanner.identifier();
  if (scanner.peek() == '"' && is_one_of(word, raw_prefixes)) return scanner.skip_raw_literal();
  if (may_be_time_piece(word)) note_time_piece(word, directives);
  if (may_be_question_piece(word)) note_question_piece(word, directives.question_pieces);
  if (!may_matter(word)) return;
  if (word == asks_for_header) return read_has_include(scanner, definition, directives);
  if (word == asks_for_next_header) directives.unfollowed = word;
  directives.tells_time |= is_one_of(word, time_tellers);
  directives.tells_path |= is_one_of(word, path_tellers);
}

// From copies of the scanner, so that the body is still read as text.
Definition read_definition(Scanner scanner) {
  scanner.skip_blanks();
  Definition definition{std::string(scanner.identifier()), {}};
  if (scanner.peek() != '(') return definition;
  scanner.advance();
  definition.parameters = trimmed(scanner.up_to(')'));
  return definition;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    parts.emplace_back(trimmed(list.substr(0, comma)));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

void collect_macro(Scanner scanner, MacroBodies& macros) {
  scanner.skip_blanks();
  const std::string name(scanner.identifier());
  MacroBody macro;
  macro.function_like = scanner.peek() == '(';
  if (macro.function_like) {
    scanner.advance();
    macro.parameters = split(scanner.up_to(')'));
    scanner.advance();
  }
  macro.text = trimmed(scanner.rest_of_line());
  macros.emplace(name, std::move(macro));
}

Line read_directive(Scanner& scanner, Directives& directives, MacroBodies* macros) {
  scanner.skip_blanks();
  const auto name = scanner.identifier();
  const bool next = name == "include_next";
  if (next || name == "include" || name == "import") read_include(scanner, next, directives);
  if (name == "define" && macros != nullptr) collect_macro(scanner, *macros);
  if (name == "define") return Line::definition;
  return name == "if" || name == "elif" ? Line::condition : Line::code;
}

// `#if HAS(<x>)` looks x up where HAS wraps __has_include; nothing else has a bracket or quote there.
void read_argument(Scanner& scanner, Line line, Directives& directives) {
  scanner.advance();
  if (line != Line::condition) return;
  scanner.skip_blanks();
  if (scanner.peek() == '<' || scanner.peek() == '"') add_header_name(scanner, true, directives);
}

void read_joined(Scanner scanner, Directives& directives, MacroBodies* macros) {
  Line line = Line::code;
  Definition definition;  // Of this line, where it is one.
  bool line_begins = true;
  bool in_directive = false;
  bool in_prelude = true;
  directives.prelude = scanner.size();
  while (!scanner.done()) {
    scanner.skip_blanks();
    if (scanner.done()) break;
    const char c = scanner.peek();
    if (c == '\n') {
      line = Line::code;
      line_begins = true;
      in_directive = false;
      scanner.advance();
      continue;
    }
    const auto begin = scanner.position();
    if (line_begins && scanner.skip_hash()) {
      in_directive = true;
      line = read_directive(scanner, directives, macros);
      if (line == Line::definition) definition = read_definition(scanner);
    } else if (begins_identifier(c)) {
      read_word(scanner, line == Line::definition ? &definition : nullptr, directives);
    } else if (c == '(') {
      read_argument(scanner, line, directives);
    } else {
      scanner.skip_token();
    }
    if (in_prelude && !in_directive) directives.prelude = begin;
    in_prelude &= in_directive;
    line_begins = false;
  }
}

// How one text uses macros that ask for headers.
class MacroUses {
 public:
  MacroUses(std::string_view text, const Words& macros) : scanner_(text), macros_(macros) {}

  // Empty where there is none.
  std::string_view first_unfollowed() {
    while (!scanner_.done()) {
      scanner_.skip_blanks();
      if (scanner_.done()) break;
      const char c = scanner_.peek();
      if (c == '\n') {
        scanner_.advance();
        begin_line();
      } else if (line_begins_ && scanner_.skip_hash()) {
        begin_directive();
      } else if (begins_identifier(c)) {
        const auto word = scanner_.identifier();
        if (scanner_.peek() == '"' && is_one_of(word, raw_prefixes)) scanner_.skip_raw_literal();
        if (macros_.contains(word) && !is_followed()) return word;
        note(word == "defined" ? After::defined : After::other);
      } else {
        scanner_.skip_token();
        note(c == '(' && after_ == After::defined ? After::defined : After::other);
      }
    }
    return {};
  }

 private:
  enum class After { directive, defined, other };

  void begin_line() {
    line_begins_ = true;
    directive_ = {};
  }

  void begin_directive() {
    scanner_.skip_blanks();
    directive_ = scanner_.identifier();
    note(After::directive);
    scanner_.skip_blanks();
    // Its words are a header's name.
    const bool includes = directive_ == "include" || directive_ == "include_next";
    if (includes && (scanner_.peek() == '<' || scanner_.peek() == '"'))
      static_cast<void>(scanner_.rest_of_line());
  }

  void note(After after) {
    line_begins_ = false;
    after_ = after;
  }

  // The scanner stands behind the macro's name.
  [[nodiscard]] bool is_followed() const {
    if (after_ == After::directive && (directive_ == "define" || is_one_of(directive_, name_tests)))
      return true;
    if (directive_ != "if" && directive_ != "elif") return false;
    if (after_ == After::defined) return true;
    Scanner ahead = scanner_;
    ahead.skip_blanks();
    if (ahead.peek() != '(') return false;
    ahead.advance();
    ahead.skip_blanks();
    return ahead.peek() == '<' || ahead.peek() == '"';
  }

  Scanner scanner_;
  const Words& macros_;
  bool line_begins_ = true;
  std::string_view directive_;  ///< Of this line; empty for code.
  After after_ = After::other;
};

Directives read_text(std::string_view text, MacroBodies* macros) {
  Directives directives;
  const JoinedText joined(text);
  read_joined(Scanner(joined.text()), directives, macros);
  for (auto& include : directives.includes) {
    const auto end = joined.original(include.position + include.length);
    include.position = joined.original(include.position);
    include.length = end - include.position;
  }
  directives.prelude = joined.original(directives.prelude);
  for (const auto* paste : {"##", "%:%:"}) directives.pastes |= holds(joined.text(), paste);
  // Before C++17, `??=include` is an include and `??/` continues a line.
  for (const auto* trigraph : {"?\?=", "?\?/"}) {
    if (holds(text, trigraph)) directives.unfollowed = trigraph;
  }
  return directives;
}

}  // namespace

Directives read_directives(std::string_view text) { return read_text(text, nullptr); }

MacroBodies read_macros(std::string_view text) {
  MacroBodies macros;
  read_text(text, &macros);
  return macros;
}

void QuestionPieces::add(const QuestionPieces& others) {
  begin = std::max(begin, others.begin);
  end = std::max(end, others.end);
  middle |= others.middle;
}

bool QuestionPieces::make_a_question() const {
  if (begin == asks_for_header.size()) return true;
  // "__h" and "include" are words of their own.
  constexpr std::string_view telling = "__has";
  const auto gap = begin < telling.size() ? 0 : longest_nobody_pastes;
  if (begin != 0 && end != 0 && middle) return true;
  // A letter is at hand everywhere.
  const std::size_t letter = 1;
  return std::max(begin, letter) + std::max(end, letter) + gap >= asks_for_header.size();
}

bool can_be_pasted(std::string_view name, const Words& pieces) {
  if (pieces.contains(name.substr(1)) || pieces.contains(name.substr(0, name.size() - 1)))
    return true;
  // Whether each beginning of the name can be made.
  std::vector<bool> made(name.size() + 1);
  made[0] = true;
  for (std::size_t end = shortest_piece; end <= name.size(); ++end) {
    for (std::size_t begin = 0; begin + shortest_piece <= end; ++begin) {
      made[end] = made[end] || (made[begin] && pieces.contains(name.substr(begin, end - begin)));
    }
  }
  return made[name.size()];
}

bool can_tell_time(const Words& pieces) {
  return std::any_of(time_tellers.begin(), time_tellers.end(),
                     [&](std::string_view name) { return can_be_pasted(name, pieces); });
}

void add_pieces(std::string_view text, std::string_view name, Words& pieces) {
  const JoinedText joined(text);
  for (Scanner scanner(joined.text()); !scanner.done();) {
    scanner.skip_blanks();
    if (scanner.done()) break;
    const auto begin = scanner.position();
    if (!begins_identifier(scanner.peek()) && !scanner.at_number()) {
      scanner.skip_token();
      continue;
    }
    if (scanner.at_number()) {
      scanner.skip_number();
    } else {
      static_cast<void>(scanner.identifier());
    }
    const auto word = joined.text().substr(begin, scanner.position() - begin);
    if (scanner.peek() == '"' && is_one_of(word, raw_prefixes)) scanner.skip_raw_literal();
    if (word.size() < name.size() && name.find(word) != std::string_view::npos)
      pieces.emplace(word);
  }
}

std::string used_unfollowed(std::string_view text, const Words& header_tests) {
  const JoinedText joined(text);
  const auto is_named = [&](const std::string& macro) { return holds(joined.text(), macro); };
  if (std::none_of(header_tests.begin(), header_tests.end(), is_named)) return {};
  return std::string(MacroUses(joined.text(), header_tests).first_unfollowed());
}

}  // namespace kiln
