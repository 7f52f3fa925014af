// to_float and from_float: one spelling for every element type.
//
// A type takes part through a specialisation of Convert: <kiln/half.cuh>, <kiln/bfloat16.cuh> and
// <kiln/fp8.cuh> bring theirs, so that a kernel pays only for the vendor headers it needs.
#pragma once

#include <kiln/vec.cuh>

namespace kiln {

// Convert<T> has: Pair (two T in one word), to_float, from_float, to_float2, from_float2.
template <typename T>
struct Convert;

template <>
struct Convert<float> {
  using Pair = float2;

  __device__ static float to_float(float value) { return value; }
  __device__ static float from_float(float value) { return value; }
  __device__ static float2 to_float2(float2 pair) { return pair; }
  __device__ static float2 from_float2(float2 values) { return values; }
};

// Two neighbouring elements as the hardware converts them: __half2 for __half, and so on.
template <typename T>
using Pair = typename Convert<T>::Pair;

template <typename T>
__device__ __forceinline__ float to_float(T value) {
  return Convert<T>::to_float(value);
}

// Rounds to nearest even; fp8 saturates to the largest finite value.
template <typename T>
__device__ __forceinline__ T from_float(float value) {
  return Convert<T>::from_float(value);
}

template <typename T>
__device__ __forceinline__ float2 to_float2(Pair<T> pair) {
  return Convert<T>::to_float2(pair);
}

template <typename T>
__device__ __forceinline__ Pair<T> from_float2(float2 values) {
  return Convert<T>::from_float2(values);
}

// Whole vectors, two elements an instruction.
template <typename T, int N>
__device__ __forceinline__ Vec<float, N> to_float(const Vec<T, N>& values) {
  static_assert(N % 2 == 0, "vectors are converted in pairs");
  Vec<float, N> result;
#pragma unroll
  for (int i = 0; i < N; i += 2) {
    Pair<T> pair;
    memcpy(&pair, &values.data[i], sizeof(pair));
    const float2 floats = to_float2<T>(pair);
    result[i] = floats.x;
    result[i + 1] = floats.y;
  }
  return result;
}

template <typename T, int N>
__device__ __forceinline__ Vec<T, N> from_float(const Vec<float, N>& values) {
  static_assert(N % 2 == 0, "vectors are converted in pairs");
  Vec<T, N> result;
#pragma unroll
  for (int i = 0; i < N; i += 2) {
    const Pair<T> pair = from_float2<T>(make_float2(values[i], values[i + 1]));
    memcpy(&result.data[i], &pair, sizeof(pair));
  }
  return result;
}

}  // namespace kiln
