// A softmax-weighted sum that is built term by term, and merged with others like it.
#pragma once

#include <kiln/math.cuh>
#include <kiln/vec.cuh>

namespace engine {

// Scores are in units of log2, so that exp2 serves as it is.
template <int N>
struct SoftmaxSum {
  // Finite, so that two empty sums merge without inf - inf; below any score that occurs.
  float maximum = -1e30f;
  float weight = 0.0f;
  kiln::Vec<float, N> values = {};

  __device__ void add(float score, const kiln::Vec<float, N>& value) {
    const float new_maximum = fmaxf(maximum, score);
    const float decay = kiln::fast_exp2(maximum - new_maximum);
    const float term = kiln::fast_exp2(score - new_maximum);
    maximum = new_maximum;
    weight = weight * decay + term;
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = values[i] * decay + term * value[i];
  }

  __device__ void merge(const SoftmaxSum& other) {
    const float new_maximum = fmaxf(maximum, other.maximum);
    const float own = kiln::fast_exp2(maximum - new_maximum);
    const float others = kiln::fast_exp2(other.maximum - new_maximum);
    maximum = new_maximum;
    weight = weight * own + other.weight * others;
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = values[i] * own + other.values[i] * others;
  }

  // Zero for a sum without terms.
  __device__ kiln::Vec<float, N> result() const {
    const float scale = weight > 0.0f ? 1.0f / weight : 0.0f;
    kiln::Vec<float, N> scaled;
#pragma unroll
    for (int i = 0; i < N; ++i) scaled[i] = values[i] * scale;
    return scaled;
  }
};

}  // namespace engine
