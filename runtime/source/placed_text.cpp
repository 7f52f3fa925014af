#include "source/placed_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include <fmt/format.h>

#include "source/joined_text.h"
#include "source/scanner.h"

namespace kiln {

namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// Finds the place behind the line that opens an include guard around the whole of a text.
class GuardSearch {
 public:
  explicit GuardSearch(std::string_view text) : joined_(text), scanner_(joined_.text()) {}

  // Nothing where there is no such guard, or it is not sure.
  std::optional<std::size_t> place() {
    skip_space();
    const auto begin = scanner_.position();
    if (!asks_for_absence()) return std::nullopt;
    scanner_.skip_blanks();
    const auto end = scanner_.position();
    const bool in_one_line = joined_.original(end) - joined_.original(begin) == end - begin;
    if (scanner_.peek() != '\n' || !in_one_line || !holds_the_rest()) return std::nullopt;
    return joined_.original(end) + 1;
  }

 private:
  void skip_space() {
    for (scanner_.skip_blanks(); scanner_.peek() == '\n'; scanner_.skip_blanks())
      scanner_.advance();
  }

  // The name of the directive that begins here; empty where none does. REQUIRES: a line begins here.
  std::string_view directive() {
    if (!scanner_.skip_hash()) return {};
    scanner_.skip_blanks();
    return scanner_.identifier();
  }

  // `#ifndef NAME`, `#if !defined(NAME)` or `#if !defined NAME`, and nothing more.
  bool asks_for_absence() {
    const auto name = directive();
    scanner_.skip_blanks();
    if (name == "ifndef") return !scanner_.identifier().empty();
    if (name != "if" || !skip('!')) return false;
    if (scanner_.identifier() != "defined") return false;
    scanner_.skip_blanks();
    const bool in_brackets = skip('(');
    const bool named = !scanner_.identifier().empty();
    scanner_.skip_blanks();
    return named && (!in_brackets || skip(')'));
  }

  // This sign, and blanks behind it.
  bool skip(char sign) {
    if (scanner_.peek() != sign) return false;
    scanner_.advance();
    scanner_.skip_blanks();
    return true;
  }

  // Whether the conditional that was opened has no other branch, and ends with the text. What an older language reads otherwise
  // is not sure.
  bool holds_the_rest() {
    skip_line();
    for (int depth = 1; depth > 0; skip_line()) {
      skip_space();
      if (scanner_.done()) return false;
      const auto name = directive();
      if (name.starts_with("if")) ++depth;
      if (name.starts_with("el") && depth == 1) return false;
      if (name == "endif") --depth;
    }
    skip_space();
    return scanner_.done() && !scanner_.found_raw_literal() && !scanner_.found_digit_separator();
  }

  void skip_line() {
    for (scanner_.skip_blanks(); !scanner_.done() && scanner_.peek() != '\n';
         scanner_.skip_blanks())
      scanner_.skip_word_or_token();
  }

  const JoinedText joined_;
  Scanner scanner_;
};

// One that a directive may go by. By one letter, which is found ten times as fast as three are.
bool holds_trigraph(std::string_view text) {
  constexpr std::array<std::string_view, 3> trigraphs{"?\?=", "?\?/", "?\?'"};
  for (auto at = text.find('?'); at != std::string_view::npos; at = text.find('?', at + 1)) {
    const auto three = text.substr(at, 3);
    if (std::ranges::find(trigraphs, three) != trigraphs.end()) return true;
  }
  return false;
}

// What stands before a guard would make it none: a compiler would open the header each time. CUDA's largest has 600 KB.
std::size_t place_in(std::string_view text) {
  if (holds_trigraph(text)) return 0;
  return GuardSearch(text).place().value_or(0);
}

std::string quoted(std::string_view path) {
  std::string literal;
  for (const char c : path) {
    // Of a question mark, since two may begin a trigraph.
    if (c == '"' || c == '\\' || c == '?') literal += '\\';
    literal += c;
  }
  return literal;
}

}  // namespace

std::string text_at(std::string_view path, std::string_view text) {
  const auto begin = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  const auto place = begin + place_in(text.substr(begin));
  const auto line = std::count(text.begin(), text.begin() + static_cast<long>(place), '\n') + 1;
  return fmt::format("{}#line {} \"{}\"\n{}", text.substr(0, place), line, quoted(path),
                     text.substr(place));
}

}  // namespace kiln
