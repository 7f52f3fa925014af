"""kiln compiles CUDA C++ at run time, once, and keeps the result for good.

    import kiln

    program = kiln.Program("template <class T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by; }",
                           name="scale.cu", kernels=["scale<float>"])
    with kiln.Runtime() as runtime:
        artifact = runtime.compile(program, "sm_90a")
        print(artifact.kernels[0].symbol, artifact.origin)
"""

from . import _ending
from ._artifact import Artifact, KernelInfo, Parameter
from ._compiling import Compiling
from ._errors import (ArgumentError, CancelledError, CompileError, DriverError, Error, InvalidError, MissingError,
                      NotCachedError, NotFoundError, OutOfMemoryError)
from ._kernel import ConfiguredKernel, Kernel, KernelAttributes, LaunchAttributes
from ._program import Program, Variant
from ._runtime import Availability, Counters, Event, Explanation, PrefetchReport, Progress, Remote, Runtime

__all__ = ["ArgumentError", "Artifact", "Availability", "CancelledError", "CompileError", "Compiling", "ConfiguredKernel",
           "Counters", "DriverError", "Error", "Event", "Explanation", "InvalidError", "Kernel", "KernelAttributes",
           "KernelInfo", "LaunchAttributes", "MissingError", "NotCachedError", "NotFoundError", "OutOfMemoryError",
           "Parameter", "PrefetchReport", "Program", "Progress", "Remote", "Runtime", "Variant"]
