"""Programs of engines' kind through a plain NVRTC loop and through kiln: image, log and lowered names must be equal, and
what was compiled once must be served wherever it should be.

    engine_programs.py [--small] [--packages] [--only TEXT] [--arch sm_90a] [--ways in_process,workers] [--times 1] [--equal]
    engine_programs.py --heaviest [--times 3] [--only TEXT]

--small is what CI runs. --packages takes the kernels of ../engines instead, those that compile. --equal leaves out what comes after the comparison: hits, records, bundles. --heaviest measures
a whole process of kiln's, its time and its peak of memory, against one of plain NVRTC's, but for Python's own start. Status 1 where anything is not as it should be."""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import fetch_cutlass
import kiln_tool
from engine_program import CCCL, CUTLASS, DEMO, DEMO_FOLDER, NOTHING, ROOT
from programs import all_programs

WAYS = {"in_process": {"KILN_COMPILE_WORKERS": "0"}, "workers": {"KILN_COMPILE_WORKERS": "2"},
        "precompiled": {"KILN_COMPILE_WORKERS": "1"}}
HEAVIEST = ("ampere_gemm_half_128x128x64.cu", "sm90_gemm_half_128x128x64.cu", "sm120_gemm_fp8_128x128x128.cu")
RATIO = 1.05
# How much longer than plain NVRTC's compile, on the same machine just before, a call of the tool may take: it may make a
# precompiled header and compile two siblings as well, and the load may change meanwhile.
PATIENCE = 20


class Wrong(Exception):
    """What is not as it should be."""


def expect(condition, what):
    if not condition:
        raise Wrong(what)


class Toolkit:
    """The compiler that kiln finds, and its headers."""

    def __init__(self):
        found = kiln_tool.compiler()
        self.library = os.environ.get("KILN_NVRTC") or found["path"]
        line = next((line for line in found["details"] if line.startswith("headers of CUDA: ")), "")
        self.headers = [pathlib.Path(folder) for folder in line.partition(": ")[2].split(", ") if folder]
        if not self.headers:
            kiln_tool.skip("no headers of CUDA were found")
        self.text = found["description"].split(",")[0]

    def folders_of(self, program):
        """The folders that a program brings along, by their names in its tree."""
        if program.folders:
            return program.folders
        folder = {CCCL: next((folder for folder in self.headers if (folder / "cub").is_dir()), None),
                  CUTLASS: fetch_cutlass.CUTLASS, DEMO: DEMO_FOLDER, NOTHING: None}[program.headers]
        return {"include": folder} if folder else {}


def folders_of_device(program):
    """What kiln embeds for its own programs, plain NVRTC finds here."""
    return [ROOT / "device"] if program.headers == DEMO else []


