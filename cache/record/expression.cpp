#include <algorithm>
#include <cctype>
#include <cstddef>

#include "kiln/artifact.h"

namespace kiln {

namespace {

bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c == '_' || c == '$' || byte >= 0x80 || std::isalnum(byte) != 0;
}
bool is_quote(char c) { return c == '"' || c == '\''; }
bool is_decimal_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_one_of(char c, std::string_view characters) {
  return characters.find(c) != std::string_view::npos;
}

/// The preprocessor's number: 0x1e+2, 1'000 and 4_km are one each.
std::size_t end_of_number(std::string_view text) {
  std::size_t at = 1;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool sign = is_one_of(c, "+-") && is_one_of(text[at - 1], "eEpP");
    const bool separator = c == '\'' && at + 1 < text.size() && is_word(text[at + 1]);
    if (!is_word(c) && c != '.' && !sign && !separator) break;
  }
  return at;
}

std::size_t end_of_word(std::string_view text) {
  if (is_decimal_digit(text.front())) return end_of_number(text);
  const auto end = std::find_if_not(text.begin(), text.end(), is_word);
  return static_cast<std::size_t>(end - text.begin());
}

/// npos where the literal is not closed.
std::size_t end_of_literal(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == text.front()) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

/// Where the first token of a text ends; npos where that cannot be told. Of operators each character is one.
std::size_t end_of_token(std::string_view text) {
  if (is_word(text.front())) return end_of_word(text);
  return is_quote(text.front()) ? end_of_literal(text) : 1;
}

bool is_raw_literal(std::string_view before, std::string_view token) {
  return token.front() == '"' && before.ends_with('R');
}

/// Whether these would be other tokens with nothing between them, or might be.
bool needs_space(std::string_view last, std::string_view next) {
  const char left = last.back();
  const char right = next.front();
  const auto is_of_words = [](char c) { return is_word(c) || is_quote(c); };
  if (is_of_words(left) && is_of_words(right)) return true;
  if (left == '\\' || right == '\\') return true;
  if (is_of_words(left)) return is_decimal_digit(last.front()) && is_one_of(right, "+-.");
  if (is_of_words(right)) return left == '.';
  if (is_one_of(left, "(){}") || is_one_of(right, "(){},")) return false;
  // What stands behind the beginning of template arguments, and before their end.
  if (left == '<' && is_one_of(right, "-&*!~+")) return false;
  return !(right == '>' && is_one_of(left, "*&"));
}

/// Comments, where spaces and quotes mean nothing.
bool has_comment(std::string_view text) {
  return text.find("/*") != std::string_view::npos || text.find("//") != std::string_view::npos;
}

}  // namespace

std::string canonical_expression(std::string_view expression) {
  if (has_comment(expression)) return std::string(expression);
  std::string canonical;
  std::string_view last;
  for (auto rest = expression;;) {
    const auto spaces = rest.find_first_not_of(' ');
    if (spaces == std::string_view::npos) return canonical;
    rest.remove_prefix(spaces);
    const auto end = end_of_token(rest);
    if (end == std::string_view::npos) return std::string(expression);
    const auto token = rest.substr(0, end);
    if (spaces == 0 && is_raw_literal(last, token)) return std::string(expression);
    const bool spaced = last == "," || (spaces > 0 && !last.empty() && needs_space(last, token));
    if (spaced) canonical += ' ';
    canonical += token;
    last = token;
    rest.remove_prefix(end);
  }
}

}  // namespace kiln
