#pragma once

#include <stdbool.h>
#include <stddef.h>

// What a test asks of the fake CUDA driver, beside the driver's own functions. The fake is a shared
// library that is opened at run time, so these are looked up by name in it. C and C++.
//
// Environment, read by cuInit and cuGetProcAddress:
//   FAKE_CUDA_ARCH     each device's compute capability as 10 * major + minor, separated by commas;
//                      one device of 90 when it is not set
//   FAKE_CUDA_INIT     what cuInit answers, as a number; 0 when it is not set
//   FAKE_CUDA_VERSION  the driver's version, e.g. 12040; that of the headers when it is not set

#ifdef __cplusplus
extern "C" {
#endif

/// One launch as the driver received it.
typedef struct FakeCudaLaunch {
  const char* kernel;  ///< The symbol. Valid as long as its library is loaded.
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void* stream;
  void* context;  ///< That was current; any two threads that have one for a device have the same.
  int device;     ///< Of that context.
  size_t param_count;
} FakeCudaLaunch;

typedef struct FakeCudaParam {
  const void* bytes;  ///< A copy made at the launch; valid until fake_cuda_reset().
  size_t size;        ///< As the cubin gives it.
} FakeCudaParam;

/// Bytes that belong to the fake; valid until fake_cuda_reset().
typedef struct FakeCudaBytes {
  const void* bytes;
  size_t size;
} FakeCudaBytes;

/// Launches since the last reset, in order. Failed ones are not counted.
size_t fake_cuda_launch_count(void);
FakeCudaLaunch fake_cuda_launch(size_t index);
FakeCudaParam fake_cuda_param(size_t index, size_t position);

/// The launch's CUlaunchAttributes, in order; a node's likewise.
FakeCudaBytes fake_cuda_attributes(size_t index);

/// Launches a CUgraphNode as it is, into no stream: as it was added or set last, or, with `executable`,
/// as it was set last in a CUgraphExec.
void fake_cuda_run_node(void* node, bool executable);
/// Nodes that were added and not destroyed.
size_t fake_cuda_node_count(void);

/// How often cuKernelSetAttribute was called since the last reset.
size_t fake_cuda_attribute_sets(void);

/// Whether a stream of the context is being captured, until the next reset.
void fake_cuda_capture(bool capturing);

/// How often a kernel was loaded into a context beforehand.
size_t fake_cuda_functions_loaded(void);

/// Images that were loaded and not unloaded.
size_t fake_cuda_library_count(void);

/// From now on this function (e.g. "cuLaunchKernel") answers this result; 0 makes it work again.
void fake_cuda_fail(const char* function, int result);

/// Forgets launches and failures, and takes the calling thread's context away.
void fake_cuda_reset(void);

#ifdef __cplusplus
}  // extern "C"
#endif
