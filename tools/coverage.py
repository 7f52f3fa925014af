#!/usr/bin/env python3
"""Prints the line coverage of each room, after the tests of the preset `coverage` have run.

    cmake --preset coverage && cmake --build --preset coverage && ctest --preset coverage
    tools/coverage.py [--files] [BUILD_FOLDER]

--files lists the files as well, the least covered first. What a killed or forked process executed does not count: its
counters die with it.
"""

import argparse
import collections
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRODUCT = ("cache", "device", "runtime", "tools")


def lines_of(build, notes):
    """Of each source file of the product: which lines there are, and which were executed."""
    lines = collections.defaultdict(lambda: (set(), set()))
    for begin in range(0, len(notes), 50):
        told = subprocess.run(["gcov", "--json-format", "--stdout", *notes[begin:begin + 50]], cwd=build,
                              capture_output=True, text=True, check=True).stdout
        for document in filter(None, told.splitlines()):
            for file in json.loads(document)["files"]:
                path = pathlib.Path(file["file"])
                path = (path if path.is_absolute() else build / path).resolve()
                if not path.is_relative_to(ROOT) or path.relative_to(ROOT).parts[0] not in PRODUCT:
                    continue
                there, executed = lines[path.relative_to(ROOT)]
                there.update(line["line_number"] for line in file["lines"])
                executed.update(line["line_number"] for line in file["lines"] if line["count"])
    return lines


def print_row(name, there, executed):
    print(f"{100 * executed / there:6.1f} %  {executed:6} of {there:6}  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true")
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=ROOT / "build/coverage")
    arguments = parser.parse_args()
    notes = [str(path) for path in sorted(arguments.build.rglob("*.gcda"))]
    if not notes:
        parser.error(f"{arguments.build} has no counters: run `ctest --preset coverage` first")
    lines = lines_of(arguments.build, notes)
    rooms = collections.Counter(), collections.Counter()
    for path, of_file in lines.items():
        for count, numbers in zip(rooms, of_file):
            count[str(path.parent)] += len(numbers)
    for room, there in sorted(rooms[0].items()):
        print_row(f"{room}/", there, rooms[1][room])
    print_row("all", sum(rooms[0].values()), sum(rooms[1].values()))
    if arguments.files:
        print()
        for path, (there, executed) in sorted(filter(lambda row: row[1][0], lines.items()),
                                                key=lambda row: len(row[1][1]) / len(row[1][0])):
            print_row(path, len(there), len(executed))


main()
