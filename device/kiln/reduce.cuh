// Reductions over a warp and over a block. All-reduce: every thread gets the result.
//
// T is any trivially copyable type, a struct of several running values too. The order of the
// operations is fixed, so a result is reproducible to the bit.
#pragma once

namespace kiln {

struct Sum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

struct Max {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

struct Min {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

inline constexpr int warp_size = 32;
inline constexpr unsigned full_warp = 0xffffffffu;

__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x) % warp_size; }
__device__ __forceinline__ int warp_index() { return static_cast<int>(threadIdx.x) / warp_size; }

// __shfl_xor_sync() for any trivially copyable type. All 32 lanes take part.
template <typename T>
__device__ __forceinline__ T shuffle_xor(const T& value, int lane_mask) {
  constexpr int words = int{(sizeof(T) + 3) / 4};
  unsigned raw[words] = {};
  memcpy(raw, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < words; ++i) raw[i] = __shfl_xor_sync(full_warp, raw[i], lane_mask);
  T result;
  memcpy(&result, raw, sizeof(T));
  return result;
}

// Reduces within each group of Width neighbouring lanes. All 32 lanes take part.
template <int Width = warp_size, typename T, typename Op>
__device__ __forceinline__ T warp_reduce(T value, Op op) {
  static_assert(Width > 0 && Width <= warp_size && (Width & (Width - 1)) == 0,
                "the width of a warp reduction is a power of two up to 32");
#pragma unroll
  for (int mask = Width / 2; mask > 0; mask /= 2) value = op(value, shuffle_xor(value, mask));
  return value;
}

template <int Width = warp_size, typename T>
__device__ __forceinline__ T warp_sum(T value) {
  return warp_reduce<Width>(value, Sum{});
}

template <int Width = warp_size, typename T>
__device__ __forceinline__ T warp_max(T value) {
  return warp_reduce<Width>(value, Max{});
}

// Reduces over a one-dimensional block of Threads threads, all of which must call it.
template <int Threads, typename T, typename Op>
__device__ __forceinline__ T block_reduce(T value, Op op) {
  constexpr int warps = Threads / warp_size;
  static_assert(Threads % warp_size == 0 && warps <= warp_size && (warps & (warps - 1)) == 0,
                "a block reduction needs a power of two of whole warps");
  value = warp_reduce(value, op);
  if constexpr (warps > 1) {
    // Raw bytes, since shared memory takes no type with a constructor.
    __shared__ alignas(T) unsigned char storage[warps * sizeof(T)];
    T* partials = reinterpret_cast<T*>(storage);
    __syncthreads();  // The readers of an earlier reduction are done with the storage.
    if (lane_index() == 0) partials[warp_index()] = value;
    __syncthreads();
    // A power of two of warps lets every lane hold some partial, so that no identity is needed.
    value = warp_reduce<warps>(partials[lane_index() % warps], op);
  }
  return value;
}

template <int Threads, typename T>
__device__ __forceinline__ T block_sum(T value) {
  return block_reduce<Threads>(value, Sum{});
}

template <int Threads, typename T>
__device__ __forceinline__ T block_max(T value) {
  return block_reduce<Threads>(value, Max{});
}

}  // namespace kiln
