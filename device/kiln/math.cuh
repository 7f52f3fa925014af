// Arithmetic for kernels that trade the last bits for speed. Single precision; denormals are
// flushed to zero.
#pragma once

namespace kiln {

inline constexpr float log2_e = 1.4426950408889634f;

// 2 to the power of x. The argument that the hardware takes: fold log2_e into a factor where you
// can.
__device__ __forceinline__ float fast_exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ __forceinline__ float fast_exp(float x) { return fast_exp2(x * log2_e); }

__device__ __forceinline__ float fast_rcp(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ __forceinline__ float fast_rsqrt(float x) {
  float result;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// One instruction, and good to about eleven bits: enough for a result kept in 16 bits.
__device__ __forceinline__ float fast_tanh(float x) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ __forceinline__ float fast_sigmoid(float x) { return fast_rcp(1.0f + fast_exp(-x)); }

__device__ __forceinline__ float fast_silu(float x) { return x * fast_sigmoid(x); }

// The tanh form, which most models that say "gelu" were trained with.
__device__ __forceinline__ float fast_gelu(float x) {
  constexpr float sqrt_2_over_pi = 0.7978845608028654f;
  return 0.5f * x * (1.0f + fast_tanh(sqrt_2_over_pi * (x + 0.044715f * x * x * x)));
}

// For non-negative values and a positive divisor; on the host too, where grids are computed.
template <typename T>
__host__ __device__ constexpr T ceil_div(T value, T divisor) {
  return (value + divisor - 1) / divisor;
}

template <typename T>
__host__ __device__ constexpr T round_up(T value, T multiple) {
  return ceil_div(value, multiple) * multiple;
}

}  // namespace kiln
