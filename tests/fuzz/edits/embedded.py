"""A differential fuzzer of embedded headers, whose texts a program carries along: random programs, one edit after the
other, asked for over the library in a runtime that stays open, and in a second one over the same cache. Every image is
compared with what plain NVRTC makes of the same texts, a served one at times with a fresh compile as well.

    embedded.py [--edits N] [--seconds S] [--seed 1] [--program M] [--only TEXT]… [--without TEXT]…
                [--cells] [--keep DIR]

Each program is decided by the seed and its number, so that --program repeats the one of a finding; --only draws mostly
constructs with this in their names, --without none of them, and both belong to what is to be repeated. Programs of even
numbers are compiled in this process, those of odd ones in a worker; each behind siblings of the same prelude, so that this
is there precompiled (KILN_PCH_MAX_SIZE=0 in the environment leaves that out). What a fresh compile has wrong too is told
with the places alone that it takes. Status 1 where an image was another one than NVRTC's, or there was one and none should
be, or the other way round, or a warning was missing."""

import argparse
import dataclasses
import faulthandler
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

from carrier import DIRECTORIES, FOLDER, LANGUAGES, Carrier, folder_of, is_path, leaf_of, name_of
from constructs import BEHIND_MACRO
from embedded_constructs import TRIGRAPH
from fuzz import FAULTS, Cells, reason
from graph import Header
from plain_and_kiln import PlainNvrtc, Request, Runtime
from ways import kiln_library, kiln_tool

EDITS_OF_A_PROGRAM = 16
UNEDITED = ("the program itself", "none")

# Single changes, each aimed at one place: at the header that is found there, or would be. False where one cannot be made.

EDITS = {}


def edit(name, times=1):
    """One that is drawn so many times as often as others."""
    def add(function):
        EDITS[name] = function, times
        return function
    return add


def edit_of(name, store_of, times=1):
    """One that needs the header, in this store."""
    def add(function):
        def change(carrier, place):
            store, found = carrier.found(place)
            if store is None or store is not store_of(carrier):
                return False
            return function(carrier, store, found)
        return edit(name, times)(change)
    return add


def edit_of_embedded(name, times=1):
    return edit_of(name, lambda carrier: carrier.embedded, times)


def edit_of_disk(name, times=1):
    return edit_of(name, lambda carrier: carrier.disk, times)


def other_path(path):
    """In the other directory."""
    other = next(directory for directory in DIRECTORIES if not path.startswith(directory + "/"))
    return f"{other}/{name_of(path)}"


def new_text(carrier, header):
    return dataclasses.replace(header, version=carrier.new_version())


@edit_of_embedded("text changed", 6)
def change(carrier, store, name):
    store[name] = new_text(carrier, store[name])


@edit_of_embedded("remark added")
def remark(carrier, store, name):
    store[name] = dataclasses.replace(store[name], remark=store[name].remark + "// a remark\n")


@edit_of_embedded("removed", 3)
def remove(carrier, store, name):
    del store[name]


@edit("added", 3)
def add(carrier, place):
    if carrier.found(place)[0] is not None:
        return False
    carrier.embedded[place.name] = new_text(carrier, carrier.headers[place.name])


@edit_of_embedded("renamed, into a folder or out of it")
def rename(carrier, store, name):
    other = leaf_of(name) if folder_of(name) else FOLDER + name
    if other in store:
        return False
    store[other] = store.pop(name)


@edit_of_embedded("moved to disk")
def move_to_disk(carrier, store, name):
    path = f"{carrier.random.choice(DIRECTORIES)}/{name}"
    if not carrier.offers_disk or path in carrier.disk:
        return False
    carrier.disk[path] = store.pop(name)


@edit_of_disk("embedded")
def embed(carrier, store, path):
    carrier.embedded[name_of(path)] = store.pop(path)