class Job:
    """One program for one architecture, its headers a tree of its own, that can be touched and moved."""

    def __init__(self, program, arch, toolkit, scratch):
        self.program, self.arch, self.toolkit, self.scratch = program, arch, toolkit, scratch
        self.patience_s = kiln_tool.TIMEOUT_S
        self.tree = scratch / "tree"
        self.tree.mkdir()
        (self.tree / program.name).write_text(program.source)
        folders = toolkit.folders_of(program)
        for name, folder in folders.items():
            shutil.copytree(folder, self.tree / name)
        self.include = program.include or tuple(folders)

    @property
    def headers(self):
        """The include directories that it brings along, in order."""
        return [self.tree / name for name in self.include]

    def move(self):
        moved = self.scratch / "moved"
        self.tree.rename(moved)
        self.tree = moved

    def touch(self):
        for path in self.tree.rglob("*"):
            os.utime(path)

    def seed(self):
        """What kiln gives NVRTC as its seed: the digest of the request."""
        words = [word for kernel in self.program.kernels for word in ("--name", kernel)]
        include = [word for folder in self.headers for word in ("-I", folder)]
        outcome = kiln_tool.run(["--cache", self.scratch / "none", "--json", "explain", self.program.name, "--arch",
                                 self.arch, *words, *include, *(f"--option={each}" for each in self.program.options)],
                                self.tree)
        told = kiln_tool.documents(outcome)
        expect(told and "request" in told[0], f"no explanation: {outcome.stderr.decode(errors='replace')[-300:]}")
        return told[0]["request"]

    def plain(self, seed):
        folders = [*self.headers, *folders_of_device(self.program), *self.toolkit.headers]
        image = self.scratch / "plain.image"
        job = {"library": self.toolkit.library, "name": f"/kiln/{self.program.name}", "source": self.program.source,
               "kernels": self.program.kernels, "headers": {}, "kind": "cubin", "image": str(image),
               "options": [f"--gpu-architecture={self.arch}", "--no-cache", f"-frandom-seed={seed}",
                           *(f"-I{folder}" for folder in folders), *self.program.options]}
        outcome = subprocess.run([sys.executable, HERE / "plain_nvrtc.py"], input=json.dumps(job), text=True,
                                 capture_output=True)
        ended = time.monotonic()
        expect(outcome.returncode == 0, f"plain NVRTC does not compile it: {outcome.stderr[:2000]}")
        answer = {**json.loads(outcome.stdout), "ended": ended}
        self.patience_s = max(kiln_tool.TIMEOUT_S, PATIENCE * answer["seconds"])
        return Result(image.read_bytes(), self.without_paths(answer["log"]), answer["lowered"]), answer

    def without_paths(self, log):
        """Where an embedded header is named by its spelling, one on disk is by its path."""
        for folder in [*self.headers, *self.toolkit.headers]:
            log = log.replace(f"{folder}/", "")
        return log.rstrip()

    def item(self, embedded, name=None, source=None):
        headers = {"header_dirs" if embedded else "include_dirs": [str(folder) for folder in self.headers]}
        return {"name": name or self.program.name, "source": source or self.program.source,
                "kernels": ["sibling"] if source else self.program.kernels, "options": self.program.options,
                "targets": [self.arch], **headers}

    def kiln(self, cache, way, embedded, settings=None):
        """What kiln tells of it, after a prewarm of it alone; of a sibling of the same prelude first, where that is
        to be precompiled."""
        items = [self.item(embedded)]
        if way == "precompiled":
            sibling = self.program.prelude() + "__global__ void sibling() {}\n"
            items[:0] = [self.item(embedded, f"sibling{number}.cu", sibling) for number in range(2)]
        manifest = self.tree / "manifest.json"
        manifest.write_text(json.dumps({"kiln_manifest": 1, "programs": items}))
        try:
            outcome = kiln_tool.run(["--cache", cache, "--json", "prewarm", manifest], self.tree,
                                    {**WAYS[way], **(settings or {})}, timeout_s=self.patience_s)
        except subprocess.TimeoutExpired:
            raise Wrong(f"given up: no end after {self.patience_s:.0f} s") from None
        told = kiln_tool.documents(outcome)
        item = next((each for each in told if each.get("program") == self.program.name), None)
        expect(item and item.get("key"), f"no image: {outcome.stderr.decode(errors='replace').strip()[-400:]}")
        return item, told[-1]


class Result(collections.namedtuple("Result", "image log lowered")):
    def difference(self, other):
        """In what two results differ, or None."""
        if self.image != other.image:
            sizes = f"{len(self.image)} and {len(other.image)} bytes"
            return f"image ({sizes}, {hashlib.sha256(other.image).hexdigest()[:8]})"
        if self.lowered != other.lowered:
            return f"lowered names {self.lowered} and {other.lowered}"
        return None if self.log == other.log else f"log {self.log[:200]!r} and {other.log[:200]!r}"


def extract(key, cache, part):
    return kiln_tool.run(["--cache", cache, "extract", key, part]).stdout


def kept(job, key, cache):
    """What the cache has under a key, or None."""
    if kiln_tool.run(["--cache", cache, "--json", "show", key]).returncode:
        return None
    names = dict(line.rsplit("\t", 1) for line in extract(key, cache, "--names").decode().splitlines())
    return Result(extract(key, cache, "--image"), job.without_paths(extract(key, cache, "--log").decode()), names)


def holds_kernels(result):
    """Headers that hide their insides from NVRTC leave a program empty, and equal to itself."""
    return all(symbol.encode() in result.image for symbol in result.lowered.values()) and len(result.image) > 1000


def holds_folder(result, folder):
    """A kernel may say where it lies. Then its image is another one elsewhere, and where its headers are embedded."""
    return str(folder).encode() in result.image


def check_equal(job, plain, way, embedded, cache):
    item, end = job.kiln(cache, way, embedded)
    expect(item["origin"] == "compiled", f"{item['origin']} in an empty cache")
    mine = kept(job, item["key"], cache)
    expect(mine is not None, "not kept")
    if not job.program.kernels:  # kiln lists what the image has, plain NVRTC what it was asked for.
        mine = mine._replace(lowered={})
    difference = plain.difference(mine)
    expect(difference is None, f"another {difference} than plain NVRTC's")
    return end.get("precompiled", 0)


def expect_hit(job, embedded, cache, when, settings=None):
    item, _ = job.kiln(cache, "in_process", embedded, settings)
    expect(item["origin"] not in ("compiled", None), f"compiled again {when}")


