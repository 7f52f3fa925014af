// Samples the next token of each sequence: softmax over the top_k largest logits, cut where their
// mass reaches top_p.
//
// Launch: one block of 256 threads per sequence. The logits are read once; only those above the
// worst of the best so far become candidates, and the candidates are sorted when their room runs
// out: twice for a usual vocabulary.

#include <cub/block/block_radix_sort.cuh>

#include <engine/element.cuh>
#include <kiln/integers.cuh>
#include <kiln/math.cuh>
#include <kiln/reduce.cuh>

namespace {

constexpr int threads = 256;
constexpr int keys_per_thread = 16;
constexpr int capacity = threads * keys_per_thread;

// A logit and its token in one integer that sorts as they should: larger logits first, and smaller
// tokens first among equals, so that the result does not depend on who came first.
constexpr int token_bits = 20;
constexpr int key_bits = 16 + token_bits;
constexpr kiln::u64 token_mask = (1u << token_bits) - 1;

// The order of the bits as an integer is that of the number.
template <typename T>
__device__ kiln::u64 make_key(T logit, int token) {
  static_assert(sizeof(T) == 2, "keys hold 16 bits of the logit");
  kiln::u16 bits;
  memcpy(&bits, &logit, sizeof(bits));
  const kiln::u16 ordered = bits & 0x8000 ? ~bits : bits | 0x8000;
  return kiln::u64{ordered} << token_bits | (token_mask - static_cast<kiln::u64>(token));
}

template <typename T>
__device__ float logit_of(kiln::u64 key) {
  const auto ordered = static_cast<kiln::u16>(key >> token_bits);
  const kiln::u16 bits = ordered & 0x8000 ? ordered & 0x7fff : ~ordered;
  T logit;
  memcpy(&logit, &bits, sizeof(logit));
  return kiln::to_float(logit);
}

__device__ int token_of(kiln::u64 key) { return static_cast<int>(token_mask - (key & token_mask)); }

using Sort = cub::BlockRadixSort<kiln::u64, threads, keys_per_thread>;

// In shared memory.
struct Candidates {
  union {
    kiln::u64 keys[capacity];
    Sort::TempStorage sort_storage;
  };
  int count;

  // Reserves room for `wanted` keys; the caller sees that there is as much.
  __device__ int reserve(int wanted) { return wanted > 0 ? atomicAdd(&count, wanted) : 0; }

  // Sorts the keys and drops all but the best `kept`. By the whole block, after a barrier. Rare and
  // large, so it is compiled once and called from every place.
  __device__ __noinline__ void keep_best(int kept) {
    const int thread = static_cast<int>(threadIdx.x);
    const int found = count;
    kiln::u64 sorted[keys_per_thread];
#pragma unroll
    for (int i = 0; i < keys_per_thread; ++i) {
      const int index = i * threads + thread;
      sorted[i] = index < found ? keys[index] : 0;
    }
    __syncthreads();
    Sort(sort_storage).SortDescending(sorted, 0, key_bits);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < keys_per_thread; ++i) {
      const int rank = thread * keys_per_thread + i;
      if (rank < kept) keys[rank] = sorted[i];
    }
    if (thread == 0) count = min(found, kept);
    __syncthreads();
  }
};

// Appends the logits of one vector that beat `threshold`. Returns how many candidates there are
// with them.
template <typename T, int Width>
__device__ int append(Candidates& candidates, const kiln::Vec<T, Width>& logits, int first_token,
                      kiln::u64 threshold) {
  kiln::u64 keys[Width];
  int wanted = 0;
#pragma unroll
  for (int i = 0; i < Width; ++i) {
    keys[i] = make_key(logits[i], first_token + i);
    wanted += keys[i] > threshold;
  }
  int at = candidates.reserve(wanted);
#pragma unroll
  for (int i = 0; i < Width; ++i) {
    if (keys[i] > threshold) candidates.keys[at++] = keys[i];
  }
  return at;
}

