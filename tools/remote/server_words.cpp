#include "server_words.h"

#include <algorithm>

namespace kiln::remote {
namespace {

constexpr std::size_t most_bytes = 200;
constexpr std::string_view blank = "***";

/// Short words are parts of others: "user" of "username".
constexpr std::size_t least_within_a_word = 5;

bool is_letter(char each) { return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z'); }

bool is_letter_or_digit(char each) { return is_letter(each) || (each >= '0' && each <= '9'); }

bool is_short_word(std::string_view secret) {
  return secret.size() < least_within_a_word && std::ranges::all_of(secret, is_letter);
}

using Secrets = std::initializer_list<std::string_view>;

/// Whether a word may end before this, a secret being one.
bool begins_anew(std::string_view rest, const Secrets& secrets) {
  return rest.empty() || !is_letter_or_digit(rest.front()) ||
         std::ranges::any_of(secrets, [&](std::string_view secret) {
           return !secret.empty() && rest.starts_with(secret);
         });
}

/// A long secret before one that is part of it: of that, the rest would be left. `within` tells that a word goes on there.
std::size_t longest_secret_at(std::string_view rest, bool within, const Secrets& secrets) {
  std::size_t longest = 0;
  for (const auto secret : secrets) {
    if (secret.size() > longest && rest.starts_with(secret) &&
        (!is_short_word(secret) || (!within && begins_anew(rest.substr(secret.size()), secrets))))
      longest = secret.size();
  }
  return longest;
}

}  // namespace

std::string words_without(std::initializer_list<std::string_view> secrets, std::string_view words) {
  std::string text;
  bool within = false;
  while (!words.empty() && text.size() < most_bytes) {
    const auto secret = longest_secret_at(words, within, secrets);
    within = secret == 0 && is_letter_or_digit(words.front());
    secret == 0 ? text += words.front() : text += blank;
    words.remove_prefix(std::max<std::size_t>(secret, 1));
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
