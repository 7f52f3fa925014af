// The gated activation of the feed-forward network: out = silu(gate) * up, where each row of the
// input holds gate and up side by side.
//
// Launch: grid (ceil(Intermediate / 8 / 256), rows), blocks of 256 threads.

#include <engine/element.cuh>
#include <kiln/grid_dependency.cuh>
#include <kiln/math.cuh>

namespace {

constexpr int threads = 256;

}  // namespace

template <typename T, int Intermediate>
__global__ void __launch_bounds__(threads)
    silu_and_mul(T* __restrict__ out, const T* __restrict__ gate_and_up) {
  constexpr int width = kiln::full_width<T>;
  static_assert(Intermediate % width == 0, "a row is a whole number of vectors");

  const int column = static_cast<int>(blockIdx.x * threads + threadIdx.x) * width;
  if (column >= Intermediate) return;
  const long long row = blockIdx.y;
  const T* gate_row = gate_and_up + row * 2 * Intermediate;

  kiln::wait_for_dependencies();
  const auto gate = kiln::to_float(kiln::load_streaming<width>(gate_row + column));
  const auto up = kiln::to_float(kiln::load_streaming<width>(gate_row + Intermediate + column));
  kiln::launch_dependents();

  kiln::Vec<float, width> product;
#pragma unroll
  for (int i = 0; i < width; ++i) product[i] = kiln::fast_silu(gate[i]) * up[i];
  kiln::store(out + row * Intermediate + column, kiln::from_float<T>(product));
}
