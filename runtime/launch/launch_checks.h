#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "kiln/error.h"
#include "kiln/launch.h"
#include "launch/kernel_record.h"

namespace kiln {

/// Whether the kernel takes these arguments: its parameters are not known, or have their count, their
/// sizes, and places that fit their alignments. Raw bytes fit every alignment. Where the kernel's symbol tells, no number
/// with a floating point stands for one without, nor for a pointer, nor the reverse. Remembers what it has found right.
[[nodiscard]] bool takes(const KernelRecord& record, const detail::GivenArgs& given) noexcept;

/// Why the kernel does not take them; an error of code argument_mismatch. REQUIRES: it does not.
[[nodiscard]] tl::unexpected<Error> argument_error(const KernelRecord& record,
                                                   const detail::GivenArgs& given);

/// Checks that all of these arguments fit into what CUDA takes. Errors: argument_mismatch.
[[nodiscard]] Outcome check_fits(const KernelRecord& record, const Args& args);

/// Whether the runtime that gave the kernel still has it. Errors: invalid_argument.
[[nodiscard]] Outcome check_alive(const KernelRecord& record);

/// Whether what the configuration asks for beyond grid, block and shared memory is such as most launches ask for, and in order as
/// far as the driver does not say itself. Where it is not, prepare_launch() has more to say. Each launch with attributes asks.
[[nodiscard]] bool attributes_are_plain(const KernelRecord& record,
                                        const LaunchConfig& config) noexcept;

/// Learns the kernel's limits where they are not known. Checks that the configuration is within them, and
/// that the device has what it asks for. Raises the kernel's dynamic shared memory and cluster size where it
/// needs more. A current context must be there. Errors: invalid_argument, naming the limit, or where the runtime
/// has ended; driver_failed.
[[nodiscard]] Outcome prepare_launch(const KernelRecord& record, const LaunchConfig& config);

/// "2x3x4".
[[nodiscard]] std::string text_of(const Dim3& size);

}  // namespace kiln