@edit("all moved to disk", 2)
def move_all_to_disk(carrier, place):
    if not carrier.offers_disk or not carrier.embedded:
        return False
    directory = carrier.random.choice(DIRECTORIES)
    carrier.disk |= {f"{directory}/{name}": header for name, header in carrier.embedded.items()}
    carrier.embedded = {}


@edit("all embedded", 2)
def embed_all(carrier, place):
    if not carrier.disk:
        return False
    carrier.embedded |= {name_of(path): header for path, header in carrier.disk.items()}
    carrier.disk = {}


@edit_of_disk("its file changed")
def change_file(carrier, store, path):
    store[path] = new_text(carrier, store[path])


@edit_of_disk("its file removed")
def remove_file(carrier, store, path):
    del store[path]


@edit_of_disk("its file moved to the other directory", 3)
def move_file(carrier, store, path):
    if other_path(path) in store:
        return False
    store[other_path(path)] = store.pop(path)


@edit_of_disk("its file copied to the other directory")
def copy_file(carrier, store, path):
    if other_path(path) in store:
        return False
    store[other_path(path)] = store[path]


@edit_of_disk("its file shadowed")
def shadow(carrier, store, path):
    carrier.embedded[name_of(path)] = new_text(carrier, store[path])


@edit_of_embedded("a file of its name made or changed")
def make_file(carrier, store, name):
    if not carrier.offers_disk:
        return False
    carrier.disk[f"{carrier.random.choice(DIRECTORIES)}/{name}"] = new_text(carrier, store[name])


@edit("a neighbour of its name added")
def add_neighbour(carrier, place):
    first = carrier.names(place)[0]
    store = carrier.disk if is_path(first) else carrier.embedded
    if first in store:
        return False
    store[first] = new_text(carrier, carrier.headers[place.name])


@edit("an unread header added")
def add_unread(carrier, place):
    version = carrier.new_version()
    carrier.embedded[f"unread{version}.h"] = Header(0, "", [], version)


@edit("headers in another order")
def reorder(carrier, place):
    if len(carrier.embedded) < 2:
        return False
    carrier.embedded = dict(reversed(carrier.embedded.items()))


@edit("a macro of its own set or not")
def switch(carrier, place):
    if place.construct.kind != BEHIND_MACRO:
        return False
    carrier.switches ^= {place.switch}


@edit("an unused macro set")
def define(carrier, place):
    carrier.extra = [f"-DUNUSED={carrier.new_version()}"]


@edit("another language")
def speak(carrier, place):
    if any(TRIGRAPH in each.construct.name for each in carrier.places):
        return False
    carrier.language = carrier.random.choice([each for each in LANGUAGES if each != carrier.language])


