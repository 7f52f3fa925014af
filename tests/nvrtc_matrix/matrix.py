"""The demo's programs with each NVRTC there is: compiled, hit and explained. What an older one lacks is done without.

    matrix.py BIN WHEELS VERSIONS [VERSION...]

BIN has kiln and kiln-demo; WHEELS a folder for each line of the file VERSIONS. Prints the table of
runtime/README.md, a row for each version once all of it is as it should be, and ends at the first thing that is not.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

KERNELS = pathlib.Path(__file__).parents[2] / "tools/demo/kernels"
PROGRAMS = 7
# What came with which version.
SINCE = {"precompiled": (12, 8), "seed": (12, 9), "no_cache": (12, 9), "family": (12, 9), "trace": (13, 0)}
HEAD = """\
| NVRTC | | `-pch` | trace | seed | `--no-cache` | `f` | architectures | compiled, hit, explained | missed by |
|---|---|---|---|---|---|---|---|---|---|"""
HIDDEN = "namespace { __device__ int n; template <int N> __global__ void k(int* x) { *x = n + N; } }\n"


def expect(condition, what, outcome=None):
    if condition:
        return
    if outcome is not None:
        what += f"\n{' '.join(map(str, outcome.args))}\nstatus {outcome.returncode}\n{outcome.stdout}\n{outcome.stderr}"
    sys.exit(what)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


class Machine:
    """One with this NVRTC and no other, its headers, and a cache of its own."""

    def __init__(self, tools, wheels, line, scratch):
        self.version, wheel, *_ = line.split()
        self.release = wheel.split("==")[1]
        self.text = f"NVRTC {self.version}"
        self.tools, self.scratch = tools, scratch / self.version
        self.cache = self.scratch / "cache"
        self.cache.mkdir(parents=True)
        self.folder = wheels / self.version
        self.library = next(self.folder.glob("nvidia/*/lib/libnvrtc.so.1?"))
        number = tuple(map(int, self.version.split(".")))
        self.has = {what: number >= since for what, since in SINCE.items()}
        self.archs = ["sm_80", "sm_90a"] + (["sm_100"] if number >= (12, 8) else [])

    def run(self, tool, *words, cache=None, **more):
        environment = {"PATH": os.environ["PATH"], "KILN_NVRTC": str(self.library), "TMPDIR": str(self.scratch),
                       "KILN_CACHE_DIR": str(cache or self.cache), **more}
        return subprocess.run([self.tools / tool, *map(str, words)], env=environment, capture_output=True, text=True)

    def documents(self, *words, status=0, **more):
        outcome = self.run("kiln", "--json", *words, **more)
        expect(outcome.returncode == status, f"{self.text}: another status than {status}", outcome)
        return [json.loads(line) for line in outcome.stdout.splitlines()]

    def document(self, *words, **more):
        return self.documents(*words, **more)[0]


def check_found(machine):
    """This compiler, and headers of no other."""
    compiler = machine.document("doctor")["compiler"]
    headers, = [line for line in compiler["details"] if line.startswith("headers of CUDA: ")]
    folders = headers.split(": ")[1].split(", ")
    expect(compiler["path"] == str(machine.library) and all(str(machine.folder) in folder for folder in folders),
           f"{machine.text}: another compiler or other headers are found: {compiler}")


def compile_all(machine):
    """In the demo's own process for one architecture, by workers for the others."""
    first, *others = machine.archs
    record = machine.scratch / "record.json"
    outcome = machine.run("kiln-demo", "--arch", first, "--cache", machine.cache, KILN_RECORD=str(record))
    expect(outcome.returncode == 0 and f" in {PROGRAMS} images: compiled once" in outcome.stdout,
           f"{machine.text}: the demo does not compile", outcome)
    outcome = machine.run("kiln", "--json", "prewarm", record, "--arch", ",".join(others))
    expect(outcome.returncode == 0 and f'"compiled":{PROGRAMS * len(others)},' in outcome.stdout
           and "kiln-worker" not in outcome.stderr, f"{machine.text}: workers do not compile", outcome)


