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
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Whether nothing but spaces between two of them keeps them from being another operator.
bool is_of_operators(char c) {
  constexpr std::string_view others = "(),[]{}";
  return !is_word(c) && !is_quote(c) && others.find(c) == std::string_view::npos;
}

std::size_t end_of_word(std::string_view text) {
  const bool number = is_digit(text.front());
  std::size_t at = 1;
  // A quote in a number separates digits.
  const auto separates = [&] {
    return number && text[at] == '\'' && at + 1 < text.size() && is_word(text[at + 1]);
  };
  while (at < text.size() && (is_word(text[at]) || separates())) ++at;
  return at;
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

/// Where the first token of a text ends; npos where that cannot be told.
std::size_t end_of_token(std::string_view text) {
  if (is_word(text.front())) return end_of_word(text);
  return is_quote(text.front()) ? end_of_literal(text) : 1;
}

bool is_raw_literal(std::string_view before, std::string_view token) {
  return token.front() == '"' && before.ends_with('R');
}

bool needs_space(std::string_view before, std::string_view token, bool had_one) {
  if (before.empty()) return false;
  const char last = before.back();
  const char first = token.front();
  if (last == ',') return true;
  if (!had_one) return false;
  // Most that stands beside the end of template arguments makes no other operator with it.
  if (last == '>') return first == '=';
  if (first == '>') return std::string_view("-%:<=").find(last) != std::string_view::npos;
  const auto is_of_words = [](char c) { return is_word(c) || is_quote(c); };
  return (is_of_words(last) && is_of_words(first)) ||
         (is_of_operators(last) && is_of_operators(first));
}

}  // namespace

std::string canonical_expression(std::string_view expression) {
  std::string canonical;
  auto rest = expression;
  while (!rest.empty()) {
    const auto spaces = rest.find_first_not_of(' ');
    if (spaces == std::string_view::npos) break;
    rest.remove_prefix(spaces);
    const auto end = end_of_token(rest);
    if (end == std::string_view::npos) return std::string(expression);
    const auto token = rest.substr(0, end);
    if (spaces == 0 && is_raw_literal(canonical, token)) return std::string(expression);
    if (needs_space(canonical, token, spaces > 0)) canonical += ' ';
    canonical += token;
    rest.remove_prefix(end);
  }
  return canonical;
}

}  // namespace kiln
