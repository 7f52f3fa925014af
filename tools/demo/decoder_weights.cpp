#include "decoder_weights.h"

#include <cmath>
#include <cstddef>

#include "decoder_shape.h"

namespace demo {

namespace {

using Values = std::vector<kiln::Half>;

/// SplitMix64. The standard's engines would do, but its distributions differ between libraries.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}

  /// In [-1, 1), a multiple of 2^-23: exact in float.
  float uniform() {
    const auto bits = static_cast<std::int32_t>(next() >> 40);
    return static_cast<float>(bits - (1 << 23)) * 0x1p-23f;
  }

 private:
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
  }

  std::uint64_t state_;
};

Values uniform_values(Generator& generator, std::size_t count, double center, float amplitude) {
  Values values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    // The product is exact in double, so that it makes no difference whether it is fused with the sum.
    const double value = center + static_cast<double>(amplitude) * generator.uniform();
    values.emplace_back(static_cast<float>(value));
  }
  return values;
}

/// Inputs of variance one give outputs of variance one.
Values matrix(Generator& generator, int outputs, int inputs) {
  const float amplitude = std::sqrt(3.0f / static_cast<float>(inputs));
  return uniform_values(generator, static_cast<std::size_t>(outputs) * inputs, 0.0, amplitude);
}

Values norm(Generator& generator) { return uniform_values(generator, shape::hidden, 1.0, 0.25f); }

/// In the order of the fields, which the numbers depend on.
LayerWeights make_layer(Generator& generator) {
  return {.attention_norm = norm(generator),
          .query = matrix(generator, shape::query_width, shape::hidden),
          .key = matrix(generator, shape::kv_width, shape::hidden),
          .value = matrix(generator, shape::kv_width, shape::hidden),
          .output = matrix(generator, shape::hidden, shape::query_width),
          .feed_forward_norm = norm(generator),
          .gate_and_up = matrix(generator, 2 * shape::intermediate, shape::hidden),
          .down = matrix(generator, shape::hidden, shape::intermediate)};
}

}  // namespace

DecoderWeights make_weights(std::uint64_t seed) {
  Generator generator(seed);
  DecoderWeights weights;
  weights.embedding = uniform_values(
      generator, static_cast<std::size_t>(shape::vocabulary) * shape::hidden, 0.0, 1.0f);
  for (int layer = 0; layer < shape::layers; ++layer)
    weights.layers.push_back(make_layer(generator));
  weights.final_norm = norm(generator);
  weights.logits = matrix(generator, shape::vocabulary, shape::hidden);
  return weights;
}

}  // namespace demo
