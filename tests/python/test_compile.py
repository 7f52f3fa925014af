"""Compiles, what they give, and what they raise."""

import gc
import os
import threading
import time

import pytest

import kiln
from conftest import SCALE


def test_compiles_then_serves(runtime, scale, cache, fake_path):
    artifact = runtime.compile(scale, "sm_90a")
    assert (artifact.origin, artifact.arch, artifact.image_kind) == ("compiled", "sm_90a", "cubin")
    assert artifact.program == "scale.cu" and len(artifact.key) == 32
    assert artifact.toolchain.startswith("NVRTC") and artifact.compile_seconds > 0
    assert runtime.compile(scale, "sm_90a").origin == "memory"
    with kiln.Runtime(cache_dir=cache, mode="cache-only", driver=fake_path) as another:
        assert another.compile(scale, "sm_90a").origin == "local"
        assert another.counters().local_hits == 1
        with pytest.raises(kiln.NotCachedError):
            another.compile(scale, "sm_80")


def test_kernels_tell_of_themselves(runtime, scale):
    kernel, = runtime.compile(scale, "sm_90a").kernels
    assert (kernel.expression, kernel.symbol, kernel.arch) == ("scale<float>", "_Z5scaleIfEvPT_S0_", "sm_90a")
    assert kernel.registers > 0 and kernel.shared_bytes == 0
    assert kernel.params == (kiln.Parameter(0, 8, "pointer"), kiln.Parameter(8, 4, "floating"))


def test_the_image_is_not_copied_and_outlives_all(cache, fake_path, scale):
    with kiln.Runtime(cache_dir=cache, driver=fake_path) as opened:
        artifact = opened.compile(scale, "sm_90a")
        image, again = artifact.image, artifact.image
    assert image.readonly and image.format == "B" and bytes(image[:4]) == b"\x7fELF"
    whole = bytes(image)
    del artifact, again
    gc.collect()
    assert bytes(image) == whole


def test_ptx_tells_no_parameters(runtime, scale):
    artifact = runtime.compile(scale, "compute_90")
    assert artifact.image_kind == "ptx" and b".entry" in bytes(artifact.image)
    assert artifact.kernels[0].params is None
    assert runtime.compile(scale, "sm_90", image="ptx").image_kind == "ptx"
    with pytest.raises(kiln.InvalidError, match="image is 'sass'"):
        runtime.compile(scale, "sm_90", image="sass")


def test_warnings_are_in_the_log(runtime):
    program = kiln.Program("__global__ void k(int* x) { int unused; *x = 1; }", name="k.cu", kernels=["k"])
    assert 'variable "unused" was declared but never referenced' in runtime.compile(program, "sm_90a").log


def test_a_failure_has_the_whole_log(runtime):
    program = kiln.Program("__global__ void k() { undeclared(); }", name="wrong.cu", kernels=["k"])
    with pytest.raises(kiln.CompileError) as caught:
        runtime.compile(program, "sm_90a")
    assert caught.value.code == "compile_failed" and "wrong.cu" in caught.value.message
    assert 'identifier "undeclared" is undefined' in caught.value.log and caught.value.log in str(caught.value)


@pytest.mark.parametrize("source, kernels, arch, kind, code", [
    (SCALE, ["scale<float>"], "sm_9x", kiln.InvalidError, "unknown_arch"),
    (SCALE, ["missing"], "sm_90a", kiln.NotFoundError, "unknown_kernel"),
    ('#include "nowhere.cuh"\n' + SCALE, ["scale<float>"], "sm_90a", kiln.CompileError, "header_not_found"),
])
def test_errors_have_classes(runtime, source, kernels, arch, kind, code):
    with pytest.raises(kind) as caught:
        runtime.compile(kiln.Program(source, name="scale.cu", kernels=kernels), arch)
    assert caught.value.code == code and isinstance(caught.value, kiln.Error)


def test_without_a_compiler(cache, scale, tmp_path):
    with kiln.Runtime(cache_dir=cache, nvrtc=tmp_path / "libnvrtc.so.13") as opened:
        with pytest.raises(kiln.MissingError, match="NVRTC"):
            opened.compile(scale, "sm_90a")
        told = opened.availability("compiler")
        assert not told.available and str(tmp_path) in told.reason