def serve_all(machine):
    outcome = machine.run("kiln-demo", "--serve", "--arch", ",".join(machine.archs), "--cache", machine.cache,
                          KILN_MODE="cache-only")
    expect(outcome.returncode == 0 and " kernels served, 0 compiled" in outcome.stdout,
           f"{machine.text}: the demo is not served", outcome)
    entries = machine.documents("ls")
    expect(len(entries) == PROGRAMS * len(machine.archs), f"{machine.text}: {len(entries)} entries")
    return entries


def words_of(machine, entry):
    """The program of an entry, as a person would ask for it."""
    shown = machine.document("show", entry["key"])
    words = [KERNELS / shown["program"], "--arch", shown["arch"], "-I", KERNELS]
    words += [f"--option={option}" for option in shown["options"]]
    for kernel in shown["kernels"]:
        words += ["--name", kernel["expression"]]
    return words


def check_facts(machine, entries, params):
    """What the images tell of their kernels, whose parameters are those of the same kernels by others."""
    for entry in entries:
        for kernel in machine.document("show", entry["key"])["kernels"]:
            told = params.setdefault(kernel["expression"], kernel["params"])
            expect(kernel["registers"] and kernel["params"] == told,
                   f"{machine.text}, {entry['arch']}: the image tells {kernel}")


def explain_all(machine, entries):
    for entry in entries:
        words = words_of(machine, entry)
        hit = machine.document("explain", *words)
        expect(hit["hit"] and hit["key"] == entry["key"], f"{machine.text}: no hit: {hit}")
        miss = machine.document("explain", *words, "-DOTHER", status=1)
        differences = miss["nearest"]["differences"]
        expect([(d["field"], "-DOTHER" in d["text"]) for d in differences] == [("option", True)],
               f"{machine.text}: a miss for another reason: {miss}")


def explain_by_other(machine, entries, other):
    """What `machine` has compiled is a miss for another compiler, and both are named."""
    for entry in entries:
        miss = other.document("explain", *words_of(machine, entry), status=1, cache=machine.cache)
        told = [d["text"] for d in miss["nearest"]["differences"] if d["field"] == "toolchain"]
        expect(len(told) == 1 and machine.text in told[0] and other.text in told[0],
               f"{other.text} with the cache of {machine.text}: {miss}")


def images_of(machine, manifest, cache, **more):
    """How many compiles had their headers precompiled, and each program's image."""
    finished = machine.documents("prewarm", manifest, "--jobs", "1", cache=cache, **more)[-1]
    images = {}
    for entry in machine.documents("ls", cache=cache):
        image = machine.scratch / "image"
        machine.run("kiln", "extract", entry["key"], "-o", image, cache=cache)
        images[entry["program"]] = image.read_bytes()
    return finished["precompiled"], images


def check_precompiled(machine):
    """Where headers can be precompiled they are, and the images are the same."""
    check_precompiled_header(machine, "cuda_fp16.h", "__half")
    # The longest there is; what came with NVRTC 12.0 and 12.4 has errors under it.
    if machine.has["precompiled"]:
        check_precompiled_header(machine, "cub/block/block_reduce.cuh", "double")


def check_precompiled_header(machine, header, element):
    programs = [{"name": f"{name}.cu", "kernels": ["k"],
                 "source": f'#include <{header}>\nextern "C" __global__ void k({element}* {name}) {{ *{name} = 1; }}\n'}
                for name in "abcd"]
    scratch = machine.scratch / "alike" / pathlib.Path(header).stem
    manifest = write(scratch / "manifest.json",
                     json.dumps({"kiln_manifest": 1, "targets": ["sm_80"], "programs": programs}))
    times, images = images_of(machine, manifest, scratch / "cache")
    never, plain = images_of(machine, manifest, scratch / "plain", KILN_PCH_MAX_SIZE="0")
    expect((times, never) == (len(programs) - 1 if machine.has["precompiled"] else 0, 0),
           f"{machine.text}: {header}, precompiled, was used {times} and {never} times")
    expect(len(images) == len(programs) and images == plain, f"{machine.text}: {header}, precompiled, shows")


