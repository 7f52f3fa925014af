"""Launches, through the fake driver: what arrives there, and what is refused before."""

import ctypes
import enum
import os
import struct
import sys
import threading
import types

import pytest

import kiln
from conftest import SCALE

ADDRESS = 0x7F0000001000


class DeviceArray:
    """Of a library that has `__cuda_array_interface__`."""

    def __init__(self, address=ADDRESS):
        self.__cuda_array_interface__ = {"data": (address, False), "shape": (4,), "typestr": "<f4", "version": 3}


class DlpackTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("dtype", ctypes.c_uint32), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p)]


class DlpackArray:
    """Of a library that has DLPack alone."""

    def __init__(self, device=2, offset=0):
        self.device = device
        self.tensor = DlpackTensor(data=ADDRESS, device_type=device, byte_offset=offset)
        self.streams = []

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self.tensor), b"dltensor", None)


class HostArray:
    """As numpy has it."""

    __array_interface__ = {"data": (ADDRESS, False), "shape": (4,), "typestr": "<f4", "version": 3}

    def __dlpack_device__(self):
        return 1, 0

    def __index__(self):
        return 5

    def __float__(self):
        return 5.0


@pytest.fixture
def load(runtime, fake):
    def load_kernel(source, name, **options):
        return runtime.kernel(kiln.Program(source, name="k.cu", kernels=[name]), name, **options)

    return load_kernel


@pytest.fixture
def scale_kernel(load):
    return load(SCALE, "scale<float>")


def test_a_launch_arrives(scale_kernel, fake):
    scale_kernel((2, 3), (32, 2, 2), ADDRESS, 0.5, stream=0x77, shared_bytes=64)
    launch = fake.launch()
    assert (list(launch.grid), list(launch.block)) == ([2, 3, 1], [32, 2, 2])
    assert (launch.stream, launch.shared_bytes, launch.kernel) == (0x77, 64, b"_Z5scaleIfEvPT_S0_")
    assert fake.params() == [struct.pack("Q", ADDRESS), struct.pack("f", 0.5)]


def test_with_brackets(scale_kernel, fake):
    scale_kernel[4, 32, 7](ADDRESS, 2)
    assert (list(fake.launch().grid), fake.launch().stream) == ([4, 1, 1], 7)
    scale_kernel[4, (32, 2), 7, 128](ADDRESS, 2)
    assert (fake.launch().shared_bytes, fake.launch().block[1]) == (128, 2)
    assert fake.params()[1] == struct.pack("f", 2)  # An integer for a float is a float.
    with pytest.raises(TypeError, match=r"kernel\[grid, block, stream\]"):
        scale_kernel[4]


def test_each_launch_has_its_own_configuration(scale_kernel, fake):
    for grid, stream in ((1, 1), (2, 1), (2, 2), (1, 1)):
        scale_kernel(grid, 32, ADDRESS, 1.0, stream=stream)
        assert (fake.launch().grid[0], fake.launch().stream) == (grid, stream)


@pytest.mark.parametrize("array", [DeviceArray(), DlpackArray(), DlpackArray(13), DlpackArray(2, 0)])
def test_device_arrays(scale_kernel, fake, array):
    scale_kernel(1, 1, array, 1.0, stream=0)
    assert fake.params()[0] == struct.pack("Q", ADDRESS)


def test_dlpack_counts_its_offset_and_orders_no_stream(scale_kernel, fake):
    array = DlpackArray(2, 256)
    scale_kernel(1, 1, array, 1.0, stream=0)
    assert fake.params()[0] == struct.pack("Q", ADDRESS + 256) and array.streams == [-1]


@pytest.mark.parametrize("array", [HostArray(), DlpackArray(1), DlpackArray(3), (ctypes.c_float * 2)(1, 2), bytes(8),
                                   bytearray(8), memoryview(bytes(8)), DlpackTensor()])
def test_a_host_array_is_a_type_error(scale_kernel, fake, array):
    for _ in range(2):
        with pytest.raises(TypeError, match=r"scale<float>: argument 1 of 2 is a .* in host memory"):
            scale_kernel(1, 1, array, 1.0, stream=0)
    assert fake.count() == 0


