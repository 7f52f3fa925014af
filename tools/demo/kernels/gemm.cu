// A linear layer for many tokens at once: c = a b^T on tensor cores, with float sums.
//
// Launch: grid (ceil(n / TileN), ceil(m / TileM)), blocks of 256 threads. a is [m][k] and b [n][k],
// as the layer's weights are stored; c is [m][n]. k is a multiple of 32 and n of 8; m is free.

#include <engine/element.cuh>
#include <engine/tile/mma.cuh>
#include <engine/tile/shared_tile.cuh>
#include <kiln/reduce.cuh>

namespace {

constexpr int threads = 256;
constexpr int warps_m = 2;
constexpr int warps_n = 4;
static_assert(warps_m * warps_n * kiln::warp_size == threads);

// What fits without asking for more shared memory than every launch may have.
constexpr int shared_limit = 48 * 1024;

template <typename T, int TileM, int TileN>
struct Stage {
  engine::SharedTile<T, TileM> a;
  engine::SharedTile<T, TileN> b;
};

// Finished sums on their way out. The padding sends the eight rows a warp writes at a time to
// different banks.
template <typename T, int TileM, int TileN>
struct OutTile {
  static constexpr int stride = TileN + kiln::full_width<T>;
  T elements[TileM * stride];
};

// The part of a block's tile that is one warp's.
template <typename T, int TileM, int TileN>
class WarpTile {
 public:
  // Adds the products of one stage.
  __device__ void accumulate(Stage<T, TileM, TileN>& stage) {
#pragma unroll
    for (int chunk = 0; chunk < engine::SharedTile<T, TileM>::chunks_per_row; chunk += 2) {
      unsigned a[blocks_m][4];
      unsigned b[blocks_n][4];
#pragma unroll
      for (int i = 0; i < blocks_m; ++i) {
        engine::load_matrices(a[i], stage.a.at(row_ + i * 16 + lane_ % 16, chunk + lane_ / 16));
      }
#pragma unroll
      for (int j = 0; j < blocks_n; ++j) {
        engine::load_matrices(
            b[j], stage.b.at(column_ + j * 16 + lane_ / 16 * 8 + lane_ % 8, chunk + lane_ / 8 % 2));
      }
#pragma unroll
      for (int i = 0; i < blocks_m; ++i) {
#pragma unroll
        for (int j = 0; j < blocks_n; ++j) {
          engine::multiply_add<T>(sums_[i][2 * j], a[i], b[j][0], b[j][1]);
          engine::multiply_add<T>(sums_[i][2 * j + 1], a[i], b[j][2], b[j][3]);
        }
      }
    }
  }

  __device__ void write(OutTile<T, TileM, TileN>& out) const {
#pragma unroll
    for (int i = 0; i < blocks_m; ++i) {
#pragma unroll
      for (int j = 0; j < 2 * blocks_n; ++j) {
        T* at = out.elements + (row_ + i * 16 + lane_ / 4) * out.stride + column_ + j * 8 +
                lane_ % 4 * 2;
        write_pair(at, sums_[i][j][0], sums_[i][j][1]);
        write_pair(at + 8 * out.stride, sums_[i][j][2], sums_[i][j][3]);
      }
    }
  }

 private:
  static constexpr int rows = TileM / warps_m;
  static constexpr int columns = TileN / warps_n;
  static constexpr int blocks_m = rows / 16;
  static constexpr int blocks_n = columns / 16;
  static_assert(rows % 16 == 0 && columns % 16 == 0, "a warp's tile is made of 16 x 16 blocks");

  __device__ static void write_pair(T* at, float first, float second) {
    kiln::store(at, kiln::from_float<T>(kiln::Vec<float, 2>{{first, second}}));
  }

  const int lane_ = kiln::lane_index();
  const int row_ = kiln::warp_index() / warps_n * rows;
  const int column_ = kiln::warp_index() % warps_n * columns;
  float sums_[blocks_m][2 * blocks_n][4] = {};
};

template <typename T, int TileM, int TileN>
__device__ void store_tile(T* c, const OutTile<T, TileM, TileN>& tile, int n, int valid_rows,
                           int valid_columns) {
  constexpr int width = kiln::full_width<T>;
  constexpr int vectors_per_row = TileN / width;
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < TileM * vectors_per_row; i += threads) {
    const int row = i / vectors_per_row;
    const int column = i % vectors_per_row * width;
    if (row < valid_rows && column < valid_columns) {
      kiln::store(c + static_cast<long long>(row) * n + column,
                  kiln::load<width>(tile.elements + row * tile.stride + column));
    }
  }
}

}  // namespace

template <typename T, int TileM, int TileN>
__global__ void __launch_bounds__(threads, 2)
    gemm(T* __restrict__ c, const T* __restrict__ a, const T* __restrict__ b, int m, int n, int k) {
  using Stage = Stage<T, TileM, TileN>;
  using OutTile = OutTile<T, TileM, TileN>;
  constexpr int tile_k = engine::SharedTile<T, TileM>::columns;
  constexpr int fitting = shared_limit / int{sizeof(Stage)};
  constexpr int stages = fitting < 4 ? fitting : 4;
  static_assert(stages >= 2 && sizeof(OutTile) <= stages * sizeof(Stage));

  __shared__ alignas(128) unsigned char storage[stages * sizeof(Stage)];
  Stage* stage = reinterpret_cast<Stage*>(storage);

  const int first_row = static_cast<int>(blockIdx.y) * TileM;
  const int first_column = static_cast<int>(blockIdx.x) * TileN;
  const T* a_tile = a + static_cast<long long>(first_row) * k;
  const T* b_tile = b + static_cast<long long>(first_column) * k;
  const int steps = k / tile_k;
  const auto start_copy = [&](int step) {
    if (step < steps) {
      Stage& to = stage[step % stages];
      to.a.template copy_from<threads>(a_tile + step * tile_k, k, m - first_row);
      to.b.template copy_from<threads>(b_tile + step * tile_k, k, n - first_column);
    }
    engine::commit_copies();
  };

  WarpTile<T, TileM, TileN> sums;
#pragma unroll
  for (int step = 0; step < stages - 1; ++step) start_copy(step);
  for (int step = 0; step < steps; ++step) {
    engine::wait_for_copies<stages - 2>();
    // Besides showing the copies of all threads, it says that the stage of the step before, which
    // the next copy overwrites, has been used by all.
    __syncthreads();
    start_copy(step + stages - 1);
    sums.accumulate(stage[step % stages]);
  }

  engine::wait_for_copies<0>();
  __syncthreads();
  OutTile& out = *reinterpret_cast<OutTile*>(storage);
  sums.write(out);
  __syncthreads();
  store_tile(c + static_cast<long long>(first_row) * n + first_column, out, n, m - first_row,
             n - first_column);
}
