"""Kernels of other people's packages through a plain NVRTC loop and through kiln: equal images, or the same failure; then five
behaviours of the cache, time and size.

    engines.py [--small] [--package NAME] [--only TEXT] [--times 5] [--plain]

--small is what CI runs: what needs no download, and no time is judged; nor is it with --times 0. --times says how often both are
measured again where kiln took too long. --plain stops behind the plain loop, to write kernels by. Status 1 where anything is not as
it should be."""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parent / "engine_programs")]
import engine_programs
import kernels
import kiln_tool
from engine_programs import Wrong, expect

RATIO = 1.1
FASTER = 3
FAMILY = 5  # fewer members are no family
BEHAVIOURS = ("second process", "touched", "moved", "edited", "explained")


class Job(engine_programs.Job):
    """One kernel in the tree of its package, which all its kernels share."""

    def __init__(self, kernel, package, tree, toolkit, scratch):
        self.program, self.arch, self.toolkit, self.scratch = kernel, kernel.archs[0], toolkit, scratch
        self.package, self.patience_s = package, kiln_tool.TIMEOUT_S
        self.place(tree)

    def place(self, tree):
        self.tree = tree / "sources"
        self.tree.mkdir(exist_ok=True)
        (self.tree / self.program.name).write_text(self.program.source)
        self.include = [tree / folder for folder in self.program.include or self.package.include]

    def words(self):
        return {"folder": str(self.tree), "source": self.program.name, "kernels": self.program.kernels,
                "include": [str(folder) for folder in self.include], "option": self.program.options, "arch": self.arch}

    def explain(self, cache):
        words = [*(word for kernel in self.program.kernels for word in ("--name", kernel)),
                 *(word for folder in self.include for word in ("-I", folder)),
                 *(f"--option={each}" for each in self.program.options)]
        outcome = kiln_tool.run(["--cache", cache, "--json", "explain", self.program.name, "--arch", self.arch, *words], self.tree)
        told = kiln_tool.documents(outcome)
        expect(told and "request" in told[0], f"no explanation: {outcome.stderr.decode(errors='replace')[-300:]}")
        return told[0]

    def seed(self):
        return self.explain(self.scratch / "none")["request"]

    def plain(self, seed):
        """What came of plain NVRTC: its result, or None, and what it told beside."""
        image = self.scratch / "plain.image"
        job = {"name": f"/kiln/{self.program.name}", "source": self.program.source, "kernels": self.program.kernels, "headers": {},
               "image": str(image), "options": [f"--gpu-architecture={self.arch}", "--no-cache", f"-frandom-seed={seed}",
                                                *(f"-I{folder}" for folder in [*self.include, *self.toolkit.headers]),
                                                *self.program.options]}
        (told,), _ = run({"compiler": self.toolkit.library, "plain": job})
        if "error" in told:
            return None, told
        return engine_programs.Result(image.read_bytes(), self.without_paths(told["log"]), told["lowered"]), told

    def without_paths(self, log):
        for folder in [*self.include, *self.toolkit.headers]:
            log = log.replace(f"{folder}/", "")
        return log.rstrip()

    def item(self):
        return {"name": self.program.name, "source": self.program.source, "kernels": self.program.kernels,
                "options": self.program.options, "targets": [self.arch], "include_dirs": [str(folder) for folder in self.include]}

    def header(self):
        """The last header of the package that its source includes, as it is spelled and where it lies; or None."""
        for spelling in reversed(re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', self.program.source, re.MULTILINE)):
            for folder in self.include:
                if (folder / spelling).is_file():
                    return spelling, folder / spelling
        return None


class Times:
    """The least that something took, of the clock and of the processor."""

    def __init__(self, told):
        self.seconds, self.cpu = told["seconds"], told["cpu"]

    def take(self, told):
        self.seconds, self.cpu = min(self.seconds, told["seconds"]), min(self.cpu, told["cpu"])


@dataclasses.dataclass
class Row:
    """What came of one kernel."""

    job: Job
    seed: str = ""
    failure: str = ""
    advice: str = ""
    plain: Times = None
    cold: Times = None
    warm_s: float = 0
    key: str = ""
    image: bytes = b""
    faults: list = dataclasses.field(default_factory=list)
    behaviours: dict = dataclasses.field(default_factory=dict)

    @property
    def name(self):
        return self.job.program.name.removesuffix(".cu")

    @property
    def ratio(self):
        return self.cold.cpu / self.plain.cpu

    def fault(self, what):
        self.faults.append(what)
        print(f"WRONG: {self.name}: {what}", flush=True)

    def note(self, behaviour, right, otherwise):
        self.behaviours[behaviour] = self.behaviours.get(behaviour, True) and bool(right)
        if not right:
            self.fault(f"{behaviour}: {otherwise}")


def run(job):
    """What a process of its own tells: for each program, and whether it mapped a compiler."""
    outcome = subprocess.run([sys.executable, HERE / "ask.py"], input=json.dumps(job), text=True, capture_output=True,
                             env=kiln_tool.environment({}))
    expect(outcome.returncode == 0, f"ask.py: status {outcome.returncode}: {outcome.stderr[-500:]}")
    *told, last = map(json.loads, outcome.stdout.splitlines())
    return told, last["mapped"]


def ask(cache, jobs, compiler=None):
    return run({"compiler": compiler, "cache": str(cache), "programs": [each.words() for each in jobs]})


def first_error(log):
    """What a failure comes to, without the folders of this machine."""
    found = re.search(r"catastrophic error: (.*)", log) or re.search(r"error: (.*)", log)
    return found[1].strip() if found else log.strip().splitlines()[-1:]


def compile_both(row, cache):
    """Plain NVRTC and kiln, one after the other."""
    job = row.job
    row.seed = job.seed()
    plain, told = job.plain(row.seed)
    if plain is None:
        compare_failures(row, told["error"], cache)
        return
    expect(not job.program.expected_failure, "compiles, though it is listed as a failure")
    expect(engine_programs.holds_kernels(plain), "its kernels are not in the image")
    row.plain, row.image = Times(told), plain.image
    (answer,), mapped = ask(cache, [job], job.toolkit.library)
    expect("error" not in answer, f"kiln does not compile it: {answer.get('error', '')[:500]}")
    expect(mapped, "no compiler seems mapped after a compile")
    expect(answer["origin"] == "compiled", f"{answer['origin']} before it was ever compiled")
    row.cold, row.key = Times(answer), answer["key"]
    mine = engine_programs.kept(job, row.key, cache)
    expect(mine is not None, "not kept")
    if not job.program.kernels:  # Then kiln tells those that are in the image.
        mine = mine._replace(lowered={})
    difference = plain.difference(mine)
    expect(difference is None, f"another {difference} than plain NVRTC's")


def measure_again(row, times):
    """Both again, in turns, where kiln took too long: other processes share the machine."""
    for number in range(times):
        if row.ratio <= RATIO:
            return
        row.plain.take(row.job.plain(row.seed)[1])
        (answer,), _ = ask(row.job.scratch / f"again{number}", [row.job], row.job.toolkit.library)
        row.cold.take(answer)
        shutil.rmtree(row.job.scratch / f"again{number}")
    if times and row.ratio > RATIO:
        row.fault(f"cold in {row.ratio:.2f} times plain NVRTC's time")


def compare_failures(row, log, cache):
    (answer,), _ = ask(cache, [row.job])
    row.failure = first_error(log)
    expect("error" in answer, f"kiln compiles what plain NVRTC does not: {row.failure}")
    missing = re.search(r'cannot open source file "([^"]+)"', row.failure)
    said = missing[1] if missing else row.failure
    expect(said in answer["error"], f"plain NVRTC says: {row.failure}; kiln says: {answer['error'][:800]}")
    expect(row.job.program.expected_failure, f"does not compile: {log[:1500]}")
    row.advice = answer["error"]


def expect_hits(rows, cache, behaviour, warm=False):
    answers, mapped = ask(cache, [row.job for row in rows])
    for row, answer in zip(rows, answers):
        origin = answer.get("origin", answer.get("error"))
        if warm:
            row.warm_s = answer.get("seconds", 0)
            right = origin == "local" and answer["key"] == row.key and not mapped
        else:
            right = origin == "local" and answer["key"] == row.key
        row.note(behaviour, right, f"{origin}{', with libnvrtc mapped' if warm and mapped else ''}")


def check_edited(rows, cache):
    """A header of each is edited in turn; whoever includes it misses and is told so, and hits again when it is as it was."""
    by_header = {}
    for row in rows:
        found = row.job.header()
        if found:
            by_header.setdefault(found, []).append(row)
    for (spelling, path), those in by_header.items():
        text, stat = path.read_bytes(), path.stat()
        for row in those:
            row.note("explained", row.job.explain(cache)["hit"], "a miss before anything was edited")
        path.write_bytes(text + b"\n#define KILN_EDITED_THIS 1\n")
        for row in those:
            told = row.job.explain(cache)
            row.note("edited", not told["hit"], "a hit with an edited header")
            row.note("explained", spelling in json.dumps(told["nearest"]), f"{spelling} is not named: {json.dumps(told)[:600]}")
        path.write_bytes(text)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def move(rows, tree):
    moved = tree.with_name("moved")
    tree.rename(moved)
    for row in rows:
        row.job.place(moved)


def check_behaviours(rows, tree, cache):
    expect_hits(rows, cache, "second process", warm=True)
    for path in tree.rglob("*"):
        os.utime(path)
    expect_hits(rows, cache, "touched")
    check_edited(rows, cache)
    holding = [row for row in rows if str(tree).encode() in row.image]
    for row in holding:
        row.behaviours["moved"] = "its image holds the path"
    free = [row for row in rows if row not in holding]
    move(rows, tree)
    if free:
        expect_hits(free, cache, "moved")


def copied(package, scratch):
    tree = scratch / "tree"
    for name, folder in package.folders.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(folder, tree / name)
    tree.mkdir(exist_ok=True)
    return tree


def check_package(package, chosen, toolkit, scratch, arguments):
    tree, cache = copied(package, scratch), scratch / "cache"
    rows = [Row(Job(kernel, package, tree, toolkit, scratch)) for kernel in chosen]
    for row in rows:
        try:
            if arguments.plain:
                only_plain(row)
            else:
                compile_both(row, cache)
                if row.key:
                    measure_again(row, arguments.times)
        except Wrong as wrong:
            row.fault(str(wrong))
        show(row)
    compiled = [row for row in rows if row.key]
    families = []
    if arguments.times:
        families = [check_family(name, compiled, scratch) for name in sorted({row.job.program.family for row in compiled} - {""})]
    if compiled:
        check_behaviours(compiled, tree, cache)
    return rows, [each for each in families if each]


def only_plain(row):
    plain, told = row.job.plain("0")
    expect(plain is not None, first_error(told.get("error", "")))
    expect(engine_programs.holds_kernels(plain), "its kernels are not in the image")
    row.plain = row.cold = Times(told)


def show(row):
    if row.failure:
        print(f"  {row.name:36} {row.job.arch:8} as plain NVRTC: {row.failure}", flush=True)
    elif row.cold:
        print(f"  {row.name:36} {row.job.arch:8} plain {row.plain.seconds * 1e3:7.0f} ms, kiln {row.cold.seconds * 1e3:7.0f} ms, "
              f"{row.ratio:.2f}, {len(row.image) / 1024:6.0f} KiB", flush=True)


def check_family(name, compiled, scratch):
    """A whole prewarm with two workers, against the sum of what plain NVRTC took for one after the other."""
    members = [row for row in compiled if row.job.program.family == name]
    if len(members) < FAMILY:
        return None
    cache, manifest = scratch / "family", scratch / "family.json"
    manifest.write_text(json.dumps({"kiln_manifest": 1, "programs": [row.job.item() for row in members]}))
    plain_s = sum(row.job.plain(row.seed)[1]["seconds"] for row in members)
    began = time.monotonic()
    outcome = kiln_tool.run(["--cache", cache, "--json", "prewarm", "--jobs", "2", manifest], scratch)
    kiln_s = time.monotonic() - began
    fault = outcome.returncode != 0
    for row in members:
        mine = engine_programs.kept(row.job, row.key, cache)
        if mine is None or mine.image != row.image:
            row.fault("another image, or none, where its family was prewarmed")
            fault = True
    shutil.rmtree(cache, ignore_errors=True)
    print(f"  family {name}: {len(members)} members, plain {plain_s:.1f} s, kiln {kiln_s:.1f} s, {plain_s / kiln_s:.1f} times faster"
          f"{', WRONG' if fault or plain_s / kiln_s < FASTER else ''}", flush=True)
    return name, len(members), plain_s, kiln_s, fault


def summary(name, rows):
    compiled = [row for row in rows if row.key]
    failed = [row for row in rows if row.failure]

    def count(behaviour):
        of = [row for row in compiled if behaviour in row.behaviours]
        right = sum(row.behaviours[behaviour] is True for row in of)
        held = sum(row.behaviours[behaviour] not in (True, False) for row in of)
        return f"{right}/{len(of)}" + (f" ({held} hold the path)" if held else "")
    ratios = sorted(row.ratio for row in compiled)
    spread = f"{ratios[len(ratios) // 2]:.2f}, {ratios[-1]:.2f}" if ratios else ""
    return f"| {name} | {len(compiled)} | {len(failed)} | {' | '.join(count(each) for each in BEHAVIOURS)} | {spread} |"


def advice(row):
    """What kiln says to do, beyond NVRTC's own log."""
    found = re.search(r"(?:NVRTC has no|Add its folder)[^\n]*", row.advice)
    return found[0] if found else ""


def report(results, families, toolkit):
    print(f"\n{toolkit.text}\n\n| package | compiled, equal | failed alike | {' | '.join(BEHAVIOURS)} | ratio: median, worst |\n"
          f"|---|---|---|{'---|' * len(BEHAVIOURS)}---|")
    for name, rows in results.items():
        print(summary(name, rows))
    print("\n| kernel | arch | plain ms | kiln cold ms | ratio | warm ms | KiB |\n|---|---|---|---|---|---|---|")
    for rows in results.values():
        for row in rows:
            if row.key:
                print(f"| {row.name} | {row.job.arch} | {row.plain.seconds * 1e3:.0f} | {row.cold.seconds * 1e3:.0f} | {row.ratio:.2f} | "
                      f"{row.warm_s * 1e3:.2f} | {len(row.image) / 1024:.0f} |")
    print("\n| fails as with plain NVRTC | reason | kiln adds |\n|---|---|---|")
    for rows in results.values():
        for row in rows:
            if row.failure:
                print(f"| {row.name} | {row.failure} | {advice(row)} |")
    if families:
        print("\n| family | members | plain s | kiln s, 2 jobs | times faster |\n|---|---|---|---|---|")
        for name, members, plain_s, kiln_s, _ in families:
            print(f"| {name} | {members} | {plain_s:.1f} | {kiln_s:.1f} | {plain_s / kiln_s:.1f} |")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--package", default="", choices=("", *kernels.PACKAGES))
    parser.add_argument("--only", default="")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--times", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.small:
        arguments.times = 0
    return arguments


def main():
    arguments = parse()
    toolkit = engine_programs.Toolkit()
    results, families = {}, []
    for name in [arguments.package] if arguments.package else kernels.PACKAGES[:1] if arguments.small else kernels.PACKAGES:
        package = kernels.package(name)
        if package is None:
            print(f"skipped: {name}: it is not here, see fetch.py", flush=True)
            continue
        chosen = [kernel for kernel in package.kernels if arguments.only in kernel.name and (kernel.small or not arguments.small)]
        print(f"{name}: {len(chosen)} kernels", flush=True)
        with tempfile.TemporaryDirectory(dir=kiln_tool.scratch_root()) as scratch:
            results[name], more = check_package(package, chosen, toolkit, pathlib.Path(scratch), arguments)
            families += more
    if not results:
        kiln_tool.skip("no package is here")
    if not arguments.plain:
        report(results, families, toolkit)
    every = [row for rows in results.values() for row in rows]
    faults = sum(len(row.faults) for row in every)
    slow = [name for name, _, plain_s, kiln_s, fault in families if fault or plain_s / kiln_s < FASTER]
    print(f"\n{toolkit.text}: {sum(bool(row.key) for row in every)} kernels compiled, {sum(bool(row.failure) for row in every)} failed "
          f"alike, {faults} faults, families not {FASTER} times faster: {', '.join(slow) or 'none'}")
    return 1 if faults or slow or not every else 0


if __name__ == "__main__":
    sys.exit(main())
