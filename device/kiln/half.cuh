// __half for <kiln/convert.cuh>.
#pragma once

#include <cuda_fp16.h>

#include <kiln/convert.cuh>

namespace kiln {

template <>
struct Convert<__half> {
  using Pair = __half2;

  __device__ static float to_float(__half value) { return __half2float(value); }
  __device__ static __half from_float(float value) { return __float2half_rn(value); }
  __device__ static float2 to_float2(__half2 pair) { return __half22float2(pair); }
  __device__ static __half2 from_float2(float2 values) { return __float22half2_rn(values); }
};

}  // namespace kiln