def check_served(job, plain, embedded, cache):
    expect_hit(job, embedded, cache, "in a second process")
    record = job.scratch / "record.json"
    expect_hit(job, embedded, cache, "while it is recorded", {"KILN_RECORD": str(record)})
    job.touch()
    expect_hit(job, embedded, cache, "after a touch")
    holds_path = holds_folder(plain, job.tree.parent.parent)
    job.move()
    if holds_path and not embedded:
        item, _ = job.kiln(cache, "in_process", embedded)
        expect(item["origin"] == "compiled", "served with the path of a tree that moved")
    else:
        expect_hit(job, embedded, cache, "after the tree moved")
    check_bundle(job, plain, embedded, cache)
    if not holds_path:
        check_record(job, plain, embedded, record)


def check_bundle(job, plain, embedded, cache):
    # Where there is no NVRTC there are no headers of its toolkit, whose paths an image may hold.
    with_nvrtc = any(holds_folder(plain, folder) for folder in job.toolkit.headers)
    bundle = job.scratch / "bundle.kiln"
    expect(kiln_tool.run(["--cache", cache, "export", bundle]).returncode == 0, "no export")
    expect_hit(job, embedded, job.scratch / "elsewhere", f"from a bundle, with{'' if with_nvrtc else 'out'} NVRTC",
               {"KILN_BUNDLES": str(bundle), "KILN_MODE": "cache-only", **({} if with_nvrtc else kiln_tool.NO_COMPILER)})
    bundle.unlink()


def check_record(job, plain, embedded, record):
    cache = job.scratch / "from_record"
    outcome = kiln_tool.run(["--cache", cache, "prewarm", record], job.scratch, WAYS["in_process"])
    expect(outcome.returncode == 0, f"no prewarm from its record: {outcome.stderr.decode(errors='replace')[-300:]}")
    item, _ = job.kiln(cache, "in_process", embedded)
    expect(item["origin"] != "compiled", "compiled again after a prewarm from its record")
    expect(plain.image == extract(item["key"], cache, "--image"), "another image from its record")


class Table:
    """One line for each program, one column for each way."""

    def __init__(self, columns):
        self.columns, self.faults, self.right = columns, collections.Counter(), 0

    def row(self, job, cells, seconds):
        words = " ".join(f"{cells.get(column, '-'):22}" for column in self.columns)
        print(f"{job.program.name:36} {job.arch:8} {words} {seconds:6.1f} s", flush=True)

    def fault(self, job, where, what):
        self.faults[what.split(":")[0].split(" (")[0]] += 1
        print(f"WRONG: {job.program.name} {job.arch} {where}: {what}", flush=True)


def check(job, arguments, table):
    began = time.monotonic()
    cells = {}
    try:
        seed = job.seed()
        plain, _ = job.plain(seed)
        expect(holds_kernels(plain), "its kernels are not in the image")
    except Wrong as wrong:
        table.fault(job, "plain", str(wrong))
        return
    for embedded in ways_of_headers(job, arguments):
        for way in arguments.ways.split(","):
            if embedded and holds_folder(plain, job.tree):
                cells[column(way, embedded)] = "holds its path"
                continue
            cells[column(way, embedded)] = check_way(job, plain, way, embedded, arguments, table)
    if not arguments.equal:
        cells["served"] = check_all_served(job, plain, arguments, table)
    table.row(job, cells, time.monotonic() - began)


def ways_of_headers(job, arguments):
    """On disk and embedded; of CCCL's two thousand headers CI embeds none."""
    if not job.headers or (arguments.small and job.program.headers == CCCL):
        return (False,)
    return (False, True)


def column(way, embedded):
    return f"{way}{', embedded' if embedded else ''}"


def check_way(job, plain, way, embedded, arguments, table):
    precompiled = 0
    for number in range(arguments.times):
        with tempfile.TemporaryDirectory(dir=job.scratch) as cache:
            try:
                precompiled += check_equal(job, plain, way, embedded, cache)
                table.right += 1
            except Wrong as wrong:
                table.fault(job, column(way, embedded), str(wrong))
                return "WRONG"
    return f"equal{f' ({precompiled} precompiled)' if precompiled else ''}"


def check_all_served(job, plain, arguments, table):
    for embedded in ways_of_headers(job, arguments):
        cache = job.scratch / f"served{embedded}"
        fresh = Job(job.program, job.arch, job.toolkit, made(job.scratch / f"job{embedded}"))
        fresh.patience_s = job.patience_s
        try:
            fresh.kiln(cache, "in_process", embedded)
            check_served(fresh, plain, embedded, cache)
            table.right += 1
        except Wrong as wrong:
            table.fault(job, "served, embedded" if embedded else "served", str(wrong))
            return "WRONG"
    return "everywhere"


