#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "decoder.h"
#include "decoder_weights.h"

namespace demo {

/// What the decoder is to go on with, and for how long.
struct Question {
  std::uint64_t seed = 1;  ///< Of its weights.
  std::vector<int> prompt{1, 2, 3};
  int tokens = 12;
};

/// A prompt, the tokens that were made of it, and what the decoder said on the way.
struct Generation {
  std::vector<int> prompt;
  std::vector<int> tokens;
  std::vector<StepResult> steps;  ///< One per token: the first is that of the whole prompt.

  /// What the decoder is given in a step: the prompt, then each token alone.
  [[nodiscard]] std::span<const int> given(std::size_t step) const {
    return step == 0 ? std::span(prompt) : std::span(tokens).subspan(step - 1, 1);
  }
};

/// As many tokens as are wanted, always the most probable one.
template <class Operations>
Generation generate(Decoder<Operations>& decoder, std::vector<int> prompt, std::size_t count) {
  Generation generation{std::move(prompt), {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    generation.steps.push_back(decoder.step(generation.given(i)));
    generation.tokens.push_back(generation.steps.back().best.back());
  }
  return generation;
}

/// The same steps by another decoder, which is given the reference's tokens whatever it would have
/// chosen itself: where two tokens are nearly as probable, the rest can still be compared.
template <class Operations>
Generation follow(Decoder<Operations>& decoder, const Generation& reference) {
  Generation generation{reference.prompt, {}, {}};
  for (std::size_t i = 0; i < reference.tokens.size(); ++i) {
    generation.steps.push_back(decoder.step(reference.given(i)));
    generation.tokens.push_back(generation.steps.back().best.back());
  }
  return generation;
}

/// The answer of the CPU, which is the reference of all others. `weights`: those of the question's seed.
[[nodiscard]] Generation generate_on_cpu(const Question& question, const DecoderWeights& weights);

/// Of a step's largest logit. Rounding to halves all the way moves logits by less than half as much
/// (tests/demo/decoder_test.cpp), a wrong layout by dozens of times as much.
inline constexpr double logit_tolerance = 0x1p-8;

/// How far a generation is from its reference, which it followed.
struct Comparison {
  double error = 0;      ///< The largest of any step's logits, relative to the step's largest.
  int other_tokens = 0;  ///< Chosen in the place of the reference's.
  int wrong_tokens =
      0;  ///< Those of them whose logit is not the largest by more than the tolerance.
  double tolerance = 0;  ///< Of the error.

  [[nodiscard]] bool right() const { return error <= tolerance && wrong_tokens == 0; }
};
[[nodiscard]] Comparison compare(const Generation& found, const Generation& reference,
                                 double tolerance = logit_tolerance);

/// Sixteen digits that stand for all logits, which are halves, and all tokens.
[[nodiscard]] std::string checksum(const Generation& generation);

}  // namespace demo