def check_trace(machine):
    """A header that was not read may change, where the compiler tells which were."""
    unread = write(machine.scratch / "include/unread.cuh", "// one\n")
    source = write(machine.scratch / "trace.cu",
                   '#if 0\n#include <unread.cuh>\n#endif\nextern "C" __global__ void k() {}\n')
    words = [source, "--arch", "sm_80", "--name", "k", "-I", unread.parent]
    machine.document("compile", *words)
    unread.write_text("// another\n")
    explained = machine.document("explain", *words, status=0 if machine.has["trace"] else 1)
    if not machine.has["trace"]:
        told, = explained["nearest"]["differences"]
        expect(told["field"] == "header" and "unread.cuh" in told["text"], f"{machine.text}: {explained}")


def check_seed(machine):
    """With a seed, what only this file knows has the same names in each process."""
    source = write(machine.scratch / "hidden.cu", HIDDEN)
    images = set()
    for _ in range(2):
        image = machine.scratch / "image"
        machine.document("compile", source, "--arch", "sm_80", "--name", "k<1>", "-o", image, KILN_CACHE_DISABLE="1")
        images.add(image.read_bytes())
    expect((len(images) == 1) == machine.has["seed"], f"{machine.text}: {len(images)} images of one program")


def check_options(machine):
    """What kiln passes by itself stands in the error of a failed compile."""
    source = write(machine.scratch / "wrong.cu", "nonsense\n")
    outcome = machine.run("kiln", "compile", source, "--arch", "sm_80")
    for option, what in (("--no-cache", "no_cache"), ("-frandom-seed=", "seed")):
        expect((option in outcome.stderr) == machine.has[what], f"{machine.text}: {option}", outcome)


def check_family(machine):
    source = write(machine.scratch / "family.cu", 'extern "C" __global__ void k() {}\n')
    outcome = machine.run("kiln", "compile", source, "--arch", "sm_100f", "--name", "k")
    if machine.has["family"]:
        expect(outcome.returncode == 0, f"{machine.text}: sm_100f", outcome)
    else:
        expect(outcome.returncode == 2 and f"{machine.text} does not know the architecture 'sm_100f'" in outcome.stderr,
               f"{machine.text}: sm_100f", outcome)


def row(machine, entries, others):
    yes = {what: "yes" if has else "no" for what, has in machine.has.items()}
    return " | ".join(["", machine.release, "run", yes["precompiled"], yes["trace"], yes["seed"], yes["no_cache"],
                       yes["family"], ", ".join(machine.archs), f"{len(entries)}, {len(entries)}, {len(entries)}",
                       str(others), ""]).strip()


def main():
    tools, wheels, versions = (pathlib.Path(argument).absolute() for argument in sys.argv[1:4])
    wanted = sys.argv[4:]
    lines = [line for line in versions.read_text().splitlines()
             if not wanted or line.split()[0] in wanted]
    with tempfile.TemporaryDirectory() as scratch:
        machines = [Machine(tools, wheels, line, pathlib.Path(scratch)) for line in lines]
        filled, params = [], {}
        for machine in machines:
            check_found(machine)
            compile_all(machine)
            filled.append((machine, serve_all(machine)))
        print(HEAD)
        for machine, entries in filled:
            check_facts(machine, entries, params)
            explain_all(machine, entries)
            others = [other for other in machines if other is not machine]
            for other in others:
                explain_by_other(machine, entries, other)
            for check in (check_precompiled, check_trace, check_seed, check_options, check_family):
                check(machine)
            print(row(machine, entries, len(others)), flush=True)


main()
