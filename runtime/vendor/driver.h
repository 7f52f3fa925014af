#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <cudaTypedefs.h>

#include "kiln/error.h"

// What kiln calls of the driver. Each row has the name in Functions, the driver's name, the version that
// introduced the function, and whether kiln can do without it.
#define KILN_DRIVER_FUNCTIONS(X)                                                        \
  X(init, cuInit, 2000, required)                                                       \
  X(driver_get_version, cuDriverGetVersion, 2020, required)                             \
  X(get_error_name, cuGetErrorName, 6000, required)                                     \
  X(device_get_count, cuDeviceGetCount, 2000, required)                                 \
  X(device_get, cuDeviceGet, 2000, required)                                            \
  X(device_get_attribute, cuDeviceGetAttribute, 2000, required)                         \
  X(device_get_name, cuDeviceGetName, 2000, required)                                   \
  X(ctx_get_current, cuCtxGetCurrent, 4000, required)                                   \
  X(ctx_set_current, cuCtxSetCurrent, 4000, required)                                   \
  X(ctx_get_device, cuCtxGetDevice, 2000, required)                                     \
  X(device_primary_ctx_retain, cuDevicePrimaryCtxRetain, 7000, required)                \
  X(library_load_data, cuLibraryLoadData, 12000, required)                              \
  X(library_unload, cuLibraryUnload, 12000, required)                                   \
  X(library_get_kernel, cuLibraryGetKernel, 12000, required)                            \
  X(library_get_global, cuLibraryGetGlobal, 12000, required)                            \
  X(library_get_kernel_count, cuLibraryGetKernelCount, 12040, optional)                 \
  X(library_enumerate_kernels, cuLibraryEnumerateKernels, 12040, optional)              \
  X(kernel_get_name, cuKernelGetName, 12030, optional)                                  \
  X(kernel_get_function, cuKernelGetFunction, 12000, required)                          \
  X(func_load, cuFuncLoad, 12040, optional)                                             \
  X(stream_is_capturing, cuStreamIsCapturing, 10000, required)                          \
  X(stream_synchronize, cuStreamSynchronize, 2000, required)                            \
  X(memcpy_htod_async, cuMemcpyHtoDAsync, 3020, required)                               \
  X(memcpy_dtoh_async, cuMemcpyDtoHAsync, 3020, required)                               \
  X(kernel_get_attribute, cuKernelGetAttribute, 12000, required)                        \
  X(kernel_set_attribute, cuKernelSetAttribute, 12000, required)                        \
  X(kernel_get_param_info, cuKernelGetParamInfo, 12040, optional)                       \
  X(launch_kernel, cuLaunchKernel, 4000, required)                                      \
  X(launch_kernel_ex, cuLaunchKernelEx, 11060, optional)                                \
  X(max_active_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, required)     \
  X(max_potential_block_size, cuOccupancyMaxPotentialBlockSize, 6050, required)         \
  X(max_active_clusters, cuOccupancyMaxActiveClusters, 11070, optional)                 \
  X(max_potential_cluster_size, cuOccupancyMaxPotentialClusterSize, 11070, optional)    \
  X(graph_add_kernel_node, cuGraphAddKernelNode, 12000, required)                       \
  X(graph_kernel_node_set_params, cuGraphKernelNodeSetParams, 12000, required)          \
  X(graph_kernel_node_set_attribute, cuGraphKernelNodeSetAttribute, 11000, required)    \
  X(graph_exec_kernel_node_set_params, cuGraphExecKernelNodeSetParams, 12000, required) \
  X(graph_destroy_node, cuGraphDestroyNode, 10000, required)

namespace kiln::vendor {

/// What is known of a device when an image is chosen for it.
struct Device {
  CUdevice handle = 0;
  int major = 0;  ///< Of the compute capability.
  int minor = 0;
  std::string name;
};

/// The CUDA driver, found, initialised and with at least one device. Immutable once opened, so safe
/// to use from any thread; its library stays open for the rest of the process.
class Driver {
 public:
  struct Functions {
#define KILN_DRIVER_MEMBER(member, name, version, need) PFN_##name##_v##version member = nullptr;
    KILN_DRIVER_FUNCTIONS(KILN_DRIVER_MEMBER)
#undef KILN_DRIVER_MEMBER
  };

  Driver(Functions functions, std::filesystem::path path, int version);

  /// The driver's own functions; an optional one is null where the driver is too old for it.
  [[nodiscard]] const Functions& functions() const noexcept { return functions_; }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// The newest CUDA that the driver knows, as 1000 * major + 10 * minor.
  [[nodiscard]] int version() const noexcept { return version_; }

  /// E.g. "CUDA_ERROR_NO_BINARY_FOR_GPU (209)".
  [[nodiscard]] std::string error_name(CUresult result) const;

  /// The device of the calling thread's current context; where there is no context, the first device. Changes
  /// nothing, and costs two calls of the driver. Errors: driver_failed.
  [[nodiscard]] Result<CUdevice> current_device() const;

  /// Describes a device. Errors: driver_failed.
  [[nodiscard]] Result<Device> describe(CUdevice device) const;

  /// All devices of the machine, described.
  [[nodiscard]] Result<std::vector<Device>> describe_devices() const;

  /// The current device, described.
  [[nodiscard]] Result<Device> describe_current_device() const;

  /// Makes the device's primary context current where the calling thread has no context. The
  /// context is kept for the rest of the process, like one that the CUDA runtime makes. Errors:
  /// driver_failed.
  [[nodiscard]] Outcome ensure_context(CUdevice device) const;

  /// Whether loading would spoil a capture: a stream of the current context is being captured, by a driver before CUDA 12.3.
  /// Non-blocking streams are not seen. Changes nothing.
  [[nodiscard]] bool loading_spoils_a_capture() const noexcept;

  /// An error of code driver_failed: "<what>: <the error's name>".
  [[nodiscard]] tl::unexpected<Error> failure(const std::string& what, CUresult result) const;

 private:
  Functions functions_;
  std::filesystem::path path_;
  int version_;
};

/// Finds the driver and starts it. Where `exact` is given, tries nothing else. Else tries what the process
/// has loaded, what the loader finds as libcuda.so.1, and where WSL, NixOS and containers keep it. Never
/// tries a bare libcuda.so, which is the toolkit's stub. Takes as long as cuInit, so the caller keeps the
/// result.
/// Errors: driver_missing, "CUDA driver: not available (compile-only mode)", why, each place that was looked
/// at with the loader's own words, and the remedy.
[[nodiscard]] Result<std::shared_ptr<const Driver>> open_driver(
    const std::optional<std::filesystem::path>& exact);

/// The error driver_failed for a child whose parent has used the driver: it is not called there, where locks of its own may be
/// held for good.
[[nodiscard]] tl::unexpected<Error> driver_of_parent();

}  // namespace kiln::vendor