class Run:
    """One program, edited again and again over one cache."""

    def __init__(self, number, arguments, library, plain, cells, scratch):
        self.number, self.arguments, self.library, self.plain, self.cells = number, arguments, library, plain, cells
        self.folder, self.cache = scratch / "p", scratch / "cache"
        self.folder.mkdir()
        self.scratch = scratch
        self.random = random.Random(f"{arguments.seed}:{number}")
        self.carrier = Carrier(self.random, arguments.only, arguments.without)
        self.right_images = {}  # by all that NVRTC sees
        self.kept = set()       # requests and images that the cache should have
        self.runtimes = {}

    def go(self, until):
        try:
            self.edit_again_and_again(until)
        finally:
            if "long-lived" in self.runtimes:
                self.cells.precompiled += self.runtimes["long-lived"].precompiled()
            for runtime in self.runtimes.values():
                runtime.close()

    def edit_again_and_again(self, until):
        # Twice, so that what the first edit finds is precompiled.
        answer, fault = self.judge("none", UNEDITED, siblings=2)
        if answer.image is None or fault:
            self.cells.uncompiled += answer.image is None
            return
        for step in range(EDITS_OF_A_PROGRAM):
            if until():
                return
            saved = self.carrier.save()
            pair = self.edit()
            if pair is None:
                continue
            before = answer.image
            answer, fault = self.judge(step, pair, self.random.choice((0, 0, 1, 2)), before)
            if not fault and (answer.image is None or self.random.random() < 0.3):
                self.carrier.restore(saved)
                answer, fault = self.judge(step, (pair[0], "undone"), self.random.choice((0, 0, 1)), answer.image)
            # What comes next would be blamed on the next edit.
            if fault or answer.image is None:
                return

    def edit(self):
        """Any that can be made somewhere."""
        for _ in range(50):
            name = self.random.choices(list(EDITS), [times for _, times in EDITS.values()])[0]
            place = self.random.choice(self.carrier.places)
            if EDITS[name][0](self.carrier, place) is not False:
                return place.construct.name, name
        return None

    def request(self, name="k.cu"):
        carrier = self.carrier
        return Request(self.folder, name, carrier.source(), carrier.texts(), list(DIRECTORIES) if carrier.offers_disk else [],
                       self.plain.toolkit if carrier.toolkit else [], carrier.options())

    def runtime(self, which):
        if which not in self.runtimes:
            workers = 1 if self.number % 2 and which == "long-lived" else kiln_library.WORKERS_NONE
            self.runtimes[which] = Runtime(self.library, self.cache, workers)
        return self.runtimes[which]

    def second(self):
        """At times opened again, so that it has nothing in memory."""
        if "second" in self.runtimes and self.random.random() < 0.3:
            self.runtimes.pop("second").close()
        return self.runtime("second")

    def judge(self, step, pair, siblings, image_before=None):
        """The answer to the program, and the fault that ended the asking, if one did."""
        self.carrier.write(self.folder)
        long_lived = self.runtime("long-lived")
        asked = [(f"sibling {number}", long_lived, self.request(f"{number}_k.cu")) for number in range(siblings)]
        asked += [("long-lived runtime", long_lived, self.request()), ("second runtime", self.second(), self.request())]
        for who, runtime, request in asked:
            said = runtime.ask(request)
            fault = self.fault(said)
            if who == "long-lived runtime":
                answer = said
                self.count(pair, answer, image_before, fault)
            if fault in FAULTS:
                self.cells.counts[pair][fault] += 1
                self.tell(step, pair, fault, who, said)
                return said, fault
        return answer, None

    def count(self, pair, answer, image_before, fault):
        known = (tuple(self.carrier.options()), answer.image)
        known_before = known in self.kept
        if answer.image and (answer.stored or answer.hit):
            self.kept.add(known)
        if pair == UNEDITED:
            return
        count = self.cells.counts[pair]
        count["edits"] += 1
        count["hit" if answer.hit else "missed" if answer.image else "not compiled"] += 1
        count["equal"] += answer.image is not None and answer.image == image_before
        count["last resort"] += fault == "last resort"
        if answer.image and not answer.hit and not answer.stored:
            count["not kept"] += 1
            self.cells.reasons[reason(answer)] += 1
        elif answer.image and not answer.hit and not fault:
            count["unneeded"] += known_before

    def fault(self, answer):
        right = self.right()
        if answer.image == right:
            wrong = answer.hit and self.random.random() < 0.1 and self.fresh().image != right
            return "differs" if wrong else None
        if answer.image is None:
            return "fails alone"
        if right is None:
            return "compiles alone" if not answer.hit else "last resort" if answer.warned else FAULTS[-1]
        return "STALE" if answer.hit else "differs"

    def right(self):
        """What plain NVRTC makes of it; a fresh runtime where that may look for another header."""
        state = (self.carrier.source(), tuple(self.carrier.texts().items()), tuple(self.carrier.options()),
                 tuple((name, header.text()) for name, header in sorted(self.carrier.disk.items())))
        if state not in self.right_images:
            self.right_images[state] = (self.fresh().image if self.carrier.has_neighbours()
                                        else self.plain.ask(self.request())[0])
        return self.right_images[state]

    def fresh(self):
        with tempfile.TemporaryDirectory(dir=kiln_tool.scratch_root()) as empty:
            runtime = Runtime(self.library, empty)
            answer = runtime.ask(self.request())
            runtime.close()
        return answer

    def tell(self, step, pair, fault, who, answer):
        arguments = self.arguments
        chosen = "".join(f" --{name} {text!r}" for name in ("only", "without") for text in getattr(arguments, name))
        fresh = "the same" if self.fresh().image == answer.image else "another one"
        plain = self.plain.ask(self.request())[1].strip()[-200:]
        if arguments.keep:
            kept = pathlib.Path(arguments.keep) / f"embedded_{arguments.seed}_{self.number}_{step}"
            shutil.copytree(self.scratch, kept, symlinks=True, dirs_exist_ok=True)
        shortened = self.shorten()
        print(f"{fault}: --seed {arguments.seed} --program {self.number}{chosen} step {step}: {pair[0]} x {pair[1]}; {who}, "
              f"a fresh runtime gives {fresh}; {answer.errors.strip()[-200:]} {plain}\n{shortened}{self.carrier.told()}\n===",
              flush=True)

    def shorten(self):
        """Leaves out what a fresh compile is wrong without, too; nothing where it is right. The program is then of no
        other use."""
        if not self.is_wrong_afresh():
            return ""
        stores = (self.carrier.embedded, self.carrier.disk)
        for places in [self.carrier.main, *(header.places for store in stores for header in store.values())]:
            for at in reversed(range(len(places))):
                place = places.pop(at)
                if not self.is_wrong_afresh():
                    places.insert(at, place)
        for store in stores:
            for name in list(store):
                header = store.pop(name)
                if not self.is_wrong_afresh():
                    store[name] = header
        return "shortened; "

    def is_wrong_afresh(self):
        self.carrier.write(self.folder)
        return not self.carrier.has_neighbours() and self.fresh().image != self.right()


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--edits", type=int, default=0, help="end after so many (KILN_EDITS goes first)")
    parser.add_argument("--seconds", type=float, default=0, help="end after so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", type=int, help="this program alone")
    parser.add_argument("--only", action="append", default=[], help="mostly constructs with this in their name")
    parser.add_argument("--without", action="append", default=[], help="no construct with this in its name")
    parser.add_argument("--cells", action="store_true", help="every cell, not only those with findings")
    parser.add_argument("--keep", help="a folder for the trees of findings")
    arguments = parser.parse_args()
    if os.environ.get("KILN_EDITS"):
        arguments.edits, arguments.seconds = int(os.environ["KILN_EDITS"]), 0
    if arguments.program is None and not arguments.edits and not arguments.seconds:
        arguments.seconds = 20
    return arguments


