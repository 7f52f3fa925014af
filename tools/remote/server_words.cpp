#include "server_words.h"

#include <algorithm>

namespace kiln::remote {
namespace {

constexpr std::size_t most_bytes = 200;
constexpr std::string_view blank = "***";

/// A long secret before one that is part of it: of that, the rest would be left.
std::string_view longest_at_begin(std::string_view text,
                                  std::initializer_list<std::string_view> secrets) {
  std::string_view longest;
  for (const auto secret : secrets) {
    if (secret.size() > longest.size() && text.starts_with(secret)) longest = secret;
  }
  return longest;
}

}  // namespace

std::string words_without(std::initializer_list<std::string_view> secrets, std::string_view words) {
  std::string text;
  while (!words.empty() && text.size() < most_bytes) {
    const auto secret = longest_at_begin(words, secrets);
    secret.empty() ? text += words.front() : text += blank;
    words.remove_prefix(std::max<std::size_t>(secret.size(), 1));
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
