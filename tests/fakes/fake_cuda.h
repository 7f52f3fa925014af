#pragma once

#include <cstddef>

// What a test asks of the fake CUDA driver, beside the driver's own functions. The fake is a shared
// library that is opened at run time, so these are looked up by name in it.
//
// Environment, read by cuInit and cuGetProcAddress:
//   FAKE_CUDA_ARCH     the device's compute capability as 10 * major + minor; 90 when it is not set
//   FAKE_CUDA_INIT     what cuInit answers, as a number; 0 when it is not set
//   FAKE_CUDA_VERSION  the driver's version, e.g. 12040; that of the headers when it is not set

extern "C" {

/// One launch as the driver received it.
struct FakeCudaLaunch {
  const char* kernel;  ///< The symbol. Valid as long as its library is loaded.
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void* stream;
  void* context;  ///< That was current; any two threads that have one have the same.
  std::size_t param_count;
};

struct FakeCudaParam {
  const void* bytes;  ///< A copy made at the launch; valid until fake_cuda_reset().
  std::size_t size;   ///< As the cubin gives it.
};

/// Launches since the last reset, in order. Failed ones are not counted.
std::size_t fake_cuda_launch_count();
FakeCudaLaunch fake_cuda_launch(std::size_t index);
FakeCudaParam fake_cuda_param(std::size_t index, std::size_t position);

/// Images that were loaded and not unloaded.
std::size_t fake_cuda_library_count();

/// From now on this function (e.g. "cuLaunchKernel") answers this result; 0 makes it work again.
void fake_cuda_fail(const char* function, int result);

/// Forgets launches and failures, and takes the calling thread's context away.
void fake_cuda_reset();
}
