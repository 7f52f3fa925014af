"""TileLang's templates, as its generated kernels use them: compiled by NVRTC there too."""

import fetch
import kernels

PRELUDE = """#include <tl_templates/cuda/nvrtc_std.h>
#include <tl_templates/cuda/common.h>
#include <tl_templates/cuda/math.h>
#include <tl_templates/cuda/reduce.h>
#include <tl_templates/cuda/scan.h>
#include <tl_templates/cuda/copy.h>
#include <tl_templates/cuda/ldsm.h>
#include <tl_templates/cuda/atomic.h>
#include <tl_templates/cuda/threadblock_swizzle.h>
"""
REDUCE = """extern "C" __global__ void __launch_bounds__({threads}) {name}(const {type}* __restrict__ x, float* __restrict__ y) {{
  float part = {begin};
  for (int i = 0; i < 4096 / {threads}; ++i) {{
    const float item = float(x[blockIdx.x * 4096 + i * {threads} + threadIdx.x]);
    part = {op};
  }}
  __shared__ float work[{threads}];
  part = tl::AllReduce<tl::{reducer}, {threads}, 1, 0>::run(part, work);
  if (threadIdx.x == 0) y[blockIdx.x] = part;
}}
"""
REDUCTIONS = {"row_sum": ("half_t", 128, "0.f", "part + item", "SumOp"), "row_max": ("bfloat16_t", 256, "-CUDART_INF_F", "fmaxf(part, item)", "MaxOp"),
              "row_min": ("float", 64, "CUDART_INF_F", "fminf(part, item)", "MinOp")}
OTHERS = {
    "cumulative_sum": "  __shared__ float line[256];\n  line[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n"
                      "  tl::CumSum1D<256>::run(line, y, 256);\n",
    "reverse_cumulative_sum": "  __shared__ float line[256];\n  line[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n"
                              "  tl::CumSum1D<256, true>::run(line, y, 256);\n",
    "asynchronous_copy": "  __shared__ __align__(16) float tile[1024];\n  tl::cp_async_gs<16>(tile + threadIdx.x * 4, x + threadIdx.x * 4);\n"
                         "  tl::cp_async_commit();\n  tl::cp_async_wait<0>();\n  __syncthreads();\n  y[threadIdx.x] = tile[1023 - threadIdx.x];\n",
    "swizzled_transpose": "  const dim3 at = tl::rasterization2DRow<8>();\n  __shared__ float tile[16][17];\n"
                          "  tile[threadIdx.x / 16][threadIdx.x % 16] = x[at.x * 256 + threadIdx.x];\n  __syncthreads();\n"
                          "  y[at.y * 256 + threadIdx.x] = tile[threadIdx.x % 16][threadIdx.x / 16];\n",
    "atomic_sum": "  AtomicAdd(y, x[threadIdx.x]);\n",
    "clamped": "  y[threadIdx.x] = tl::clamp(x[threadIdx.x], -1.f, 1.f);\n",
}
OPTIONS = ["--std=c++17", "-default-device"]


def package():
    if not fetch.is_here("tilelang"):
        return None
    folder = fetch.folder_of("tilelang") / "tilelang"
    texts = {name: REDUCE.format(name=name, type=kind, threads=threads, begin=begin, op=op, reducer=reducer)
             for name, (kind, threads, begin, op, reducer) in REDUCTIONS.items()}
    texts.update({name: f'extern "C" __global__ void __launch_bounds__(256) {name}(const float* __restrict__ x, float* __restrict__ y) {{\n{body}}}\n'
                  for name, body in OTHERS.items()})
    listed = [kernels.Kernel(f"tilelang_{name}.cu", PRELUDE + text, [name], archs=("sm_90a",), options=OPTIONS, family="tilelang")
              for name, text in texts.items()]
    return kernels.Package("tilelang", listed, {"tilelang/tl_templates": folder / "src/tl_templates", "cutlass": folder / "3rdparty/cutlass/include"},
                           ("tilelang", "cutlass"))
