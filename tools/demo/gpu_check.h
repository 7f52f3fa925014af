#pragma once

#include <functional>
#include <map>
#include <string>

#include "gpu.h"
#include "kiln/launch.h"

namespace demo {

/// Runs one kernel on made-up data and compares it with its CPU reference.
struct GpuCheck {
  double tolerance;  ///< The error up to which the kernel counts as right.
  /// The largest error of any output, relative to the largest output; for the sampler, of a
  /// probability. Faults are exceptions.
  std::function<double(const Gpu&, const kiln::Kernel&)> error;
};

/// The check of every kernel of decoder_block() and of decoder_programs(), by its name expression.
[[nodiscard]] std::map<std::string, GpuCheck> gpu_checks();

}  // namespace demo
