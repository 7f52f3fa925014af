// One decode step of a quantised linear layer: y = W x with weights of four bits and one scale per
// group of inputs.
//
// Launch: ceil(out_features / 16) blocks of 256 threads. A warp makes two outputs at a time, so
// that each input it converts serves twice.

#include <engine/element.cuh>
#include <engine/int4.cuh>
#include <kiln/grid_dependency.cuh>
#include <kiln/reduce.cuh>

namespace {

constexpr int threads = 256;
constexpr int rows_per_warp = 2;
constexpr int rows_per_block = threads / kiln::warp_size * rows_per_warp;

// What a lane takes at a time: 16 bytes of weights.
constexpr int words_per_step = 4;
constexpr int inputs_per_step = words_per_step * engine::weights_per_word;

// The inputs in shared memory. A lane reads four vectors a step; the first ones of all steps lie
// together, then the second ones, ..., so that a warp reads without bank conflicts.
template <typename T, int InFeatures>
struct Inputs {
  static constexpr int steps = InFeatures / inputs_per_step;
  static constexpr int width = kiln::full_width<T>;
  static constexpr int vectors_per_step = inputs_per_step / width;

  T elements[InFeatures];

  __device__ T* at(int step, int vector) { return elements + (vector * steps + step) * width; }

  __device__ void fill(const T* x) {
    for (int i = static_cast<int>(threadIdx.x); i < InFeatures / width; i += threads) {
      kiln::store(at(i / vectors_per_step, i % vectors_per_step), kiln::load<width>(x + i * width));
    }
  }

  __device__ kiln::Vec<float, inputs_per_step> step_inputs(int step) {
    kiln::Vec<float, inputs_per_step> inputs;
#pragma unroll
    for (int i = 0; i < vectors_per_step; ++i) {
      const auto vector = kiln::to_float(kiln::load<width>(at(step, i)));
#pragma unroll
      for (int j = 0; j < width; ++j) inputs[i * width + j] = vector[j];
    }
    return inputs;
  }
};

// The sum of weight * input over a step, `input_sum` being that of the inputs.
__device__ __forceinline__ float dot(const kiln::Vec<unsigned, words_per_step>& words,
                                     const kiln::Vec<float, inputs_per_step>& inputs,
                                     float input_sum) {
  float biased = 0.0f;
#pragma unroll
  for (int i = 0; i < inputs_per_step; ++i) {
    biased +=
        engine::unpack_biased(words[i / engine::weights_per_word], i % engine::weights_per_word) *
        inputs[i];
  }
  return biased - engine::int4_bias * input_sum;
}

}  // namespace

// A row of `weights` is one output: InFeatures / 8 words; one of `scales`, InFeatures / GroupSize.
template <typename T, int InFeatures, int GroupSize>
__global__ void __launch_bounds__(threads)
    int4_gemv(T* __restrict__ y, const unsigned* __restrict__ weights, const T* __restrict__ scales,
              const T* __restrict__ x, int out_features) {
  static_assert(InFeatures % GroupSize == 0 && GroupSize % inputs_per_step == 0,
                "a step lies within one group");
  constexpr int steps = Inputs<T, InFeatures>::steps;
  constexpr int words_per_row = InFeatures / engine::weights_per_word;
  constexpr int groups_per_row = InFeatures / GroupSize;

  __shared__ alignas(16) unsigned char storage[sizeof(Inputs<T, InFeatures>)];
  auto& inputs = *reinterpret_cast<Inputs<T, InFeatures>*>(storage);
  kiln::wait_for_dependencies();
  inputs.fill(x);
  __syncthreads();

  const int first_row =
      static_cast<int>(blockIdx.x) * rows_per_block + kiln::warp_index() * rows_per_warp;
  float sums[rows_per_warp] = {};
#pragma unroll 2
  for (int step = kiln::lane_index(); step < steps; step += kiln::warp_size) {
    kiln::Vec<unsigned, words_per_step> words[rows_per_warp];
    float scale[rows_per_warp];
#pragma unroll
    for (int r = 0; r < rows_per_warp; ++r) {
      // Rows past the end repeat the last one and are not stored.
      const long long row = min(first_row + r, out_features - 1);
      words[r] = kiln::load_no_allocate<words_per_step>(weights + row * words_per_row +
                                                        step * words_per_step);
      scale[r] = kiln::to_float(scales[row * groups_per_row + step * inputs_per_step / GroupSize]);
    }
    const auto step_inputs = inputs.step_inputs(step);
    float input_sum = 0.0f;
#pragma unroll
    for (int i = 0; i < inputs_per_step; ++i) input_sum += step_inputs[i];
#pragma unroll
    for (int r = 0; r < rows_per_warp; ++r) {
      sums[r] += scale[r] * dot(words[r], step_inputs, input_sum);
    }
  }

  kiln::launch_dependents();
#pragma unroll
  for (int r = 0; r < rows_per_warp; ++r) {
    const float sum = kiln::warp_sum(sums[r]);
    if (kiln::lane_index() == 0 && first_row + r < out_features) {
      y[first_row + r] = kiln::from_float<T>(sum);
    }
  }
}
