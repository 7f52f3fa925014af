#include "decoder_text.h"

#include <string_view>

#include "decoder_shape.h"

namespace demo {

namespace {

constexpr std::string_view consonants = "klmnrstv";
constexpr std::string_view vowels = "aeio";
constexpr int syllables = static_cast<int>(consonants.size() * vowels.size());
static_assert(syllables * syllables == shape::vocabulary);

std::string syllable(int number) {
  const auto vowel_count = static_cast<int>(vowels.size());
  return {consonants[number / vowel_count], vowels[number % vowel_count]};
}

}  // namespace

std::string text_of(std::span<const int> tokens) {
  std::string text;
  for (const int token : tokens) {
    if (!text.empty()) text += ' ';
    text += syllable(token / syllables) + syllable(token % syllables);
  }
  return text;
}

}  // namespace demo
