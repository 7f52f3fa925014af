#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <cudaTypedefs.h>
#include <gtest/gtest.h>

#include "kiln/runtime.h"
#include "vendor/driver.h"

namespace kiln::gpu {

// What tests call of the driver that kiln itself has no use for: as in vendor/driver.h.
#define KILN_GPU_TEST_FUNCTIONS(X)                         \
  X(mem_alloc, cuMemAlloc, 3020)                           \
  X(mem_free, cuMemFree, 3020)                             \
  X(memcpy_to_host, cuMemcpyDtoH, 3020)                    \
  X(memcpy_to_device, cuMemcpyHtoD, 3020)                  \
  X(memset_8, cuMemsetD8, 3020)                            \
  X(ctx_synchronize, cuCtxSynchronize, 2000)               \
  X(tensor_map_encode, cuTensorMapEncodeTiled, 12000)      \
  X(launch_kernel, cuLaunchKernel, 4000)                   \
  X(launch_kernel_ex, cuLaunchKernelEx, 11060)             \
  X(library_load, cuLibraryLoadData, 12000)                \
  X(library_get_kernel, cuLibraryGetKernel, 12000)         \
  X(stream_begin_capture, cuStreamBeginCapture, 10010)     \
  X(stream_end_capture, cuStreamEndCapture, 10000)         \
  X(stream_create, cuStreamCreate, 2000)                   \
  X(stream_destroy, cuStreamDestroy, 4000)                 \
  X(graph_create, cuGraphCreate, 10000)                    \
  X(graph_destroy, cuGraphDestroy, 10000)                  \
  X(graph_instantiate, cuGraphInstantiateWithFlags, 11040) \
  X(graph_launch, cuGraphLaunch, 10000)                    \
  X(graph_exec_destroy, cuGraphExecDestroy, 10000)         \
  X(kernel_get_attribute, cuKernelGetAttribute, 12000)     \
  X(kernel_set_attribute, cuKernelSetAttribute, 12000)     \
  X(ctx_get_current, cuCtxGetCurrent, 4000)                \
  X(ctx_set_current, cuCtxSetCurrent, 4000)                \
  X(ctx_create, cuCtxCreate, 3020)                         \
  X(ctx_destroy, cuCtxDestroy, 4000)                       \
  X(device_get, cuDeviceGet, 2000)                         \
  X(primary_ctx_reset, cuDevicePrimaryCtxReset, 11000)     \
  X(primary_ctx_retain, cuDevicePrimaryCtxRetain, 7000)

struct Functions {
#define KILN_GPU_TEST_MEMBER(member, name, version) PFN_##name##_v##version member = nullptr;
  KILN_GPU_TEST_FUNCTIONS(KILN_GPU_TEST_MEMBER)
#undef KILN_GPU_TEST_MEMBER
};

/// The machine's driver with these functions; nothing, with the reason, where there is none.
struct Machine {
  std::shared_ptr<const vendor::Driver> driver;
  Functions functions;
  std::string reason;

  static const Machine& get();
};

/// Throws what a call of the driver answered, unless that is success.
void check(CUresult result);

/// Bytes on the device, zero at first.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t size);
  /// With these values.
  template <class T>
  explicit DeviceBytes(const std::vector<T>& values) : DeviceBytes(values.size() * sizeof(T)) {
    write_bytes(values.data(), values.size() * sizeof(T));
  }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes();

  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(address_);
  }

  /// Waits for all that runs, then copies so many values from there.
  template <class T>
  [[nodiscard]] std::vector<T> read(std::size_t count) const {
    std::vector<T> values(count);
    read_bytes(values.data(), count * sizeof(T));
    return values;
  }

 private:
  void read_bytes(void* to, std::size_t size) const;
  void write_bytes(const void* from, std::size_t size) const;

  CUdeviceptr address_ = 0;
};

/// A test that needs a GPU: skipped, with the reason, where there is none. A context is current.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override;

  /// A program of this source.
  [[nodiscard]] static Program program(const std::string& source,
                                       std::vector<std::string> expressions);

  /// A kernel of this source for the machine's device; the test fails where there is none.
  [[nodiscard]] Kernel kernel(const std::string& source, const std::string& expression);

  [[nodiscard]] Runtime& runtime() { return *runtime_; }

  /// Skips the test on devices below this compute capability.
  [[nodiscard]] bool device_is_below(int major) const;

  const Functions& functions() const { return Machine::get().functions; }

 private:
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace kiln::gpu
