#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "source/characters.h"

namespace kiln {

/// Directives that ask for a macro by its name alone.
inline constexpr std::array<std::string_view, 5> name_tests{"ifdef", "ifndef", "elifdef",
                                                            "elifndef", "undef"};

/// The prefixes of raw literals.
inline constexpr std::array<std::string_view, 5> raw_prefixes{"R", "LR", "uR", "UR", "u8R"};

template <std::size_t size>
[[nodiscard]] bool is_one_of(std::string_view word,
                             const std::array<std::string_view, size>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Walks a text, whose continued lines are joined (JoinedText), one step at a time. Knows comments, literals, raw literals and
/// numbers. Borrows the text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text_[at_]; }
  [[nodiscard]] std::size_t position() const { return at_; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  void advance() { ++at_; }
  void go_back_to(std::size_t position) { at_ = position; }

  /// The identifier that a text ends with.
  static std::string_view last_word(std::string_view text) {
    auto begin = text.size();
    while (begin > 0 && continues_identifier(text[begin - 1])) --begin;
    return text.substr(begin);
  }

  /// What was walked over from here on.
  [[nodiscard]] std::string_view since(std::size_t begin) const {
    return text_.substr(begin, at_ - begin);
  }

  [[nodiscard]] std::string_view before(std::size_t position) const {
    return text_.substr(0, position);
  }

  [[nodiscard]] std::string_view rest() const { return text_.substr(std::min(at_, text_.size())); }

  /// Over blanks and comments, but not over the end of the line.
  void skip_blanks() {
    do {
      while (!done() && is_blank(text_[at_])) ++at_;
    } while (skip_comment());
  }

  /// The same, and over ends of lines.
  void skip_space() {
    for (skip_blanks(); peek() == '\n'; skip_blanks()) advance();
  }

  /// Over tokens none of which is a comment or a literal, or a part of one. Gives the place of the next sign that may begin one. It
  /// stops there, or behind the last blank before: a literal's prefix belongs to it, and a quote may stand in a number, which has
  /// all sorts of signs. REQUIRES: it stands where a token begins.
  std::size_t skip_plain() {
    auto end = at_;
    while (end < text_.size() && !is_opening(text_[end])) ++end;
    auto begin = end;
    if (end < text_.size() && text_[end] != '/') {
      while (begin > at_ && !is_space(text_[begin - 1])) --begin;
    }
    at_ = begin;
    return end;
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
    for (; !done() && continues_identifier(peek()); ++at_) found_literal_suffix_ = true;
  }

  // R"tag(...)tag"; the scanner stands at the quote. A broken one is skipped like a plain literal.
  void skip_raw_literal() {
    found_raw_literal_ = true;
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
      } else {
        skip_word_or_token();  // Whole, since what looks like a comment inside is none.
        line.append(since(begin));
      }
    }
    while (!line.empty() && is_blank(line.back())) line.pop_back();
    return line;
  }

  // Skips a number whole, as a preprocessor does: the quote in 1'000 opens no character literal, and the R in 1.R"(" no raw one.
  void skip_number() {
    for (; !done() && continues_number(); ++at_) found_digit_separator_ |= peek() == '\'';
  }

  [[nodiscard]] bool continues_number() const {
    const char c = peek();
    if (c == '+' || c == '-') return continues_exponent();
    if (c == '\'') return at_ + 1 < text_.size() && continues_identifier(text_[at_ + 1]);
    return c == '.' || continues_identifier(c);
  }

  // A sign behind `p` belongs to the number only since C++17. A name behind it is a macro's, to be safe.
  [[nodiscard]] bool continues_exponent() const {
    const char before = at_ > 0 ? text_[at_ - 1] : ' ';
    if (before == 'e' || before == 'E') return true;
    const bool is_power = before == 'p' || before == 'P';
    return is_power && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
  }

  // Whether a number begins here, which may be with a point.
  [[nodiscard]] bool at_number() const {
    if (is_digit(peek())) return true;
    return peek() == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
  }

  // An identifier with the raw literal that it begins, a number, a literal or a sign.
  void skip_word_or_token() {
    if (!begins_identifier(peek())) return skip_token();
    const auto word = identifier();
    if (peek() == '"' && is_one_of(word, raw_prefixes)) skip_raw_literal();
  }

  // A number, a literal or a sign.
  void skip_token() {
    if (at_number()) return skip_number();
    if (peek() == '"' || peek() == '\'') return skip_literal();
    advance();
  }

  // Whether the word that began at `begin` is only asked for by its name: `#ifdef word`, `defined(word)`.
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

  // '#' or its digraph.
  bool skip_hash() {
    if (peek() == '%' && text_.substr(at_).starts_with("%:")) return at_ += 2, true;
    if (peek() == '#') return ++at_, true;
    return false;
  }

  // Whether there were literals so far that older languages read otherwise: raw ones and suffixes before C++11, quotes in numbers
  // before C++14.
  [[nodiscard]] bool found_literal_suffix() const { return found_literal_suffix_; }
  [[nodiscard]] bool found_raw_literal() const { return found_raw_literal_; }
  [[nodiscard]] bool found_digit_separator() const { return found_digit_separator_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  bool found_literal_suffix_ = false;
  bool found_raw_literal_ = false;
  bool found_digit_separator_ = false;
};

/// Whether `look(at)` holds of a place where a word or token that is wanted stands in code, and not in a literal.
template <class Wanted, class Look>
[[nodiscard]] bool any_word(std::string_view code, const Wanted& wanted, const Look& look) {
  for (Scanner scanner(code); !scanner.done();) {
    const auto at = scanner.position();
    scanner.skip_word_or_token();
    if (wanted(scanner.since(at)) && look(at)) return true;
  }
  return false;
}

/// The same for one name.
template <class Look>
[[nodiscard]] bool any_use(std::string_view code, std::string_view name, const Look& look) {
  return any_word(
      code, [&](std::string_view word) { return word == name; }, look);
}

}  // namespace kiln
