"""Kernels of other people's packages: what each is, and where its headers lie."""

import dataclasses
import functools
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "engine_programs"))
import engine_program

HOST = HERE / "host"
STANDARD = engine_program.ROOT / "device/standard"


@dataclasses.dataclass
class Package:
    """A package, its kernels, and the folders of headers that they are compiled with: each is copied into the tree of the package
    under a name, and `include` lists folders of that tree in the order of the search."""

    name: str
    kernels: list
    folders: dict = dataclasses.field(default_factory=dict)  # name in the tree: folder on this machine
    include: tuple = ()                                       # folders of the tree


@dataclasses.dataclass
class Kernel(engine_program.EngineProgram):
    """One program, for the first of its architectures. Members of a family begin with the same prelude."""

    family: str = ""
    small: bool = False
    expected_failure: str = ""  # why plain NVRTC does not compile it


PACKAGES = ("cccl", "cuda_cccl", "cupy", "cutlass", "flashinfer", "numba_cuda", "tilelang", "warp")


@functools.cache
def package(name):
    """The package, or None where it is not here."""
    return importlib.import_module(f"packages.{name}").package()
