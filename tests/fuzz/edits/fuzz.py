"""A differential fuzzer of what kiln thinks a program depends on: random graphs of headers, one edit after the other,
and after each the program is asked for again. What is served is compared with a fresh compile into an empty cache;
what is compiled although nothing that the compiler asks for has changed is counted as an unneeded miss.

    fuzz.py [--way in_process] [--edits N] [--seconds S] [--seed 1] [--graph G [--chosen …]] [--cells] [--counts FILE]
            [--keep DIR]

Each graph is decided by the seed and its number. Of the edits that can be made in it, those have their turn that were made least
often; a finding tells which, so that --graph with --chosen repeats it. Status 1 where anything stale was served, or a process died, or a warning was missing."""

import argparse
import collections
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile
import time

from edits import EDITS, Aim
from graph import Graph
from ways import all_ways, kiln_tool

EDITS_OF_A_GRAPH = 16
# What may never be: the fuzzer ends with status 1.
FAULTS = ("STALE", "DIED", "differs", "fails alone", "compiles alone", "served without a warning")
COLUMNS = ("edits", "equal", "hit", "missed", "unneeded", "last resort", "not compiled", "not kept", *FAULTS)


class Cells:
    """Counts for each pair of construct and edit."""

    def __init__(self, file=None):
        self.counts = collections.defaultdict(collections.Counter)
        self.reasons = collections.Counter()
        self.uncompiled = 0
        self.file = file  # Of other runs' counts, to which these are added in the end.
        self.before = self.of_others()

    def made(self, *pair):
        return sum(counts[pair]["edits"] for counts in (self.counts, self.before) if pair in counts)

    def of_others(self):
        if self.file is None or not self.file.exists():
            return {}
        told = json.loads(self.file.read_text())
        return {tuple(pair.split("\t")): collections.Counter(count) for pair, count in told.items()}

    def add_to_file(self):
        """Other runs may do the same beside this one. From then on the counts are all runs'."""
        with open(self.file.with_name(self.file.name + ".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for pair, count in self.of_others().items():
                self.counts[pair].update(count)
            written = self.file.with_name(self.file.name + ".new")
            written.write_text(json.dumps({"\t".join(pair): count for pair, count in sorted(self.counts.items())}, indent=0))
            written.replace(self.file)

    def total(self):
        return sum(self.counts.values(), collections.Counter())

    def print(self, every):
        total = self.total()
        columns = [column for column in COLUMNS if total[column]]
        print(f"{'construct':38} {'edit':40}", *(f"{column:>9}" for column in columns))
        for pair in sorted(self.counts):
            count = self.counts[pair]
            if every or count["unneeded"] or any(count[fault] for fault in FAULTS):
                print(f"{pair[0]:38} {pair[1]:40}", *(f"{count[column]:{max(9, len(column))}}" for column in columns))
        print(f"{'all':38} {f'{len(self.counts)} cells':40}",
              *(f"{total[column]:{max(9, len(column))}}" for column in columns))
        for reason, times in self.reasons.most_common():
            print(f"not kept {times} times: {reason}")


class Run:
    """One graph, edited again and again over one cache."""

    def __init__(self, number, arguments, way, cells, scratch):
        self.number, self.arguments, self.way, self.cells = number, arguments, way, cells
        self.scratch = pathlib.Path(scratch)
        self.folder = self.scratch / "p"
        self.cache = self.scratch / "cache"
        self.random = random.Random(f"{arguments.seed}:{number}")
        self.chosen = []        # for each step: which place, which edit
        self.to_choose = list(arguments.chosen)
        self.folder.mkdir()
        self.graph = Graph(self.folder, self.random)
        self.fresh_images = {}  # by the state of the folder
        self.fresh_errors = ""  # of the last fresh compile
        self.kept = set()       # requests and readings whose result the cache should have

    def go(self, until):
        self.way.begin(f"{self.arguments.seed}:{self.number}")
        try:
            self.edit_again_and_again(until)
        finally:
            self.way.end(self.cache)

    def edit_again_and_again(self, until):
        image = self.ask()[0].image
        if image is None:
            self.cells.uncompiled += 1
            return
        for step in range(EDITS_OF_A_GRAPH):
            if until():
                return
            saved = self.scratch / f"before{step}"
            state = self.graph.save(saved)
            pair = self.edit()
            if pair is None:
                continue
            answer, fault = self.judge(step, pair, image)
            if fault or answer.image is None or self.random.random() < 0.3:
                self.graph.restore(saved, state)
                answer, fault = self.judge(step, (pair[0], "undone"), answer.image)
                if fault:  # What comes next would be blamed on the next edit.
                    return
            image = answer.image
            shutil.rmtree(saved)

    def edit(self):
        """Of all edits that can be made, one that was made least often at such a place."""
        names = list(EDITS)
        places = {place[0].number: place for place in self.graph.reading().places.values()}
        wanted = [edit for edit, name in enumerate(names) if any(text in name for text in self.arguments.only or [""])]
        turns = [(number, edit) for number in places for edit in wanted]
        # What chance decides in the graph is not to depend on what was made in others.
        random.Random(f"{self.arguments.seed}:{self.number}:{len(self.chosen)}").shuffle(turns)
        turns.sort(key=lambda turn: self.cells.made(places[turn[0]][0].construct.name, names[turn[1]]))
        for number, edit in [self.to_choose.pop(0)] if self.to_choose else turns:
            state = self.random.getstate()
            if EDITS[names[edit]](Aim(self.graph, *places[number])) is not False:
                self.chosen.append((number, edit))
                return places[number][0].construct.name, names[edit]
            self.random.setstate(state)
        return None

    def ask(self):
        program = self.graph.program()
        reading = (request(program), tuple(self.graph.reading().asked))
        answer = self.way.ask(program, self.cache)
        known = reading in self.kept
        if answer.stored or answer.hit:
            self.kept.add(reading)
        return answer, known

    def judge(self, step, pair, image_before):
        answer, known = self.ask()
        count = self.cells.counts[pair]
        fault = self.fault(answer)
        count["edits"] += 1
        count["hit" if answer.hit else "missed" if answer.image else "not compiled"] += 1
        count["equal"] += answer.image is not None and answer.image == image_before
        if answer.image and not answer.hit and not answer.stored:
            count["not kept"] += 1
            self.cells.reasons[reason(answer)] += 1
        elif known and answer.image and not answer.hit and not fault:
            count["unneeded"] += 1
        if fault:
            count[fault] += 1
            if fault in FAULTS:
                self.tell(step, pair, fault, answer)
        return answer, fault

    def fault(self, answer):
        if answer.died:
            return "DIED"
        fresh = self.fresh()
        if answer.image == fresh:
            return None
        if answer.image is None:
            return "fails alone"
        if fresh is None:
            return "compiles alone" if not answer.hit else "last resort" if answer.warned else FAULTS[-1]
        return "STALE" if answer.hit else "differs"

    def fresh(self):
        """By the state of the folder, so that what an undone edit goes back to is not compiled again."""
        program = self.graph.program()
        state = (state_of(self.folder), tuple(program.words()))
        if state not in self.fresh_images:
            answer = self.way.fresh(program)
            self.fresh_images[state] = answer.image
            self.fresh_errors = answer.errors
        return self.fresh_images[state]

    def tell(self, step, pair, fault, answer):
        said = (answer.errors if answer.image is None else self.fresh_errors).strip()[-200:]
        chosen = ",".join(f"{number}:{edit}" for number, edit in self.chosen)
        print(f"{fault}: --seed {self.arguments.seed} --graph {self.number} --chosen {chosen}, step {step}: "
              f"{pair[0]} x {pair[1]} {said}", flush=True)
        if self.arguments.keep:
            kept = pathlib.Path(self.arguments.keep) / f"{self.way.name}_{self.arguments.seed}_{self.number}_{step}"
            shutil.copytree(self.scratch, kept, symlinks=True, dirs_exist_ok=True)


def request(program):
    """All that is asked for but where folders lie."""
    return (tuple(program.define), tuple(program.option), program.standard)


def reason(answer):
    """Why it was not kept, without names and numbers."""
    return re.sub(r"\S*[/.]\S*|\w*\d\w*\S*", "...", answer.report.get("not_stored") or "no reason given")


def state_of(folder):
    digest = hashlib.sha256()
    inodes = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = (os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder")
        first = inodes.setdefault(status.st_ino, len(inodes))
        digest.update(repr((str(path.relative_to(folder)), first, content)).encode())
    return digest.hexdigest()


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--way", default="in_process", choices=sorted(all_ways()))
    parser.add_argument("--edits", type=int, default=0, help="end after so many (KILN_EDITS goes first)")
    parser.add_argument("--seconds", type=float, default=0, help="end after so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graph", type=int, help="this graph alone")
    parser.add_argument("--chosen", default=[], type=lambda text: [tuple(map(int, each.split(":"))) for each in text.split(",")],
                        help="what a finding tells of its edits")
    parser.add_argument("--only", action="append", help="edits whose names have this text, or another one")
    parser.add_argument("--cells", action="store_true", help="every cell, not only those with findings")
    parser.add_argument("--counts", type=pathlib.Path, help="a file that adds up the cells of several runs")
    parser.add_argument("--keep", help="a folder for the trees of findings")
    arguments = parser.parse_args()
    if os.environ.get("KILN_EDITS"):
        arguments.edits, arguments.seconds = int(os.environ["KILN_EDITS"]), 0
    if arguments.graph is None and not arguments.edits and not arguments.seconds:
        arguments.seconds = 20
    return arguments


def run_graphs(numbers, arguments, way, cells, until):
    with contextlib.ExitStack() as stack:
        def scratch():
            return stack.enter_context(tempfile.TemporaryDirectory(dir=kiln_tool.scratch_root()))
        runs = [Run(number, arguments, way, cells, scratch()) for number in numbers]
        time.sleep(way.settling_s)
        for run in runs:
            if not until():
                run.go(until)


def main():
    arguments = parse()
    found = kiln_tool.compiler()
    way = all_ways()[arguments.way]
    cells = Cells(arguments.counts)
    began = time.monotonic()

    def until():
        done = sum(count["edits"] for count in cells.counts.values())
        return bool(arguments.edits and done >= arguments.edits
                    or arguments.seconds and time.monotonic() - began >= arguments.seconds)

    number = arguments.graph or 0
    while True:
        count = 1 if arguments.graph is not None else way.graphs_at_once
        run_graphs(range(number, number + count), arguments, way, cells, until)
        number += count
        if arguments.graph is not None or until():
            break
    total = cells.total()
    if arguments.counts:
        cells.add_to_file()
    cells.print(arguments.cells)
    faults = {fault: total[fault] for fault in FAULTS if total[fault]}
    print(f"{found['description'].split(',')[0]}, {way.name}, seed {arguments.seed}: {total['edits']} edits of "
          f"{number} graphs ({cells.uncompiled} that do not compile) in {time.monotonic() - began:.0f} s, {faults or 'no faults'}; "
          f"{total['unneeded']} unneeded misses of {total['equal']} edits that left the image equal"
          + "".join(f"; {times} {what}" for what, times in way.figures.items()))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
