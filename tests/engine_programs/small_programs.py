"""Small programs: of CUB, cooperative groups, libcu++, and the demo's. CI takes some of them."""

from engine_program import CCCL, DEMO, DEMO_FOLDER, EngineProgram


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


def libcudacxx(name, header, body, small_arch=""):
    return EngineProgram(f"{name}.cu", f"#include <cuda/{header}>\n#include <cuda/std/type_traits>\n"
                         f"__global__ void k(float* x) {{\n{body}}}\n", ["k"], CCCL, small_arch=small_arch)


def libcudacxx_programs():
    return [
        libcudacxx("atomic", "atomic", "  cuda::atomic_ref<float, cuda::thread_scope_device> a(*x);\n  a.fetch_add(1.f);\n",
                   small_arch="sm_120"),
        libcudacxx("barrier", "barrier", "  __shared__ cuda::barrier<cuda::thread_scope_block> b;\n"
                "  if (threadIdx.x == 0) init(&b, blockDim.x);\n  __syncthreads();\n  b.arrive_and_wait();\n"
                "  x[threadIdx.x] += 1;\n"),
        libcudacxx("complex", "std/complex", "  cuda::std::complex<float> c(x[0], x[1]);\n  x[2] = abs(c * c);\n"),
        libcudacxx("mdspan", "std/mdspan", "  cuda::std::mdspan<float, cuda::std::dextents<int, 2>> m(x, 4, 8);\n"
                "  m(threadIdx.x % 4, threadIdx.x / 4) = 1;\n"),
        libcudacxx("optional", "std/optional", "  cuda::std::optional<float> o;\n  if (x[0] > 0) o = x[1];\n"
                "  x[threadIdx.x] = o.value_or(3.f);\n"),
    ]


DEMO_KERNELS = {"rms_norm.cu": ["rms_norm<__half, 4096>"], "silu_and_mul.cu": ["silu_and_mul<__half, 11008>"],
                "rotary.cu": ["rotary_embedding<__half, 128>"], "embed.cu": ["embed<__half, 4096>"],
                "sample_top_k.cu": ["sample_top_k<__half, 32>"], "gemm.cu": ["gemm<__half, 64, 64>"]}


def demo_programs():
    return [EngineProgram(name, (DEMO_FOLDER / name).read_text(), kernels, DEMO, options=["--std=c++20"],
                          small_arch="sm_90a" if name == "rms_norm.cu" else "") for name, kernels in DEMO_KERNELS.items()]
