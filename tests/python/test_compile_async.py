"""Compiles that tasks and threads wait for."""

import asyncio
import threading
import time

import pytest

import kiln


def numbered(number):
    return kiln.Program(f"__global__ void k(int* x) {{ *x = {number}; }}", name=f"k{number}.cu", kernels=["k"])


def test_await_gives_the_artifact(runtime, scale):
    async def main():
        first = await runtime.compile_async(scale, "sm_90a")
        compiling = runtime.compile_async(scale, "sm_90a")
        assert compiling.done()  # A hit is ready at once.
        return first, await compiling

    first, second = asyncio.run(main())
    assert (first.origin, second.origin, first.key) == ("compiled", "memory", second.key)


def test_many_at_once(runtime):
    async def main():
        return await asyncio.gather(*(runtime.compile_async(numbered(number), "sm_90a") for number in range(12)))

    artifacts = asyncio.run(main())
    assert len({artifact.key for artifact in artifacts}) == 12


def test_the_loop_goes_on_meanwhile(runtime, scale):
    async def main():
        turns, compiling = 0, asyncio.ensure_future(wait_for(runtime.compile_async(scale, "sm_90a")))
        while not compiling.done():
            turns += 1
            await asyncio.sleep(0.001)
        return turns

    async def wait_for(compiling):
        return await compiling

    assert asyncio.run(main()) > 2


def test_failures_are_raised_where_it_is_awaited(runtime):
    wrong = kiln.Program("__global__ void k() { undeclared(); }", name="wrong.cu", kernels=["k"])

    async def main():
        await runtime.compile_async(wrong, "sm_90a")

    with pytest.raises(kiln.CompileError, match="undeclared"):
        asyncio.run(main())


def test_a_cancelled_task_cancels_the_compile(runtime, slow, scale):
    async def main():
        compiling = runtime.compile_async(slow, "sm_90a")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(waited(compiling), 0.3)
        assert compiling.done()
        with pytest.raises(kiln.CancelledError):
            await compiling
        # The workers are free again.
        return await runtime.compile_async(scale, "sm_90a")

    async def waited(compiling):
        return await compiling

    assert asyncio.run(main()).origin == "compiled"


def test_cancel_wakes_who_awaits(runtime, slow):
    async def main():
        compiling = runtime.compile_async(slow, "sm_90a")
        asyncio.get_running_loop().call_later(0.2, compiling.cancel)
        await compiling

    begin = time.monotonic()
    with pytest.raises(kiln.CancelledError):
        asyncio.run(main())
    assert time.monotonic() - begin < 20


def test_a_loop_that_ends_first(runtime, slow):
    async def main():
        asyncio.ensure_future(waited(runtime.compile_async(slow, "sm_90a")))
        await asyncio.sleep(0.1)

    async def waited(compiling):
        return await compiling

    asyncio.run(main())  # Which cancels the tasks that are left.


def test_threads_wait_with_and_without_a_bound(runtime, slow, scale):
    compiling = runtime.compile_async(slow, "sm_90a")
    with pytest.raises(TimeoutError):
        compiling.result(timeout=0.1)
    assert not compiling.done()
    threading.Timer(0.2, compiling.cancel).start()
    with pytest.raises(kiln.CancelledError):
        compiling.result()
    assert runtime.compile_async(scale, "sm_90a", priority=3).result(timeout=60).arch == "sm_90a"


def test_a_priority_that_c_would_wrap(runtime, scale):
    for priority in (-2**31 - 1, 2**31, 2**70):
        with pytest.raises(kiln.InvalidError) as caught:
            runtime.compile_async(scale, "sm_90a", priority=priority)
        assert caught.value.message == f"priority is {priority}; it can be a number from {-2**31} to {2**31 - 1}"


@pytest.mark.parametrize("timeout", [-1, pytest.param(-10**400, id="beyond floats"), float("nan")])
def test_a_bound_that_has_passed(runtime, slow, timeout):
    compiling = runtime.compile_async(slow, "sm_90a")
    with pytest.raises(TimeoutError):
        compiling.result(timeout)
    compiling.cancel()


def test_a_bound_is_a_number(runtime, scale):
    compiling = runtime.compile_async(scale, "sm_90a")
    for timeout in ("x", b"1", [1]):
        with pytest.raises(TypeError, match=f"timeout has to be a number of seconds, not {type(timeout).__name__}"):
            compiling.result(timeout)
    for timeout in (float("inf"), 2**70, 10**400):
        assert compiling.result(timeout).arch == "sm_90a"


def test_closing_cancels(cache, fake_path, slow):
    opened = kiln.Runtime(cache_dir=cache, driver=fake_path)
    compiling = opened.compile_async(slow, "sm_90a")
    opened.close()
    with pytest.raises(kiln.CancelledError):
        compiling.result(timeout=60)


def test_two_loops_in_two_threads(runtime):
    origins = []

    def loop(begin):
        async def main():
            compiling = [runtime.compile_async(numbered(begin + number), "sm_90a") for number in range(4)]
            origins.extend([(await each).origin for each in compiling])

        asyncio.run(main())

    threads = [threading.Thread(target=loop, args=(begin,)) for begin in (100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert origins == ["compiled"] * 8
