"""The C API from Python, with ctypes and nothing else.

Usage: ctypes_test.py LIBRARY FAKE_CUDA
"""

import ctypes
import pathlib
import sys
import tempfile
import unittest
from ctypes import POINTER, Structure, byref, c_char_p, c_float, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kiln_library import ArtifactInfo, Bytes, ProgramSpec, RuntimeOptions, Sized

LIBRARY, FAKE_CUDA = sys.argv[1:]

API_VERSION = 6
INVALID_ARGUMENT, UNKNOWN_ARCH, COMPILE_FAILED, ARGUMENT_MISMATCH = 1, 4, 7, 18
CUBIN = 0
COMPILED, MEMORY = 0, 1
LOG_OFF = 1


class Dim3(Structure):
    _fields_ = [("x", c_uint32), ("y", c_uint32), ("z", c_uint32)]


class Parameter(Structure):
    _fields_ = [("offset", c_uint32), ("size", c_uint32)]


class KernelInfo(Sized):
    _fields_ = [("size", c_size_t), ("expression", c_char_p), ("symbol", c_char_p), ("arch", c_char_p),
                ("kind", c_int32), ("registers", c_uint32), ("shared_bytes", c_uint32),
                ("local_bytes", c_uint32), ("params_known", c_int32), ("param_count", c_size_t),
                ("params", POINTER(Parameter))]


class LaunchConfig(Sized):
    _fields_ = [("size", c_size_t), ("grid", Dim3), ("block", Dim3), ("shared_bytes", c_uint32),
                ("cooperative", c_int32), ("cluster", Dim3), ("preferred_cluster", Dim3),
                ("cluster_scheduling", c_int32), ("programmatic_serialization", c_int32),
                ("has_priority", c_int32), ("priority", c_int32)]


class KilnError(Exception):
    def __init__(self, error):
        super().__init__(kiln.kiln_error_message(error).decode())
        self.code = kiln.kiln_error_code(error)
        self.log = kiln.kiln_error_log(error).decode()
        kiln.kiln_error_free(error)


kiln = ctypes.CDLL(LIBRARY)


def declare(name, result, *arguments):
    function = getattr(kiln, name)
    function.restype, function.argtypes = result, arguments


def raise_error(error, _function, _arguments):
    if error:
        raise KilnError(error)


def declare_fallible(name, *arguments):
    """A function that returns an error, of which ctypes makes an exception."""
    declare(name, c_void_p, *arguments)
    getattr(kiln, name).errcheck = raise_error


declare("kiln_api_version", c_uint32)
declare("kiln_error_code", c_int32, c_void_p)
declare("kiln_error_message", c_char_p, c_void_p)
declare("kiln_error_log", c_char_p, c_void_p)
declare("kiln_error_free", None, c_void_p)
declare("kiln_device_headers", c_void_p)
for handle in ["program_free", "runtime_close", "artifact_free", "kernel_free"]:
    declare(f"kiln_{handle}", None, c_void_p)
HANDLE = POINTER(c_void_p)
declare_fallible("kiln_program_make", POINTER(ProgramSpec), HANDLE)
declare_fallible("kiln_runtime_open", POINTER(RuntimeOptions), HANDLE)
declare_fallible("kiln_runtime_compile", c_void_p, c_void_p, c_char_p, c_int32, HANDLE)
declare_fallible("kiln_artifact_get_info", c_void_p, POINTER(ArtifactInfo))
declare_fallible("kiln_artifact_get_kernel", c_void_p, c_size_t, POINTER(KernelInfo))
declare_fallible("kiln_runtime_kernel", c_void_p, c_void_p, c_char_p, HANDLE)
declare_fallible("kiln_kernel_launch", c_void_p, c_void_p, POINTER(LaunchConfig), POINTER(Bytes),
        c_size_t)


def texts(*values):
    return (c_char_p * len(values))(*(value.encode() for value in values))


class Handle:
    """One of kiln's, freed when it is left."""

    def __init__(self, make, free, *arguments):
        self.pointer, self.free = c_void_p(), free
        make(*arguments, byref(self.pointer))

    def __enter__(self):
        return self.pointer

    def __exit__(self, *_):
        self.free(self.pointer)


