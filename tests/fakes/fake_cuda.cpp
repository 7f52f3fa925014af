// A libcuda.so.1 without a GPU: answers as the driver does for what kiln uses of it.
// One library over one state, and so one file, though long.

#include "fake_cuda.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <cudaTypedefs.h>

#include "fake_image.h"
#include "fake_kernels.h"
#include "image/cubin.h"

// What the driver's handles point to is the driver's own affair.
struct CUctx_st {
  CUdevice device;
};
struct CUkern_st {
  kiln::KernelInfo facts;
  fake::Image image;  // That it is from, without its kernels.
  std::map<CUfunction_attribute, int> set = {};
};
struct CUlib_st {
  std::vector<CUkern_st> kernels;
  std::map<std::string, std::vector<std::byte>, std::less<>> variables = {};
};

namespace {

struct Launch {
  FakeCudaLaunch seen;
  std::vector<std::vector<std::byte>> params;
  std::vector<CUlaunchAttribute> attributes = {};
};

}  // namespace

struct CUgraphNode_st {
  Launch added;
  Launch executable;
};

namespace {

struct State {
  std::mutex mutex;
  pid_t initialised = 0;  ///< By which process.
  bool capturing = false;
  std::size_t functions_loaded = 0;
  std::vector<int> archs;  // Of each device.
  std::vector<std::unique_ptr<CUlib_st>> libraries;
  std::vector<Launch> launches;
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
  std::size_t attribute_sets = 0;
  std::map<std::string, CUresult, std::less<>> failures;
  std::map<CUdevice, CUctx_st> primary_contexts;  // Whose places do not change.
};

State& state() {
  // Never destroyed: programs unload while they exit, when the real driver still answers.
  static State& the_state = *new State;
  return the_state;
}

thread_local CUcontext current_context = nullptr;

int number_from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

std::vector<int> archs_from_environment() {
  const char* text = std::getenv("FAKE_CUDA_ARCH");
  std::istringstream list(text != nullptr ? text : "90");
  std::vector<int> archs;
  for (std::string arch; std::getline(list, arch, ',');) archs.push_back(std::stoi(arch));
  return archs;
}

int driver_version() { return number_from_environment("FAKE_CUDA_VERSION", CUDA_VERSION); }

/// Takes the lock, and finds out whether the function is to fail.
class Call {
 public:
  explicit Call(std::string_view function) : lock_(state().mutex) {
    // As the driver, of which nothing works in a forked child.
    if (state().initialised != ::getpid()) result_ = CUDA_ERROR_NOT_INITIALIZED;
    const auto failure = state().failures.find(function);
    if (failure != state().failures.end()) result_ = failure->second;
  }
  [[nodiscard]] CUresult result() const { return result_; }
  [[nodiscard]] bool fails() const { return result_ != CUDA_SUCCESS; }

