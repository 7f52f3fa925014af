"""Programs are compiled while their process may at times open no file: whatever is kept must be what a compile without
limits gives, and no process may die.

    descriptors.py [--workers 0] [--compiles N] [--seed 1]

The limit of the tool and of its workers is changed from outside, every fraction of a millisecond, between what is
enough and nothing. KILN_EDITS goes before --compiles. Status 1 where a wrong image was kept, or a process died."""

import argparse
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

from tree import write_file
from ways import kiln_tool

BATCH = 25
ENOUGH = 256
SOURCE = """#define ID {number}
#if __has_include(<o.h>)
#include <o.h>
#else
#define VAL 1
#endif
#if __has_include("p.h")
#define ALSO 1
#else
#define ALSO 0
#endif
extern "C" __global__ void k(int* x) {{ x[0] = VAL; x[1] = ALSO; x[2] = ID; }}
"""


def programs_in(folder, first):
    write_file(folder / "i/o.h", "#define VAL 2\n")
    write_file(folder / "i/p.h", "")
    programs = []
    for number in range(first, first + BATCH):
        write_file(folder / f"{number}.cu", SOURCE.format(number=number))
        programs.append(kiln_tool.Program(folder, ["i"], source=f"{number}.cu"))
    return programs


def family(pid):
    """A process and those that it started, as far as they live."""
    yield pid
    try:
        children = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
        for child in {int(word) for file in children for word in file.read_text().split()}:
            yield from family(child)
    except OSError:
        return


def starve(process, dice):
    """Until it ends: mostly enough, for moments nothing."""
    while process.poll() is None:
        for limit in (dice.choice((3, 3, 8, 12)), ENOUGH):
            for pid in list(family(process.pid)):
                try:
                    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, ENOUGH))
                except (ProcessLookupError, PermissionError):
                    pass
            time.sleep(dice.random() * (0.003 if limit < ENOUGH else 0.02))


def prewarm(programs, folder, cache, workers, dice=None):
    """Status and messages of a prewarm of them all; starved where there are dice."""
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps({"kiln_manifest": 1, "programs": [program.listed() for program in programs]}))
    process = subprocess.Popen([kiln_tool.TOOL, "--cache", cache, "--json", "prewarm", manifest], cwd=folder,
                               env=kiln_tool.environment({"KILN_COMPILE_WORKERS": workers, "KILN_PCH_MAX_SIZE": "0"}),
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if dice:
        time.sleep(0.03)  # Past the loader.
        starve(process, dice)
    errors = process.communicate()[1].decode(errors="replace")
    return process.returncode, errors


def served(program, cache):
    return kiln_tool.compile_program(program, cache, {"KILN_MODE": "cache-only"}).image


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--workers", default="0")
    parser.add_argument("--compiles", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    compiles = int(os.environ.get("KILN_EDITS") or arguments.compiles)
    kiln_tool.compiler()
    dice = random.Random(arguments.seed)
    kept = wrong = died = 0
    for first in range(0, compiles, BATCH):
        with tempfile.TemporaryDirectory(dir=kiln_tool.scratch_root()) as scratch:
            folder = pathlib.Path(scratch)
            programs = programs_in(folder, first)
            status, errors = prewarm(programs, folder, folder / "starved", arguments.workers, dice)
            if status < 0:  # A worker may die of it, and is told about; its host may not.
                died += 1
                print(f"DIED: batch {first}, status {status}: {errors.strip()[-200:]}", flush=True)
            prewarm(programs, folder, folder / "fresh", "0")
            for program in programs:
                image = served(program, folder / "starved")
                kept += image is not None
                if image is not None and image != served(program, folder / "fresh"):
                    wrong += 1
                    print(f"WRONG: {program.source}", flush=True)
    print(f"{arguments.workers} workers: {compiles} compiles near the limit, {kept} kept, {wrong} wrong, {died} died")
    return 1 if wrong or died else 0


if __name__ == "__main__":
    sys.exit(main())
