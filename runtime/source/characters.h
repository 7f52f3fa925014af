#pragma once

#include <array>
#include <string_view>

// The characters of CUDA C++ texts.

namespace kiln {

namespace characters {

// One table look-up tells what a character is: a program over CUB asks about millions.
enum CharacterClass : unsigned char { blank = 1, letter = 2, digit = 4, opening = 8 };

inline constexpr std::array<unsigned char, 256> character_classes = [] {
  std::array<unsigned char, 256> classes{};
  for (const unsigned char c : {' ', '\t', '\r', '\v', '\f'}) classes[c] = blank;
  for (unsigned char c = 'a'; c <= 'z'; ++c) classes[c] = letter;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) classes[c] = letter;
  for (unsigned char c = '0'; c <= '9'; ++c) classes[c] = digit;
  classes['_'] = letter;
  for (const unsigned char c : {'"', '\'', '/'}) classes[c] = opening;
  return classes;
}();

constexpr bool is_any_of(char c, unsigned classes) {
  return (character_classes[static_cast<unsigned char>(c)] & classes) != 0;
}

}  // namespace characters

constexpr bool begins_identifier(char c) { return characters::is_any_of(c, characters::letter); }
constexpr bool continues_identifier(char c) {
  return characters::is_any_of(c, characters::letter | characters::digit);
}
constexpr bool is_digit(char c) { return characters::is_any_of(c, characters::digit); }
/// Whether a comment or a literal may begin here.
constexpr bool is_opening(char c) { return characters::is_any_of(c, characters::opening); }
constexpr bool is_blank(char c) { return characters::is_any_of(c, characters::blank); }

/// Without the blanks at both ends.
inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

constexpr bool is_space(char c) { return is_blank(c) || c == '\n'; }

/// Without blanks and ends of lines at both ends.
inline std::string_view without_space(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace kiln
