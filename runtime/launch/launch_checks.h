#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "kiln/error.h"
#include "kiln/launch.h"
#include "launch/kernel_record.h"

namespace kiln {

/// Whether these arguments are the kernel's parameters to the byte, by count, sizes and places: what
/// nearly every launch that is right pays. False tells nothing.
[[nodiscard]] inline bool same_layout(const KernelRecord& record,
                                      const detail::GivenArgs& given) noexcept {
  // Two numbers each and nothing between them, so the bytes are all there is to compare.
  static_assert(sizeof(Parameter) == 2 * sizeof(std::uint32_t));
  const auto& params = record.info.params;
  if (params.size() != given.count || !record.info.params_known) return false;
  return params.empty() ||
         std::memcmp(params.data(), given.layout, given.count * sizeof(Parameter)) == 0;
}

/// Whether the kernel takes these arguments: its parameters are not known, or have their count, their
/// sizes, and places that fit their alignments. Raw bytes fit every alignment.
[[nodiscard]] bool takes(const KernelRecord& record, const detail::GivenArgs& given) noexcept;

/// Why the kernel does not take them; an error of code argument_mismatch. REQUIRES: it does not.
[[nodiscard]] tl::unexpected<Error> argument_error(const KernelRecord& record,
                                                   const detail::GivenArgs& given);

/// That all of these arguments fit into what CUDA takes. Errors: argument_mismatch.
[[nodiscard]] Result<void> check_fits(const KernelRecord& record, const Args& args);

/// Finds out the kernel's limits if they are not known, and whether the configuration is within them
/// and can be had of the device at all. Raises the kernel's dynamic shared memory and cluster size where
/// it needs more. A current context must be there. Errors: invalid_argument, naming the limit;
/// driver_failed.
[[nodiscard]] Result<void> prepare_launch(const KernelRecord& record, const LaunchConfig& config);

/// "2x3x4".
[[nodiscard]] std::string text_of(const Dim3& size);

}  // namespace kiln
