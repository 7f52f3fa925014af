"""Programs of the kind that engines compile at run time, each for the architectures that it is for."""

import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVERY = ("sm_80", "sm_90a", "sm_100a", "sm_120")
CCCL, CUTLASS, DEMO, NOTHING = "cccl", "cutlass", "demo", ""


@dataclasses.dataclass
class EngineProgram:
    name: str
    source: str
    kernels: list
    headers: str = NOTHING  # whose headers it brings along: on disk or embedded
    archs: tuple = EVERY
    options: list = dataclasses.field(default_factory=lambda: ["--std=c++17"])
    small_arch: str = ""    # CI runs it for this one
    folders: dict = dataclasses.field(default_factory=dict)  # other headers that it brings along: name in its tree, folder
    include: tuple = ()     # those of the tree that are include directories, in order; all where there are none

    def prelude(self):
        """The includes that it begins with."""
        lines = self.source.splitlines(keepends=True)
        return "".join(lines[:next(number for number, line in enumerate(lines) if not line.startswith("#"))])


def cub(name, header, body, types=("float", "int"), small_arch=""):
    source = f"#include <cub/{header}>\n" + "template <class T> __global__ void k(T* in, T* out) {\n" + body + "}\n"
    return [EngineProgram(f"{name}_{number}.cu", source, [f"k<{each}>"], CCCL,
                          small_arch="" if number else small_arch)
            for number, each in enumerate(types)]


def cub_programs():
    block = "  __shared__ typename B::TempStorage shared;\n"
    four = "  T items[4];\n  for (int i = 0; i < 4; ++i) items[i] = in[threadIdx.x * 4 + i];\n"
    store = "  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = items[i];\n"

    def using(what):
        return f"  using B = {what};\n"
    return [
        *cub("block_reduce", "block/block_reduce.cuh", using("cub::BlockReduce<T, 128>") + block
             + "  T sum = B(shared).Sum(in[threadIdx.x]);\n  if (threadIdx.x == 0) *out = sum;\n",
             ("float", "double", "int"), small_arch="sm_90a"),
        *cub("block_scan", "block/block_scan.cuh", using("cub::BlockScan<T, 128>") + block
             + "  T item = in[threadIdx.x];\n  B(shared).ExclusiveSum(item, item);\n  out[threadIdx.x] = item;\n"),
        *cub("radix_sort", "block/block_radix_sort.cuh", using("cub::BlockRadixSort<T, 128, 4>") + block + four
             + "  B(shared).Sort(items);\n" + store, ("float", "unsigned long long")),
        *cub("merge_sort", "block/block_merge_sort.cuh", using("cub::BlockMergeSort<T, 128, 4>") + block + four
             + "  B(shared).Sort(items, [](T a, T b) { return a < b; });\n" + store),
        *cub("load_store", "block/block_load.cuh",
             using("cub::BlockLoad<T, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>") + block
             + "  T items[4];\n  B(shared).Load(in, items);\n" + store),
        *cub("exchange", "block/block_exchange.cuh", using("cub::BlockExchange<T, 128, 4>") + block + four
             + "  B(shared).StripedToBlocked(items, items);\n" + store),
        *cub("warp_reduce", "warp/warp_reduce.cuh", using("cub::WarpReduce<T>") + block
             + "  T sum = B(shared).Sum(in[threadIdx.x]);\n  if (threadIdx.x == 0) *out = sum;\n", small_arch="sm_100a"),
        *cub("warp_scan", "warp/warp_scan.cuh", using("cub::WarpScan<T>") + block
             + "  T item = in[threadIdx.x];\n  B(shared).InclusiveSum(item, item);\n  out[threadIdx.x] = item;\n"),
    ]


def cooperative_groups_programs():
    head = "#include <cooperative_groups.h>\n#include <cooperative_groups/{}>\nnamespace cg = cooperative_groups;\n"
    return [
        EngineProgram("cg_reduce.cu", head.format("reduce.h")
                      + "__global__ void k(int* x) {\n  auto tile = cg::tiled_partition<32>(cg::this_thread_block());\n"
                      "  int sum = cg::reduce(tile, x[threadIdx.x], cg::plus<int>());\n"
                      "  if (tile.thread_rank() == 0) x[0] = sum;\n}\n", ["k"], small_arch="sm_80"),
        EngineProgram("cg_scan.cu", head.format("scan.h")
                      + "__global__ void k(int* x) {\n  auto tile = cg::tiled_partition<32>(cg::this_thread_block());\n"
                      "  x[threadIdx.x] = cg::inclusive_scan(tile, x[threadIdx.x]);\n}\n", ["k"]),
        EngineProgram("cg_copy.cu", head.format("memcpy_async.h")
                      + "__global__ void k(int* x) {\n  __shared__ int y[256];\n  auto block = cg::this_thread_block();\n"
                      "  cg::memcpy_async(block, y, x, sizeof(y));\n  cg::wait(block);\n"
                      "  x[threadIdx.x] = y[255 - threadIdx.x];\n}\n", ["k"]),
    ]


def libcudacxx_programs():
    def program(name, header, body, small_arch=""):
        return EngineProgram(f"{name}.cu", f"#include <cuda/{header}>\n#include <cuda/std/type_traits>\n"
                             f"__global__ void k(float* x) {{\n{body}}}\n", ["k"], CCCL,
                             small_arch=small_arch)
    return [
        program("atomic", "atomic", "  cuda::atomic_ref<float, cuda::thread_scope_device> a(*x);\n  a.fetch_add(1.f);\n",
                small_arch="sm_120"),
        program("barrier", "barrier", "  __shared__ cuda::barrier<cuda::thread_scope_block> b;\n"
                "  if (threadIdx.x == 0) init(&b, blockDim.x);\n  __syncthreads();\n  b.arrive_and_wait();\n"
                "  x[threadIdx.x] += 1;\n"),
        program("complex", "std/complex", "  cuda::std::complex<float> c(x[0], x[1]);\n  x[2] = abs(c * c);\n"),
        program("mdspan", "std/mdspan", "  cuda::std::mdspan<float, cuda::std::dextents<int, 2>> m(x, 4, 8);\n"
                "  m(threadIdx.x % 4, threadIdx.x / 4) = 1;\n"),
        program("optional", "std/optional", "  cuda::std::optional<float> o;\n  if (x[0] > 0) o = x[1];\n"
                "  x[threadIdx.x] = o.value_or(3.f);\n"),
    ]


DEMO_KERNELS = {"rms_norm.cu": ["rms_norm<__half, 4096>"], "silu_and_mul.cu": ["silu_and_mul<__half, 11008>"],
                "rotary.cu": ["rotary_embedding<__half, 128>"], "embed.cu": ["embed<__half, 4096>"],
                "sample_top_k.cu": ["sample_top_k<__half, 32>"], "gemm.cu": ["gemm<__half, 64, 64>"]}


def demo_programs():
    folder = ROOT / "tools/demo/kernels"
    return [EngineProgram(name, (folder / name).read_text(), kernels, DEMO, options=["--std=c++20"],
                          small_arch="sm_90a" if name == "rms_norm.cu" else "") for name, kernels in DEMO_KERNELS.items()]


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


def all_programs():
    return [*cub_programs(), *cooperative_groups_programs(), *libcudacxx_programs(), *demo_programs(),
            *cutlass_programs()]
