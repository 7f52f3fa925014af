"""What Python adds, in figures for a person: import, a hit in a warm process, launches. The least of many short rounds, so that
what else the machine does counts for little.

Usage: KILN_PYTHON_LIBRARY=… bench.py DRIVER, where the idle driver of tests/fakes leaves kiln's own time."""

import gc
import subprocess
import sys
import tempfile
import time

import kiln

SOURCE = """
template <class T> __global__ void numbers(T a, T b, T c, T d) { if (a + b + c + d == 77) __trap(); }
__global__ void arrays(float* a, float* b, float* c, float* d) {}
"""
ROUNDS, CALLS = 2000, 100


class Array:
    """As CuPy's: a property that makes its dictionary anew."""

    @property
    def __cuda_array_interface__(self):
        return {"data": (4096, False), "shape": (1,), "typestr": "<f4", "version": 3}


class KeptArray:
    __cuda_array_interface__ = {"data": (4096, False), "shape": (1,), "typestr": "<f4", "version": 3}


def least(function, rounds=ROUNDS):
    best, calls = float("inf"), range(CALLS)
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        for _ in calls:
            function()
        best = min(best, time.perf_counter_ns() - begin)
    return best / CALLS


def show(what, nanoseconds):
    print(f"{what:44} {nanoseconds:9.0f} ns")


def import_time():
    code = "import time; begin = time.perf_counter_ns(); import kiln; print(time.perf_counter_ns() - begin)"
    return min(int(subprocess.check_output([sys.executable, "-c", code])) for _ in range(20))


def main():
    show("import", import_time())
    gc.disable()
    with tempfile.TemporaryDirectory() as cache, kiln.Runtime(cache_dir=cache, driver=sys.argv[1]) as runtime:
        program = kiln.Program(SOURCE, name="bench.cu", kernels=["numbers<int>", "arrays"])
        runtime.compile(program, "sm_90a")
        numbers, arrays = runtime.kernel(program, "numbers<int>"), runtime.kernel(program, "arrays")
        array, kept = Array(), KeptArray()
        empty = least(lambda: None)
        configured = numbers[1, 32, 0]
        for what, function in (
                ("compile(), served", lambda: runtime.compile(program, "sm_90a")),
                ("launch, four integers", lambda: numbers(1, 32, 1, 2, 3, 4, stream=0)),
                ("launch, four integers, k[grid, block, stream]", lambda: configured(1, 2, 3, 4)),
                ("launch, four addresses", lambda: arrays(1, 32, 4096, 4096, 4096, 4096, stream=0)),
                ("launch, four arrays", lambda: arrays(1, 32, array, array, array, array, stream=0)),
                ("launch, four arrays with a kept interface", lambda: arrays(1, 32, kept, kept, kept, kept, stream=0)),
                ("the interfaces of four arrays alone", lambda: [each.__cuda_array_interface__["data"][0]
                                                                 for each in (array, array, array, array)])):
            show(what, least(function) - empty)
        slot = numbers._slots[0]
        launch = kiln._kernel.kernel_launch
        show("kiln_kernel_launch() alone, by ctypes", least(lambda: launch(*slot.call)) - empty)


if __name__ == "__main__":
    main()
