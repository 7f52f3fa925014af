"""A program with headers of its own, asked of plain NVRTC and of kiln's library."""

import contextlib
import ctypes
import dataclasses
import multiprocessing
import os
import pathlib
import signal
import sys

from ways import kiln_library

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "engine_programs"))
from plain_nvrtc import Nvrtc

ARCH = "compute_80"
NOWHERE = "/kiln/nowhere"  # What kiln gives NVRTC where there is no include directory.


class CHeader(ctypes.Structure):
    _fields_ = [("name", kiln_library.text), ("text", kiln_library.text)]


class Counters(kiln_library.Sized):
    """Of a runtime, as far as is asked for here."""

    _fields_ = [("size", ctypes.c_size_t), *((name, kiln_library.number) for name in (
        "memory_hits", "local_hits", "bundle_hits", "misses", "compiles", "precompiled"))]


@dataclasses.dataclass
class Request:
    """A program as it is at one moment."""

    folder: pathlib.Path
    name: str
    source: str
    headers: dict
    include: list
    toolkit: list  # The folders that are searched behind these, where kiln is to search its toolkit.
    options: list
    kernels: tuple = ("k",)
    arch: str = ARCH
    image: str = "ptx"

    def job(self):
        """The same for plain NVRTC. Nothing in it has internal linkage, whose names would go by kiln's seed."""
        folders = [*(str(self.folder / folder) for folder in self.include), *self.toolkit] or [NOWHERE]
        return {"name": f"/kiln/{self.name}", "source": self.source, "headers": self.headers, "kernels": list(self.kernels),
                "options": [f"--gpu-architecture={self.arch}", "--no-cache", *(f"-I{folder}" for folder in folders),
                            *self.options]}


class Runtime(kiln_library.Runtime):
    """One that is asked for programs with headers of their own, and no others."""

    def spec(self, program):
        library = self.library
        texts = (CHeader * len(program.headers))(*((name.encode(), text.encode())
                                                   for name, text in program.headers.items()))
        made = kiln_library.handle()
        self.check(library.kiln_header_set_make(texts, ctypes.c_size_t(len(texts)), ctypes.byref(made)))
        headers = (kiln_library.handle * 1)(made)
        include, includes = kiln_library.strings(program.include)
        kernels, kernel_count = kiln_library.strings(list(program.kernels))
        options, option_count = kiln_library.strings(program.options)
        spec = kiln_library.ProgramSpec(
            name=program.name.encode(), source=program.source.encode(), no_toolkit_headers=not program.toolkit,
            headers=headers, header_count=1, include_dirs=include, include_dir_count=includes, kernels=kernels,
            kernel_count=kernel_count, options=options, option_count=option_count)
        return spec, (HeaderSet(library, made), headers, include, kernels, options)

    def precompiled(self):
        """How many compiles used a precompiled prelude."""
        counters = Counters()
        self.check(self.library.kiln_runtime_get_counters(self.handle, ctypes.byref(counters)))
        return counters.precompiled


class HeaderSet:
    """Freed when nobody holds it any more."""

    def __init__(self, library, made):
        self.library, self.made = library, made

    def __del__(self):
        self.library.kiln_header_set_free(self.made)


class PlainNvrtc:
    """NVRTC without kiln, in a process that stays. To be made before the library is loaded."""

    def __init__(self, found):
        self.path = os.environ.get("KILN_NVRTC") or found["path"]
        line = next((line for line in found["details"] if line.startswith("headers of CUDA: ")), "")
        self.toolkit = [folder for folder in line.partition(": ")[2].split(", ") if folder]
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=self.serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def serve(self, pipe):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.pipe.close()
        nvrtc = Nvrtc(self.path)
        with contextlib.suppress(EOFError):
            while True:
                pipe.send(self.compile(nvrtc, *pipe.recv()))

    @staticmethod
    def compile(nvrtc, job, folder):
        os.chdir(folder)
        try:
            nvrtc.create(job)
            nvrtc.compile(job["options"])
            return nvrtc.bytes_of("PTX").rstrip(b"\0"), ""
        except RuntimeError as failure:
            return None, str(failure)
        finally:
            nvrtc.call("nvrtcDestroyProgram", ctypes.byref(nvrtc.program))
            os.chdir("/")

    def ask(self, request):
        """The image, or None and what was said."""
        self.pipe.send((request.job(), str(request.folder)))
        return self.pipe.recv()
