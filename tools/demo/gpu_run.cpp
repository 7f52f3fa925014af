#include "gpu_run.h"

#include <algorithm>
#include <iterator>

#include "gpu.h"
#include "gpu_check.h"
#include "gpu_operations.h"
#include "images.h"

namespace demo {

namespace {

std::vector<kiln::Program> all_programs() {
  auto programs = block_programs();
  std::ranges::move(text_programs(), std::back_inserter(programs));
  return programs;
}

std::vector<CheckedKernel> check_kernels(kiln::Runtime& runtime, const Gpu& gpu) {
  const auto checks = gpu_checks();
  std::vector<CheckedKernel> kernels;
  for (const kiln::Program& program : all_programs()) {
    for (const std::string& expression : program.kernels()) {
      const GpuCheck& check = checks.at(expression);
      const double error = check.error(gpu, runtime.kernel(program, expression).value());
      kernels.push_back({expression, error, check.tolerance});
    }
  }
  return kernels;
}

}  // namespace

void compile_for_gpu(kiln::Runtime& runtime) { runtime.load_all(all_programs()).value(); }

GpuRun run_on_gpu(kiln::Runtime& runtime, const Generation& reference,
                  const DecoderWeights& weights) {
  const Gpu gpu = Gpu::open(runtime.driver().path);
  GpuRun run;
  run.kernels = check_kernels(runtime, gpu);
  GpuOperations operations(runtime, gpu);
  Decoder following(operations, weights);
  run.comparison = compare(follow(following, reference), reference);
  // Else it might choose a token that no embedding has.
  if (run.comparison.right()) {
    Decoder alone(operations, weights);
    run.tokens = generate(alone, reference.prompt, reference.tokens.size()).tokens;
  }
  return run;
}

}  // namespace demo
