// RMSNorm of each row, alone or after the residual has been added.
//
// Launch: one block of 256 threads per row. Every row stays in registers between its two uses.

#include <engine/element.cuh>
#include <kiln/grid_dependency.cuh>
#include <kiln/math.cuh>
#include <kiln/reduce.cuh>

namespace {

constexpr int threads = 256;

// One thread's share of a row, as vectors that are `threads` vectors apart. A short row has short ones.
template <typename T, int Hidden>
struct Row {
  static constexpr int share = Hidden / threads;
  static constexpr int width = share < kiln::full_width<T> ? share : kiln::full_width<T>;
  static constexpr int vectors = share / width;
  static_assert(Hidden % (width * threads) == 0, "a row is a whole number of vectors per thread");

  __device__ static int offset(int vector) {
    return (vector * threads + static_cast<int>(threadIdx.x)) * width;
  }
};

template <typename T, int Hidden>
struct Weights {
  kiln::Vec<T, Row<T, Hidden>::width> vectors[Row<T, Hidden>::vectors];

  __device__ explicit Weights(const T* weight) {
#pragma unroll
    for (int i = 0; i < Row<T, Hidden>::vectors; ++i) {
      vectors[i] = kiln::load_readonly<Row<T, Hidden>::width>(weight + Row<T, Hidden>::offset(i));
    }
  }
};

template <typename T, int Hidden>
using Values = kiln::Vec<float, Row<T, Hidden>::width>[Row<T, Hidden>::vectors];

template <typename T, int Hidden>
__device__ void store_normalized(T* out, const Values<T, Hidden>& values,
                                 const Weights<T, Hidden>& weights, float epsilon) {
  using Row = Row<T, Hidden>;
  float squares = 0.0f;
#pragma unroll
  for (int i = 0; i < Row::vectors; ++i) {
#pragma unroll
    for (int j = 0; j < Row::width; ++j) squares += values[i][j] * values[i][j];
  }
  const float mean = kiln::block_sum<threads>(squares) / Hidden;
  const float scale = kiln::fast_rsqrt(mean + epsilon);
#pragma unroll
  for (int i = 0; i < Row::vectors; ++i) {
    auto normalized = kiln::to_float(weights.vectors[i]);
#pragma unroll
    for (int j = 0; j < Row::width; ++j) normalized[j] *= values[i][j] * scale;
    kiln::store(out + Row::offset(i), kiln::from_float<T>(normalized));
  }
}

}  // namespace

// out = x / rms(x) * weight
template <typename T, int Hidden>
__global__ void __launch_bounds__(threads) rms_norm(T* __restrict__ out, const T* __restrict__ x,
                                                    const T* __restrict__ weight, float epsilon) {
  using Row = Row<T, Hidden>;
  const long long row = static_cast<long long>(blockIdx.x) * Hidden;

  // The weights depend on no kernel before this one.
  const Weights<T, Hidden> weights(weight);
  kiln::wait_for_dependencies();
  Values<T, Hidden> values;
#pragma unroll
  for (int i = 0; i < Row::vectors; ++i) {
    values[i] = kiln::to_float(kiln::load<Row::width>(x + row + Row::offset(i)));
  }
  kiln::launch_dependents();
  store_normalized<T, Hidden>(out + row, values, weights, epsilon);
}

// residual += x; out = residual / rms(residual) * weight
template <typename T, int Hidden>
__global__ void __launch_bounds__(threads)
    add_rms_norm(T* __restrict__ out, T* __restrict__ residual, const T* __restrict__ x,
                 const T* __restrict__ weight, float epsilon) {
  using Row = Row<T, Hidden>;
  const long long row = static_cast<long long>(blockIdx.x) * Hidden;

  const Weights<T, Hidden> weights(weight);
  kiln::wait_for_dependencies();
  Values<T, Hidden> values;
#pragma unroll
  for (int i = 0; i < Row::vectors; ++i) {
    const long long at = row + Row::offset(i);
    values[i] = kiln::to_float(kiln::load<Row::width>(residual + at));
    const auto added = kiln::to_float(kiln::load_streaming<Row::width>(x + at));
#pragma unroll
    for (int j = 0; j < Row::width; ++j) values[i][j] += added[j];
    // What is normalised is what the next layer will read back: the rounded sum.
    const auto sum = kiln::from_float<T>(values[i]);
    kiln::store(residual + at, sum);
    values[i] = kiln::to_float(sum);
  }
  kiln::launch_dependents();
  store_normalized<T, Hidden>(out + row, values, weights, epsilon);
}
