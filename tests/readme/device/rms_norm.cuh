#pragma once

#include <cuda_fp16.h>

namespace engine {

/// One block normalises one row of `size` elements.
template <class T, int size>
__global__ void rms_norm(const T* x, const T* weight, T* y, float epsilon) {
  const T* row = x + static_cast<long long>(blockIdx.x) * size;
  float squares = 0;
  for (int i = threadIdx.x; i < size; i += blockDim.x) squares += float(row[i]) * float(row[i]);
  __shared__ float total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, squares);
  __syncthreads();
  const float scale = rsqrtf(total / size + epsilon);
  for (int i = threadIdx.x; i < size; i += blockDim.x) {
    y[static_cast<long long>(blockIdx.x) * size + i] = T(float(row[i]) * scale * float(weight[i]));
  }
}

}  // namespace engine
