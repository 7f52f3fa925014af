// Input: an image.

#include "cubin.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto info = kiln::read_cubin(kiln::fuzz::view(data, size));
  if (!info) return 0;
  for (const kiln::CubinKernel& kernel : info->kernels) {
    std::uint64_t end = 0;
    for (const kiln::Parameter& parameter : kernel.params) {
      kiln::fuzz::require(parameter.offset >= end, "parameters do not overlap");
      end = std::uint64_t{parameter.offset} + parameter.size;
    }
  }
  return 0;
}
