// Rotary position embedding, in place, of the query and key heads of each token. Element i of a
// head is turned together with element i + HeadDim / 2.
//
// Launch: one block of 128 threads per token.

#include <engine/element.cuh>
#include <kiln/vec.cuh>

namespace {

constexpr int threads = 128;

template <typename T, int Width>
__device__ void rotate(T* low, T* high, const kiln::Vec<float, Width>& cosine,
                       const kiln::Vec<float, Width>& sine) {
  const auto a = kiln::to_float(kiln::load<Width>(low));
  const auto b = kiln::to_float(kiln::load<Width>(high));
  kiln::Vec<float, Width> turned_a;
  kiln::Vec<float, Width> turned_b;
#pragma unroll
  for (int i = 0; i < Width; ++i) {
    turned_a[i] = a[i] * cosine[i] - b[i] * sine[i];
    turned_b[i] = b[i] * cosine[i] + a[i] * sine[i];
  }
  kiln::store(low, kiln::from_float<T>(turned_a));
  kiln::store(high, kiln::from_float<T>(turned_b));
}

}  // namespace

// A row of `angles` belongs to one position: HeadDim / 2 cosines, then as many sines. Strides are
// elements from token to token, so that query and key may lie in one packed projection; they and
// both pointers are aligned to 16 bytes.
template <typename T, int HeadDim>
__global__ void __launch_bounds__(threads)
    rotary_embedding(T* __restrict__ query, T* __restrict__ key, const float* __restrict__ angles,
                     const int* __restrict__ positions, int query_heads, int key_heads,
                     int query_stride, int key_stride) {
  constexpr int width = kiln::full_width<T>;
  constexpr int half = HeadDim / 2;
  constexpr int vectors_per_head = half / width;
  constexpr int heads_at_once = threads / vectors_per_head;
  static_assert(half % width == 0 && threads % vectors_per_head == 0,
                "each thread turns the same part of every head it meets");

  const long long token = blockIdx.x;
  const int part = static_cast<int>(threadIdx.x) % vectors_per_head * width;
  const float* row = angles + static_cast<long long>(positions[token]) * HeadDim + part;
  const auto cosine = kiln::load_readonly<width>(row);
  const auto sine = kiln::load_readonly<width>(row + half);

  for (int head = static_cast<int>(threadIdx.x) / vectors_per_head; head < query_heads + key_heads;
       head += heads_at_once) {
    T* start = head < query_heads ? query + token * query_stride + head * HeadDim
                                  : key + token * key_stride + (head - query_heads) * HeadDim;
    rotate<T, width>(start + part, start + part + half, cosine, sine);
  }
}