SOURCE = """
#include <kiln/vec.cuh>
template <class T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by; }
"""


def make_program(source=SOURCE, expression="scale<float>", **fields):
    headers = (c_void_p * 1)(kiln.kiln_device_headers())
    spec = ProgramSpec(**({"name": b"scale.cu", "source": source.encode(),
                           "headers": headers, "header_count": 1,
                           "kernels": texts(expression), "kernel_count": 1,
                           "options": texts("--std=c++20"), "option_count": 1} | fields))
    return Handle(kiln.kiln_program_make, kiln.kiln_program_free, byref(spec))


class CApiTest(unittest.TestCase):
    def setUp(self):
        cache = tempfile.TemporaryDirectory()
        self.addCleanup(cache.cleanup)
        options = RuntimeOptions(cache_directory=cache.name.encode(), cuda_driver=FAKE_CUDA.encode(),
                                 log_level=LOG_OFF)
        runtime = Handle(kiln.kiln_runtime_open, kiln.kiln_runtime_close, byref(options))
        self.addCleanup(runtime.__exit__)
        self.runtime = runtime.__enter__()

    def compile(self, program, arch="sm_80"):
        return Handle(kiln.kiln_runtime_compile, kiln.kiln_artifact_free, self.runtime, program,
                      arch.encode(), CUBIN)

    def assert_fails(self, code, words, call, *arguments):
        with self.assertRaisesRegex(KilnError, words) as caught:
            call(*arguments)
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    def test_version(self):
        self.assertEqual(kiln.kiln_api_version(), API_VERSION)

    def test_compiles_and_hits(self):
        artifact_info, kernel = ArtifactInfo(), KernelInfo()
        for origin in [COMPILED, MEMORY]:
            with make_program() as program, self.compile(program) as artifact:
                kiln.kiln_artifact_get_info(artifact, byref(artifact_info))
                kiln.kiln_artifact_get_kernel(artifact, 0, byref(kernel))
                self.assertEqual(artifact_info.origin, origin)
                self.assertEqual(ctypes.string_at(artifact_info.image.data, 4), b"\x7fELF")
                self.assertEqual(kernel.expression, b"scale<float>")
                self.assertEqual(kernel.symbol, b"_Z5scaleIfEvPT_S0_")
                self.assertEqual([kernel.params[at].size for at in range(kernel.param_count)], [8, 4])

    def test_failures_are_exceptions(self):
        with make_program() as program:
            self.assert_fails(UNKNOWN_ARCH, "sm_9x", self.compile, program, "sm_9x")
            self.assert_fails(INVALID_ARGUMENT, "'program' is null", self.compile, None)
        with make_program("__global__ void k() { undeclared(); }", "k") as program:
            failure = self.assert_fails(COMPILE_FAILED, "scale.cu", self.compile, program)
            self.assertIn('identifier "undeclared" is undefined', failure.log)
        self.assert_fails(INVALID_ARGUMENT, "the size of 'spec' is 7", lambda: make_program(size=7))

    def test_launches(self):
        fake = ctypes.CDLL(FAKE_CUDA)
        fake.fake_cuda_launch_count.restype = c_size_t
        x, by, too_wide = c_uint64(0x7F0000001000), c_float(0.5), c_uint64(0)

        def launch(kernel, *values):
            arguments = (Bytes * len(values))(
                *(Bytes(ctypes.addressof(value), ctypes.sizeof(value)) for value in values))
            config = LaunchConfig(grid=Dim3(4), block=Dim3(32))
            kiln.kiln_kernel_launch(kernel, None, byref(config), arguments, len(values))

        with make_program() as program, \
             Handle(kiln.kiln_runtime_kernel, kiln.kiln_kernel_free, self.runtime, program,
                    b"scale<float>") as kernel:
            launch(kernel, x, by)
            self.assertEqual(fake.fake_cuda_launch_count(), 1)
            self.assert_fails(ARGUMENT_MISMATCH, "takes 2 arguments, 1 were given", launch, kernel, x)
            self.assert_fails(ARGUMENT_MISMATCH, "argument 2 of 2 takes 4 bytes, but 8 bytes were given",
                              launch, kernel, x, too_wide)
            self.assertEqual(fake.fake_cuda_launch_count(), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