 private:
  std::lock_guard<std::mutex> lock_;
  CUresult result_ = CUDA_SUCCESS;
};

bool is_device(CUdevice device) {
  return device >= 0 && device < static_cast<CUdevice>(state().archs.size());
}

int arch_of(CUdevice device) { return state().archs[static_cast<std::size_t>(device)]; }

/// Without a context the driver loads whatever one of the devices runs.
bool is_loadable(const fake::Image& image) {
  if (current_context != nullptr) return fake::runs_on(image, arch_of(current_context->device));
  return std::ranges::any_of(state().archs, [&](int arch) { return fake::runs_on(image, arch); });
}

CUresult init(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto result = static_cast<CUresult>(number_from_environment("FAKE_CUDA_INIT", 0));
  if (result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(state().mutex);
  state().initialised = ::getpid();
  state().archs = archs_from_environment();
  return CUDA_SUCCESS;
}

CUresult driver_get_version(int* version) {
  *version = driver_version();
  return CUDA_SUCCESS;
}

CUresult get_error_name(CUresult error, const char** name) {
  *name = nullptr;
  if (error == CUDA_ERROR_INVALID_VALUE) *name = "CUDA_ERROR_INVALID_VALUE";
  if (error == CUDA_ERROR_INVALID_IMAGE) *name = "CUDA_ERROR_INVALID_IMAGE";
  if (error == CUDA_ERROR_INVALID_CONTEXT) *name = "CUDA_ERROR_INVALID_CONTEXT";
  if (error == CUDA_ERROR_NO_BINARY_FOR_GPU) *name = "CUDA_ERROR_NO_BINARY_FOR_GPU";
  if (error == CUDA_ERROR_NOT_FOUND) *name = "CUDA_ERROR_NOT_FOUND";
  if (error == CUDA_ERROR_LAUNCH_FAILED) *name = "CUDA_ERROR_LAUNCH_FAILED";
  if (error == CUDA_ERROR_NOT_SUPPORTED) *name = "CUDA_ERROR_NOT_SUPPORTED";
  if (error == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE) {
    *name = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE";
  }
  if (error == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) *name = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
  return *name != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult device_get_count(int* count) {
  const Call call("cuDeviceGetCount");
  if (call.fails()) return call.result();
  *count = static_cast<int>(state().archs.size());
  return CUDA_SUCCESS;
}

CUresult device_get(CUdevice* device, int ordinal) {
  const Call call("cuDeviceGet");
  if (call.fails()) return call.result();
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

/// Those of an H100, as far as they do not follow from the architecture.
std::map<CUdevice_attribute, int> device_attributes(int arch) {
  return {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, arch / 10},
          {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, arch % 10},
          {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
          {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
          {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
          {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
          {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
          {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
          {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
          {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
          {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
          {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
          {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, arch >= 90 ? 1 : 0}};
}

CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  const Call call("cuDeviceGetAttribute");
  if (call.fails()) return call.result();
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const auto attributes = device_attributes(arch_of(device));
  const auto found = attributes.find(attribute);
  if (found == attributes.end()) return CUDA_ERROR_INVALID_VALUE;
  *value = found->second;
  return CUDA_SUCCESS;
}

CUresult device_get_name(char* name, int length, CUdevice device) {
  const Call call("cuDeviceGetName");
  if (call.fails()) return call.result();
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
  const std::string text = "Fake GPU sm_" + std::to_string(arch_of(device));
  const std::size_t copied = std::min(text.size(), static_cast<std::size_t>(length) - 1);
  std::memcpy(name, text.data(), copied);
  name[copied] = '\0';
  return CUDA_SUCCESS;
}

CUresult ctx_get_current(CUcontext* context) {
  const Call call("cuCtxGetCurrent");
  if (call.fails()) return call.result();
  *context = current_context;
  return CUDA_SUCCESS;
}

CUresult ctx_set_current(CUcontext context) {
  const Call call("cuCtxSetCurrent");
  if (call.fails()) return call.result();
  current_context = context;
  return CUDA_SUCCESS;
}

CUresult ctx_get_device(CUdevice* device) {
  const Call call("cuCtxGetDevice");
  if (call.fails()) return call.result();
  if (current_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = current_context->device;
  return CUDA_SUCCESS;
}

CUresult device_primary_ctx_retain(CUcontext* context, CUdevice device) {
  const Call call("cuDevicePrimaryCtxRetain");
  if (call.fails()) return call.result();
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = &state().primary_contexts.try_emplace(device, CUctx_st{device}).first->second;
  return CUDA_SUCCESS;
}

CUresult library_load_data(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  const Call call("cuLibraryLoadData");
  if (call.fails()) return call.result();
  auto images = fake::read_images(code);
  if (images.empty()) return CUDA_ERROR_INVALID_IMAGE;
  const auto is_none = [](const fake::Image& image) { return !is_loadable(image); };
  std::erase_if(images, is_none);
  if (images.empty()) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  auto& image = images.front();
  auto loaded = std::make_unique<CUlib_st>();
  for (const auto& [name, size] : image.variables) loaded->variables[name].resize(size);
  const auto kernels = std::exchange(image.kernels, {});
  for (const kiln::KernelInfo& kernel : kernels) loaded->kernels.push_back({kernel, image});
  *library = loaded.get();
  state().libraries.push_back(std::move(loaded));
  return CUDA_SUCCESS;
}

CUresult library_unload(CUlibrary library) {
  const Call call("cuLibraryUnload");
  if (call.fails()) return call.result();
  const auto removed =
      std::erase_if(state().libraries, [&](const auto& loaded) { return loaded.get() == library; });
  return removed == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult library_get_kernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const Call call("cuLibraryGetKernel");
  if (call.fails()) return call.result();
  for (CUkern_st& candidate : library->kernels) {
    if (candidate.facts.symbol != name) continue;
    *kernel = &candidate;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult library_get_global(CUdeviceptr* address, std::size_t* size, CUlibrary library,
                            const char* name) {
  const Call call("cuLibraryGetGlobal");
  if (call.fails()) return call.result();
  if (current_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const auto found = library->variables.find(name);
  if (found == library->variables.end()) return CUDA_ERROR_NOT_FOUND;
  *address = reinterpret_cast<CUdeviceptr>(found->second.data());
  *size = found->second.size();
  return CUDA_SUCCESS;
}

CUresult library_get_kernel_count(unsigned* count, CUlibrary library) {
  const Call call("cuLibraryGetKernelCount");
  if (call.fails()) return call.result();
  *count = static_cast<unsigned>(library->kernels.size());
  return CUDA_SUCCESS;
}

CUresult library_enumerate_kernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  const Call call("cuLibraryEnumerateKernels");
  if (call.fails()) return call.result();
  for (unsigned index = 0; index < count; ++index) kernels[index] = &library->kernels[index];
  return CUDA_SUCCESS;
}

CUresult kernel_get_name(const char** name, CUkernel kernel) {
  const Call call("cuKernelGetName");
  if (call.fails()) return call.result();
  *name = kernel->facts.symbol.c_str();
  return CUDA_SUCCESS;
}

CUresult kernel_get_function(CUfunction* function, CUkernel kernel) {
  const Call call("cuKernelGetFunction");
  if (call.fails()) return call.result();
  if (current_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult func_load(CUfunction) {
  const Call call("cuFuncLoad");
  if (call.fails()) return call.result();
  ++state().functions_loaded;
  return CUDA_SUCCESS;
}

CUresult stream_is_capturing(CUstream stream, CUstreamCaptureStatus* status) {
  const Call call("cuStreamIsCapturing");
  if (call.fails()) return call.result();
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  const bool would_wait = state().capturing && stream == CU_STREAM_LEGACY;
  return would_wait ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

CUresult stream_synchronize(CUstream) {
  const Call call("cuStreamSynchronize");
  return call.result();
}

/// Filled with what is no number, as memory of a device is not zero either.
CUresult mem_alloc(CUdeviceptr* address, std::size_t size) {
  const Call call("cuMemAlloc");
  if (call.fails()) return call.result();
  void* memory = std::malloc(size);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(std::memset(memory, 0xff, size));
  return CUDA_SUCCESS;
}

CUresult mem_free(CUdeviceptr address) {
  const Call call("cuMemFree");
  if (call.fails()) return call.result();
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}

CUresult memcpy_htod(CUdeviceptr to, const void* from, std::size_t size) {
  const Call call("cuMemcpyHtoD");
  if (call.fails()) return call.result();
  std::memcpy(reinterpret_cast<void*>(to), from, size);
  return CUDA_SUCCESS;
}

CUresult memcpy_dtoh(void* to, CUdeviceptr from, std::size_t size) {
  const Call call("cuMemcpyDtoH");
  if (call.fails()) return call.result();
  std::memcpy(to, reinterpret_cast<const void*>(from), size);
  return CUDA_SUCCESS;
}

CUresult memcpy_htod_async(CUdeviceptr to, const void* from, std::size_t size, CUstream) {
  const Call call("cuMemcpyHtoDAsync");
  if (call.fails()) return call.result();
  std::memcpy(reinterpret_cast<void*>(to), from, size);
  return CUDA_SUCCESS;
}

CUresult memcpy_dtoh_async(void* to, CUdeviceptr from, std::size_t size, CUstream) {
  const Call call("cuMemcpyDtoHAsync");
  if (call.fails()) return call.result();
  std::memcpy(to, reinterpret_cast<const void*>(from), size);
  return CUDA_SUCCESS;
}

CUresult kernel_get_param_info(CUkernel kernel, std::size_t index, std::size_t* offset,
                               std::size_t* size) {
  const Call call("cuKernelGetParamInfo");
  if (call.fails()) return call.result();
  if (index >= kernel->facts.params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = kernel->facts.params[index].offset;
  if (size != nullptr) *size = kernel->facts.params[index].size;
  return CUDA_SUCCESS;
}

int kernel_attribute(const CUkern_st& kernel, CUfunction_attribute attribute) {
  if (const auto set = kernel.set.find(attribute); set != kernel.set.end()) return set->second;
  const kiln::KernelInfo& facts = kernel.facts;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return facts.registers > 64 ? 512 : 1024;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(facts.shared_bytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return static_cast<int>(facts.local_bytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return static_cast<int>(facts.registers);
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return kernel.image.architecture.version;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return 48 * 1024 - static_cast<int>(facts.shared_bytes);
    default:
      return 0;
  }
}

CUresult kernel_get_attribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device) {
  const Call call("cuKernelGetAttribute");
  if (call.fails()) return call.result();
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *value = kernel_attribute(*kernel, attribute);
  return CUDA_SUCCESS;
}

CUresult kernel_set_attribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device) {
  const Call call("cuKernelSetAttribute");
  if (call.fails()) return call.result();
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  ++state().attribute_sets;
  kernel->set[attribute] = value;
  return CUDA_SUCCESS;
}

/// What the driver looks at before it launches.
CUresult refusal(const CUlaunchConfig& config, const CUkern_st& kernel, void** extra) {
  const std::uint64_t grid = std::uint64_t{config.gridDimX} * config.gridDimY * config.gridDimZ;
  const std::uint64_t block = std::uint64_t{config.blockDimX} * config.blockDimY * config.blockDimZ;
  const auto most = [&](CUfunction_attribute attribute) {
    return static_cast<unsigned>(kernel_attribute(kernel, attribute));
  };
  if (grid == 0 || block == 0 || extra != nullptr ||
      block > most(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
      config.sharedMemBytes > most(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

Launch make_launch(const CUlaunchConfig& config, const CUkern_st& kernel, void** params) {
  const kiln::KernelInfo& facts = kernel.facts;
  Launch launch{{facts.symbol.c_str(),
                 {config.gridDimX, config.gridDimY, config.gridDimZ},
                 {config.blockDimX, config.blockDimY, config.blockDimZ},
                 config.sharedMemBytes,
                 config.hStream,
                 current_context,
                 current_context != nullptr ? current_context->device : 0,
                 facts.params.size()},
                {}};
  for (std::size_t index = 0; index < facts.params.size(); ++index) {
    const auto* bytes = static_cast<const std::byte*>(params[index]);
    launch.params.emplace_back(bytes, bytes + facts.params[index].size);
  }
  if (config.numAttrs != 0) {
    launch.attributes.assign(config.attrs, config.attrs + config.numAttrs);
  }
  return launch;
}

CUresult launch_as(std::string_view name, const CUlaunchConfig& config, CUfunction function,
                   void** params, void** extra) {
  const Call call(name);
  if (call.fails()) return call.result();
  if (current_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const CUkern_st& kernel = *reinterpret_cast<CUkernel>(function);
  if (!is_loadable(kernel.image)) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  const CUresult result = refusal(config, kernel, extra);
  if (result != CUDA_SUCCESS) return result;
  state().launches.push_back(make_launch(config, kernel, params));
  const bool computes = fake::run_kernel != nullptr;
  return computes ? fake::run_kernel(kernel.facts.symbol.c_str(), config, params) : CUDA_SUCCESS;
}

CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       CUstream stream, void** params, void** extra) {
  const CUlaunchConfig config{grid_x,  grid_y,       grid_z, block_x, block_y,
                              block_z, shared_bytes, stream, nullptr, 0};
  return launch_as("cuLaunchKernel", config, function, params, extra);
}

CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction function, void** params,
                          void** extra) {
  return launch_as("cuLaunchKernelEx", *config, function, params, extra);
}

// What the occupancy functions answer follows from their arguments, so that a test can tell these.

CUresult max_active_blocks(int* blocks, CUfunction, int threads, std::size_t shared_bytes) {
  const Call call("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = 2048 / threads - static_cast<int>(shared_bytes / 65536);
  return call.result();
}

CUresult max_potential_block_size(int* blocks, int* threads, CUfunction, CUoccupancyB2DSize,
                                  std::size_t shared_bytes, int most) {
  const Call call("cuOccupancyMaxPotentialBlockSize");
  *threads = most == 0 ? 768 : most;
  *blocks = 132 + static_cast<int>(shared_bytes);
  return call.result();
}

CUresult max_active_clusters(int* clusters, CUfunction, const CUlaunchConfig* config) {
  const Call call("cuOccupancyMaxActiveClusters");
  *clusters = 132 / static_cast<int>(config->attrs[0].value.clusterDim.x);
  return call.result();
}

CUresult max_potential_cluster_size(int* blocks, CUfunction function, const CUlaunchConfig*) {
  const Call call("cuOccupancyMaxPotentialClusterSize");
  const auto& kernel = *reinterpret_cast<CUkernel>(function);
  *blocks =
      kernel_attribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) != 0 ? 16 : 8;
  return call.result();
}

/// A node's launch, or why there is none.
CUresult launch_of(const CUDA_KERNEL_NODE_PARAMS_v2& params, Launch& launch) {
  if (params.func != nullptr || params.kern == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUlaunchConfig config{
      params.gridDimX,  params.gridDimY,       params.gridDimZ, params.blockDimX, params.blockDimY,
      params.blockDimZ, params.sharedMemBytes, nullptr,         nullptr,          0};
  const CUresult result = refusal(config, *params.kern, params.extra);
  if (result == CUDA_SUCCESS) launch = make_launch(config, *params.kern, params.kernelParams);
  return result;
}

CUresult graph_add_kernel_node(CUgraphNode* node, CUgraph, const CUgraphNode*, std::size_t,
                               const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  const Call call("cuGraphAddKernelNode");
  if (call.fails()) return call.result();
  Launch launch;
  const CUresult result = launch_of(*params, launch);
  if (result != CUDA_SUCCESS) return result;
  state().nodes.push_back(std::make_unique<CUgraphNode_st>(CUgraphNode_st{launch, launch}));
  *node = state().nodes.back().get();
  return CUDA_SUCCESS;
}

CUresult graph_kernel_node_set_params(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  const Call call("cuGraphKernelNodeSetParams");
  if (call.fails()) return call.result();
  const auto attributes = node->added.attributes;
  const CUresult result = launch_of(*params, node->added);
  node->added.attributes = attributes;
  return result;
}

CUresult graph_kernel_node_set_attribute(CUgraphNode node, CUkernelNodeAttrID id,
                                         const CUkernelNodeAttrValue* value) {
  const Call call("cuGraphKernelNodeSetAttribute");
  if (call.fails()) return call.result();
  CUlaunchAttribute attribute{};
  attribute.id = id;
  attribute.value = *value;
  node->added.attributes.push_back(attribute);
  return CUDA_SUCCESS;
}

CUresult graph_exec_kernel_node_set_params(CUgraphExec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  const Call call("cuGraphExecKernelNodeSetParams");
  if (call.fails()) return call.result();
  return launch_of(*params, node->executable);
}

CUresult graph_destroy_node(CUgraphNode node) {
  const Call call("cuGraphDestroyNode");
  if (call.fails()) return call.result();
  std::erase_if(state().nodes, [&](const auto& kept) { return kept.get() == node; });
  return CUDA_SUCCESS;
}

struct Function {
  std::string_view name;
  int version;
  void* address;
};

template <class Typedef, class Implementation>
Function function(std::string_view name, int version, Implementation* implementation) {
  static_assert(std::is_same_v<Typedef, Implementation*>, "the signature is not that of cuda.h");
  return {name, version, reinterpret_cast<void*>(implementation)};
}

#define FUNCTION(name, version, implementation) \
  function<PFN_##name##_v##version>(#name, version, implementation)

const std::vector<Function>& functions() {
  static const std::vector<Function> all{
      FUNCTION(cuInit, 2000, init),
      FUNCTION(cuDriverGetVersion, 2020, driver_get_version),
      FUNCTION(cuGetErrorName, 6000, get_error_name),
      FUNCTION(cuDeviceGetCount, 2000, device_get_count),
      FUNCTION(cuDeviceGet, 2000, device_get),
      FUNCTION(cuDeviceGetAttribute, 2000, device_get_attribute),
      FUNCTION(cuDeviceGetName, 2000, device_get_name),
      FUNCTION(cuCtxGetCurrent, 4000, ctx_get_current),
      FUNCTION(cuCtxSetCurrent, 4000, ctx_set_current),
      FUNCTION(cuCtxGetDevice, 2000, ctx_get_device),
      FUNCTION(cuDevicePrimaryCtxRetain, 7000, device_primary_ctx_retain),
      FUNCTION(cuLibraryLoadData, 12000, library_load_data),
      FUNCTION(cuLibraryUnload, 12000, library_unload),
      FUNCTION(cuLibraryGetKernel, 12000, library_get_kernel),
      FUNCTION(cuKernelGetParamInfo, 12040, kernel_get_param_info),
      FUNCTION(cuLibraryGetGlobal, 12000, library_get_global),
      FUNCTION(cuLibraryGetKernelCount, 12040, library_get_kernel_count),
      FUNCTION(cuLibraryEnumerateKernels, 12040, library_enumerate_kernels),
      FUNCTION(cuKernelGetName, 12030, kernel_get_name),
      FUNCTION(cuKernelGetFunction, 12000, kernel_get_function),
      FUNCTION(cuFuncLoad, 12040, func_load),
      FUNCTION(cuStreamIsCapturing, 10000, stream_is_capturing),
      FUNCTION(cuStreamSynchronize, 2000, stream_synchronize),
      FUNCTION(cuMemAlloc, 3020, mem_alloc),
      FUNCTION(cuMemFree, 3020, mem_free),
      FUNCTION(cuMemcpyHtoD, 3020, memcpy_htod),
      FUNCTION(cuMemcpyDtoH, 3020, memcpy_dtoh),
      FUNCTION(cuMemcpyHtoDAsync, 3020, memcpy_htod_async),
      FUNCTION(cuMemcpyDtoHAsync, 3020, memcpy_dtoh_async),
      FUNCTION(cuLaunchKernel, 4000, launch_kernel),
      FUNCTION(cuLaunchKernelEx, 11060, launch_kernel_ex),
      FUNCTION(cuKernelGetAttribute, 12000, kernel_get_attribute),
      FUNCTION(cuKernelSetAttribute, 12000, kernel_set_attribute),
      FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, max_active_blocks),
      FUNCTION(cuOccupancyMaxPotentialBlockSize, 6050, max_potential_block_size),
      FUNCTION(cuOccupancyMaxActiveClusters, 11070, max_active_clusters),
      FUNCTION(cuOccupancyMaxPotentialClusterSize, 11070, max_potential_cluster_size),
      FUNCTION(cuGraphAddKernelNode, 12000, graph_add_kernel_node),
      FUNCTION(cuGraphKernelNodeSetParams, 12000, graph_kernel_node_set_params),
      FUNCTION(cuGraphKernelNodeSetAttribute, 11000, graph_kernel_node_set_attribute),
      FUNCTION(cuGraphExecKernelNodeSetParams, 12000, graph_exec_kernel_node_set_params),
      FUNCTION(cuGraphDestroyNode, 10000, graph_destroy_node),
  };
  return all;
}

}  // namespace

// cuda.h declares it, under the name that its macro makes of this: cuGetProcAddress_v2.
extern "C" CUresult cuGetProcAddress(const char* symbol, void** address, int version, cuuint64_t,
                                     CUdriverProcAddressQueryResult* status) {
  *address = nullptr;
  if (version > driver_version()) return CUDA_ERROR_INVALID_VALUE;
  const auto found = std::ranges::find(functions(), symbol, &Function::name);
  const bool known = found != functions().end();
  const bool recent_enough = known && version >= found->version;
  if (recent_enough) *address = found->address;
  if (status != nullptr) {
    *status = recent_enough ? CU_GET_PROC_ADDRESS_SUCCESS
              : known       ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                            : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return CUDA_SUCCESS;
}

void fake_cuda_capture(bool capturing) {
  const std::lock_guard lock(state().mutex);
  state().capturing = capturing;
}

std::size_t fake_cuda_functions_loaded() {
  const std::lock_guard lock(state().mutex);
  return state().functions_loaded;
}

std::size_t fake_cuda_launch_count() {
  const std::lock_guard lock(state().mutex);
  return state().launches.size();
}

FakeCudaLaunch fake_cuda_launch(std::size_t index) {
  const std::lock_guard lock(state().mutex);
  return state().launches.at(index).seen;
}

FakeCudaParam fake_cuda_param(std::size_t index, std::size_t position) {
  const std::lock_guard lock(state().mutex);
  const auto& param = state().launches.at(index).params.at(position);
  return {param.data(), param.size()};
}

FakeCudaBytes fake_cuda_attributes(std::size_t index) {
  const std::lock_guard lock(state().mutex);
  const auto& attributes = state().launches.at(index).attributes;
  return {attributes.data(), attributes.size() * sizeof(CUlaunchAttribute)};
}

void fake_cuda_run_node(void* node, bool executable) {
  const std::lock_guard lock(state().mutex);
  const auto& kept = *static_cast<CUgraphNode>(node);
  state().launches.push_back(executable ? kept.executable : kept.added);
}

std::size_t fake_cuda_node_count() {
  const std::lock_guard lock(state().mutex);
  return state().nodes.size();
}

std::size_t fake_cuda_attribute_sets() {
  const std::lock_guard lock(state().mutex);
  return state().attribute_sets;
}

std::size_t fake_cuda_library_count() {
  const std::lock_guard lock(state().mutex);
  return state().libraries.size();
}

void fake_cuda_fail(const char* function, int result) {
  const std::lock_guard lock(state().mutex);
  state().failures.erase(function);
  if (result != 0) state().failures.emplace(function, static_cast<CUresult>(result));
}

void fake_cuda_reset() {
  const std::lock_guard lock(state().mutex);
  state().launches.clear();
  state().nodes.clear();
  state().attribute_sets = 0;
  state().failures.clear();
  state().capturing = false;
  current_context = nullptr;
}