def test_explain_says_why(runtime, scale):
    missed = runtime.explain(scale, "sm_90a")
    assert not missed.hit and missed.key == "" and "nothing is stored" in missed.reason
    artifact = runtime.compile(scale, "sm_90a")
    found = runtime.explain(scale, "sm_90a")
    assert found.hit and found.key == artifact.key and found.reason == ""
    edited = kiln.Program(SCALE + "\n// edited", name="scale.cu", kernels=["scale<float>"])
    assert "source" in runtime.explain(edited, "sm_90a").summary


def test_prefetch_reports_each(runtime, scale):
    wrong = kiln.Program("__global__ void k() { undeclared(); }", name="wrong.cu", kernels=["k"])
    runtime.compile(scale, "sm_90a")
    seen = []
    report = runtime.prefetch([(scale, "sm_90a"), (scale, "sm_80"), (wrong, "sm_80"), (scale, "sm_80", "ptx")],
                              progress=seen.append)
    assert report == kiln.PrefetchReport(1, 2, 1)
    assert [each.done for each in seen] == [1, 2, 3, 4] and seen[0].total == 4
    failed, = (each for each in seen if each.error is not None)
    assert failed.program is wrong and failed.origin is None and isinstance(failed.error, kiln.CompileError)
    assert runtime.prefetch([]) == kiln.PrefetchReport(0, 0, 0)


def test_progress_ends_a_prefetch(runtime, scale):
    items = [(scale, arch) for arch in ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a")]
    assert runtime.prefetch(items, progress=lambda _: False).failures > 0

    def fails(_):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        runtime.prefetch([(scale, "sm_100"), (scale, "sm_90a")], progress=fails)


def test_it_says_what_it_does(cache, fake_path, scale):
    lines, events = [], []
    options = {"cache_dir": cache, "driver": fake_path, "mode": "warn", "log_level": "debug"}
    with kiln.Runtime(**options, log=lambda level, text: lines.append((level, text)), observer=events.append) as opened:
        opened.compile(scale, "sm_90a")
        opened.compile(scale, "sm_90a")
    kinds = [event.kind for event in events]
    assert [kind for kind in kinds if kind != "load"] == ["miss", "compile_begin", "compile_end", "store", "hit"]
    assert events[-1].origin == "memory" and events[-1].program == "scale.cu"
    assert {level for level, _ in lines} <= {"warn", "info", "debug"} and lines


def test_settings_that_make_no_sense():
    with pytest.raises(kiln.InvalidError, match="workers is 'many'"):
        kiln.Runtime(workers="many")
    with pytest.raises(kiln.InvalidError, match="mode is 'fast'"):
        kiln.Runtime(mode="fast")


@pytest.mark.parametrize("arguments, message", [
    ({"cache": "/my/cache"}, "cache has to be True or False (cache_dir names its folder), not str"),
    ({"read_only": "no"}, "read_only has to be True or False, not str"),
    ({"trust_others": 1}, "trust_others has to be True or False, not int"),
    ({"allow_ptx": "off"}, "allow_ptx has to be True or False, not str"),
    ({"bundles": "a.kiln"}, "bundles is one str; give a list of str"),
    ({"embedded_bundles": b"KILN"}, "embedded_bundles is one bytes; give a list of bytes"),
    ({"embedded_bundles": [5]}, "embedded_bundles has to be bytes, not int"),
    ({"bundles": 3}, "bundles has to be a list, not int"),
    ({"remotes": 3}, "remotes has to be a list, not int"),
    ({"remotes": [3]}, "remotes has to be a list of str, not int"),
    ({"nvrtc": 3}, "nvrtc has to be a str, bytes or a pathlib.Path, not int"),
    ({"max_bytes": "5G"}, "max_bytes has to be an int, not str"),
    ({"timeout": "x"}, "timeout has to be a number of seconds, not str"),
    ({"patience": "x"}, "patience has to be a number of seconds, not str"),
])
def test_settings_of_another_type(cache, arguments, message):
    with pytest.raises(TypeError) as caught:
        kiln.Runtime(**{"cache_dir": cache} | arguments)
    assert str(caught.value) == message


PATHS = ("cache_dir", "nvrtc", "nvjitlink", "nvfatbin", "driver", "worker", "signing_key", "record", "remote_helper")
TEXTS = ("variant", "trust_owners", "group", "engine", "trusted_keys", "remotes")


@pytest.mark.parametrize("name", [*PATHS, *TEXTS, "bundles"])
def test_settings_that_c_would_cut(tmp_path, name):
    for value in ({str(tmp_path / "a") + "\0b", os.fsencode(tmp_path / "a") + b"\0b"} if name in PATHS else {"a\0b"}):
        with pytest.raises(kiln.InvalidError) as caught:
            kiln.Runtime(**{"cache_dir": tmp_path / "cache"} | {name: [value] if name == "bundles" else value})
        assert caught.value.message == f"{name} holds a NUL byte"
    assert not list(tmp_path.iterdir())


def test_an_empty_path_is_not_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (*PATHS, "bundles"):
        with pytest.raises(kiln.InvalidError) as caught:
            kiln.Runtime(**{"cache_dir": tmp_path / "cache"} | {name: [""] if name == "bundles" else ""})
        assert caught.value.message == f"{name}: the path is empty"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name, values, words", [
    ("max_bytes", (-1, 0, 2**64, 2**64 + 4096, 2**70), "a number from 1 to 18446744073709551615"),
    ("workers", (-1, 1025, 2**32 + 1, 2**70), "a number of processes, from 0 for none to 1024, or 'auto'"),
    ("patience", (-1, 86400.5, 2**70, float("nan"), float("inf")), "a number of seconds from 0 to 86400"),
    ("timeout", (-1, 0, 86401, 2**70, float("nan")), "a number of seconds from 0.001 to 86400"),
])
def test_settings_that_c_would_wrap(cache, name, values, words):
    for value in values:
        with pytest.raises(kiln.InvalidError) as caught:
            kiln.Runtime(**{"cache_dir": cache, name: value})
        assert caught.value.message == f"{name} is {value}; it can be {words}"


