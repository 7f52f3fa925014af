// Input: an image.

#include <string>

#include "fuzz.h"
#include "image/cubin.h"
#include "image/cubin_bounds.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto image = kiln::fuzz::view(data, size);
  static_cast<void>(
      kiln::is_within_bounds(image));  // Whatever it answers, it reads nothing beyond.
  const auto info = kiln::read_cubin(image);
  if (!info) return 0;
  // Time has no place in a test; what was made of the image tells how often it was looked at.
  std::size_t made = 0;
  for (const std::string& name : info->definitions) made += name.size();
  for (const kiln::KernelInfo& kernel : info->kernels) {
    made += kernel.symbol.size() + 12 * kernel.params.size();
  }
  kiln::fuzz::require(made <= 32 * size, "no part is looked at time and again");
  kiln::fuzz::require(info->code.size() == info->kernels.size(), "each kernel has code");
  for (const kiln::KernelCode& code : info->code) {
    const auto spills = code.spills.value_or(kiln::Spills());
    kiln::fuzz::require(spills.store_bytes + spills.load_bytes <= 32 * size,
                        "no annotation is looked at time and again");
  }
  for (const kiln::KernelInfo& kernel : info->kernels) {
    std::uint64_t end = 0;
    for (const kiln::Parameter& parameter : kernel.params) {
      kiln::fuzz::require(parameter.offset >= end, "parameters do not overlap");
      end = std::uint64_t{parameter.offset} + parameter.size;
    }
  }
  return 0;
}
