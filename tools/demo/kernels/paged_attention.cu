// Attention of one new token per sequence over a key/value cache that is kept in pages.
//
// Launch: grid (cluster size * key/value heads, sequences), blocks of 128 threads. The pages of a
// sequence are dealt to the blocks of a cluster, which is how a few long sequences fill a large
// GPU; without clusters each block takes them all. The query heads that share a key/value head are
// served together, so that the cache is read once.

#include <engine/element.cuh>
#include <engine/online_softmax.cuh>
#include <kiln/cluster.cuh>
#include <kiln/reduce.cuh>

namespace {

constexpr int threads = 128;
constexpr int warps = threads / kiln::warp_size;

// How a warp's lanes divide the work: `lanes` of them hold one token's vector.
template <typename T, int HeadDim>
struct Lanes {
  static constexpr int width = kiln::full_width<T>;
  static constexpr int lanes = HeadDim / width;
  static constexpr int tokens = kiln::warp_size / lanes;
  static_assert(HeadDim % width == 0 && lanes <= kiln::warp_size && (lanes & (lanes - 1)) == 0,
                "a head is a power of two of vectors, at most one per lane");

  __device__ static int token() { return kiln::lane_index() / lanes; }
  __device__ static int offset() { return kiln::lane_index() % lanes * width; }
};

// What each warp of a block found, for the other blocks of the cluster to read.
template <int HeadDim, int Queries>
struct Partials {
  float values[warps][Queries][HeadDim];
  float maximum[warps][Queries];
  float weight[warps][Queries];
};

template <int Width>
__device__ float dot(const kiln::Vec<float, Width>& a, const kiln::Vec<float, Width>& b) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < Width; ++i) sum += a[i] * b[i];
  return sum;
}

// Adds one page to the sums. All lanes take part, those past the sequence's end with nothing.
template <typename T, int HeadDim, int PageSize, int Queries, int Width>
__device__ void add_page(engine::SoftmaxSum<Width> (&sums)[Queries],
                         const kiln::Vec<float, Width> (&queries)[Queries], const T* keys,
                         const T* values, int tokens_left) {
  using Lanes = Lanes<T, HeadDim>;
#pragma unroll 4
  for (int first = 0; first < PageSize; first += Lanes::tokens) {
    const int slot = first + Lanes::token();
    const bool valid = slot < tokens_left;
    // An invalid lane reads the page's first token, which is always there, and drops it.
    const int at = (valid ? slot : 0) * HeadDim + Lanes::offset();
    const auto key = kiln::to_float(kiln::load_readonly<Width>(keys + at));
    const auto value = kiln::to_float(kiln::load_readonly<Width>(values + at));
#pragma unroll
    for (int q = 0; q < Queries; ++q) {
      const float score = kiln::warp_sum<Lanes::lanes>(dot(queries[q], key));
      if (valid) sums[q].add(score, value);
    }
  }
}

// Merges the sums of a warp's token groups and leaves the result where the cluster can read it.
template <typename T, int HeadDim, int Queries, int Width>
__device__ void publish(Partials<HeadDim, Queries>& partials,
                        engine::SoftmaxSum<Width> (&sums)[Queries]) {
  using Lanes = Lanes<T, HeadDim>;
  const int warp = kiln::warp_index();
#pragma unroll
  for (int q = 0; q < Queries; ++q) {
#pragma unroll
    for (int mask = Lanes::lanes; mask < kiln::warp_size; mask *= 2) {
      sums[q].merge(kiln::shuffle_xor(sums[q], mask));
    }
    if (Lanes::token() == 0) {
      kiln::store(&partials.values[warp][q][Lanes::offset()], sums[q].values);
      partials.maximum[warp][q] = sums[q].maximum;
      partials.weight[warp][q] = sums[q].weight;
    }
  }
}

// One vector of one query's result, from every warp of every block of the cluster.
template <int Width, int HeadDim, int Queries>
__device__ kiln::Vec<float, Width> combine(Partials<HeadDim, Queries>& partials, int query,
                                           int offset) {
  engine::SoftmaxSum<Width> total;
  for (unsigned rank = 0; rank < kiln::cluster_size(); ++rank) {
    const auto& theirs = *kiln::map_shared(&partials, rank);
    for (int warp = 0; warp < warps; ++warp) {
      engine::SoftmaxSum<Width> part;
      part.maximum = theirs.maximum[warp][query];
      part.weight = theirs.weight[warp][query];
      part.values = kiln::load<Width>(&theirs.values[warp][query][offset]);
      total.merge(part);
    }
  }
  return total.result();
}

}  // namespace

// query, out: [sequence][head][HeadDim]; keys, values: [page][key/value head][PageSize][HeadDim];
// page_table: [sequence][max_pages]. Head h reads key/value head h / Queries. A sequence of length
// 0 gives zeros.
template <typename T, int HeadDim, int PageSize, int Queries>
__global__ void __launch_bounds__(threads)
    paged_attention(T* __restrict__ out, const T* __restrict__ query, const T* __restrict__ keys,
                    const T* __restrict__ values, const int* __restrict__ page_table,
                    const int* __restrict__ lengths, int max_pages, float scale) {
  using Lanes = Lanes<T, HeadDim>;
  constexpr int width = Lanes::width;
  static_assert(PageSize % Lanes::tokens == 0, "a page is a whole number of steps");

  const int blocks = static_cast<int>(kiln::cluster_size());
  const int rank = static_cast<int>(kiln::cluster_rank());
  const int kv_heads = static_cast<int>(gridDim.x) / blocks;
  const int kv_head = static_cast<int>(blockIdx.x) / blocks;
  const int sequence = static_cast<int>(blockIdx.y);
  const long long head_row =
      (static_cast<long long>(sequence) * kv_heads + kv_head) * Queries * HeadDim;

  kiln::Vec<float, width> queries[Queries];
#pragma unroll
  for (int q = 0; q < Queries; ++q) {
    queries[q] = kiln::to_float(
        kiln::load_readonly<width>(query + head_row + q * HeadDim + Lanes::offset()));
#pragma unroll
    for (int i = 0; i < width; ++i) queries[q][i] *= scale * kiln::log2_e;
  }

  engine::SoftmaxSum<width> sums[Queries];
  const int length = lengths[sequence];
  const int* pages = page_table + static_cast<long long>(sequence) * max_pages;
  for (int page = rank * warps + kiln::warp_index(); page * PageSize < length;
       page += blocks * warps) {
    const long long at =
        (static_cast<long long>(pages[page]) * kv_heads + kv_head) * PageSize * HeadDim;
    add_page<T, HeadDim, PageSize>(sums, queries, keys + at, values + at, length - page * PageSize);
  }

  __shared__ alignas(16) Partials<HeadDim, Queries> partials;
  publish<T>(partials, sums);
  kiln::cluster_sync();
  constexpr int vectors = Queries * HeadDim / width;
  for (int i = rank * threads + static_cast<int>(threadIdx.x); i < vectors; i += blocks * threads) {
    const int element = i * width;
    const auto result = combine<width>(partials, element / HeadDim, element % HeadDim);
    kiln::store(out + head_row + element, kiln::from_float<T>(result));
  }
  // No block may end while another still reads its shared memory.
  kiln::cluster_sync();
}