def test_a_host_array_is_no_number(load, scale_kernel, fake):
    scale_kernel(1, 1, ADDRESS, 1.0, stream=0)
    with pytest.raises(TypeError, match="argument 2 of 2 takes a floating-point number of 4 bytes"):
        scale_kernel(1, 1, ADDRESS, HostArray(), stream=0)
    kernel = load("__global__ void k(int a, bool b) {}", "k")
    kernel(1, 1, 1, True, stream=0)
    for wrong in ((HostArray(), True), (1, HostArray()), (1, DeviceArray())):
        with pytest.raises(TypeError, match="k: argument"):
            kernel(1, 1, *wrong, stream=0)
    assert fake.count() == 2


def test_numpy_and_its_scalars(load, scale_kernel, fake):
    numpy = pytest.importorskip("numpy")
    with pytest.raises(TypeError, match="argument 1 of 2 is a numpy.ndarray in host memory"):
        scale_kernel(1, 1, numpy.zeros(4), 1.0, stream=0)
    scale_kernel(1, 1, numpy.uint64(ADDRESS), numpy.float64(0.5), stream=0)
    assert fake.params() == [struct.pack("Q", ADDRESS), struct.pack("f", 0.5)]
    kernel = load("__global__ void k(int a, double b) {}", "k")
    kernel(1, 1, numpy.int8(-3), numpy.float32(0.5), stream=0)
    assert fake.params() == [struct.pack("i", -3), struct.pack("d", 0.5)]
    with pytest.raises(TypeError, match="k: argument 1 of 2 takes an integer of 4 bytes"):
        kernel(1, 1, numpy.float32(1), 1.0, stream=0)


def test_numbers_take_the_parameters_types(load, fake):
    kernel = load("__global__ void k(bool a, signed char b, unsigned short c, int d, unsigned e, long long f,"
                  " unsigned long long g, float h, double i) {}", "k")
    kernel(1, 1, True, -128, 65535, -2**31, 2**32 - 1, -2**63, 2**64 - 1, 0.25, 0.1, stream=0)
    formats = ("?", "b", "H", "i", "I", "q", "Q", "f", "d")
    values = (True, -128, 65535, -2**31, 2**32 - 1, -2**63, 2**64 - 1, 0.25, 0.1)
    assert fake.params() == [struct.pack(each, value) for each, value in zip(formats, values)]


def test_halves(load, fake):
    kernel = load("#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n__global__ void k(__half a, __nv_bfloat16 b) {}", "k")
    kernel(1, 1, 1.5, 1.00390625, stream=0)  # The latter lies between two, of which the even one is taken.
    assert fake.params() == [struct.pack("e", 1.5), struct.pack("H", 0x3F80)]
    kernel(1, 1, 2, 2, stream=0)
    assert fake.params() == [struct.pack("e", 2), struct.pack("H", 0x4000)]


@pytest.mark.parametrize("value, words", [
    (2**31, "argument 1 of 1 takes an integer of 4 bytes, which 2147483648 does not fit in"),
    (-2**31 - 1, "does not fit in"),
])
def test_numbers_that_do_not_fit(load, fake, value, words):
    kernel = load("__global__ void k(int a) {}", "k")
    with pytest.raises(OverflowError, match=words):
        kernel(1, 1, value, stream=0)
    assert fake.count() == 0


@pytest.mark.parametrize("args, words", [
    ((1.5, 0.5), "argument 1 of 2 takes a pointer, but a float was given"),
    (("text", 0.5), "argument 1 of 2 takes a pointer, but a str was given"),
    ((1, "0.5"), "argument 2 of 2 takes a floating-point number of 4 bytes, but a str was given"),
    ((1, DeviceArray()), "argument 2 of 2 takes a floating-point number of 4 bytes, but a test_launch.DeviceArray was given"),
    ((1, 1j), "but a complex was given"),
    ((1, None), "but a NoneType was given"),
    ((1,), "takes 2 arguments, 1 were given"),
    ((1, 2, 3), "takes 2 arguments, 3 were given"),
    ((1, ctypes.c_double(1)), "but a ctypes.c_double of 8 bytes was given"),
    ((1, ctypes.c_int(1)), "argument 2 of 2 takes a floating-point number of 4 bytes, but a ctypes.c_int was given"),
    ((1, b"12345"), "takes 4 bytes, but 5 bytes were given"),
])
def test_a_wrong_kind_is_a_type_error(scale_kernel, fake, args, words):
    with pytest.raises(TypeError) as caught:
        scale_kernel(1, 1, *args, stream=0)
    assert words in str(caught.value) and str(caught.value).startswith("scale<float>")
    assert fake.count() == 0


