// A tile of a row-major matrix in shared memory, laid out so that neither the copies into it nor
// ldmatrix meet bank conflicts.
#pragma once

#include "../element.cuh"
#include "async_copy.cuh"

namespace engine {

// Rows of 32 elements: four chunks of 16 bytes, two rows to a line of all banks.
template <typename T, int Rows>
struct SharedTile {
  static constexpr int columns = 32;
  static constexpr int chunk = kiln::full_width<T>;
  static constexpr int chunks_per_row = columns / chunk;
  static_assert(chunks_per_row == 4, "the swizzle is made for rows of four chunks");

  T elements[Rows * columns];

  // The chunk's place is turned by the line it is in, which spreads one column of chunks over all
  // banks.
  __device__ T* at(int row, int chunk_index) {
    const int place = chunk_index ^ ((row / 2) % chunks_per_row);
    return elements + row * columns + place * chunk;
  }

  // Starts the copies of Rows x 32 elements from `source`; rows from `valid_rows` on become zero.
  template <int Threads>
  __device__ void copy_from(const T* source, int stride, int valid_rows) {
    static_assert(Rows * chunks_per_row % Threads == 0, "every thread copies as many chunks");
#pragma unroll
    for (int i = 0; i < Rows * chunks_per_row / Threads; ++i) {
      const int index = i * Threads + static_cast<int>(threadIdx.x);
      const int row = index / chunks_per_row;
      const int chunk_index = index % chunks_per_row;
      const bool valid = row < valid_rows;
      const T* from = source + static_cast<long long>(valid ? row : 0) * stride;
      copy_16_bytes(at(row, chunk_index), from + chunk_index * chunk, valid);
    }
  }
};

}  // namespace engine
