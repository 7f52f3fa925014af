// A libcuda.so.1 without a GPU: answers as the driver does for what kiln uses of it.

#include "fake_cuda.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <cudaTypedefs.h>

#include "cubin.h"

// What the driver's handles point to is the driver's own affair.
struct CUctx_st {};
struct CUkern_st {
  kiln::CubinKernel facts;
};
struct CUlib_st {
  std::vector<CUkern_st> kernels;
};

namespace {

struct Launch {
  FakeCudaLaunch seen;
  std::vector<std::vector<std::byte>> params;
};

struct State {
  std::mutex mutex;
  bool initialised = false;
  unsigned arch = 0;
  std::vector<std::unique_ptr<CUlib_st>> libraries;
  std::vector<Launch> launches;
  std::map<std::string, CUresult, std::less<>> failures;
};

State& state() {
  // Never destroyed: programs unload while they exit, when the real driver still answers.
  static State& the_state = *new State;
  return the_state;
}

CUctx_st primary_context;
thread_local CUcontext current_context = nullptr;

int number_from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

int driver_version() { return number_from_environment("FAKE_CUDA_VERSION", CUDA_VERSION); }

/// Takes the lock, and finds out whether the function is to fail.
class Call {
 public:
  explicit Call(std::string_view function) : lock_(state().mutex) {
    if (!state().initialised) result_ = CUDA_ERROR_NOT_INITIALIZED;
    const auto failure = state().failures.find(function);
    if (failure != state().failures.end()) result_ = failure->second;
  }
  [[nodiscard]] CUresult result() const { return result_; }
  [[nodiscard]] bool fails() const { return result_ != CUDA_SUCCESS; }

 private:
  std::lock_guard<std::mutex> lock_;
  CUresult result_ = CUDA_SUCCESS;
};

/// The cubin's extent: the driver's interface gives no size, and the tables of an ELF file tell it.
std::string_view whole_cubin(const void* code) {
  const char* bytes = static_cast<const char*>(code);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0) return {};
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof(header));
  std::uint64_t end = std::max(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr),
                               header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr));
  for (unsigned index = 0; index < header.e_shnum; ++index) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + index * sizeof(section), sizeof(section));
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return {bytes, end};
}

/// The driver's rule: the same major, no newer minor, and an `a` target on its own device alone.
bool runs_on(const kiln::CubinInfo& cubin, unsigned device) {
  if (cubin.exact_device) return cubin.arch == device;
  return cubin.arch / 10 == device / 10 && cubin.arch <= device;
}

CUresult init(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto result = static_cast<CUresult>(number_from_environment("FAKE_CUDA_INIT", 0));
  if (result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(state().mutex);
  state().initialised = true;
  state().arch = static_cast<unsigned>(number_from_environment("FAKE_CUDA_ARCH", 90));
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
  if (error == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) *name = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
  return *name != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult device_get_count(int* count) {
  const Call call("cuDeviceGetCount");
  if (call.fails()) return call.result();
  *count = 1;
  return CUDA_SUCCESS;
}

CUresult device_get(CUdevice* device, int ordinal) {
  const Call call("cuDeviceGet");
  if (call.fails()) return call.result();
  if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  const Call call("cuDeviceGetAttribute");
  if (call.fails()) return call.result();
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  const int arch = static_cast<int>(state().arch);
  if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) {
    *value = arch / 10;
  } else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) {
    *value = arch % 10;
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult device_get_name(char* name, int length, CUdevice device) {
  const Call call("cuDeviceGetName");
  if (call.fails()) return call.result();
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
  const std::string text = "Fake GPU sm_" + std::to_string(state().arch);
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
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult device_primary_ctx_retain(CUcontext* context, CUdevice device) {
  const Call call("cuDevicePrimaryCtxRetain");
  if (call.fails()) return call.result();
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  *context = &primary_context;
  return CUDA_SUCCESS;
}

CUresult library_load_data(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  const Call call("cuLibraryLoadData");
  if (call.fails()) return call.result();
  const auto cubin = kiln::read_cubin(whole_cubin(code));
  if (!cubin) return CUDA_ERROR_INVALID_IMAGE;
  if (!runs_on(*cubin, state().arch)) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  auto loaded = std::make_unique<CUlib_st>();
  for (const kiln::CubinKernel& kernel : cubin->kernels) loaded->kernels.push_back({kernel});
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

CUresult kernel_get_param_info(CUkernel kernel, std::size_t index, std::size_t* offset,
                               std::size_t* size) {
  const Call call("cuKernelGetParamInfo");
  if (call.fails()) return call.result();
  if (index >= kernel->facts.params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = kernel->facts.params[index].offset;
  if (size != nullptr) *size = kernel->facts.params[index].size;
  return CUDA_SUCCESS;
}

CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       CUstream stream, void** params, void** extra) {
  const Call call("cuLaunchKernel");
  if (call.fails()) return call.result();
  if (current_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (grid_x * grid_y * grid_z == 0 || block_x * block_y * block_z == 0 || extra != nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const kiln::CubinKernel& kernel = reinterpret_cast<CUkernel>(function)->facts;
  Launch launch{{kernel.symbol.c_str(),
                 {grid_x, grid_y, grid_z},
                 {block_x, block_y, block_z},
                 shared_bytes,
                 stream,
                 current_context,
                 kernel.params.size()},
                {}};
  for (std::size_t index = 0; index < kernel.params.size(); ++index) {
    const auto* bytes = static_cast<const std::byte*>(params[index]);
    launch.params.emplace_back(bytes, bytes + kernel.params[index].size);
  }
  state().launches.push_back(std::move(launch));
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
      FUNCTION(cuLaunchKernel, 4000, launch_kernel),
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
  state().failures.clear();
  current_context = nullptr;
}
