"""numba-cuda: the memory management that it links into what it compiles, and the device functions of its tests and examples."""

import fetch
import kernels

# name: (file, folders that it is compiled with, name expressions, symbols of device functions asked for otherwise)
FILES = {
    "memsys": ("memory_management/memsys.cu", ["NRT_MemSys_read", "NRT_MemSys_init"]),
    "memsys_print": ("memory_management/memsys.cu", ["NRT_MemSys_print"]),
    "nrt": ("memory_management/nrt.cu", []),
    "reshape": ("reshape_funcs.cu", []),
    "jitlink": ("tests/data/jitlink.cu", []),
    "cuda_include": ("tests/data/cuda_include.cu", []),
    "cta_barrier": ("tests/data/cta_barrier.cu", []),
    "functions": ("tests/doc_examples/ffi/functions.cu", []),
    "saxpy": ("tests/doc_examples/ffi/saxpy.cu", []),
    "syntax_error": ("tests/data/error.cu", []),
    "warning": ("tests/data/warn.cu", []),
}


def package():
    if not fetch.is_here("numba-cuda"):
        return None
    folder = fetch.folder_of("numba-cuda") / "numba_cuda/numba/cuda"
    listed = [kernels.Kernel(f"numba_{name}.cu", (folder / file).read_text(), expressions, archs=("sm_80",),
                             options=["--std=c++17", "-rdc=true"],
                             expected_failure="an error, on purpose" if name == "syntax_error" else "")
              for name, (file, expressions) in FILES.items()]
    return kernels.Package("numba_cuda", listed, {"memory": folder / "memory_management", "data": folder / "tests/data/include",
                                                  "ffi": folder / "tests/doc_examples/ffi/include"}, ("memory", "data", "ffi"))
