// Vec<T, N>: N elements moved together, in accesses as wide as the hardware has (up to 16 bytes).
//
// Every address given to these functions must be aligned to alignof(Vec<T, N>).
#pragma once

namespace kiln {

namespace detail {

// The built-in type that travels in one access of that many bytes.
template <int Bytes>
struct Access;
template <>
struct Access<1> {
  using Type = unsigned char;
};
template <>
struct Access<2> {
  using Type = unsigned short;
};
template <>
struct Access<4> {
  using Type = unsigned int;
};
template <>
struct Access<8> {
  using Type = uint2;
};
template <>
struct Access<16> {
  using Type = uint4;
};

}  // namespace detail

template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vec {
  static_assert(N > 0 && ((sizeof(T) * N) & (sizeof(T) * N - 1)) == 0,
                "the size of a Vec is a power of two");

  static constexpr int size = N;

  T data[N];

  __device__ T& operator[](int index) { return data[index]; }
  __device__ const T& operator[](int index) const { return data[index]; }
};

// How many elements of T fill one 16-byte access.
template <typename T>
inline constexpr int full_width = 16 / int{sizeof(T)};

// The Vec that fills one 16-byte access.
template <typename T>
using FullVec = Vec<T, full_width<T>>;

namespace detail {

template <typename T, int N>
using AccessOf = typename Access<int{alignof(Vec<T, N>)}>::Type;

// Reads a Vec with one call of `read` per access.
template <typename T, int N, typename Read>
__device__ __forceinline__ Vec<T, N> read_vec(const T* address, Read read) {
  using Word = AccessOf<T, N>;
  constexpr int words = int{sizeof(Vec<T, N>) / sizeof(Word)};
  Word raw[words];
#pragma unroll
  for (int i = 0; i < words; ++i) raw[i] = read(reinterpret_cast<const Word*>(address) + i);
  Vec<T, N> result;
  memcpy(&result, raw, sizeof(result));
  return result;
}

template <typename T, int N, typename Write>
__device__ __forceinline__ void write_vec(T* address, const Vec<T, N>& value, Write write) {
  using Word = AccessOf<T, N>;
  constexpr int words = int{sizeof(Vec<T, N>) / sizeof(Word)};
  Word raw[words];
  memcpy(raw, &value, sizeof(value));
#pragma unroll
  for (int i = 0; i < words; ++i) write(reinterpret_cast<Word*>(address) + i, raw[i]);
}

// The ways to move one word.
struct Plain {
  template <typename Word>
  __device__ Word operator()(const Word* address) const {
    return *address;
  }
  template <typename Word>
  __device__ void operator()(Word* address, Word value) const {
    *address = value;
  }
};

struct Readonly {
  template <typename Word>
  __device__ Word operator()(const Word* address) const {
    return __ldg(address);
  }
};

struct Streaming {
  template <typename Word>
  __device__ Word operator()(const Word* address) const {
    return __ldcs(address);
  }
  template <typename Word>
  __device__ void operator()(Word* address, Word value) const {
    __stcs(address, value);
  }
};

struct NoAllocate {
  __device__ uint4 operator()(const uint4* address) const {
    uint4 value;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
        : "l"(__cvta_generic_to_global(address)));
    return value;
  }
};

}  // namespace detail

// Any memory: global, shared or local.
template <int N, typename T>
__device__ __forceinline__ Vec<T, N> load(const T* address) {
  return detail::read_vec<T, N>(address, detail::Plain{});
}

template <typename T, int N>
__device__ __forceinline__ void store(T* address, const Vec<T, N>& value) {
  detail::write_vec(address, value, detail::Plain{});
}

// Global memory that no one writes while the kernel runs: takes the read-only path.
template <int N, typename T>
__device__ __forceinline__ Vec<T, N> load_readonly(const T* address) {
  return detail::read_vec<T, N>(address, detail::Readonly{});
}

// Global memory touched once: first to be evicted from the caches.
template <int N, typename T>
__device__ __forceinline__ Vec<T, N> load_streaming(const T* address) {
  return detail::read_vec<T, N>(address, detail::Streaming{});
}

template <typename T, int N>
__device__ __forceinline__ void store_streaming(T* address, const Vec<T, N>& value) {
  detail::write_vec(address, value, detail::Streaming{});
}

// Read-only global memory touched once by this block, such as weights: takes no line of L1, which
// is left to the activations.
template <int N, typename T>
__device__ __forceinline__ Vec<T, N> load_no_allocate(const T* address) {
  static_assert(sizeof(Vec<T, N>) >= 16, "a no-allocate load moves 16 bytes at a time");
  return detail::read_vec<T, N>(address, detail::NoAllocate{});
}

}  // namespace kiln