def test_structures_and_bytes(load, fake):
    class Pair(ctypes.Structure):
        _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_float)]

    kernel = load("struct Pair { int a; float b; }; __global__ void k(Pair p, int n) {}", "k")
    kernel(1, 1, Pair(1, 2), 3, stream=0)
    assert fake.params() == [struct.pack("if", 1, 2), struct.pack("i", 3)]
    kernel(1, 1, struct.pack("if", 4, 5), ctypes.c_int(6), stream=0)
    assert fake.params() == [struct.pack("if", 4, 5), struct.pack("i", 6)]
    kernel(1, 1, memoryview(bytearray(8)), b"\1\0\0\0", stream=0)
    assert fake.params() == [bytes(8), struct.pack("i", 1)]
    for wrong in (1, 1.0, DeviceArray()):
        with pytest.raises(TypeError, match="a type of the program's own of 8 bytes, given as a ctypes structure"):
            kernel(1, 1, wrong, 3, stream=0)
    with pytest.raises(TypeError, match="takes 8 bytes, but 7 bytes were given"):
        kernel(1, 1, bytes(7), 3, stream=0)


def test_null_pointers_and_members_of_enumerations(load, fake):
    class Mode(enum.IntEnum):
        fast = 3

    kernel = load("__global__ void k(float* a, int b) {}", "k")
    kernel(1, 1, None, Mode.fast, stream=0)
    assert fake.params() == [bytes(8), struct.pack("i", 3)]
    kernel(1, 1, ctypes.c_void_p(ADDRESS), True, stream=0)
    assert fake.params() == [struct.pack("Q", ADDRESS), struct.pack("i", 1)]


def test_where_the_symbol_tells_no_types(load, fake):
    kernel = load('extern "C" __global__ void k(float* a, int b, unsigned c, double d) {}', "k")
    assert [param.kind for param in kernel.info.params] == ["unknown"] * 4
    kernel(1, 1, DeviceArray(), -1, 2**32 - 1, 0.5, stream=0)
    assert fake.params() == [struct.pack("Q", ADDRESS), struct.pack("i", -1), struct.pack("I", 2**32 - 1),
                             struct.pack("d", 0.5)]
    with pytest.raises(OverflowError, match="argument 3 of 4 takes 4 bytes"):
        kernel(1, 1, DeviceArray(), -1, 2**32, 0.5, stream=0)
    with pytest.raises(TypeError, match="argument 2 of 4 takes 4 bytes"):
        kernel(1, 1, DeviceArray(), DeviceArray(), 1, 0.5, stream=0)


def test_where_neither_image_nor_driver_tells_parameters(run):
    run("""
import ctypes
source = SCALE + ' extern "C" __global__ void plain(float* a, int b) {}'
program = kiln.Program(source, name="k.cu", kernels=["scale<float>", "plain"])
with kiln.Runtime(cache_dir=CACHE, driver=DRIVER) as runtime:
    scale = runtime.kernel(program, "scale<float>", arch="compute_90")
    assert scale.info.params is None
    scale(1, 1, 4096, 0.5, stream=0)  # The symbol tells.
    plain = runtime.kernel(program, "plain", arch="compute_90")
    plain(1, 1, ctypes.c_void_p(4096), ctypes.c_int(1), stream=0)
    try:
        plain(1, 1, ctypes.c_void_p(4096), 1, stream=0)
    except TypeError as failure:
        assert "plain: argument 2 of 2 is a int, and the image does not tell" in str(failure), failure
    else:
        raise SystemExit(1)
""", env={**os.environ, "FAKE_CUDA_VERSION": "12000"})


def test_no_parameters(load, fake):
    load("__global__ void k() {}", "k")(1, 1, stream=0)
    assert fake.params() == []


class CudaStream:
    def __cuda_stream__(self):
        return 0, 0x99


