// Puts the new keys and values of each token where paged_attention.cu reads them.
//
// Launch: one block of 64 threads per token.

#include <engine/element.cuh>
#include <kiln/vec.cuh>

namespace {

constexpr int threads = 64;

}  // namespace

// key, value: [token][key/value head][HeadDim]; keys, values: [page][key/value head][PageSize][HeadDim];
// page_table: [token][max_pages], each token's row being that of its sequence. Positions are counted
// from the sequence's start.
template <typename T, int HeadDim, int PageSize>
__global__ void __launch_bounds__(threads)
    write_key_values(T* __restrict__ keys, T* __restrict__ values, const T* __restrict__ key,
                     const T* __restrict__ value, const int* __restrict__ positions,
                     const int* __restrict__ page_table, int kv_heads, int max_pages) {
  constexpr int width = kiln::full_width<T>;
  static_assert(HeadDim % width == 0, "a head is a whole number of vectors");

  const long long token = blockIdx.x;
  const int position = positions[token];
  const long long page = page_table[token * max_pages + position / PageSize];
  const int elements = kv_heads * HeadDim;
  for (int i = static_cast<int>(threadIdx.x) * width; i < elements; i += threads * width) {
    const long long row = (page * kv_heads + i / HeadDim) * PageSize + position % PageSize;
    const long long to = row * HeadDim + i % HeadDim;
    kiln::store(keys + to, kiln::load_readonly<width>(key + token * elements + i));
    kiln::store(values + to, kiln::load_readonly<width>(value + token * elements + i));
  }
}
