// __nv_fp8_e4m3 and __nv_fp8_e5m2 for <kiln/convert.cuh>: one instruction a pair from sm_89 on,
// the vendor header's emulation below.
#pragma once

#include <cuda_fp8.h>

#include <kiln/convert.cuh>

namespace kiln {

namespace detail {

template <typename T, typename T2>
struct ConvertFp8 {
  using Pair = T2;

  __device__ static float to_float(T value) { return static_cast<float>(value); }
  __device__ static T from_float(float value) { return T(value); }
  __device__ static float2 to_float2(T2 pair) { return static_cast<float2>(pair); }
  __device__ static T2 from_float2(float2 values) { return T2(values); }
};

}  // namespace detail

template <>
struct Convert<__nv_fp8_e4m3> : detail::ConvertFp8<__nv_fp8_e4m3, __nv_fp8x2_e4m3> {};

template <>
struct Convert<__nv_fp8_e5m2> : detail::ConvertFp8<__nv_fp8_e5m2, __nv_fp8x2_e5m2> {};

}  // namespace kiln
