"""The tool `kiln` as a process, for tests in Python: one program is asked for, and what came of it is told.

The environment says which tool: KILN_BIN (else build/release/bin/kiln), KILN_WORKER and KILN_NVRTC. No other setting
of kiln's reaches the tool but those that the test names."""

import dataclasses
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = os.path.abspath(os.environ.get("KILN_BIN") or ROOT / "build/release/bin/kiln")
SKIPPED = 77
TIMEOUT_S = 600
KEPT_SETTINGS = {"KILN_WORKER", "KILN_NVRTC"}
NO_COMPILER = {"KILN_NVRTC": "/nonexistent/libnvrtc.so"}


@dataclasses.dataclass
class Program:
    """What is asked for: a file of the folder, with what the command line says beside it."""

    folder: pathlib.Path
    include: list = dataclasses.field(default_factory=list)
    define: list = dataclasses.field(default_factory=list)
    option: list = dataclasses.field(default_factory=list)
    standard: bool = False
    kernels: tuple = ("k",)
    source: str = "k.cu"
    arch: str = "compute_90"
    image: str = "ptx"

    def words(self):
        def each(flag, values):
            return [word for value in values for word in (flag, value)]
        return [self.source, "--arch", self.arch, "--image", self.image, *each("--name", self.kernels),
                *each("-I", self.include), *each("-D", self.define),
                *(f"--option={option}" for option in self.option), *["--standard-headers"] * self.standard]

    def listed(self, name=None):
        """The same in a manifest that lies in its folder."""
        return {"name": name or self.source, "source_file": self.source, "kernels": list(self.kernels),
                "include_dirs": self.include, "standard_headers": self.standard,
                "options": [*(f"-D{value}" for value in self.define), *self.option],
                "targets": [self.arch], "image": self.image}


@dataclasses.dataclass
class Answer:
    """What came of a request; `image` is None where there is none."""

    status: int
    errors: str
    image: bytes | None = None
    report: dict = dataclasses.field(default_factory=dict)

    @property
    def hit(self):
        return self.image is not None and self.report.get("origin") != "compiled"

    @property
    def stored(self):
        return self.report.get("stored")

    @property
    def died(self):
        return self.status < 0 or self.status > 128

    @property
    def warned(self):
        return "warning" in self.errors

    @property
    def refused(self):
        return self.image is None and not self.died


def environment(more):
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("KILN_") or name in KEPT_SETTINGS}
    return {**clean, **more}


def run(words, folder=".", settings=None, descriptors=None, timeout_s=TIMEOUT_S):
    """The tool with these words; with `descriptors`, allowed no more open files than that."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    return subprocess.run([TOOL, *map(str, words)], cwd=folder, env=environment(settings or {}), capture_output=True,
                          timeout=timeout_s, preexec_fn=limit if descriptors else None)


def documents(outcome):
    return [json.loads(line) for line in outcome.stdout.decode(errors="replace").splitlines() if line.startswith("{")]


def compile_program(program, cache, settings=None, descriptors=None):
    with tempfile.TemporaryDirectory(dir=scratch_root()) as out:
        file = pathlib.Path(out) / "image"
        outcome = run(["--cache", cache, "--json", "compile", *program.words(), "-o", file], program.folder, settings,
                      descriptors)
        image = file.read_bytes() if outcome.returncode == 0 and file.exists() else None
    return Answer(outcome.returncode, outcome.stderr.decode(errors="replace"), image,
                  next(iter(documents(outcome)), {}))


def compile_freshly(program, settings=None):
    """What a compile gives that knows of nothing: in the tool's own process, into an empty cache."""
    with tempfile.TemporaryDirectory(dir=scratch_root()) as empty:
        return compile_program(program, empty,
                               {**(settings or {}), "KILN_COMPILE_WORKERS": "0", "KILN_PCH_MAX_SIZE": "0"})


def scratch_root():
    """Memory where there is some: each cache is a database that waits for its disk. A container's is often small."""
    memory = "/dev/shm"
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= 1 << 30
    return os.environ.get("KILN_FUZZ_SCRATCH") or (memory if roomy else None)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def compiler():
    """What `kiln doctor` says of NVRTC; ends the test where there is none."""
    if not os.path.exists(TOOL):
        sys.exit(f"{TOOL} is not there: build it, or name another with KILN_BIN")
    found = documents(run(["--json", "doctor"]))[0]["compiler"]
    if not found.get("path"):
        skip("no NVRTC was found, and nothing can be compiled")
    return found
