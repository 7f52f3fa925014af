#include "server_words.h"

#include <algorithm>

namespace kiln::remote {
namespace {

constexpr std::size_t most_bytes = 200;
constexpr std::string_view blank = "***";

/// Short ones are parts of other words: "user" of "username".
constexpr std::size_t least_within_a_word = 5;

bool is_letter(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
         (each >= '0' && each <= '9');
}

bool stands_alone(std::string_view words, std::size_t at, std::size_t size) {
  return (at == 0 || !is_letter(words[at - 1])) &&
         (at + size == words.size() || !is_letter(words[at + size]));
}

/// A long secret before one that is part of it: of that, the rest would be left.
std::size_t longest_secret_at(std::string_view words, std::size_t at,
                              std::initializer_list<std::string_view> secrets) {
  std::size_t longest = 0;
  for (const auto secret : secrets) {
    if (secret.size() > longest && words.substr(at).starts_with(secret) &&
        (secret.size() >= least_within_a_word || stands_alone(words, at, secret.size())))
      longest = secret.size();
  }
  return longest;
}

}  // namespace

std::string words_without(std::initializer_list<std::string_view> secrets, std::string_view words) {
  std::string text;
  for (std::size_t at = 0; at < words.size() && text.size() < most_bytes;) {
    const auto secret = longest_secret_at(words, at, secrets);
    secret == 0 ? text += words[at] : text += blank;
    at += std::max<std::size_t>(secret, 1);
  }
  text.resize(std::min(text.size(), most_bytes));
  std::ranges::replace_if(
      text, [](char each) { return each < ' ' || each > '~'; }, '?');
  return text;
}

bool is_hexadecimal(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace kiln::remote
