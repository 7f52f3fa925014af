"""A kernel of five arguments from Python, through kiln and through what else is installed here: what a launch costs the host,
and what a new process waits for its first launch, with nothing kept and with the peer's own cache filled.

    peers.py [--times 7]

Each peer is asked in its own best way. A process begins with a context, which costs all of them the same and is not counted;
the import is, and stands by itself too. Prints medians of new processes in turns, and ratios to kiln's."""

import argparse
import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = """#include <cuda_fp16.h>
template <class T> __global__ void axpy(T* out, const T* x, const T* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = T(a * float(x[i]) + float(y[i]));
}
"""
NAME = "axpy<float>"
SIZE, BLOCK = 4096, 256
GRID = SIZE // BLOCK
BATCH, ROUNDS = 500, 40


def context():
    """The first device's own, current; three arrays of it."""
    driver = ctypes.CDLL("libcuda.so.1")
    device, handle = ctypes.c_int(), ctypes.c_void_p()
    for result in (driver.cuInit(0), driver.cuDeviceGet(ctypes.byref(device), 0),
                   driver.cuDevicePrimaryCtxRetain(ctypes.byref(handle), device), driver.cuCtxSetCurrent(handle)):
        if result:
            sys.exit(f"no GPU: the driver answered {result}")
    addresses = []
    for _ in range(3):
        address = ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * SIZE)) == 0
        assert driver.cuMemsetD32_v2(address, 0x3F800000, ctypes.c_size_t(SIZE)) == 0  # Ones.
        addresses.append(address.value)
    return driver, addresses


def result_of(driver, out):
    values = (ctypes.c_float * SIZE)()
    assert driver.cuCtxSynchronize() == 0
    assert driver.cuMemcpyDtoH_v2(values, ctypes.c_uint64(out), ctypes.c_size_t(ctypes.sizeof(values))) == 0
    return values[0], values[SIZE - 1]


def kernel_of_kiln():
    import kiln
    imported = time.perf_counter()
    kernel_of_kiln.runtime = kiln.Runtime(log_level="off")  # Kept: the kernel is valid as long as that.
    program = kiln.Program(SOURCE, name="axpy.cu", kernels=[NAME])
    return imported, kernel_of_kiln.runtime.kernel(program, NAME)


def of_kiln(out, x, y):
    imported, kernel = kernel_of_kiln()
    return imported, lambda: kernel(GRID, BLOCK, out, x, y, 2.0, SIZE, stream=0)


def of_kiln_configured(out, x, y):
    imported, kernel = kernel_of_kiln()
    configured = kernel[GRID, BLOCK, 0]
    return imported, lambda: configured(out, x, y, 2.0, SIZE)


def of_cupy(out, x, y):
    import cupy
    imported = time.perf_counter()
    module = cupy.RawModule(code=SOURCE, options=("--std=c++17",), name_expressions=[NAME])
    kernel = module.get_function(NAME)
    numbers = cupy.float32(2.0), cupy.int32(SIZE)

    def launch():
        kernel((GRID,), (BLOCK,), (out, x, y, *numbers))
    return imported, launch


def of_cuda_core(out, x, y):
    try:
        from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
    except ImportError:
        from cuda.core.experimental import Device, LaunchConfig, Program, ProgramOptions, launch
    imported = time.perf_counter()
    device = Device()
    device.set_current()
    options = ProgramOptions(std="c++17", arch="sm_" + "".join(map(str, device.compute_capability)),
                             include_path=include_folders())
    code = Program(SOURCE, "c++", options=options).compile("cubin", name_expressions=(NAME,))
    kernel, config, stream = code.get_kernel(NAME), LaunchConfig(grid=GRID, block=BLOCK), device.default_stream
    numbers = ctypes.c_float(2.0), ctypes.c_int(SIZE)
    return imported, lambda: launch(stream, config, kernel, out, x, y, *numbers)


def of_torch(out, x, y):
    import torch
    imported = time.perf_counter()
    kernel = torch.cuda._compile_kernel(SOURCE.replace("template <class T>", 'extern "C"').replace("T(", "float(")
                                        .replace("T*", "float*"), "axpy", cuda_include_dirs=include_folders())
    arrays = [torch.ones(SIZE, device="cuda") for _ in range(3)]
    return imported, lambda: kernel(grid=(GRID, 1, 1), block=(BLOCK, 1, 1), args=[*arrays, 2.0, SIZE])


