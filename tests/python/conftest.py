"""What the tests of the Python package share. They run against the library of a build folder (KILN_PYTHON_LIBRARY), or against
an installed wheel where that is not set.

KILN_FAKE_CUDA is the fake driver that records launches, KILN_COMPUTING_CUDA the one that computes the demo's kernels."""

import ctypes
import os
import subprocess
import sys

import pytest

import kiln

# A compile that goes on until somebody ends it.
SLOW = "#define A0 +1\n" + "".join(f"#define A{n} A{n - 1} A{n - 1}\n" for n in range(1, 61)) + \
    "#if 0 A60\n#endif\n__global__ void slow() {}\n"
SCALE = "template <class T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by; }"


class Launch(ctypes.Structure):
    _fields_ = [("kernel", ctypes.c_char_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
                ("shared_bytes", ctypes.c_uint), ("stream", ctypes.c_void_p), ("context", ctypes.c_void_p),
                ("device", ctypes.c_int), ("param_count", ctypes.c_size_t)]


class Parameter(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class FakeDriver:
    """The fake driver as this process has it."""

    def __init__(self, path):
        self.path = path
        self.library = ctypes.CDLL(path)
        self.library.fake_cuda_launch_count.restype = ctypes.c_size_t
        self.library.fake_cuda_launch.restype = Launch
        self.library.fake_cuda_param.restype = Parameter
        self.library.fake_cuda_reset()

    def count(self):
        return self.library.fake_cuda_launch_count()

    def launch(self, index=-1):
        return self.library.fake_cuda_launch(ctypes.c_size_t(index % self.count()))

    def params(self, index=-1):
        index = index % self.count()
        found = [self.library.fake_cuda_param(ctypes.c_size_t(index), ctypes.c_size_t(position))
                 for position in range(self.launch(index).param_count)]
        return [ctypes.string_at(param.bytes, param.size) for param in found]


@pytest.fixture(scope="session")
def fake_path():
    path = os.environ.get("KILN_FAKE_CUDA")
    if not path:
        pytest.skip("KILN_FAKE_CUDA does not name the fake driver")
    return path


@pytest.fixture
def fake(fake_path):
    return FakeDriver(fake_path)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def runtime(cache, fake_path):
    with kiln.Runtime(cache_dir=cache, driver=fake_path, log_level="off") as opened:
        yield opened


@pytest.fixture
def scale():
    return kiln.Program(SCALE, name="scale.cu", kernels=["scale<float>"])


@pytest.fixture
def slow():
    return kiln.Program(SLOW, name="slow.cu", kernels=["slow"])


@pytest.fixture
def run(cache, fake_path):
    """Runs Python code in a process of its own, with CACHE, DRIVER, SLOW and SCALE; it has to end by itself, and well."""

    def run_code(code, status=0, **options):
        setting = f"import kiln\nCACHE, DRIVER, SLOW, SCALE = {str(cache)!r}, {fake_path!r}, {SLOW!r}, {SCALE!r}\n"
        done = subprocess.run([sys.executable, "-c", setting + code], capture_output=True, text=True, timeout=120, **options)
        assert done.returncode == status, f"{done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    return run_code
