#include <cstdio>

#include <engine/device_headers.h>
#include <kiln/kiln.h>

#if defined(CUDA_VERSION) || defined(SQLITE_VERSION)
#error "kiln's public headers have brought in a header of CUDA or of SQLite"
#endif

// How kiln was built is what its users see, however they find it.
#ifndef ENGINE_EXPECTS_LAUNCH_CHECKS
#define ENGINE_EXPECTS_LAUNCH_CHECKS 1
#endif
static_assert(KILN_LAUNCH_CHECKS == ENGINE_EXPECTS_LAUNCH_CHECKS);

namespace {

constexpr const char* source = R"(
#include <engine/scale.cuh>
#include <kiln/vec.cuh>
extern "C" __global__ void twice(float* x) { x[threadIdx.x] = engine::scale(x[threadIdx.x]); }
)";

int fail(const kiln::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main() {
  const auto runtime = kiln::Runtime::open();
  if (!runtime) return fail(runtime.error());
  const auto program = kiln::Program::make({
      .name = "twice.cu",
      .source = source,
      .headers = {kiln::device_headers(), engine::device_headers()},
      .kernels = {"twice"},
  });
  if (!program) return fail(program.error());
  const bool embedded = engine::device_headers().find("engine/scale.cuh") != nullptr &&
                        engine::device_headers().find("engine/detail/factor.cuh") != nullptr;
  std::printf("%s: %zu kernel, headers %s\n", program->name().c_str(), program->kernels().size(),
              embedded ? "embedded" : "missing");
  return embedded ? 0 : 1;
}
