"""The package as such: it costs little to import, and finds what belongs to it."""

import os
import pathlib
import subprocess
import sys

import pytest

import kiln
from kiln import _library, _runtime


def test_import_brings_little_along(run):
    heavy = ("asyncio", "typing", "threading", "dataclasses", "inspect", "logging", "subprocess", "numpy", "torch", "cffi")
    run(f"import sys\nassert not [name for name in {heavy!r} if name in sys.modules]")


def test_everything_public_is_documented_and_listed():
    assert sorted(kiln.__all__) == kiln.__all__
    for name in kiln.__all__:
        assert getattr(kiln, name).__doc__, name


def readmes_examples():
    readme = pathlib.Path(__file__).resolve().parents[2] / "tools/python/README.md"
    return [block.split("```")[0] for block in readme.read_text(encoding="utf-8").split("```python\n")[1:]]


def test_the_readmes_first_example(run):
    words = run(readmes_examples()[0].replace("kiln.Runtime()", "kiln.Runtime(cache_dir=CACHE)")).split()
    assert words[0] == "_Z5scaleIfEvPT_S0_" and words[-1] == "compiled"


# What the README's launch takes of cuda.core, for a machine that has neither it nor a GPU.
CUDA_CORE = """
import sys, types

class Stream:
    def __cuda_stream__(self): return 0, 0x99
    def sync(self): print("synchronized")

class Buffer:
    def __init__(self, size): self.__cuda_array_interface__ = {"data": (4096, False), "shape": (size,), "typestr": "|u1"}
    def fill(self, value, *, stream): assert type(stream) is Stream

class Device:
    def set_current(self): pass
    def create_stream(self): return Stream()
    def allocate(self, size, *, stream): return Buffer(size)

sys.modules["cuda"], sys.modules["cuda.core"] = types.ModuleType("cuda"), types.ModuleType("cuda.core")
sys.modules["cuda.core"].Device = Device
"""
TOLD = """
import ctypes
fake = ctypes.CDLL(DRIVER)
fake.fake_cuda_launch_count.restype = ctypes.c_size_t
print("launches", fake.fake_cuda_launch_count())
"""


def test_the_readmes_launch(run):
    first, second = readmes_examples()
    told = run(CUDA_CORE + (first + second).replace("kiln.Runtime()", "kiln.Runtime(cache_dir=CACHE, driver=DRIVER)") + TOLD)
    assert told.splitlines()[-2:] == ["synchronized", "launches 1"]


@pytest.mark.skipif("KILN_PYTHON_LIBRARY" in os.environ, reason="the package is not installed from its wheel")
def test_the_wheel_has_all_it_needs(cache, fake_path):
    folder = pathlib.Path(kiln.__file__).parent
    with kiln.Runtime(cache_dir=cache, driver=fake_path) as runtime:
        assert runtime.availability("worker").path == str(folder / "kiln-worker")
        compiler = runtime.availability("compiler")
    assert compiler.path.startswith(str(folder.parent)), compiler
    for binary in ("libkiln_c.so", "kiln-worker", "kiln"):
        told = subprocess.run(["readelf", "--dynamic", folder / binary], capture_output=True, text=True, check=True).stdout
        needed = {line.split("[")[1].split(".so")[0] for line in told.splitlines() if "(NEEDED)" in line}
        assert needed <= {"libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64"}, (binary, needed)


def test_a_library_that_is_not_there():
    done = subprocess.run([sys.executable, "-c", "import kiln"], capture_output=True, text=True,
                          env={**os.environ, "KILN_PYTHON_LIBRARY": "/nonexistent/libkiln_c.so"})
    assert done.returncode == 1 and "name the library with KILN_PYTHON_LIBRARY" in done.stderr


def test_structures_are_the_headers():
    header = pathlib.Path(__file__).resolve().parents[2] / "runtime/include/kiln/c_api.h"
    text = header.read_text(encoding="utf-8")
    for structure, record in (("kiln_runtime_options", _library.RuntimeOptions), ("kiln_program_spec", _library.ProgramSpec),
                              ("kiln_launch_config", _library.LaunchConfig), ("kiln_kernel_info", _library.KernelFields),
                              ("kiln_artifact_info", _library.ArtifactFields), ("kiln_counters", _library.CountersFields),
                              ("kiln_remote_info", _library.RemoteFields),
                              ("kiln_event", _library.EventFields), ("kiln_link_spec", _library.LinkSpec),
                              ("kiln_kernel_attributes", _library.AttributesFields)):
        body = text.split(f"typedef struct {structure} {{")[1].split("}")[0]
        lines = [line.partition("//")[0].strip() for line in body.splitlines()]
        names = [field.replace("*", " ").split()[-1] for field in " ".join(lines).split(";") if field.strip()]
        assert [name for name, *_ in record._fields_] == names[:len(record._fields_)], structure


@pytest.mark.parametrize("place", ["nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"])
def test_nvrtc_of_another_site_packages(tmp_path, monkeypatch, place):
    site = tmp_path / "lib/site-packages"
    library = site / place
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.delenv("KILN_NVRTC", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site-packages"), str(site)])
    assert _runtime.nvrtc_elsewhere() == os.fsencode(library)
    monkeypatch.setattr(_library, "FOLDER", str(site / "kiln"))
    assert _runtime.nvrtc_elsewhere() is None  # kiln's own search finds it.
    monkeypatch.setenv("KILN_NVRTC", "/elsewhere/libnvrtc.so.13")
    monkeypatch.setattr(_library, "FOLDER", str(tmp_path / "kiln"))
    assert _runtime.nvrtc_elsewhere() is None
