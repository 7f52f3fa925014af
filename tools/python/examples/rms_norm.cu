// RMSNorm of each row: out = x / rms(x) * weight. One block of 256 threads per row; Hidden is the row's width.

#include <cuda_fp16.h>

#include <kiln/reduce.cuh>

template <class T, int Hidden>
__global__ void __launch_bounds__(256)
    rms_norm(T* out, const T* x, const T* weight, float epsilon) {
  static_assert(Hidden % 256 == 0, "a row is a whole number of values per thread");
  const long long row = static_cast<long long>(blockIdx.x) * Hidden;
  float values[Hidden / 256];
  float squares = 0.0f;
#pragma unroll
  for (int i = 0; i < Hidden / 256; ++i) {
    values[i] = static_cast<float>(x[row + i * 256 + threadIdx.x]);
    squares += values[i] * values[i];
  }
  const float scale = rsqrtf(kiln::block_sum<256>(squares) / Hidden + epsilon);
#pragma unroll
  for (int i = 0; i < Hidden / 256; ++i) {
    const int column = i * 256 + threadIdx.x;
    out[row + column] = T(values[i] * scale * static_cast<float>(weight[column]));
  }
}
