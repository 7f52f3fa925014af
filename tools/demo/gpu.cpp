#include "gpu.h"

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include <cudaTypedefs.h>
#include <fmt/format.h>

namespace demo {

// Each function with the version of CUDA that introduced it in this form.
struct Gpu::Functions {
  PFN_cuInit_v2000 init;
  PFN_cuDeviceGet_v2000 device_get;
  PFN_cuDevicePrimaryCtxRetain_v7000 primary_context_retain;
  PFN_cuCtxSetCurrent_v4000 context_set_current;
  PFN_cuMemAlloc_v3020 allocate;
  PFN_cuMemFree_v3020 free;
  PFN_cuMemcpyHtoD_v3020 upload;
  PFN_cuMemcpyDtoH_v3020 download;
};

namespace {

void require(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) {
    throw std::runtime_error(fmt::format("{} answered {}", what, static_cast<int>(result)));
  }
}

CUdeviceptr device_address(const void* address) {
  return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(address));
}

}  // namespace

Gpu Gpu::open(const std::filesystem::path& driver) {
  void* library = dlopen(driver.c_str(), RTLD_NOW);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto get_address =
      reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library, "cuGetProcAddress_v2"));
  if (get_address == nullptr) throw std::runtime_error("the driver is older than CUDA 12");

  auto functions = std::make_shared<Functions>();
  const auto resolve = [&](auto& function, const char* name, int version) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult status{};
    require(get_address(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, &status), name);
    if (address == nullptr) throw std::runtime_error(fmt::format("the driver has no {}", name));
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  resolve(functions->init, "cuInit", 2000);
  resolve(functions->device_get, "cuDeviceGet", 2000);
  resolve(functions->primary_context_retain, "cuDevicePrimaryCtxRetain", 7000);
  resolve(functions->context_set_current, "cuCtxSetCurrent", 4000);
  resolve(functions->allocate, "cuMemAlloc", 3020);
  resolve(functions->free, "cuMemFree", 3020);
  resolve(functions->upload, "cuMemcpyHtoD", 3020);
  resolve(functions->download, "cuMemcpyDtoH", 3020);

  CUdevice device{};
  CUcontext context{};
  require(functions->init(0), "cuInit");
  require(functions->device_get(&device, 0), "cuDeviceGet");
  require(functions->primary_context_retain(&context, device), "cuDevicePrimaryCtxRetain");
  require(functions->context_set_current(context), "cuCtxSetCurrent");
  return Gpu(std::move(functions));
}

void* Gpu::allocate(std::size_t bytes) const {
  CUdeviceptr address{};
  require(functions_->allocate(&address, bytes), "cuMemAlloc");
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

void Gpu::free(void* address) const noexcept { functions_->free(device_address(address)); }

void Gpu::upload(void* to, const void* from, std::size_t bytes) const {
  require(functions_->upload(device_address(to), from, bytes), "cuMemcpyHtoD");
}

void Gpu::download(void* to, const void* from, std::size_t bytes) const {
  require(functions_->download(to, device_address(from), bytes), "cuMemcpyDtoH");
}

}  // namespace demo
