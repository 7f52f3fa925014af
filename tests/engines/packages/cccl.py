"""CCCL of the toolkit that kiln finds: what its device-wide algorithms run on the device, instantiated."""

import kernels

PRELUDE = """#include <cub/agent/agent_histogram.cuh>
#include <cub/agent/agent_reduce.cuh>
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
"""
FOUR = "  T items[4];\n  for (int i = 0; i < 4; ++i) items[i] = in[threadIdx.x * 4 + i];\n"
STORE = "  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = items[i];\n"
BLOCK = {
    "sum": ("BlockReduce<T, 256>", FOUR + "  T sum = B(shared).Sum(items);\n  if (threadIdx.x == 0) *out = sum;\n"),
    "maximum": ("BlockReduce<T, 128>", FOUR + "  T top = B(shared).Reduce(items, [](T a, T b) { return a < b ? b : a; });\n"
                "  if (threadIdx.x == 0) *out = top;\n"),
    "scan": ("BlockScan<T, 256>", FOUR + "  B(shared).InclusiveSum(items, items);\n" + STORE),
    "radix_sort": ("BlockRadixSort<T, 128, 4>", FOUR + "  B(shared).SortDescending(items);\n" + STORE),
    "merge_sort": ("BlockMergeSort<T, 128, 4>", FOUR + "  B(shared).Sort(items, [](T a, T b) { return a < b; });\n" + STORE),
    "exchange": ("BlockExchange<T, 128, 4>", FOUR + "  B(shared).BlockedToStriped(items, items);\n" + STORE),
    "heads": ("BlockDiscontinuity<T, 128>", FOUR + "  int heads[4];\n  B(shared).FlagHeads(heads, items, [](T a, T b) { return a != b; });\n"
              "  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = heads[i];\n"),
    "difference": ("BlockAdjacentDifference<T, 128>", FOUR + "  T left[4];\n  B(shared).SubtractLeft(items, left, [](T a, T b) { return a - b; });\n"
                   "  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = left[i];\n"),
    "shuffle": ("BlockShuffle<T, 128>", FOUR + "  B(shared).Up(items, items);\n" + STORE),
    "warp_sort": ("WarpMergeSort<T, 4, 32>", FOUR + "  B(shared).Sort(items, [](T a, T b) { return a < b; });\n" + STORE),
}

# The kernels of the device-wide algorithms, with a policy each; what chooses policies and launches is for the host.
DETAIL = "cub::detail::"
PLUS = "using Plus = cuda::std::plus<>;\n"
REDUCE = ("reduce", PLUS + "struct Active {\n  using ReducePolicy = cub::AgentReducePolicy<256, 16, float, 4, "
          "cub::BLOCK_REDUCE_WARP_REDUCTIONS, cub::LOAD_DEFAULT>;\n  using SingleTilePolicy = ReducePolicy;\n};\n")
SCAN = ("scan", PLUS + "struct Active {\n  using ScanPolicyT = cub::AgentScanPolicy<128, 15, float, cub::BLOCK_LOAD_WARP_TRANSPOSE, "
        "cub::LOAD_DEFAULT,\n      cub::BLOCK_STORE_WARP_TRANSPOSE, cub::BLOCK_SCAN_WARP_SCANS>;\n};\n")
DEVICE = {
    "device_reduce": (REDUCE, "reduce::DeviceReduceKernel<Policy, float*, int, Plus, float, cuda::std::__identity>"),
    "device_reduce_tile": (REDUCE, "reduce::DeviceReduceSingleTileKernel<Policy, float*, float*, int, Plus, float, float>"),
    "device_scan": (SCAN, "scan::DeviceScanKernel<Policy, float*, float*, cub::ScanTileState<float>, Plus, "
                    "cub::detail::InputValue<float>, int, float, false>"),
    "device_scan_begin": (SCAN, "scan::DeviceScanInitKernel<cub::ScanTileState<float>>"),
    "device_for_each": (("for_each", "struct Active {\n  using for_policy_t = cub::detail::for_each::policy_t<256, 2>;\n};\n"
                         "struct Twice {\n  float* x;\n  __device__ void operator()(int i) const { x[i] *= 2; }\n};\n"),
                        "for_each::static_kernel<Policy, int, Twice>"),
    "device_radix_sort": (("radix_sort", "struct Active {\n  using SingleTilePolicy = cub::AgentRadixSortDownsweepPolicy<256, 19, int, "
                           "cub::BLOCK_LOAD_DIRECT,\n      cub::LOAD_LDG, cub::RADIX_RANK_MEMOIZE, cub::BLOCK_SCAN_WARP_SCANS, 6>;\n};\n"),
                          "radix_sort::DeviceRadixSortSingleTileKernel<Policy, cub::SortOrder::Ascending, unsigned, cub::NullType, int>"),
}
DISPATCH = ("device_reduce", "device_scan", "device_histogram")


def block_kernels(prelude, prefix="", family="cub blocks", types=("float",)):
    made = []
    for name, (what, body) in BLOCK.items():
        for kind in types:
            source = (prelude + "template <class T> __global__ void k(T* in, T* out) {\n"
                      f"  using B = cub::{what};\n  __shared__ typename B::TempStorage shared;\n{body}}}\n")
            made.append(kernels.Kernel(f"{prefix}{name}_{kind}.cu", source, [f"k<{kind}>"], archs=("sm_90a",), family=family,
                                       small=name in ("sum", "scan", "exchange")))
    return made


def device_kernels():
    kept = [kernels.Kernel(f"{name}.cu", f"#include <cub/device/dispatch/kernels/{header}.cuh>\n{text}"
                           "struct Policy {\n  using ActivePolicy = Active;\n};\n", [DETAIL + expression], archs=("sm_80",),
                           options=["--std=c++17", "-default-device", "-DCUB_DISABLE_CDP"])
            for name, ((header, text), expression) in DEVICE.items()]
    refused = [kernels.Kernel(f"dispatch_{name}.cu", f"#include <cub/device/{name}.cuh>\n__global__ void k() {{}}\n", ["k"],
                              archs=("sm_80",), expected_failure="it launches from the host") for name in DISPATCH]
    return [*kept, *refused]


def package():
    from engine_programs import Toolkit
    found = next((folder for folder in Toolkit().headers if (folder / "cub").is_dir()), None)
    return found and kernels.Package("cccl", [*block_kernels(PRELUDE), *device_kernels()], {"include": found}, ("include",))
