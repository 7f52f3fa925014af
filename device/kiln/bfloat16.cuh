// __nv_bfloat16 for <kiln/convert.cuh>.
#pragma once

#include <cuda_bf16.h>

#include <kiln/convert.cuh>

namespace kiln {

template <>
struct Convert<__nv_bfloat16> {
  using Pair = __nv_bfloat162;

  __device__ static float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
  __device__ static __nv_bfloat16 from_float(float value) { return __float2bfloat16_rn(value); }
  __device__ static float2 to_float2(__nv_bfloat162 pair) { return __bfloat1622float2(pair); }
  __device__ static __nv_bfloat162 from_float2(float2 values) {
    return __float22bfloat162_rn(values);
  }
};

}  // namespace kiln
