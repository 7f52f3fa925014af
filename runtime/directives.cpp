#include "directives.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace kiln {

namespace {

constexpr std::size_t most_expansions = 256;
constexpr int deepest_expansion = 32;
constexpr int most_steps = 10'000;  // Definitions that refer to each other would never end.

// What a character is, by one look: millions are asked about for one program over CUB.
enum CharacterClass : unsigned char { blank = 1, letter = 2, digit = 4 };

constexpr std::array<unsigned char, 256> character_classes = [] {
  std::array<unsigned char, 256> classes{};
  for (const unsigned char c : {' ', '\t', '\r', '\v', '\f'}) classes[c] = blank;
  for (unsigned char c = 'a'; c <= 'z'; ++c) classes[c] = letter;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) classes[c] = letter;
  for (unsigned char c = '0'; c <= '9'; ++c) classes[c] = digit;
  classes['_'] = letter;
  return classes;
}();

constexpr bool is_any_of(char c, unsigned classes) {
  return (character_classes[static_cast<unsigned char>(c)] & classes) != 0;
}
constexpr bool begins_identifier(char c) { return is_any_of(c, letter); }
constexpr bool continues_identifier(char c) { return is_any_of(c, letter | digit); }
constexpr bool is_blank(char c) { return is_any_of(c, blank); }

constexpr std::string_view asks_for_header = "__has_include";
constexpr std::string_view asks_for_next_header = "__has_include_next";
constexpr std::array<std::string_view, 3> time_tellers{"__DATE__", "__TIME__", "__TIMESTAMP__"};
constexpr std::array<std::string_view, 6> path_tellers{
    "__FILE__",       "__BASE_FILE__",   "assert",
    "__builtin_FILE", "source_location", "__builtin_source_location"};

template <std::size_t size>
bool is_one_of(std::string_view word, const std::array<std::string_view, size>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// A text with its continued lines joined, as a preprocessor sees it, and the way back.
class JoinedText {
 public:
  explicit JoinedText(std::string_view text) {
    std::size_t begin = 0;
    for (auto at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at + 1)) {
      const auto rest = text.substr(at + 1);
      const std::size_t cut = rest.starts_with('\n') ? 2 : rest.starts_with("\r\n") ? 3 : 0;
      if (cut == 0) continue;
      joined_.append(text.substr(begin, at - begin));
      begin = at + cut;
      cuts_.emplace_back(joined_.size(), begin - joined_.size());
    }
    joined_.append(text.substr(begin));
  }

  [[nodiscard]] std::string_view text() const { return joined_; }

  // Where the character at this place of the joined text stands in the original.
  [[nodiscard]] std::size_t original(std::size_t position) const {
    const auto after =
        std::upper_bound(cuts_.begin(), cuts_.end(), position,
                         [](std::size_t place, const auto& cut) { return place < cut.first; });
    return after == cuts_.begin() ? position : position + std::prev(after)->second;
  }

 private:
  std::string joined_;
  std::vector<std::pair<std::size_t, std::size_t>> cuts_;  // From here on, so much was taken out.
};

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

void read_has_include(Scanner& scanner, Line line, Directives& directives) {
  scanner.skip_blanks();
  if (scanner.peek() != '(') return;
  scanner.advance();
  scanner.skip_blanks();
  const char c = scanner.peek();
  if (c == '"' || c == '<') return add_header_name(scanner, true, directives);
  // `#define HAS(x) __has_include(x)`: what x is stands where HAS is used, in a condition.
  if (line != Line::definition) add_operand(std::string(scanner.up_to(')')), true, directives);
}

// Most words do not, by their first letter.
bool may_matter(std::string_view word) {
  return word.front() == '_' || word.front() == 'a' || word.front() == 's';
}

void read_word(Scanner& scanner, Line line, Directives& directives) {
  const auto word = scanner.identifier();
  if (scanner.peek() == '"' && is_one_of(word, raw_prefixes)) return scanner.skip_raw_literal();
  if (!may_matter(word)) return;
  if (word == asks_for_header) return read_has_include(scanner, line, directives);
  if (word == asks_for_next_header) directives.unfollowed = word;
  directives.tells_time |= is_one_of(word, time_tellers);
  directives.tells_path |= is_one_of(word, path_tellers);
}

