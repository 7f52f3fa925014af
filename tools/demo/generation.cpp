#include "generation.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "cpu_operations.h"
#include "kiln/digest.h"
#include "reference.h"

namespace demo {

namespace {

/// Whether the token's logit is so near the largest that errors of both may decide between them.
bool nearly_best(std::span<const float> logits, int token, double tolerance) {
  if (token < 0 || token >= shape::vocabulary) return false;
  const auto [least, most] = std::ranges::minmax(logits);
  const double largest = std::max(std::abs(least), std::abs(most));
  return most - logits[token] <= 2 * tolerance * largest;
}

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

Generation generate_on_cpu(const Question& question, const DecoderWeights& weights) {
  CpuOperations operations;
  Decoder decoder(operations, weights);
  return generate(decoder, question.prompt, question.tokens);
}

Comparison compare(const Generation& found, const Generation& reference, double tolerance) {
  Comparison comparison{.tolerance = tolerance};
  for (std::size_t i = 0; i < reference.steps.size(); ++i) {
    const auto& [logits, best] = reference.steps[i];
    const double error = reference::relative_error(found.steps[i].logits, logits);
    if (std::isnan(error) || error > comparison.error) comparison.error = error;
    for (std::size_t row = 0; row < best.size(); ++row) {
      const int token = found.steps[i].best[row];
      if (token == best[row]) continue;
      const auto row_logits = std::span(logits).subspan(row * shape::vocabulary, shape::vocabulary);
      ++comparison.other_tokens;
      if (!nearly_best(row_logits, token, tolerance)) ++comparison.wrong_tokens;
    }
  }
  return comparison;
}

std::string checksum(const Generation& generation) {
  std::string bytes(bytes_of(generation.tokens));
  for (const StepResult& step : generation.steps) {
    const std::vector<kiln::Half> halves(step.logits.begin(), step.logits.end());
    bytes += bytes_of(halves);
  }
  return kiln::digest_of(bytes).hex().substr(0, 16);
}

}  // namespace demo
