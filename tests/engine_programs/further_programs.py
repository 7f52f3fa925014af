"""More of CUB, cooperative groups and libcu++, and kernels as engines write them by hand: norms, softmax, quantization,
matrix fragments, copies that are not waited for."""

from engine_program import DEMO, DEMO_FOLDER, EngineProgram
from small_programs import cub, libcudacxx

FOUR = "  T items[4];\n  for (int i = 0; i < 4; ++i) items[i] = in[threadIdx.x * 4 + i];\n"
STORED = "  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = items[i];\n"


def using(what):
    return f"  using B = {what};\n  __shared__ typename B::TempStorage shared;\n"


def further_cub_programs():
    return [
        *cub("histogram", "block/block_histogram.cuh", using("cub::BlockHistogram<unsigned char, 128, 4, 256>")
             + "  __shared__ unsigned bins[256];\n  unsigned char items[4];\n"
             "  for (int i = 0; i < 4; ++i) items[i] = static_cast<unsigned char>(in[threadIdx.x * 4 + i]);\n"
             "  B(shared).Histogram(items, bins);\n  __syncthreads();\n  out[threadIdx.x] = static_cast<T>(bins[threadIdx.x]);\n"),
        *cub("discontinuity", "block/block_discontinuity.cuh", using("cub::BlockDiscontinuity<T, 128>") + FOUR
             + "  int flags[4];\n  B(shared).FlagHeads(flags, items, [](T a, T b) { return a != b; });\n"
             "  for (int i = 0; i < 4; ++i) items[i] = flags[i];\n" + STORED),
        *cub("adjacent_difference", "block/block_adjacent_difference.cuh", using("cub::BlockAdjacentDifference<T, 128>")
             + FOUR + "  B(shared).SubtractLeft(items, items, [](T a, T b) { return a - b; });\n" + STORED,
             ("float", "int", "double")),
        *cub("shuffle", "block/block_shuffle.cuh", using("cub::BlockShuffle<T, 128>")
             + "  T item = in[threadIdx.x];\n  T other = item;\n  B(shared).Offset(item, other, 1);\n  out[threadIdx.x] = other;\n"),
        *cub("store", "block/block_store.cuh", using("cub::BlockStore<T, 128, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>") + FOUR
             + "  B(shared).Store(out, items);\n", ("float", "int", "double")),
        *cub("radix_rank", "block/block_radix_sort.cuh", using("cub::BlockRadixSort<unsigned, 128, 4, T>")
             + FOUR + "  unsigned keys[4];\n  for (int i = 0; i < 4; ++i) keys[i] = threadIdx.x * 37 % 128;\n"
             "  B(shared).SortBlockedToStriped(keys, items);\n" + STORED),
        *cub("warp_merge_sort", "warp/warp_merge_sort.cuh", using("cub::WarpMergeSort<T, 4>") + FOUR
             + "  B(shared).Sort(items, [](T a, T b) { return a < b; });\n" + STORED),
        *cub("warp_exchange", "warp/warp_exchange.cuh", using("cub::WarpExchange<T, 4>") + FOUR
             + "  B(shared).BlockedToStriped(items, items);\n" + STORED),
        *cub("warp_load", "warp/warp_load.cuh", using("cub::WarpLoad<T, 4, cub::WARP_LOAD_TRANSPOSE>")
             + "  T items[4];\n  B(shared).Load(in, items);\n" + STORED),
        *cub("reduce_by_max", "block/block_reduce.cuh",
             using("cub::BlockReduce<T, 256, cub::BLOCK_REDUCE_RAKING>")
             + "  T top = B(shared).Reduce(in[threadIdx.x], [](T a, T b) { return a > b ? a : b; });\n"
             "  if (threadIdx.x == 0) *out = top;\n", ("float", "int", "long long")),
        *cub("scan_by_max", "block/block_scan.cuh", using("cub::BlockScan<T, 256, cub::BLOCK_SCAN_WARP_SCANS>")
             + "  T item = in[threadIdx.x];\n  B(shared).InclusiveScan(item, item, [](T a, T b) { return a > b ? a : b; });\n"
             "  out[threadIdx.x] = item;\n", ("float", "int", "double")),
    ]


