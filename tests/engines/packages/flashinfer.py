"""FlashInfer's headers. They are written for nvcc: ../host declares what they mention of the host, and kiln's standard headers are
given as a folder."""

import fetch
import kernels

PRELUDE = """#include <runtime_api.h>
#include <flashinfer/activation.cuh>
#include <flashinfer/concat_mla.cuh>
#include <flashinfer/page.cuh>
#include <flashinfer/pos_enc.cuh>
#include <flashinfer/attention/cascade.cuh>
#include <flashinfer/attention/decode.cuh>
#include <flashinfer/attention/default_decode_params.cuh>
#include <flashinfer/attention/variants.cuh>
"""
OPTIONS = ["--std=c++17", "-default-device", "-DNDEBUG"]
HEAD = """using namespace flashinfer;
__device__ __forceinline__ float silu(const float& x) { return x / (1.f + __expf(-x)); }
__device__ __forceinline__ float gelu(const float& x) { return x * 0.5f * (1.f + erff(x * 0.70710678f)); }
template <class T>
using Single = SingleDecodeParams<T, T, T>;
template <class T>
using Batch = BatchDecodeParams<T, T, T, int>;
using Plain = DefaultAttention<false, false, false, false>;
using Capped = DefaultAttention<false, true, true, false>;
"""
INSTANCES = {
    "silu_and_mul_half": "activation::act_and_mul_kernel<half, silu>",
    "gelu_and_mul_bfloat16": "activation::act_and_mul_kernel<nv_bfloat16, gelu>",
    "concat_mla_k": "ConcatMLAKKernel<nv_bfloat16>",
    "append_paged_kv": "AppendPagedKVCacheKernel<128, 8, half, int>",
    "append_paged_kv_decode": "AppendPagedKVCacheDecodeKernel<64, 8, nv_bfloat16, int>",
    "append_paged_mla": "AppendPagedKVMlaCacheKernel<512, 64, 8, half, int>",
    "rotary": "BatchQKApplyRotaryPosIdsKernel<false, 128, 8, 16, half, int>",
    "rotary_interleaved": "BatchQKApplyRotaryKernel<true, 64, 8, 8, nv_bfloat16, int>",
    "rotary_of_cache": "BatchQKApplyRotaryPosIdsCosSinCacheKernel<false, 128, 8, 16, half, int>",
    "merge_state": "MergeStateKernel<8, half, half>",
    "merge_states": "MergeStatesKernel<8, nv_bfloat16, nv_bfloat16>",
    "merge_many_states": "MergeStatesLargeNumIndexSetsKernel<8, 16, 8, 2, half, half>",
    "attention_sum": "AttentionSumKernel<8, half, half>",
    "single_decode": "SingleDecodeWithKVCacheKernel<PosEncodingMode::kNone, 2, 4, 8, 16, 4, 2, Plain, Single<half>>",
    "single_decode_capped": "SingleDecodeWithKVCacheKernel<PosEncodingMode::kRoPELlama, 2, 4, 8, 8, 8, 2, Capped, Single<nv_bfloat16>>",
    "batch_decode": "BatchDecodeWithPagedKVCacheKernel<PosEncodingMode::kNone, 2, 1, 8, 16, 4, 2, Plain, Batch<half>>",
}
# As its headers stand, without what stands in for the host's: which folders there are besides, and what is missing then.
BARE = {"activation": ((), "flashinfer/activation.cuh"), "decode": ((), "flashinfer/attention/decode.cuh"),
        "standard_activation": (("standard",), "flashinfer/activation.cuh"), "standard_norm": (("standard",), "flashinfer/norm.cuh"),
        "host_norm": (("host", "standard"), "flashinfer/norm.cuh"), "host_sampling": (("host", "standard"), "flashinfer/sampling.cuh"),
        "host_topk": (("host", "standard"), "flashinfer/topk.cuh")}


def package():
    if not fetch.is_here("flashinfer-python"):
        return None
    data = fetch.folder_of("flashinfer-python") / "flashinfer/data"
    listed = [kernels.Kernel(f"flashinfer_{name}.cu", PRELUDE + HEAD, [expression], archs=("sm_90a",), options=OPTIONS,
                             family="flashinfer")
              for name, expression in INSTANCES.items()]
    listed += [kernels.Kernel(f"flashinfer_bare_{name}.cu", f"#include <{header}>\n__global__ void k() {{}}\n", ["k"],
                              archs=("sm_90a",), options=OPTIONS, include=("flashinfer", "cutlass", *others),
                              expected_failure="it wants headers of the host's")
               for name, (others, header) in BARE.items()]
    return kernels.Package("flashinfer", listed,
                           {"flashinfer": data / "include", "cutlass": data / "cutlass/include",
                            "host": kernels.HOST, "standard": kernels.STANDARD},
                           ("flashinfer", "cutlass", "host", "standard"))