def main():
    # With the first that repeats, however short.
    os.environ.setdefault("KILN_PCH_AFTER", "0")
    faulthandler.enable()
    arguments = parse()
    found = kiln_tool.compiler()
    plain = PlainNvrtc(found)
    library = kiln_library.load()
    cells = Cells()
    cells.precompiled = 0
    began = time.monotonic()

    def until():
        done = sum(count["edits"] for count in cells.counts.values())
        return bool(arguments.edits and done >= arguments.edits
                    or arguments.seconds and time.monotonic() - began >= arguments.seconds)

    number = arguments.program or 0
    while True:
        with tempfile.TemporaryDirectory(dir=kiln_tool.scratch_root()) as scratch:
            Run(number, arguments, library, plain, cells, pathlib.Path(scratch)).go(until)
        number += 1
        if arguments.program is not None or until():
            break
    cells.print(arguments.cells)
    total = cells.total()
    faults = {fault: total[fault] for fault in FAULTS if total[fault]}
    print(f"{found['description'].split(',')[0]}, embedded, seed {arguments.seed}: {total['edits']} edits of "
          f"{number - (arguments.program or 0)} programs ({cells.uncompiled} that do not compile) in "
          f"{time.monotonic() - began:.0f} s, {faults or 'no faults'}; {total['hit']} hits, {total['unneeded']} unneeded "
          f"misses of {total['equal']} edits that left the image equal; {cells.precompiled} precompiled")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
