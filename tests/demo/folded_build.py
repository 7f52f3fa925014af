"""How tools/demo/run shows a build: as a line that moves on a terminal, as few plain ones elsewhere; an error whole.

    folded_build.py FOLDED_SH"""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

from terminal import run_on_terminal

BUILD = 'for i in $(seq 200); do echo "[$i/200] Building CXX object $(printf %0200d "$i")"; done'
# Ninja counts anew after it ran CMake, and fewer steps once it finds that some are not needed.
COUNTS = ["1/2", *(f"{n}/10" for n in range(1, 5)), *(f"{n}/8" for n in range(5, 9)), "1/8"]
AGAIN = "; ".join(f"echo '[{count}] step'" for count in COUNTS)
BROKEN = """echo '[1/9] Building CXX object good.o'; echo 'FAILED: bad.o'; echo 'c++ -c bad.cpp'
echo "bad.cpp:1:2: error: '[3/4] x' was not declared"; echo 'ninja: build stopped: subcommand failed.'; exit 3"""
# All but what Ninja says of steps that went well.
ERROR = """FAILED: bad.o
c++ -c bad.cpp
bad.cpp:1:2: error: '[3/4] x' was not declared
ninja: build stopped: subcommand failed.
"""


def expect(condition, what, found):
    if not condition:
        sys.exit(f"{what}:\n{found!r}")


def words(folded, log, build):
    return ["bash", "-c", f"set -euo pipefail; source {shlex.quote(folded)}; "
                          f"kiln_folded {shlex.quote(str(log))} bash -c {shlex.quote(build)}; echo done"]


def check_plain(folded, log):
    outcome = subprocess.run(words(folded, log, BUILD), capture_output=True, text=True)
    expect(outcome.returncode == 0 and outcome.stdout == "done\n", "a build that goes well", outcome)
    expect(outcome.stderr.splitlines() == [f"kiln: built {n} of 200" for n in range(20, 201, 20)],
           "without a terminal it is not a line for each tenth", outcome.stderr)
    expect(len(log.read_text().splitlines()) == 200, "the log is not whole", log.read_text())


def check_again(folded, log):
    outcome = subprocess.run(words(folded, log, AGAIN), capture_output=True, text=True)
    expect(outcome.stderr.splitlines() == [f"kiln: built {count.replace('/', ' of ')}" for count in COUNTS],
           "steps that are counted anew are not told", outcome.stderr)


def check_terminal(folded, log, terminal, moves):
    environment = {**os.environ, "TERM": terminal}
    status, written = run_on_terminal(words(folded, log, BUILD), environment)
    expect(status == 0 and ("\r\x1b[K[7/200] " in written) == moves and ("\x1b" in written) == moves,
           f"a terminal called {terminal}", written)
    # It is one line, wiped at the end, and none of its texts is wider than the terminal.
    if moves:
        texts = written.split("\r\x1b[K")
        expect(texts[-1] == "done\n" and "\n" not in "".join(texts[:-1]) and max(map(len, texts)) < 80,
               "it does not stay in its line", written)


def check_error(folded, log):
    outcome = subprocess.run(words(folded, log, BROKEN), capture_output=True, text=True)
    expect(outcome.returncode == 3 and outcome.stdout == "", "a build that fails is not the end", outcome)
    expect(outcome.stderr.startswith("kiln: built 1 of 9\n" + ERROR) and str(log) in outcome.stderr,
           "the error is not told whole", outcome.stderr)
    status, written = run_on_terminal(words(folded, log, BROKEN), {**os.environ, "TERM": "xterm"})
    expect(status == 3 and "\r\x1b[K" + ERROR in written, "on a terminal the error is not told whole", written)


def main():
    folded = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        log = pathlib.Path(scratch) / "build log"
        check_plain(folded, log)
        check_again(folded, log)
        check_terminal(folded, log, "xterm", True)
        check_terminal(folded, log, "dumb", False)
        check_error(folded, log)


main()
