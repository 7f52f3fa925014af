"""What stays behind. KILN_PYTHON_ROUNDS says how many times each thing is done."""

import gc
import os

import pytest

import kiln
from conftest import SCALE

ROUNDS = int(os.environ.get("KILN_PYTHON_ROUNDS", "20000"))
# Of the allocators' own, whatever the rounds. A leak of 64 bytes a round is more.
SLACK = 512 * 1024


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grown(function, rounds):
    for _ in range(rounds // 10):
        function()
    gc.collect()
    before = resident()
    for _ in range(rounds):
        function()
    gc.collect()
    return resident() - before


class DeviceArray:
    __cuda_array_interface__ = {"data": (4096, False), "shape": (4,), "typestr": "<f4", "version": 3}


def test_compiles_that_are_served(runtime, scale):
    def serve():
        artifact = runtime.compile(scale, "sm_90a")
        assert artifact.kernels[0].registers and artifact.image[0] == 0x7F and not artifact.log

    assert grown(serve, ROUNDS) < SLACK


def test_launches(runtime, scale, fake):
    kernel, array = runtime.kernel(scale, "scale<float>"), DeviceArray()

    def launch():
        kernel(1, 32, array, 0.5, stream=0)
        kernel[2, 32, 1](4096, 1)
        if fake.count() >= 1000:
            fake.library.fake_cuda_reset()

    assert grown(launch, ROUNDS) < SLACK


def test_failures(runtime, scale, fake):
    kernel = runtime.kernel(scale, "scale<float>")

    def fail():
        for launch in (lambda: kernel(1, 32, 1.5, 0.5, stream=0), lambda: kernel(0, 32, 4096, 0.5, stream=0),
                       lambda: runtime.compile(scale, "sm_9x")):
            with pytest.raises((TypeError, kiln.Error)):
                launch()

    assert grown(fail, ROUNDS // 10) < SLACK


def test_programs_kernels_and_explanations(runtime, scale):
    runtime.compile(scale, "sm_90a")

    def make():
        program = kiln.Program(SCALE, name="scale.cu", kernels=["scale<float>"], headers={"a.cuh": "x" * 1000})
        assert runtime.explain(program, "sm_90a").hit
        # Of the same program: a runtime remembers each that it was asked for.
        assert runtime.kernel(scale, "scale<float>").info.registers

    assert grown(make, ROUNDS // 10) < SLACK


def test_runtimes(cache, fake_path, scale):
    def open_one():
        with kiln.Runtime(cache_dir=cache, driver=fake_path, log=lambda *_: None, observer=lambda _: None) as opened:
            opened.compile(scale, "sm_90a")

    assert grown(open_one, ROUNDS // 100) < 4 * SLACK
