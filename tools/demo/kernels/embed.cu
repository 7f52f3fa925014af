// The embedding of each token: its row of the table.
//
// Launch: one block of 64 threads per token.

#include <engine/element.cuh>
#include <kiln/vec.cuh>

namespace {

constexpr int threads = 64;

}  // namespace

// out: [token][Hidden]; table: [vocabulary][Hidden].
template <typename T, int Hidden>
__global__ void __launch_bounds__(threads)
    embed(T* __restrict__ out, const T* __restrict__ table, const int* __restrict__ tokens) {
  constexpr int width = kiln::full_width<T>;
  static_assert(Hidden % width == 0, "a row is a whole number of vectors");

  const long long row = blockIdx.x;
  const T* embedding = table + static_cast<long long>(tokens[row]) * Hidden;
  for (int i = static_cast<int>(threadIdx.x) * width; i < Hidden; i += threads * width) {
    kiln::store(out + row * Hidden + i, kiln::load_readonly<width>(embedding + i));
  }
}
