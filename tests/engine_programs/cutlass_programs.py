"""GEMMs of CUTLASS's collectives, each for the architecture that it is made for."""

from engine_program import CUTLASS, EngineProgram

# What CUTLASS takes from the host's library, of libcu++; and what it hides from NVRTC though it compiles there.
CUTLASS_HEAD = """#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda/std/__algorithm_>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
namespace std { using namespace ::cuda::std; }
#include <cute/tensor.hpp>
#include <cutlass/cutlass.h>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/gemm/kernel/tile_scheduler.hpp>
"""
HIDDEN = {"Sm100": ["sm100_mma_warpspecialized.hpp", "builders/sm100_common.inl", "builders/sm100_umma_builder.inl"],
          "Sm120": ["sm100_mma_warpspecialized.hpp", "builders/sm100_common.inl", "builders/sm100_umma_builder.inl",
                    "sm120_mma_tma.hpp", "builders/sm120_common.inl", "builders/sm120_mma_builder.inl"]}
RUN = """
template <class Kernel>
__global__ __launch_bounds__(Kernel::MaxThreadsPerBlock, Kernel::MinBlocksPerMultiprocessor)
void run(CUTLASS_GRID_CONSTANT typename Kernel::Params const params) {
  extern __shared__ char shared[];
  Kernel kernel;
  kernel(params, shared);
}
"""
BUILT = """using namespace cute;
using TileShape = Shape<{tile}>;
using ClusterShape = Shape<{cluster}>;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::{sm}, cutlass::arch::OpClassTensorOp, TileShape, ClusterShape,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, {c}, Row, 8, {c}, Row, 8,
    cutlass::epilogue::collective::EpilogueScheduleAuto>::CollectiveOp;
using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::{sm}, cutlass::arch::OpClassTensorOp, {a}, Row, {align}, {a}, Column, {align}, float,
    TileShape, ClusterShape, cutlass::gemm::collective::StageCountAutoCarveout<
        static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
    cutlass::gemm::collective::KernelScheduleAuto>::CollectiveOp;
using Gemm = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue>;
"""
AMPERE = """using namespace cute;
using Element = {a};
using TileShape = Shape<{tile}>;
using Row = cutlass::gemm::TagToStrideA_t<cutlass::layout::RowMajor>;
using Column = cutlass::gemm::TagToStrideB_t<cutlass::layout::ColumnMajor>;
using Mma = TiledMMA<MMA_Atom<{atom}>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using SmemAtom = decltype(composition(Swizzle<3, 3, 3>{{}}, Layout<Shape<_8, _64>, Stride<_64, _1>>{{}}));
using GmemCopy = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<cute::uint128_t>, Element>{{}},
                                          Layout<Shape<_16, _8>, Stride<_8, _1>>{{}}, Layout<Shape<_1, _8>>{{}}));
using SmemCopy = Copy_Atom<SM75_U32x4_LDSM_N, Element>;
using Mainloop = cutlass::gemm::collective::CollectiveMma<
    cutlass::gemm::MainloopSm80CpAsync<3>, TileShape, Element, Row, Element, Column, Mma, GmemCopy, SmemAtom, SmemCopy,
    cute::identity, GmemCopy, SmemAtom, SmemCopy, cute::identity>;
using Epilogue = cutlass::epilogue::collective::DefaultEpilogue<
    Element, cutlass::gemm::TagToStrideC_t<cutlass::layout::RowMajor>,
    cutlass::gemm::TagToStrideC_t<cutlass::layout::RowMajor>,
    cutlass::epilogue::thread::LinearCombination<Element, 1, float, float>, cutlass::gemm::EpilogueDefault>;
using Gemm = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue>;
"""


def cutlass_program(name, arch, text, hidden=()):
    includes = "".join(f"#include <cutlass/gemm/collective/{header}>\n" for header in hidden)
    return EngineProgram(f"{name}.cu", CUTLASS_HEAD + includes + text + RUN, ["run<Gemm>"], CUTLASS, (arch,),
                         ["--std=c++17", "-default-device", "-DNDEBUG"])


def cutlass_programs():
    programs = []
    half, bfloat, fp8 = "cutlass::half_t", "cutlass::bfloat16_t", "cutlass::float_e4m3_t"
    for name, element, atom in (("half", half, "SM80_16x8x16_F32F16F16F32_TN"),
                                ("bfloat16", bfloat, "SM80_16x8x16_F32BF16BF16F32_TN")):
        for tile in ("_128, _128, _64", "_64, _128, _64"):
            text = AMPERE.format(a=element, atom=atom, tile=tile)
            shape = tile.replace(", _", "x").strip("_")
            programs.append(cutlass_program(f"ampere_gemm_{name}_{shape}", "sm_80", text))
    for sm, arch, elements in (("Sm90", "sm_90a", (("half", half, half, 8), ("fp8", fp8, bfloat, 16))),
                               ("Sm100", "sm_100a", (("half", half, half, 8), ("fp8", fp8, bfloat, 16))),
                               ("Sm120", "sm_120a", (("fp8", fp8, bfloat, 16),))):
        for name, element, result, align in elements:
            for tile, cluster in (("_128, _128, _64" if align == 8 else "_128, _128, _128", "_1, _1, _1"),
                                  ("_64, _64, _64" if sm == "Sm90" else "_128, _64, _128", "_1, _1, _1")):
                text = BUILT.format(sm=sm, a=element, c=result, align=align, tile=tile, cluster=cluster)
                shape = tile.replace(", _", "x").strip("_")
                programs.append(cutlass_program(f"{sm.lower()}_gemm_{name}_{shape}", arch, text, HIDDEN.get(sm, ())))
    return programs