def further_cooperative_groups_programs():
    head = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"

    def program(name, body):
        return EngineProgram(f"cg_{name}.cu", f"{head}__global__ void k(int* x) {{\n{body}}}\n", ["k"])
    return [
        program("coalesced", "  if (threadIdx.x % 3 == 0) {\n    auto group = cg::coalesced_threads();\n"
                "    x[threadIdx.x] = group.shfl(x[threadIdx.x], 0) + group.size();\n  }\n"),
        program("shuffle", "  auto tile = cg::tiled_partition<16>(cg::this_thread_block());\n"
                "  for (int i = tile.size() / 2; i > 0; i /= 2) x[threadIdx.x] += tile.shfl_down(x[threadIdx.x], i);\n"),
        program("vote", "  auto tile = cg::tiled_partition<32>(cg::this_thread_block());\n"
                "  x[threadIdx.x] = tile.ballot(x[threadIdx.x] > 0) + tile.any(x[threadIdx.x] < 0);\n"),
        program("block_sync", "  __shared__ int y[128];\n  auto block = cg::this_thread_block();\n"
                "  y[block.thread_rank()] = x[block.thread_rank()];\n  block.sync();\n"
                "  x[block.thread_rank()] = y[block.size() - 1 - block.thread_rank()];\n"),
    ]


def further_libcudacxx_programs():
    return [
        libcudacxx("array", "std/array", "  cuda::std::array<float, 4> a{x[0], x[1], x[2], x[3]};\n  x[4] = a[threadIdx.x % 4];\n"),
        libcudacxx("tuple", "std/tuple", "  auto [a, b] = cuda::std::make_tuple(x[0], x[1]);\n  x[2] = a * b;\n"),
        libcudacxx("variant", "std/variant", "  cuda::std::variant<int, float> v(x[0]);\n  if (x[1] > 0) v = 7;\n"
                   "  x[2] = v.index() == 0 ? cuda::std::get<int>(v) : cuda::std::get<float>(v);\n"),
        libcudacxx("expected", "std/expected", "  cuda::std::expected<float, int> e(x[0]);\n"
                   "  if (x[1] > 0) e = cuda::std::unexpected(3);\n  x[2] = e.has_value() ? *e : e.error();\n"),
        libcudacxx("span", "std/span", "  cuda::std::span<float> s(x, 128);\n  s.back() = s.front() + s.size();\n"),
        libcudacxx("bit", "std/bit", "  x[0] = cuda::std::popcount(cuda::std::bit_cast<unsigned>(x[0]));\n"),
        libcudacxx("chrono", "std/chrono", "  using namespace cuda::std::chrono;\n"
                   "  x[0] = duration_cast<milliseconds>(seconds(static_cast<int>(x[0]))).count();\n"),
        libcudacxx("numeric", "std/numeric", "  x[0] = cuda::std::accumulate(x, x + 16, 0.f);\n"),
        libcudacxx("functional", "std/functional", "  x[0] = cuda::std::plus<>{}(x[0], x[1]);\n"),
        libcudacxx("latch", "latch", "  auto& l = *reinterpret_cast<cuda::latch<cuda::thread_scope_device>*>(x);\n"
                   "  l.arrive_and_wait();\n  x[64 + threadIdx.x] += 1;\n"),
        libcudacxx("semaphore", "semaphore",
                   "  auto& s = *reinterpret_cast<cuda::binary_semaphore<cuda::thread_scope_device>*>(x);\n"
                   "  s.acquire();\n  x[64] += 1;\n  s.release();\n"),
        libcudacxx("pipeline", "pipeline", "  __shared__ float y[128];\n  auto p = cuda::make_pipeline();\n  p.producer_acquire();\n"
                   "  cuda::memcpy_async(&y[threadIdx.x], &x[threadIdx.x], sizeof(float), p);\n  p.producer_commit();\n"
                   "  p.consumer_wait();\n  x[127 - threadIdx.x] = y[threadIdx.x];\n  p.consumer_release();\n"),
    ]


