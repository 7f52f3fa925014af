#pragma once

#include <span>
#include <string>

namespace demo {

/// Tokens as words: each token of the vocabulary has a word of its own, of two syllables.
/// REQUIRES: ids of the vocabulary.
[[nodiscard]] std::string text_of(std::span<const int> tokens);

}  // namespace demo