def test_streams(scale_kernel, fake):
    scale_kernel(1, 1, ADDRESS, 1.0, stream=CudaStream())
    assert fake.launch().stream == 0x99
    scale_kernel(1, 1, ADDRESS, 1.0, stream=types.SimpleNamespace(cuda_stream=0x98))
    assert fake.launch().stream == 0x98
    with pytest.raises(TypeError, match="scale<float>: the stream is a str"):
        scale_kernel(1, 1, ADDRESS, 1.0, stream="fast")


def test_never_silently_the_default_stream(scale_kernel, fake, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    for launch in (lambda: scale_kernel(1, 1, ADDRESS, 1.0), lambda: scale_kernel[1, 1](ADDRESS, 1.0)):
        with pytest.raises(TypeError, match="scale<float>: no stream is given"):
            launch()
    assert fake.count() == 0


def test_torchs_current_stream(scale_kernel, fake, monkeypatch):
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_available=lambda: True,
                                       current_stream=lambda: types.SimpleNamespace(cuda_stream=0x55))
    monkeypatch.setitem(sys.modules, "torch", torch)
    scale_kernel[1, 1](ADDRESS, 1.0)
    assert fake.launch().stream == 0x55
    torch.cuda.is_available = lambda: False
    with pytest.raises(TypeError, match="has no GPU"):
        scale_kernel(1, 1, ADDRESS, 1.0)


class Tensor:
    """As torch has it, for one that requires a gradient."""

    def __init__(self, is_cuda):
        self.is_cuda = is_cuda

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("it requires a gradient")

    def data_ptr(self):
        return ADDRESS

    def __index__(self):
        return 5


def test_torchs_tensors(scale_kernel, fake, monkeypatch):
    torch = types.ModuleType("torch")
    torch.Tensor = Tensor
    monkeypatch.setitem(sys.modules, "torch", torch)
    scale_kernel(1, 1, Tensor(True), 1.0, stream=0)
    assert fake.params()[0] == struct.pack("Q", ADDRESS)
    with pytest.raises(TypeError, match=r"argument 1 of 2 is a test_launch.Tensor in host memory"):
        scale_kernel(1, 1, Tensor(False), 1.0, stream=0)
    with pytest.raises(TypeError, match="argument 2 of 2 takes a floating-point number"):
        scale_kernel(1, 1, ADDRESS, Tensor(True), stream=0)
    assert fake.count() == 1


def test_configurations_that_make_no_sense(scale_kernel, fake):
    for grid in (0, -1, (), (1, 1, 1, 1), [1], "1", 1.5, 2**32):
        with pytest.raises((TypeError, kiln.InvalidError)):
            scale_kernel(grid, 32, ADDRESS, 1.0, stream=0)
    with pytest.raises(kiln.InvalidError, match="1025|block"):
        scale_kernel(1, 1025, ADDRESS, 1.0, stream=0)
    assert fake.count() == 0
    scale_kernel(1, 32, ADDRESS, 1.0, stream=0)
    assert fake.count() == 1


MOST = 2**32 - 1
SIZES = f"a number from 1 to {MOST}, or a tuple of up to three"


@pytest.mark.parametrize("name", ["grid", "block", "cluster", "preferred_cluster"])
def test_sizes_are_named_as_they_were_given(scale_kernel, fake, name):
    def launch(size):
        sizes = {"grid": 1, "block": 1} | ({name: size} if name in ("grid", "block") else {})
        attributes = None if name in sizes else kiln.LaunchAttributes(**{name: size})
        scale_kernel(sizes["grid"], sizes["block"], ADDRESS, 1.0, stream=0, attributes=attributes)

    for kind, wrong in ((kiln.InvalidError, (0, (0, 5), (5, 0), -1, 2**32, 2**40, (1, 1, -1))),
                        (TypeError, ("1", 1.5, [1], (), (1, 1, 1, 1), (1, "x")))):
        for size in wrong:
            with pytest.raises(kind) as caught:
                launch(size)
            assert str(caught.value) == f"{name} is {size!r}; it can be {SIZES}"
    assert fake.count() == 0


