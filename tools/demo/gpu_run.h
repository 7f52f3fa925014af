#pragma once

#include <string>
#include <vector>

#include "generation.h"
#include "kiln/runtime.h"

namespace demo {

/// A kernel that was run on made-up data, and how far it is from its reference.
struct CheckedKernel {
  std::string expression;
  double error;
  double tolerance;

  [[nodiscard]] bool right() const { return error <= tolerance; }
};

/// What kernels of kiln's did on a GPU.
struct GpuRun {
  std::vector<CheckedKernel> kernels;  ///< All, those of the decoder too.
  Comparison comparison;               ///< Of the decoder's logits with the reference's.
  std::vector<int> tokens;  ///< That the decoder chose by itself; none where its logits are wrong.
};

/// Has the kernels that run_on_gpu() launches in the runtime's cache afterwards. Errors: those of
/// Runtime::load_all(), as exceptions.
void compile_for_gpu(kiln::Runtime& runtime);

/// Checks every kernel, then has the decoder go on from the reference's prompt. REQUIRES: a driver. Errors: those of
/// Runtime::kernel(), of launches and of the driver, as exceptions.
[[nodiscard]] GpuRun run_on_gpu(kiln::Runtime& runtime, const Generation& reference,
                                const DecoderWeights& weights);

}  // namespace demo
