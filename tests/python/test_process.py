"""Forks, interrupts, and an interpreter that ends in the middle."""

import os
import signal
import subprocess
import sys
import time

import pytest

import kiln
from conftest import SCALE, SLOW

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def in_child(function):
    """The exit status of a forked child that runs it; 1 for an exception."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException as failure:
            sys.stderr.write(f"in the child: {failure!r}\n")
        finally:
            os._exit(status)
    end = time.monotonic() + 60
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError("the child hangs")
        time.sleep(0.01)


def test_a_child_opens_its_own(runtime, scale, cache, fake_path):
    runtime.compile(scale, "sm_90a")

    def child():
        with pytest.raises(kiln.InvalidError, match="forked"):
            runtime.compile(scale, "sm_90a")
        with kiln.Runtime(cache_dir=cache, driver=fake_path) as own:
            assert own.compile(scale, "sm_90a").origin == "local"
            assert own.compile(scale, "sm_80").origin == "compiled"

    assert in_child(child) == 0
    assert runtime.compile(scale, "sm_80").origin == "local"


def test_a_child_does_not_use_its_parents_kernels(runtime, scale, fake):
    kernel = runtime.kernel(scale, "scale<float>")
    kernel(1, 32, 4096, 1.0, stream=0)

    def child():
        with pytest.raises(kiln.InvalidError, match="forked"):
            kernel(1, 32, 4096, 1.0, stream=0)

    assert in_child(child) == 0
    kernel(1, 32, 4096, 1.0, stream=0)
    assert fake.count() == 2


def test_a_fork_during_a_compile(runtime, slow, scale):
    compiling = runtime.compile_async(slow, "sm_90a")
    time.sleep(0.2)

    def child():
        with pytest.raises(kiln.Error):
            compiling.result(timeout=5)

    assert in_child(child) == 0
    compiling.cancel()
    assert runtime.compile(scale, "sm_90a").origin == "compiled"


def test_children_that_end_by_themselves(run):
    run("""
import os, sys
program = kiln.Program(SCALE, name="scale.cu", kernels=["scale<float>"])
runtime = kiln.Runtime(cache_dir=CACHE, driver=DRIVER, log=lambda *_: None, observer=lambda _: None)
runtime.compile(program, "sm_90a")
child = os.fork()
if child == 0:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
""")


def test_multiprocessing(run):
    run("""
import multiprocessing

def compile_one(arch):
    with kiln.Runtime(cache_dir=CACHE, driver=DRIVER) as own:
        return own.compile(kiln.Program(SCALE, name="scale.cu", kernels=["scale<float>"]), arch).arch

with kiln.Runtime(cache_dir=CACHE, driver=DRIVER) as runtime:
    runtime.compile(kiln.Program(SCALE, name="scale.cu", kernels=["scale<float>"]), "sm_90a")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(compile_one, ["sm_80", "sm_86", "sm_90a"]) == ["sm_80", "sm_86", "sm_90a"]
""")


ENDINGS = {
    "nobody waits": "runtime.compile_async(program, 'sm_90a')",
    "somebody keeps it": "kept = runtime.compile_async(program, 'sm_90a')",
    "a daemon thread compiles": "background(lambda: runtime.compile(program, 'sm_90a'))",
    "daemon threads wait": "kept = runtime.compile_async(program, 'sm_90a')\n"
                           "for _ in range(4): background(kept.result)",
    "a daemon thread prefetches": "background(lambda: runtime.prefetch([(quick, 'sm_80'), (program, 'sm_90a')]))",
    "a daemon thread wants a kernel": "background(lambda: runtime.kernel(program, 'slow'))",
    "a task awaits": "import asyncio\n"
                     "async def main():\n"
                     "    asyncio.ensure_future(wait(runtime.compile_async(program, 'sm_90a')))\n"
                     "    await asyncio.sleep(0.2)\n"
                     "async def wait(compiling): await compiling\n"
                     "asyncio.run(main())",
    "a loop in a daemon thread awaits": "import asyncio\n"
                                        "async def wait(): await runtime.compile_async(program, 'sm_90a')\n"
                                        "background(lambda: asyncio.run(wait()))",
}


@pytest.mark.parametrize("callbacks", ["", ", log=lambda *_: None, observer=lambda _: None"], ids=["plain", "callbacks"])
@pytest.mark.parametrize("what", ENDINGS.values(), ids=ENDINGS)
def test_the_interpreter_ends_during_a_compile(run, what, callbacks):
    begin = time.monotonic()
    run(f"""
import threading, time, warnings
def background(function):
    def quietly():
        try: function()
        except kiln.Error: pass
    threading.Thread(target=quietly, daemon=True).start()
program = kiln.Program(SLOW, name="slow.cu", kernels=["slow"])
quick = kiln.Program(SCALE, name="scale.cu", kernels=["scale<float>"])
runtime = kiln.Runtime(cache_dir=CACHE, driver=DRIVER, log_level="off"{callbacks})
{what}
time.sleep(0.5)
""")
    assert time.monotonic() - begin < 30


def test_an_interrupt_ends_a_compile(cache, fake_path):
    code = f"""
import signal
import kiln
signal.signal(signal.SIGINT, signal.default_int_handler)  # A shell's background processes begin with it ignored.
runtime = kiln.Runtime(cache_dir={str(cache)!r}, driver={fake_path!r})
program = kiln.Program({SLOW!r}, name="slow.cu", kernels=["slow"])
print("begin", flush=True)
try:
    runtime.compile(program, "sm_90a")
except KeyboardInterrupt:
    artifact = runtime.compile(kiln.Program({SCALE!r}, name="scale.cu", kernels=["scale<float>"]), "sm_90a")
    print("interrupted", artifact.origin, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "begin\n"
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=120)
        finally:
            process.kill()
    assert (out, process.returncode) == ("interrupted compiled\n", 0)