// From a copy, so that the body is still read as text.
void collect_macro(Scanner scanner, MacroBodies& macros) {
  scanner.skip_blanks();
  const std::string name(scanner.identifier());
  const bool function_like = scanner.peek() == '(';
  const std::string body = scanner.rest_of_line();
  macros.emplace(name, function_like ? "(" : std::string(trimmed(body)));
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

// What all texts together define the name to.
std::vector<std::string_view> bodies_of(std::string_view name,
                                        const std::vector<const MacroBodies*>& macros) {
  std::vector<std::string_view> bodies;
  for (const auto* of_text : macros) {
    const auto [first, last] = of_text->equal_range(name);
    for (auto body = first; body != last; ++body) bodies.push_back(body->second);
  }
  return bodies;
}

// Every text that `text` might expand to, or nothing where that cannot be told.
std::optional<std::set<std::string>> expand(std::string_view text,
                                            const std::vector<const MacroBodies*>& macros,
                                            int depth, int& steps_left) {
  if (depth > deepest_expansion || --steps_left < 0) return std::nullopt;
  std::set<std::string> results{""};
  for (std::size_t at = 0; at < text.size();) {
    std::set<std::string> pieces;
    std::size_t end = at + 1;
    if (begins_identifier(text[at])) {
      while (end < text.size() && continues_identifier(text[end])) ++end;
      const auto word = text.substr(at, end - at);
      const auto bodies = bodies_of(word, macros);
      for (const auto body : bodies) {
        if (body == "(") return std::nullopt;
        const auto expanded = expand(body, macros, depth + 1, steps_left);
        if (!expanded) return std::nullopt;
        pieces.insert(expanded->begin(), expanded->end());
      }
      // One that the compiler itself defines is not seen here, and has such a name.
      if (bodies.empty() && word.starts_with('_')) return std::nullopt;
      if (bodies.empty()) pieces.emplace(word);
    } else {
      pieces.emplace(1, text[at]);
    }
    std::set<std::string> longer;
    for (const auto& head : results) {
      for (const auto& piece : pieces) longer.insert(head + piece);
    }
    if (longer.size() > most_expansions) return std::nullopt;
    results = std::move(longer);
    at = end;
  }
  return results;
}

bool is_header_name(std::string_view text) {
  return text.size() > 2 && ((text.front() == '<' && text.back() == '>') ||
                             (text.front() == '"' && text.back() == '"'));
}

void read_joined(Scanner scanner, Directives& directives, MacroBodies* macros) {
  Line line = Line::code;
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
    } else if (begins_identifier(c)) {
      read_word(scanner, line, directives);
    } else if (is_any_of(c, digit)) {
      // As a whole, so that the quote in 1'000 opens no character literal.
      while (continues_identifier(scanner.peek()) || scanner.peek() == '\'') scanner.advance();
    } else if (c == '(') {
      read_argument(scanner, line, directives);
    } else if (c == '"' || c == '\'') {
      scanner.skip_literal();
    } else {
      scanner.advance();
    }
    if (in_prelude && !in_directive) directives.prelude = begin;
    in_prelude &= in_directive;
    line_begins = false;
  }
}

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
  // Before C++17, `??=include` is an include and `??/` continues a line.
  for (const auto* trigraph : {"?\?=", "?\?/"}) {
    if (text.find(trigraph) != std::string_view::npos) directives.unfollowed = trigraph;
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

std::vector<std::string> expand_include_macro(std::string_view name,
                                              const std::vector<const MacroBodies*>& macros) {
  if (bodies_of(name, macros).empty()) return {};
  int steps_left = most_steps;
  const auto expanded = expand(name, macros, 0, steps_left);
  if (!expanded) return {};
  std::vector<std::string> spellings;
  for (const auto& text : *expanded) {
    const auto spelling = trimmed(text);
    if (!is_header_name(spelling)) return {};
    spellings.emplace_back(spelling);
  }
  return spellings;
}

}  // namespace kiln
