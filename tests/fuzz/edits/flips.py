"""The link of an include directory goes to and fro between two folders while programs are compiled: whatever is kept
must be the image of the headers under which it is kept.

    flips.py [--way in_process] [--compiles N] [--pause 0.0003]

KILN_EDITS goes before --compiles. Status 1 where a wrong image was kept, or a process died."""

import argparse
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from tree import link, write_file
from ways import all_ways, kiln_tool

FLIP = """
import os, sys, time
folder, pause = sys.argv[1], float(sys.argv[2])
os.chdir(folder)
there = 0
while True:
    there ^= 1
    os.symlink("AB"[there], "L.flip")
    try:
        os.rename("L.flip", "L")
    except FileNotFoundError:
        pass  # Cleared away while this was stopped in between.
    time.sleep(pause)
"""


class Flipper:
    """A process of its own, which is stopped while the outcome is looked at."""

    def __init__(self, folder, pause):
        self.folder = folder
        self.process = subprocess.Popen([sys.executable, "-c", FLIP, folder, str(pause)])

    @contextlib.contextmanager
    def stopped(self):
        os.kill(self.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)
        (self.folder / "L.flip").unlink(missing_ok=True)
        yield
        (self.folder / "L.flip").unlink(missing_ok=True)
        os.kill(self.process.pid, signal.SIGCONT)

    def end(self):
        self.process.kill()
        self.process.wait()


def make_program(folder):
    for name, value in (("A", 1), ("B", 2)):
        write_file(folder / name / "o.h", f"#define VAL {value}\n#include \"n.h\"\n")
        write_file(folder / name / "n.h", f"#define NEXT {value}\n")
    write_file(folder / "k.cu", '#include <o.h>\n#if __has_include(<n.h>)\n#endif\n'
               'extern "C" __global__ void k(int* x) { x[0] = VAL; x[1] = NEXT; }\n')
    return kiln_tool.Program(folder, ["L"])


def wrong_of(program, cache, way, images):
    """Which folders are served another image than theirs from what this cache kept."""
    wrong = []
    for name, image in images.items():
        link("L", name)(program.folder)
        served = way.ask(program, cache)
        if served.hit and served.image != image:
            wrong.append(name)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--way", default="in_process", choices=sorted(all_ways()))
    parser.add_argument("--compiles", type=int, default=20)
    parser.add_argument("--pause", type=float, default=0.0003, help="seconds between two flips")
    arguments = parser.parse_args()
    compiles = int(os.environ.get("KILN_EDITS") or arguments.compiles)
    kiln_tool.compiler()
    way = all_ways()[arguments.way]
    kept = wrong = died = 0
    with tempfile.TemporaryDirectory(dir=kiln_tool.scratch_root()) as scratch:
        folder = pathlib.Path(scratch) / "p"
        program = make_program(folder)
        images = {}
        for name in "AB":
            link("L", name)(folder)
            images[name] = kiln_tool.compile_freshly(program).image
        time.sleep(2.5)  # Headers that were written a moment ago are looked at twice.
        flipper = Flipper(folder, arguments.pause)
        try:
            for number in range(compiles):
                with tempfile.TemporaryDirectory(dir=kiln_tool.scratch_root()) as cache:
                    answer = way.ask(program, cache)
                    died += answer.died
                    if not answer.stored:
                        continue
                    kept += 1
                    with flipper.stopped():
                        if found := wrong_of(program, cache, way, images):
                            wrong += 1
                            print(f"WRONG: compile {number}, served for {', '.join(found)}", flush=True)
        finally:
            flipper.end()
    print(f"{way.name}: {compiles} compiles under flips, {kept} kept, {wrong} wrong, {died} died")
    return 1 if wrong or died else 0


if __name__ == "__main__":
    sys.exit(main())