def engine_kernel(name, headers, text, kernels=("k",), archs=None):
    source = "".join(f"#include <{header}>\n" for header in headers) + text
    more = {"archs": archs} if archs else {}
    return EngineProgram(f"{name}.cu", source, list(kernels), **more)


WARP_SUM = ("__device__ float warp_sum(float v) {\n"
            "  for (int i = 16; i > 0; i /= 2) v += __shfl_xor_sync(0xffffffffu, v, i);\n  return v;\n}\n")


def handwritten_programs():
    return [
        engine_kernel("softmax", ["cuda_fp16.h"], WARP_SUM
                      + "template <int n> __global__ void softmax(const __half* in, __half* out) {\n"
                      "  const int row = blockIdx.x * n;\n  float values[n / 32], top = -3e38f, sum = 0;\n"
                      "  for (int i = 0; i < n / 32; ++i) top = fmaxf(top, values[i] = __half2float(in[row + i * 32 + threadIdx.x]));\n"
                      "  for (int i = 16; i > 0; i /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, i));\n"
                      "  for (float& value : values) sum += value = __expf(value - top);\n  sum = warp_sum(sum);\n"
                      "  for (int i = 0; i < n / 32; ++i) out[row + i * 32 + threadIdx.x] = __float2half(values[i] / sum);\n}\n",
                      ("softmax<256>", "softmax<1024>")),
        engine_kernel("layer_norm", ["cuda_bf16.h"], WARP_SUM
                      + "template <class T, int n> __global__ void layer_norm(const T* in, T* out, float epsilon) {\n"
                      "  float sum = 0, squares = 0;\n  for (int i = threadIdx.x; i < n; i += 32) {\n"
                      "    const float v = static_cast<float>(in[blockIdx.x * n + i]);\n    sum += v;\n    squares += v * v;\n  }\n"
                      "  const float mean = warp_sum(sum) / n;\n  const float scale = rsqrtf(warp_sum(squares) / n - mean * mean + epsilon);\n"
                      "  for (int i = threadIdx.x; i < n; i += 32)\n"
                      "    out[blockIdx.x * n + i] = static_cast<T>((static_cast<float>(in[blockIdx.x * n + i]) - mean) * scale);\n}\n",
                      ("layer_norm<__nv_bfloat16, 4096>", "layer_norm<float, 512>")),
        engine_kernel("quantize_fp8", ["cuda_fp16.h", "cuda_fp8.h"],
                      "__global__ void k(const __half2* in, __nv_fp8x2_e4m3* out, float scale, int n) {\n"
                      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
                      "  const float2 v = __half22float2(in[i]);\n  out[i] = __nv_fp8x2_e4m3(make_float2(v.x * scale, v.y * scale));\n}\n"),
        engine_kernel("dequantize_int4", ["cuda_fp16.h"],
                      "__global__ void k(const unsigned* in, const __half* scales, __half* out) {\n"
                      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  const unsigned packed = in[i];\n"
                      "  const __half scale = scales[i / 16];\n#pragma unroll\n  for (int j = 0; j < 8; ++j)\n"
                      "    out[i * 8 + j] = __hmul(__int2half_rn(static_cast<int>(packed >> (4 * j) & 15) - 8), scale);\n}\n"),
        engine_kernel("wmma_gemm", ["mma.h"],
                      "using namespace nvcuda::wmma;\n__global__ void k(const __half* a, const __half* b, float* c, int n) {\n"
                      "  fragment<matrix_a, 16, 16, 16, __half, row_major> fa;\n  fragment<matrix_b, 16, 16, 16, __half, col_major> fb;\n"
                      "  fragment<accumulator, 16, 16, 16, float> fc;\n  fill_fragment(fc, 0.f);\n  for (int i = 0; i < n; i += 16) {\n"
                      "    load_matrix_sync(fa, a + i, n);\n    load_matrix_sync(fb, b + i, n);\n    mma_sync(fc, fa, fb, fc);\n  }\n"
                      "  store_matrix_sync(c, fc, 16, mem_row_major);\n}\n"),
        engine_kernel("mma_inline", [],
                      "__global__ void k(const unsigned* a, const unsigned* b, float* c) {\n  float d[4] = {};\n"
                      '  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"\n'
                      '      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])\n'
                      '      : "r"(a[threadIdx.x]), "r"(a[threadIdx.x + 32]), "r"(a[threadIdx.x + 64]), "r"(a[threadIdx.x + 96]),\n'
                      '        "r"(b[threadIdx.x]), "r"(b[threadIdx.x + 32]));\n'
                      "  for (int i = 0; i < 4; ++i) c[threadIdx.x * 4 + i] = d[i];\n}\n"),
        engine_kernel("rotary_table", [],
                      "__constant__ float theta = 10000.f;\n__device__ unsigned calls;\n"
                      "__global__ void k(float2* table, int width) {\n  if (threadIdx.x == 0) atomicAdd(&calls, 1u);\n"
                      "  const float angle = blockIdx.x * powf(theta, -2.f * threadIdx.x / width);\n"
                      "  sincosf(angle, &table[blockIdx.x * width + threadIdx.x].y, &table[blockIdx.x * width + threadIdx.x].x);\n}\n"),
        engine_kernel("paged_attention", ["cuda_fp16.h"], WARP_SUM
                      + "template <int head, int page> __global__ void attend(const __half* q, const __half* keys, const __half* values,\n"
                      "    const int* pages, const int* lengths, __half* out) {\n  float query[head / 32], sum = 0, top = -3e38f, acc[head / 32] = {};\n"
                      "  for (int i = 0; i < head / 32; ++i) query[i] = __half2float(q[blockIdx.x * head + i * 32 + threadIdx.x]);\n"
                      "  for (int t = 0; t < lengths[blockIdx.x]; ++t) {\n"
                      "    const long at = (long(pages[blockIdx.x * 64 + t / page]) * page + t % page) * head;\n    float score = 0;\n"
                      "    for (int i = 0; i < head / 32; ++i) score += query[i] * __half2float(keys[at + i * 32 + threadIdx.x]);\n"
                      "    score = warp_sum(score) * rsqrtf(head);\n    const float now = fmaxf(top, score), before = __expf(top - now), weight = __expf(score - now);\n"
                      "    sum = sum * before + weight;\n    top = now;\n"
                      "    for (int i = 0; i < head / 32; ++i) acc[i] = acc[i] * before + weight * __half2float(values[at + i * 32 + threadIdx.x]);\n  }\n"
                      "  for (int i = 0; i < head / 32; ++i) out[blockIdx.x * head + i * 32 + threadIdx.x] = __float2half(acc[i] / sum);\n}\n",
                      ("attend<128, 16>", "attend<64, 32>")),
        engine_kernel("bulk_copy", [],
                      "__global__ void k(const float* in, float* out) {\n  __shared__ alignas(128) float tile[256];\n"
                      "  __shared__ unsigned long long bar;\n"
                      "  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&bar));\n  if (threadIdx.x == 0) {\n"
                      '    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at));\n'
                      '    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(at));\n'
                      '    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::\n'
                      '        "r"(static_cast<unsigned>(__cvta_generic_to_shared(tile))), "l"(in), "r"(at) : "memory");\n  }\n'
                      "  __syncthreads();\n  out[threadIdx.x] = tile[threadIdx.x];\n}\n", archs=("sm_90a", "sm_100a", "sm_120")),
    ]


# The demo's, of other shapes and types.
SHAPES = {"rms_norm.cu": ["rms_norm<__half, 512>"], "silu_and_mul.cu": ["silu_and_mul<__half, 1024>"],
          "rotary.cu": ["rotary_embedding<__half, 64>"], "embed.cu": ["embed<__half, 512>"]}


def further_demo_programs():
    return [EngineProgram(f"other_{name}", (DEMO_FOLDER / name).read_text(), kernels, DEMO, options=["--std=c++20"])
            for name, kernels in SHAPES.items()]


def further_programs():
    return [*further_cub_programs(), *further_cooperative_groups_programs(), *further_libcudacxx_programs(),
            *handwritten_programs(), *further_demo_programs()]