def made(folder):
    folder.mkdir(parents=True)
    return folder


def kernels_of_packages():
    sys.path.insert(0, str(HERE.parent / "engines"))
    import kernels
    for name in kernels.PACKAGES:
        package = kernels.package(name)
        if package is None:
            print(f"left out: {name}: not fetched, see ../engines/fetch.py")
            continue
        for kernel in package.kernels:
            if not kernel.expected_failure:
                kernel.folders, kernel.include = package.folders, kernel.include or package.include
                yield kernel, kernel.archs[0]


def chosen(arguments):
    if arguments.packages:
        yield from ((program, arch) for program, arch in kernels_of_packages() if arguments.only in program.name)
        return
    for program in all_programs():
        if arguments.only not in program.name or (arguments.small and not program.small_arch):
            continue
        if program.headers == CUTLASS and not fetch_cutlass.CUTLASS.is_dir():
            print(f"left out: {program.name}: no CUTLASS, see fetch_cutlass.py")
            continue
        for arch in (program.small_arch,) if arguments.small else program.archs:
            if arguments.arch in ("", arch):
                yield program, arch


# Time and memory.

def measure(words, settings, folder):
    """Seconds and peak of a process and what it started, the latter in KiB."""
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in words], cwd=folder, env=kiln_tool.environment(settings),
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    expect(process.returncode == 0, f"status {process.returncode}: {errors.decode(errors='replace')[-300:]}")
    return time.monotonic() - began, usage.ru_maxrss


def measure_plain(job, seed):
    """The loop's own process: NVRTC is loaded, compiles, and ends."""
    _, answer = job.plain(seed)
    return answer["ended"] - answer["began"], answer["peak_kib"]


def measure_kiln(job, way):
    with tempfile.TemporaryDirectory(dir=job.scratch) as cache:
        include = [word for folder in job.headers for word in ("-I", folder)]
        names = [word for kernel in job.program.kernels for word in ("--name", kernel)]
        return measure([kiln_tool.TOOL, "--cache", cache, "compile", job.program.name, "--arch", job.arch, *names,
                        *include, *(f"--option={each}" for each in job.program.options)], WAYS[way], job.tree)


def heaviest(arguments, toolkit):
    """In turns, so that what else the machine does falls on all alike."""
    beyond = 0
    wanted = [program for program in all_programs() if program.name in HEAVIEST and arguments.only in program.name]
    for program in wanted:
        with tempfile.TemporaryDirectory(dir=kiln_tool.scratch_root()) as scratch:
            job = Job(program, program.archs[0], toolkit, pathlib.Path(scratch))
            seed = job.seed()
            taken = collections.defaultdict(list)
            for _ in range(arguments.times):
                taken["plain"].append(measure_plain(job, seed))
                for way in ("in_process", "workers"):
                    taken[way].append(measure_kiln(job, way))
        medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in taken.items()}
        for name, (seconds, peak) in medians.items():
            ratios = [mine / plain for mine, plain in zip((seconds, peak), medians["plain"])]
            beyond += max(ratios) > RATIO
            print(f"{program.name:36} {job.arch:8} {name:12} {seconds:7.1f} s {peak / 1024:7.0f} MiB  "
                  f"ratios {ratios[0]:.3f} {ratios[1]:.3f}", flush=True)
    print(f"{len(wanted)} programs, {arguments.times} times each, medians: {beyond} beyond {RATIO}")
    return 1 if beyond else 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--packages", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--arch", default="")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--equal", action="store_true")
    parser.add_argument("--heaviest", action="store_true")
    return parser.parse_args()


def main():
    arguments = parse()
    toolkit = Toolkit()
    if arguments.heaviest:
        if not fetch_cutlass.CUTLASS.is_dir():
            kiln_tool.skip("no CUTLASS, see fetch_cutlass.py")
        return heaviest(arguments, toolkit)
    table = Table([column(way, embedded) for embedded in (False, True) for way in arguments.ways.split(",")]
                  + ["served"])
    number = 0
    for program, arch in chosen(arguments):
        number += 1
        with tempfile.TemporaryDirectory(dir=kiln_tool.scratch_root()) as scratch:
            check(Job(program, arch, toolkit, pathlib.Path(scratch)), arguments, table)
    print(f"{toolkit.text}: {number} programs, {table.right} checks right, {sum(table.faults.values())} wrong "
          f"{dict(table.faults)}")
    return 1 if table.faults or not number else 0


if __name__ == "__main__":
    sys.exit(main())
