"""cuda-cccl, which carries a later CCCL than the toolkit: its block and warp algorithms for other types, and libcu++."""

import fetch
import kernels
from packages import cccl

LIBCUDACXX = {
    "atomic_ref": ("cuda/atomic", "  cuda::atomic_ref<float, cuda::thread_scope_device> a(*x);\n  a.fetch_add(1.f);\n"),
    "barrier": ("cuda/barrier", "  __shared__ cuda::barrier<cuda::thread_scope_block> b;\n  if (threadIdx.x == 0) init(&b, blockDim.x);\n"
                "  __syncthreads();\n  b.arrive_and_wait();\n  x[threadIdx.x] += 1;\n"),
    "pipeline": ("cuda/pipeline", "  __shared__ float y[128];\n  auto pipe = cuda::make_pipeline();\n  pipe.producer_acquire();\n"
                 "  cuda::memcpy_async(y + threadIdx.x, x + threadIdx.x, sizeof(float), pipe);\n  pipe.producer_commit();\n"
                 "  pipe.consumer_wait();\n  x[threadIdx.x] = y[127 - threadIdx.x];\n  pipe.consumer_release();\n"),
    "mdspan": ("cuda/std/mdspan", "  cuda::std::mdspan<float, cuda::std::extents<int, 4, 8>> m(x);\n  m(threadIdx.x % 4, threadIdx.x / 4) = 1;\n"),
    "complex": ("cuda/std/complex", "  cuda::std::complex<float> c(x[0], x[1]);\n  x[2] = abs(exp(c));\n"),
}


def libcudacxx_kernels():
    return [kernels.Kernel(f"libcudacxx_{name}.cu", f"#include <{header}>\n__global__ void k(float* x) {{\n{body}}}\n", ["k"],
                           archs=("sm_90a",)) for name, (header, body) in LIBCUDACXX.items()]


def package():
    if not fetch.is_here("cuda-cccl"):
        return None
    folder = fetch.folder_of("cuda-cccl") / "cuda/cccl/headers/include"
    blocks = [kernel for kernel in cccl.block_kernels(cccl.PRELUDE, "later_", "later cub blocks", ("double",))]
    return kernels.Package("cuda_cccl", [*blocks, *libcudacxx_kernels()], {"include": folder}, ("include",))
