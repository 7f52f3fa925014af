"""nvidia-cutlass: CuTe on the device, a GEMM of CuTe's and the collectives' for sm_80, one of the collective builders for sm_90a."""

import cutlass_programs
import fetch
import kernels

PRELUDE = """#include <cute/tensor.hpp>
#include <cute/algorithm/cooperative_copy.hpp>
#include <cute/algorithm/cooperative_gemm.hpp>
#include <cutlass/numeric_types.h>
#include <cutlass/numeric_conversion.h>
using namespace cute;
"""
OPTIONS = ["--std=c++17", "-default-device", "-DNDEBUG"]
TEXTS = {
    "transpose": "  auto from = make_tensor(make_gmem_ptr(x), make_layout(make_shape(_64{}, _32{}), make_stride(_32{}, _1{})));\n"
                 "  auto to = make_tensor(make_gmem_ptr(y), make_layout(make_shape(_64{}, _32{}), make_stride(_1{}, _64{})));\n"
                 "  auto threads = make_layout(make_shape(_16{}, _8{}));\n"
                 "  copy(local_partition(from, threads, threadIdx.x), local_partition(to, threads, threadIdx.x));\n",
    "vectorized_copy": "  auto layout = make_layout(make_shape(_32{}, _64{}), make_stride(_64{}, _1{}));\n"
                       "  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},\n"
                       "      Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{});\n"
                       "  auto slice = tiled.get_slice(threadIdx.x);\n"
                       "  copy(tiled, slice.partition_S(make_tensor(make_gmem_ptr(x), layout)), slice.partition_D(make_tensor(make_gmem_ptr(y), layout)));\n",
    "swizzled_tile": "  __shared__ float shared[1024];\n"
                     "  auto tile = make_tensor(make_smem_ptr(shared), composition(Swizzle<3, 2, 3>{}, Layout<Shape<_32, _32>, Stride<_32, _1>>{}));\n"
                     "  for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile(i / 32, i % 32) = x[i];\n  __syncthreads();\n"
                     "  for (int i = threadIdx.x; i < 1024; i += blockDim.x) y[i] = tile(i % 32, i / 32);\n",
    "converted": "  cutlass::NumericArrayConverter<cutlass::half_t, float, 4> convert;\n"
                 "  reinterpret_cast<cutlass::Array<cutlass::half_t, 4>*>(y)[threadIdx.x] =\n"
                 "      convert(reinterpret_cast<const cutlass::Array<float, 4>*>(x)[threadIdx.x]);\n",
    "fma_gemm": "  auto a = make_tensor(make_gmem_ptr(x), Shape<_64, _16>{}, Stride<_1, _64>{});\n"
                "  auto c = make_tensor(make_gmem_ptr(y), Shape<_64, _64>{}, Stride<_1, _64>{});\n"
                "  TiledMMA<MMA_Atom<UniversalFMA<float>>, Layout<Shape<_16, _8, _1>>> mma;\n"
                "  auto slice = mma.get_slice(threadIdx.x);\n"
                "  auto ra = slice.partition_fragment_A(a);\n  auto rb = slice.partition_fragment_B(a);\n  auto rc = slice.partition_fragment_C(c);\n"
                "  clear(rc);\n  copy(slice.partition_A(a), ra);\n  copy(slice.partition_B(a), rb);\n  gemm(mma, ra, rb, rc);\n"
                "  copy(rc, slice.partition_C(c));\n",
}
HOPPER = cutlass_programs.BUILT.format(sm="Sm90", a="cutlass::half_t", c="cutlass::half_t", align=8, tile="_128, _128, _64",
                               cluster="_1, _1, _1")
AMPERE = cutlass_programs.AMPERE.format(a="cutlass::half_t", atom="SM80_16x8x16_F32F16F16F32_TN", tile="_128, _128, _64")


def package():
    if not fetch.is_here("nvidia-cutlass"):
        return None
    listed = [kernels.Kernel(f"cute_{name}.cu", f'{PRELUDE}extern "C" __global__ void {name}(const float* x, float* y) {{\n{body}}}\n',
                             [name], archs=("sm_80",), options=OPTIONS, family="cute")
              for name, body in TEXTS.items()]
    for name, arch, text in (("sm_80", "sm_80", AMPERE), ("sm_90a", "sm_90a", HOPPER)):
        listed.append(kernels.Kernel(f"cutlass_gemm_{name}.cu", cutlass_programs.CUTLASS_HEAD + text + cutlass_programs.RUN, ["run<Gemm>"],
                                     archs=(arch,), options=OPTIONS))
    return kernels.Package("cutlass", listed, {"include": fetch.folder_of("nvidia-cutlass") / "cutlass_library/source/include"},
                           ("include",))
