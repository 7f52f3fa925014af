#pragma once
// What the host's part of a header calls of the CUDA runtime. Nothing of it is ever defined: no kernel calls it.
#include <cuda_runtime.h>

// NVRTC refuses functions of the host alone; with -default-device it takes them for the device's.
#undef __host__
#define __host__
using ushort = unsigned short;
using uint = unsigned int;

template <class... Arguments>
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t, Arguments...);
template <class Config, class Kernel, class... Arguments>
cudaError_t cudaLaunchKernelEx(const Config*, Kernel, Arguments&&...);
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel, cudaFuncAttribute, int);
template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, Kernel);
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int*, Kernel, int, size_t);
cudaError_t cudaGetDevice(int*);
cudaError_t cudaDeviceGetAttribute(int*, cudaDeviceAttr, int);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int);
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaGetLastError();
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaMallocAsync(void**, size_t, cudaStream_t);
cudaError_t cudaFreeAsync(void*, cudaStream_t);
const char* cudaGetErrorString(cudaError_t);
const char* cudaGetErrorName(cudaError_t);