def test_settings_at_their_bounds(cache):
    for arguments in ({"max_bytes": 1}, {"max_bytes": 2**64 - 1}, {"workers": 0}, {"workers": 1024}, {"patience": 0},
                      {"patience": 86400, "timeout": 0.001}):
        kiln.Runtime(cache_dir=cache, **arguments).close()


@pytest.mark.parametrize("call, what", [
    (lambda runtime, _: runtime.link("k\0", [], "sm_90a"), "name"),
    (lambda runtime, _: runtime.link("k", [], "sm_90a", options=["-g\0"]), "options"),
    (lambda runtime, _: runtime.link("k", [], "sm_90a", kernels=["k\0"]), "kernels"),
    (lambda runtime, scale: runtime.fatbin(scale, ["sm_90\0a"]), "arch"),
    (lambda runtime, scale: runtime.prefetch([(scale, "sm_90\0a")]), "arch"),
    (lambda runtime, scale: runtime.kernel(scale, "scale<float>\0"), "name"),
])
def test_arguments_that_c_would_cut(runtime, scale, call, what):
    with pytest.raises(kiln.InvalidError) as caught:
        call(runtime, scale)
    assert caught.value.message == f"{what} holds a NUL byte"


NO_PROGRAM = "program has to be a kiln.Program, as kiln.Program(source, name=..., kernels=[...]) makes one, not str"
NO_ARCH = 'arch has to be a str such as "sm_90a", not int'


@pytest.mark.parametrize("call, message", [
    (lambda runtime, _: runtime.compile("text", "sm_90a"), NO_PROGRAM),
    (lambda runtime, _: runtime.compile_async("text", "sm_90a"), NO_PROGRAM),
    (lambda runtime, _: runtime.prefetch([("text", "sm_90a")]), NO_PROGRAM),
    (lambda runtime, _: runtime.explain("text", "sm_90a"), NO_PROGRAM),
    (lambda runtime, _: runtime.fatbin("text", ["sm_90a"]), NO_PROGRAM),
    (lambda runtime, _: runtime.kernel("text", "scale<float>"), NO_PROGRAM),
    (lambda runtime, _: runtime.kernel("text", "scale<float>", arch="sm_90a"), NO_PROGRAM),
    (lambda runtime, scale: runtime.compile(scale, 90), NO_ARCH),
    (lambda runtime, scale: runtime.prefetch([(scale, 90)]), NO_ARCH),
    (lambda runtime, scale: runtime.explain(scale, 90), NO_ARCH),
    (lambda runtime, scale: runtime.fatbin(scale, [90]), NO_ARCH),
    (lambda runtime, scale: runtime.kernel(scale, "scale<float>", arch=90), NO_ARCH),
    (lambda runtime, _: runtime.link("k.link", [], 90), NO_ARCH),
    (lambda runtime, _: runtime.link("k.link", [], "sm_90a", kernels="k"), "kernels is one str; give a list of str"),
    (lambda runtime, scale: runtime.fatbin(scale, "sm_90"), "archs is one str; give a list of str"),
    (lambda runtime, scale: runtime.kernel(scale, 3), "name has to be a str, not int"),
    (lambda runtime, scale: runtime.compile_async(scale, "sm_90a", priority="x"), "priority has to be an int, not str"),
    (lambda runtime, _: runtime.remotes(reach=2**32), "reach has to be True or False, not int"),
])
def test_arguments_of_another_type(runtime, scale, call, message):
    with pytest.raises(TypeError) as caught:
        call(runtime, scale)
    assert str(caught.value) == message


