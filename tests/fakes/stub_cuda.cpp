// The toolkit's libcuda.so as kiln may meet it: answers "stub library" to everything.

#include <cuda.h>

extern "C" CUresult cuGetProcAddress(const char*, void** address, int, cuuint64_t,
                                     CUdriverProcAddressQueryResult*) {
  *address = nullptr;
  return CUDA_ERROR_STUB_LIBRARY;
}
