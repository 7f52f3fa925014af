// A libcuda.so.1 that does nothing and says that all went well: what is left of a call's time is kiln's own.

#include <algorithm>
#include <array>
#include <string_view>

#include <cudaTypedefs.h>

namespace {

int place;  // What handles point to.

CUresult nothing() { return CUDA_SUCCESS; }

CUresult driver_get_version(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult device_get_count(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}

CUresult device_get(CUdevice* device, int) {
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 9
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
                                                                       : 1024;
  return CUDA_SUCCESS;
}

CUresult device_get_name(char* name, int, CUdevice) {
  *name = '\0';
  return CUDA_SUCCESS;
}

CUresult ctx_get_current(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(&place);
  return CUDA_SUCCESS;
}

CUresult ctx_get_device(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult library_load_data(CUlibrary* library, const void*, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  *library = reinterpret_cast<CUlibrary>(&place);
  return CUDA_SUCCESS;
}

CUresult library_get_kernel(CUkernel* kernel, CUlibrary, const char*) {
  *kernel = reinterpret_cast<CUkernel>(&place);
  return CUDA_SUCCESS;
}

CUresult kernel_get_attribute(int* value, CUfunction_attribute, CUkernel, CUdevice) {
  *value = 1024;
  return CUDA_SUCCESS;
}

struct Function {
  std::string_view name;
  void* address;
};

template <class T>
void* address_of(T* function) {
  return reinterpret_cast<void*>(function);
}

const std::array functions{
    Function{"cuDriverGetVersion", address_of(driver_get_version)},
    Function{"cuDeviceGetCount", address_of(device_get_count)},
    Function{"cuDeviceGet", address_of(device_get)},
    Function{"cuDeviceGetAttribute", address_of(device_get_attribute)},
    Function{"cuDeviceGetName", address_of(device_get_name)},
    Function{"cuCtxGetCurrent", address_of(ctx_get_current)},
    Function{"cuCtxGetDevice", address_of(ctx_get_device)},
    Function{"cuLibraryLoadData", address_of(library_load_data)},
    Function{"cuLibraryGetKernel", address_of(library_get_kernel)},
    Function{"cuKernelGetAttribute", address_of(kernel_get_attribute)},
};

}  // namespace

// cuda.h declares it, under the name that its macro makes of this: cuGetProcAddress_v2.
extern "C" CUresult cuGetProcAddress(const char* symbol, void** address, int, cuuint64_t,
                                     CUdriverProcAddressQueryResult* status) {
  const auto found = std::ranges::find(functions, symbol, &Function::name);
  *address = found != functions.end() ? found->address : address_of(nothing);
  if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}
