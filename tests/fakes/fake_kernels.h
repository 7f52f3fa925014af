#pragma once

#include <cuda.h>

namespace fake {

/// Does with memory of the host, which is what the fake driver allocates, what the kernel of this symbol does with
/// the device's. Defined in the fake that computes; in others a launch does nothing.
[[gnu::weak]] CUresult run_kernel(const char* symbol, const CUlaunchConfig& config, void** params);

}  // namespace fake