def of_numba(out, x, y):
    import numpy
    from numba import cuda
    imported = time.perf_counter()

    @cuda.jit("void(float32[::1], float32[::1], float32[::1], float32, int32)", cache=False)
    def axpy(out, x, y, a, n):
        i = cuda.grid(1)
        if i < n:
            out[i] = a * x[i] + y[i]
    arrays = [cuda.to_device(numpy.ones(SIZE, numpy.float32)) for _ in range(3)]
    configured = axpy[GRID, BLOCK]
    return imported, lambda: configured(*arrays, 2.0, SIZE)


def of_triton(out, x, y):
    import torch
    import triton_axpy
    imported = time.perf_counter()
    arrays = [torch.ones(SIZE, device="cuda") for _ in range(3)]
    kernel = triton_axpy.axpy[(GRID,)]
    return imported, lambda: kernel(*arrays, 2.0, SIZE, BLOCK=BLOCK)


TRITON = """
import triton
import triton.language as tl

@triton.jit
def axpy(out, x, y, a, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, a * tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)
"""

PEERS = {"kiln": of_kiln, "kiln, k[grid, block]": of_kiln_configured, "CuPy RawModule": of_cupy, "cuda.core": of_cuda_core,
         "torch _compile_kernel": of_torch, "Numba": of_numba, "Triton": of_triton}
OF_ADDRESSES = ("kiln", "kiln, k[grid, block]", "CuPy RawModule", "cuda.core")


def include_folders():
    named = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    return [os.path.join(named, "include")]


def child(peer):
    """One start: milliseconds of the import, then up to the first launch's end; nanoseconds of a launch."""
    driver, addresses = context()
    began = time.perf_counter()
    imported, launch = PEERS[peer](*addresses)
    launch()
    assert driver.cuCtxSynchronize() == 0
    first = time.perf_counter()
    if peer in OF_ADDRESSES and result_of(driver, addresses[0]) != (3.0, 3.0):
        sys.exit(f"{peer}: wrong numbers {result_of(driver, addresses[0])}")
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        for _ in range(BATCH):
            launch()
        best = min(best, (time.perf_counter_ns() - begin) / BATCH)
        assert driver.cuCtxSynchronize() == 0
    print(1e3 * (imported - began), 1e3 * (first - imported), best)
    sys.stdout.flush()
    os._exit(0)


def start(peer, folder):
    kept = {name: str(folder / name.lower()) for name in
            ("KILN_CACHE_DIR", "CUPY_CACHE_DIR", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH", "NUMBA_CACHE_DIR")}
    (folder / "triton_axpy.py").write_text(TRITON)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, __file__, "--child", peer], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **kept, "PYTHONPATH": path})
    if done.returncode != 0:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1])
    return [float(word) for word in done.stdout.split()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--child", choices=PEERS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments.child)
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as why:
        print(f"no GPU: {why}")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        cold, warm, absent = {}, {}, {}
        for peer in PEERS:
            folder = pathlib.Path(scratch) / peer.replace(" ", "_")
            folder.mkdir()
            try:
                cold[peer], warm[peer] = start(peer, folder), []
            except (RuntimeError, subprocess.TimeoutExpired) as why:
                absent[peer] = why
        for _ in range(arguments.times):
            for peer, starts in warm.items():
                starts.append(start(peer, pathlib.Path(scratch) / peer.replace(" ", "_")))
    for peer, why in absent.items():
        print(f"{peer:24} not run: {why}")
    if "kiln" in absent:
        return 0 if str(absent["kiln"]).startswith("no GPU: ") else 1
    print(f"{'':24} {'import':>9} {'cold':>9} {'warm':>9} {'launch':>9}   warm and launch in kiln's")
    ours = [statistics.median(column) for column in zip(*warm["kiln"])]
    for peer, starts in warm.items():
        imports, first, launch = (statistics.median(column) for column in zip(*starts))
        print(f"{peer:24} {imports:6.0f} ms {cold[peer][1]:6.1f} ms {first:6.1f} ms {launch / 1e3:6.2f} us"
              f"   {first / ours[1]:.2f}  {launch / ours[2]:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
