#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include KILN_TEST_NVRTC_H

#include "sides.h"

#define NVRTC_SAFE_CALL(x)                                                          \
  do {                                                                              \
    nvrtcResult result = x;                                                         \
    if (result != NVRTC_SUCCESS)                                                    \
      throw std::runtime_error(std::string(#x ": ") + nvrtcGetErrorString(result)); \
  } while (0)

namespace kiln::test::KILN_TEST_SIDE_CALLS {

std::string saxpy(std::string& log) {
  const char* saxpy =
      "                                                                 \n\
extern \"C\" __global__                                                 \n\
void saxpy(float a, float *x, float *y, float *out, size_t n)           \n\
{                                                                       \n\
  size_t tid = blockIdx.x * blockDim.x + threadIdx.x;                   \n\
  if (tid < n) {                                                        \n\
    out[tid] = a * x[tid] + y[tid];                                     \n\
  }                                                                     \n\
}                                                                       \n";
  nvrtcProgram prog;
  NVRTC_SAFE_CALL(nvrtcCreateProgram(&prog,       // prog
                                     saxpy,       // buffer
                                     "saxpy.cu",  // name
                                     0,           // numHeaders
                                     NULL,        // headers
                                     NULL));      // includeNames
  const char* opts[] = {"--fmad=false", "--gpu-architecture=compute_75"};
  nvrtcResult compileResult = nvrtcCompileProgram(prog,   // prog
                                                  2,      // numOptions
                                                  opts);  // options
  size_t logSize;
  NVRTC_SAFE_CALL(nvrtcGetProgramLogSize(prog, &logSize));
  std::vector<char> text(logSize);
  NVRTC_SAFE_CALL(nvrtcGetProgramLog(prog, text.data()));
  log = text.data();
  if (compileResult != NVRTC_SUCCESS) throw std::runtime_error(log);
  size_t ptxSize;
  NVRTC_SAFE_CALL(nvrtcGetPTXSize(prog, &ptxSize));
  char* ptx = new char[ptxSize];
  NVRTC_SAFE_CALL(nvrtcGetPTX(prog, ptx));
  NVRTC_SAFE_CALL(nvrtcDestroyProgram(&prog));
  std::string kept(ptx, ptxSize);
  delete[] ptx;
  return kept;
}

Outcome raw_module(const std::string& include_dir) {
  return compile(
      {.name = "raw/module.cu",
       .source = R"(
                    #include "numbers/complex.cuh"
                    #include <on_disk.cuh>
                    __constant__ float table[WIDTH];
                    template <class T, int n> __global__ void scale(T* x, T by) {
                      x[threadIdx.x] = times(x[threadIdx.x], by) + T(table[n % WIDTH]) + T(OFFSET);
                    }
                    extern "C" __global__ void fill(float* x) { *x = WIDTH; })",
       .headers = {{"numbers/complex.cuh", "#include \"numbers/times.cuh\"\n"},
                   {"numbers/times.cuh",
                    "template <class T> __device__ T times(T a, T b) { return a * b; }\n"}},
       .options = {"-I" + include_dir, "-DWIDTH=16", "--std=c++17", "-arch=sm_80",
                   "--device-as-default-execution-space", "-D", "OFFSET=2"},
       .expressions = {"scale<float, 4>", "scale<double,(1 << 3)>", "fill", "&table"}});
}

}  // namespace kiln::test::KILN_TEST_SIDE_CALLS
