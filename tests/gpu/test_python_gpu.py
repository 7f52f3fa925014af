"""The Python package on a real GPU: arrays and streams of torch and CuPy, and the example. What is not installed is skipped."""

import os
import pathlib
import subprocess
import sys

import pytest

import kiln

ADD = "template <class T> __global__ void add(T* out, const T* x, T by, int n) {" \
      " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = x[i] + by; }"


@pytest.fixture(scope="module")
def runtime():
    with kiln.Runtime(log_level="off") as opened:
        driver = opened.availability("driver")
        if not driver.available:
            pytest.skip(driver.reason)
        yield opened


@pytest.fixture
def add(runtime):
    return runtime.kernel(kiln.Program(ADD, name="add.cu", kernels=["add<float>"]), "add<float>")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_tensors_in_torchs_current_stream(add, torch):
    x = torch.arange(1000, dtype=torch.float32, device="cuda")
    out = torch.zeros_like(x)
    add(4, 256, out, x, 0.5, 1000)
    assert torch.equal(out, x + 0.5)
    other = torch.cuda.Stream()
    with torch.cuda.stream(other):
        add(4, 256, out, x, 1.5, 1000)
    other.synchronize()
    assert torch.equal(out, x + 1.5)
    add[4, 256, other](out, x, 2.5, 1000)
    other.synchronize()
    assert torch.equal(out, x + 2.5)


def test_a_slice_begins_where_it_begins(add, torch):
    x = torch.arange(1000, dtype=torch.float32, device="cuda")
    out = torch.zeros_like(x)
    add(1, 256, out[500:], x[100:], 0.0, 100)
    torch.cuda.synchronize()
    assert torch.equal(out[500:600], x[100:200]) and out.count_nonzero() == 100


def test_a_launch_is_captured_in_torchs_graph(add, torch):
    x = torch.ones(256, device="cuda")
    graph = torch.cuda.CUDAGraph()
    add(1, 256, x, x, 0.0, 256)
    with torch.cuda.graph(graph):
        add(1, 256, x, x, 1.0, 256)
    assert torch.equal(x, torch.ones_like(x))
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(x, torch.full_like(x, 4))


def test_a_tensor_of_the_host_is_refused(add, torch):
    with pytest.raises(TypeError, match="host memory"):
        add(1, 1, torch.zeros(4), torch.zeros(4), 0.0, 1)


def test_cupys_arrays_and_streams(add):
    cupy = pytest.importorskip("cupy")
    x, out = cupy.arange(100, dtype=cupy.float32), cupy.zeros(100, dtype=cupy.float32)
    add(1, 128, out, x, 2.0, 100, stream=0)
    assert bool((out == x + 2).all())
    with cupy.cuda.Stream(non_blocking=True) as stream:
        add(1, 128, out, x, 3.0, 100, stream=stream)
        stream.synchronize()
    assert bool((out == x + 3).all())


def test_the_example_with_torch(torch, tmp_path):
    example = pathlib.Path(kiln.__file__).parents[1] / "examples" / "rms_norm.py"
    if not example.exists():
        example = pathlib.Path(__file__).parents[2] / "tools" / "python" / "examples" / "rms_norm.py"
    said = [subprocess.run([sys.executable, example], check=True, capture_output=True, text=True,
                           env={**os.environ, "KILN_CACHE_DIR": str(tmp_path)}).stdout for _ in range(2)]
    assert "5 compiled" in said[0] and "5 served" in said[1], said