@pytest.mark.parametrize("arguments, message", [
    ({"shared_bytes": -1}, f"shared_bytes is -1; it can be a number from 0 to {MOST}"),
    ({"shared_bytes": 2**32 + 64}, f"shared_bytes is {2**32 + 64}; it can be a number from 0 to {MOST}"),
    ({"stream": -1}, f"stream is -1; it can be a number from 0 to {2**64 - 1}"),
    ({"stream": 2**64 + 1}, f"stream is {2**64 + 1}; it can be a number from 0 to {2**64 - 1}"),
    ({"attributes": kiln.LaunchAttributes(priority=2**32)},
     f"priority is {2**32}; it can be a number from {-2**31} to {2**31 - 1}"),
])
def test_numbers_of_a_launch_that_c_would_wrap(scale_kernel, fake, arguments, message):
    with pytest.raises(kiln.InvalidError) as caught:
        scale_kernel(1, 32, ADDRESS, 1.0, **{"stream": 0} | arguments)
    assert caught.value.message == message
    assert fake.count() == 0


def test_numbers_of_a_launch_of_another_type(scale_kernel, fake):
    for arguments, name in (({"shared_bytes": "x"}, "shared_bytes"),
                            ({"attributes": kiln.LaunchAttributes(priority="x")}, "priority")):
        with pytest.raises(TypeError) as caught:
            scale_kernel(1, 32, ADDRESS, 1.0, stream=0, **arguments)
        assert str(caught.value) == f"{name} has to be an int, not str"
    assert fake.count() == 0


def test_numbers_of_an_occupancy_that_c_would_wrap(scale_kernel):
    for arguments, name in (((2**32 + 32,), "threads"), ((-1,), "threads"), ((32, 2**32), "shared_bytes")):
        with pytest.raises(kiln.InvalidError) as caught:
            scale_kernel.blocks_per_multiprocessor(*arguments)
        assert caught.value.message == f"{name} is {arguments[-1]}; it can be a number from 0 to {MOST}"
    with pytest.raises(TypeError, match="threads has to be an int, not str"):
        scale_kernel.blocks_per_multiprocessor("x")


def test_attributes(load, fake):
    kernel = load("__global__ void k(int* x) { extern __shared__ int s[]; *x = s[0]; }", "k")
    told = kernel.attributes()
    assert told.max_threads_per_block >= 512 and told.binary_version == 90 and told.required_cluster == (0, 0, 0)
    assert kernel.blocks_per_multiprocessor(256) >= 1
    kernel(4, 32, ADDRESS, stream=0,
           attributes=kiln.LaunchAttributes(cluster=2, priority=-1, programmatic_serialization=True))
    assert fake.count() == 1
    with pytest.raises(kiln.InvalidError, match="cluster_scheduling is 'fast'"):
        kernel(4, 32, ADDRESS, stream=0, attributes=kiln.LaunchAttributes(cluster_scheduling="fast"))


def test_driver_errors(scale_kernel, fake):
    fake.library.fake_cuda_fail(b"cuLaunchKernel", 700)
    with pytest.raises(kiln.DriverError) as caught:
        scale_kernel(1, 32, ADDRESS, 1.0, stream=0)
    assert caught.value.vendor_code == 700 and "scale<float>" in caught.value.message


def test_unknown_kernels_and_no_driver(load, cache, tmp_path, scale):
    with pytest.raises(kiln.NotFoundError):
        load("__global__ void k() {}", "missing")
    with kiln.Runtime(cache_dir=cache, driver=tmp_path / "libcuda.so.1") as opened:
        with pytest.raises(kiln.MissingError, match="driver"):
            opened.kernel(scale, "scale<float>")


def test_a_kernel_outlives_its_runtime(cache, fake, scale):
    with kiln.Runtime(cache_dir=cache, driver=fake.path) as opened:
        kernel = opened.kernel(scale, "scale<float>")
    kernel(1, 32, ADDRESS, 1.0, stream=0)
    assert fake.count() == 1


def test_threads_launch_one_kernel(scale_kernel, fake):
    def launch(number):
        for at in range(200):
            scale_kernel(number + 1, 32, number * 1000 + at, float(at), stream=number + 1)

    threads = [threading.Thread(target=launch, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fake.count() == 1600
    for index in range(1600):
        number = fake.launch(index).stream - 1
        address, = struct.unpack("Q", fake.params(index)[0])
        assert fake.launch(index).grid[0] == number + 1 and address // 1000 == number
        assert struct.unpack("f", fake.params(index)[1]) == (float(address % 1000),)
