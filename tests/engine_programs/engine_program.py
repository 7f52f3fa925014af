"""One program of the kind that engines compile at run time."""

import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO_FOLDER = ROOT / "tools/demo/kernels"
EVERY = ("sm_80", "sm_90a", "sm_100a", "sm_120")
CCCL, CUTLASS, DEMO, NOTHING = "cccl", "cutlass", "demo", ""


@dataclasses.dataclass
class EngineProgram:
    name: str
    source: str
    kernels: list
    headers: str = NOTHING  # whose headers it brings along: on disk or embedded
    archs: tuple = EVERY
    options: list = dataclasses.field(default_factory=lambda: ["--std=c++17"])
    small_arch: str = ""    # CI runs it for this one
    folders: dict = dataclasses.field(default_factory=dict)  # other headers that it brings along: name in its tree, folder
    include: tuple = ()     # those of the tree that are include directories, in order; all where there are none

    def prelude(self):
        """The includes that it begins with."""
        lines = self.source.splitlines(keepends=True)
        return "".join(lines[:next(number for number, line in enumerate(lines) if not line.startswith("#"))])