// Leaves the best `kept` keys of a row, sorted, in `candidates`.
template <typename T>
__device__ void select(Candidates& candidates, const T* logits, int vocabulary, int kept) {
  constexpr int width = kiln::full_width<T>;
  constexpr int tile = threads * width;
  constexpr int tiles_in_flight = 4;
  static_assert(2 * tile <= capacity, "a tile fits beside the best and the tile before");

  const int thread_offset = static_cast<int>(threadIdx.x) * width;
  kiln::u64 threshold = 0;
  for (int base = 0; base < vocabulary; base += tiles_in_flight * tile) {
    kiln::FullVec<T> loaded[tiles_in_flight];
#pragma unroll
    for (int i = 0; i < tiles_in_flight; ++i) {
      const int token = base + i * tile + thread_offset;
      if (token < vocabulary) loaded[i] = kiln::load_streaming<width>(logits + token);
    }
#pragma unroll
    for (int i = 0; i < tiles_in_flight; ++i) {
      const int token = base + i * tile + thread_offset;
      const int count = token < vocabulary ? append(candidates, loaded[i], token, threshold) : 0;
      // The largest count any thread saw is the real one, so all agree.
      if (__syncthreads_or(count > capacity - tile)) {
        candidates.keep_best(kept);
        threshold = candidates.keys[kept - 1];
      }
    }
  }
  candidates.keep_best(kept);
}

__device__ float inclusive_scan(float value) {
#pragma unroll
  for (int distance = 1; distance < kiln::warp_size; distance *= 2) {
    const float before = __shfl_up_sync(kiln::full_warp, value, distance);
    if (kiln::lane_index() >= distance) value += before;
  }
  return value;
}

}  // namespace

// REQUIRES: 0 < top_k <= MaxTopK, top_p and temperature above 0, a vocabulary of at most 2^20 that
// is a multiple of 8. `uniforms` holds one number in [0, 1) per sequence.
template <typename T, int MaxTopK>
__global__ void __launch_bounds__(threads, 2)
    sample_top_k(int* __restrict__ tokens, float* __restrict__ probabilities,
                 const T* __restrict__ logits, const float* __restrict__ uniforms, int vocabulary,
                 int top_k, float top_p, float temperature) {
  constexpr int per_lane = MaxTopK / kiln::warp_size;
  static_assert(MaxTopK % kiln::warp_size == 0, "every lane holds as many candidates");

  __shared__ Candidates candidates;
  if (threadIdx.x == 0) candidates.count = 0;
  __syncthreads();
  const int sequence = static_cast<int>(blockIdx.x);
  select(candidates, logits + static_cast<long long>(sequence) * vocabulary, vocabulary, top_k);
  if (kiln::warp_index() > 0) return;

  // Softmax weights of this lane's candidates, and their running sum in order of rank.
  const int first_rank = kiln::lane_index() * per_lane;
  const float best = logit_of<T>(candidates.keys[0]);
  const float log2_scale = kiln::log2_e / temperature;
  float weight[per_lane];
  float before[per_lane];
  float lane_sum = 0.0f;
#pragma unroll
  for (int i = 0; i < per_lane; ++i) {
    const int rank = first_rank + i;
    const bool there = rank < candidates.count;
    weight[i] =
        there ? kiln::fast_exp2((logit_of<T>(candidates.keys[rank]) - best) * log2_scale) : 0.0f;
    before[i] = lane_sum;
    lane_sum += weight[i];
  }
  const float scanned = inclusive_scan(lane_sum);
  const float total = __shfl_sync(kiln::full_warp, scanned, kiln::warp_size - 1);

  float mass = 0.0f;
  int in_mass = 0;
#pragma unroll
  for (int i = 0; i < per_lane; ++i) {
    before[i] += scanned - lane_sum;
    const bool kept = first_rank + i < candidates.count && before[i] < top_p * total;
    in_mass += kept;
    if (kept) mass = before[i] + weight[i];
  }
  in_mass = kiln::warp_sum(in_mass);
  mass = kiln::warp_max(mass);

  const float target = uniforms[sequence] * mass;
  int passed = 0;
#pragma unroll
  for (int i = 0; i < per_lane; ++i) passed += before[i] + weight[i] <= target;
  // Rounding can put the target on the very end of the mass.
  const int chosen = min(kiln::warp_sum(passed), in_mass - 1);
#pragma unroll
  for (int i = 0; i < per_lane; ++i) {
    if (first_rank + i != chosen) continue;
    tokens[sequence] = token_of(candidates.keys[chosen]);
    probabilities[sequence] = weight[i] / mass;
  }
}