def test_without_workers(cache, fake_path, scale):
    with kiln.Runtime(cache_dir=cache, driver=fake_path, workers=0) as opened:
        assert opened.compile(scale, "sm_90a").origin == "compiled"


def test_without_a_cache_and_with_one_that_cannot_be(cache, fake_path, scale, tmp_path):
    with kiln.Runtime(cache_dir=cache, cache=False, driver=fake_path) as opened:
        opened.compile(scale, "sm_90a")
        opened.check_cache()
    assert not cache.exists()
    (tmp_path / "file").write_text("")
    with kiln.Runtime(cache_dir=tmp_path / "file", driver=fake_path, log_level="off") as opened:
        assert opened.compile(scale, "sm_90a").origin == "compiled"
        with pytest.raises(kiln.Error) as caught:
            opened.check_cache()
        assert caught.value.code == "cache_unusable"


def test_a_closed_runtime_says_so(cache, fake_path, scale):
    opened = kiln.Runtime(cache_dir=cache, driver=fake_path)
    opened.close()
    opened.close()
    with pytest.raises(kiln.InvalidError, match="closed"):
        opened.compile(scale, "sm_90a")


def test_fatbin_and_link(runtime):
    for tool, make in (("packer", lambda: runtime.fatbin(plain, ["sm_80", "compute_90"])),
                       ("linker", lambda: runtime.link("k.link", [runtime.compile(plain, "sm_90a", image="ltoir")],
                                                       "sm_90a"))):
        plain = kiln.Program("__global__ void k(int* x) { *x = 1; }", name="k.cu", kernels=["k"])
        if runtime.availability(tool).available:
            assert [kernel.expression for kernel in make().kernels] == ["k"]
        else:
            with pytest.raises(kiln.MissingError):
                make()


def test_a_kernel_of_cub(runtime):
    program = kiln.Program("""
#include <cub/block/block_reduce.cuh>
__global__ void sum(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage storage;
  const int total = Reduce(storage).Sum(in[threadIdx.x]);
  if (threadIdx.x == 0) *out = total;
}""", name="sum.cu", kernels=["sum"], options=["--std=c++17"])
    try:
        artifact = runtime.compile(program, "sm_90a")
    except kiln.CompileError as failure:
        if failure.code != "header_not_found":
            raise
        pytest.skip("no CUB beside this NVRTC")
    assert artifact.kernels[0].shared_bytes > 0


def test_threads_share_one_compile(runtime, scale):
    artifacts = []
    threads = [threading.Thread(target=lambda: artifacts.append(runtime.compile(scale, "sm_90a"))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(artifacts) == 16 and len({artifact.key for artifact in artifacts}) == 1
    assert runtime.counters().compiles == 1


def test_another_machine_is_served_from_a_store_that_both_share(tmp_path, scale):
    (tmp_path / "store").mkdir()
    store = f"file://{tmp_path}/store"
    with kiln.Runtime(cache_dir=tmp_path / "first", remotes=store) as first:
        compiled = first.compile(scale, "sm_90a")
        assert compiled.origin == "compiled"
        with kiln.Runtime(cache_dir=tmp_path / "second", remotes=[store]) as second:
            for _ in range(500):
                # The entry is put while nobody waits.
                (shared,) = first.remotes()
                if shared.pushed == 1:
                    break
                time.sleep(0.01)
            assert (shared.url, shared.fault, shared.failures, shared.pushed) == (store, "", 0, 1)
            assert shared.gives_leases and not shared.read_only and not shared.resting
            served = second.compile(scale, "sm_90a")
            assert served.origin == "remote"
            assert bytes(served.image) == bytes(compiled.image)
            assert second.counters().remote_hits == 1
            assert second.remotes(reach=True)[0].round_trip_us > 0
