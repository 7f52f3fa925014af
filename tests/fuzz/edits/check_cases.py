"""Runs the cases: a program is asked for, one thing is changed, it is asked for again, and what is served is compared
with a fresh compile.

    check_cases.py [--way in_process] [--only TEXT] [--point A4] [--half 0] [--list] [--uncompiled]

One line for each case that is not as it should be, then the figures; status 1 where there is one."""

import argparse
import collections
import os
import pathlib
import sys
import tempfile

from cases import CASES
from staged import STAGED, Skipped
from tree import write_file
from ways import all_ways, kiln_tool


def make_files(folder, files):
    """Texts first, then what is made of them: links."""
    for path, text in files.items():
        if not callable(text):
            text = text if isinstance(text, bytes) else text.encode()
            write_file(folder / path, text.replace(b"FOLDER", os.fsencode(folder)))
    for make in filter(callable, files.values()):
        make(folder)


def program_of(case, folder, **otherwise):
    arch, image = case.image
    asked_for = {"include": case.include, "define": case.define, "option": case.option, "standard": case.standard}
    return kiln_tool.Program(folder, arch=arch, image=image, **{**asked_for, **otherwise})


def judge(case, first, again, fresh):
    """What is wrong, in a word or two, or None. `fresh` compiles when it is called."""
    if first.died or again.died:
        return "DIED"
    if case.expect == "not_kept":
        return None if not again.hit else "KEPT" if again.image == fresh().image else "STALE"
    if case.expect == "last_resort":
        if not again.hit:
            return "not served"
        return None if again.warned else "served without a warning"
    if case.expect == "kept" and not first.stored:
        return f"not kept: {first.report.get('not_stored') or first.errors.strip()[-80:]}"
    if case.expect == "hit" and not again.hit:
        return "MISSED"
    right = fresh()
    if right.image is None and again.hit:  # It cannot be compiled any more: the last resort.
        return None if again.warned else "served without a warning"
    if again.image != right.image:
        return "STALE" if again.hit else "another image than a fresh one"
    return None


COMPILER_VARIABLES = ("NVRTC_", "NVVM_", "LLVM_")


def run_case(case, way, folder):
    make_files(folder, case.files)
    cache = folder.parent / "cache"
    before = program_of(case, folder)
    first = way.ask(before, cache, case.settings)
    case.edit(folder)
    after = program_of(case, folder, **case.after)
    again = way.ask(after, cache, case.settings_after)
    # A worker gets none of the variables that NVRTC reads, so that a plain compile must not either.
    kept_back = COMPILER_VARIABLES if way.workers != "0" else ()
    compiling = {name: value for name, value in case.settings_after.items()
                 if name not in kiln_tool.NO_COMPILER and not name.startswith(kept_back)}
    return judge(case, first, again, lambda: kiln_tool.compile_freshly(after, compiling)), first


def check(case, way):
    """What is wrong with this case, and whether NVRTC compiled what it begins with."""
    with tempfile.TemporaryDirectory(dir=kiln_tool.scratch_root()) as scratch:
        folder = pathlib.Path(scratch) / "p"
        folder.mkdir()
        if case in STAGED:
            return case.check(way, folder), True
        fault, first = run_case(case, way, folder)
        return fault, first.image is not None


def chosen(arguments):
    named = [case for case in CASES + STAGED if arguments.only in case.name and arguments.point in ("", case.point)]
    if arguments.half is None or os.environ.get("KILN_EDITS"):
        return named
    return named[arguments.half::2]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--way", default="in_process", choices=sorted(all_ways()))
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--point", default="", help="A1, A2, ...")
    parser.add_argument("--half", type=int, choices=(0, 1), help="every other case, unless KILN_EDITS is set")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--uncompiled", action="store_true", help="also name what NVRTC does not compile at first")
    return parser.parse_args()


def main():
    arguments = parse()
    cases = chosen(arguments)
    if arguments.list:
        print(*(f"{case.point:4} {case.name}" for case in cases), sep="\n")
        return 0
    kiln_tool.compiler()
    way = all_ways()[arguments.way]
    faults, uncompiled, skipped = collections.Counter(), 0, 0
    for case in cases:
        try:
            fault, compiled = check(case, way)
        except Skipped as why:
            skipped += 1
            print(f"{case.point:4} {case.name:60} skipped: {why}")
            continue
        except Exception as error:  # The cases behind it are to be run all the same.
            fault, compiled = f"{type(error).__name__}: {error}", True
        uncompiled += not compiled
        if fault:
            faults[fault.split(":")[0]] += 1
        if fault or not compiled and arguments.uncompiled:
            print(f"{case.point:4} {case.name:60} {fault or 'NVRTC does not compile it'}", flush=True)
    print(f"{len(cases)} cases, {way.name}: {sum(faults.values())} faults {dict(faults)}; "
          f"{uncompiled} that NVRTC does not compile, {skipped} skipped")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
