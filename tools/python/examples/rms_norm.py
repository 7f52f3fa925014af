"""An engine's operation in Python: RMSNorm of rows of half precision, with a kernel for each width.

The kernels are compiled in the background when this module is imported, and served when it is imported again:

    python rms_norm.py     # with torch on its GPU; without, on a driver that KILN_CUDA_DRIVER names and that computes,
                           # as the one of tests/fakes/computing does

rms_norm() waits for the one kernel that it needs, and for no other.
"""

from __future__ import annotations

import functools
import math
import pathlib
import struct
import sys
import time
from typing import Any, Protocol

import kiln

WIDTHS = (256, 512, 1024, 2048, 4096)
THREADS = 256


class DeviceArray(Protocol):
    """What torch, CuPy and others have."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


def program(width: int) -> kiln.Program:
    return kiln.Program(pathlib.Path(__file__).with_name("rms_norm.cu"), kernels=[expression(width)],
                        options=["--std=c++20"])


def expression(width: int) -> str:
    return f"rms_norm<__half, {width}>"


runtime = kiln.Runtime()
# "native" is the GPU of this machine. What is not in the cache is compiled by other processes, while this one goes on.
compiling = {width: runtime.compile_async(program(width), "native") for width in WIDTHS}


@functools.cache
def kernel(width: int) -> kiln.Kernel:
    compiling[width].result()
    return runtime.kernel(program(width), expression(width))


def rms_norm(out: DeviceArray, x: DeviceArray, weight: DeviceArray, epsilon: float = 1e-5, stream: Any = None) -> None:
    """Queues out = x / rms(x) * weight in this stream, or in torch's current one."""
    rows, width = x.__cuda_array_interface__["shape"]
    kernel(width)(rows, THREADS, out, x, weight, epsilon, stream=stream)


class HostArray:
    """Half-precision numbers in the memory of a driver that computes on the host, which the tests have instead of a GPU."""

    def __init__(self, values: list[float], shape: tuple[int, ...]) -> None:
        import ctypes

        self.memory = ctypes.create_string_buffer(struct.pack(f"{len(values)}e", *values), 2 * len(values))
        self.interface = {"data": (ctypes.addressof(self.memory), False), "shape": shape, "typestr": "<f2", "version": 3}

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.interface

    def values(self) -> list[float]:
        return list(struct.unpack(f"{len(self.memory) // 2}e", self.memory.raw))


def normed(x: list[float], weight: list[float], epsilon: float = 1e-5) -> list[float]:
    """The same in Python, row by row."""
    width, result = len(weight), []
    for begin in range(0, len(x), width):
        row = x[begin:begin + width]
        scale = 1 / math.sqrt(sum(value * value for value in row) / width + epsilon)
        result += [value * scale * by for value, by in zip(row, weight)]
    return result


def worst_on_host(rows: int, width: int) -> float:
    x = HostArray([math.sin(at) for at in range(rows * width)], (rows, width))
    weight = HostArray([1 + at / width for at in range(width)], (width,))
    out = HostArray([0.0] * (rows * width), (rows, width))
    rms_norm(out, x, weight, stream=0)
    return max(abs(left - right) for left, right in zip(out.values(), normed(x.values(), weight.values())))


def worst_on_gpu(torch: Any, rows: int, width: int) -> float:
    x = torch.randn(rows, width, dtype=torch.half, device="cuda")
    weight = torch.randn(width, dtype=torch.half, device="cuda")
    out = torch.empty_like(x)
    rms_norm(out, x, weight)
    wanted = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5) * weight.float()
    return float((out.float() - wanted).abs().max())


def main() -> int:
    begin = time.perf_counter()
    origins = [compiling[width].result().origin for width in WIDTHS]
    seconds = time.perf_counter() - begin
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
        on_gpu = torch.cuda.is_available()
    except ImportError:
        on_gpu = False
    worst = max(worst_on_gpu(torch, 8, width) if on_gpu else worst_on_host(8, width) for width in WIDTHS)
    compiled = origins.count("compiled")
    print(f"{len(WIDTHS)} kernels: {compiled} compiled, {len(WIDTHS) - compiled} served, after {seconds * 1e3:.1f} ms; "
          f"off by {worst:.4f} at most")
    return 0 if worst < 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())
