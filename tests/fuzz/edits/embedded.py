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
import contextlib
import copy
import ctypes
import dataclasses
import faulthandler
import multiprocessing
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

from constructs import BEHIND_MACRO, CONSTRUCTS, INCLUDES, PASTE, STRING, inclusion, question
from fuzz import FAULTS, Cells, reason
from graph import ONCE, Header, Place
from tree import write_file
from ways import kiln_library, kiln_tool

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "engine_programs"))
from plain_nvrtc import Nvrtc

EDITS_OF_A_PROGRAM = 16
UNEDITED = ("the program itself", "none")
ARCH = "compute_80"
FOLDER = "lib/"
DISK = "d0"
NOWHERE = "/kiln/nowhere"  # What kiln gives NVRTC where there is no include directory.
TOOLS = "tools.h"
TOOLS_TEXT = "#pragma once\n#define TOOLS_HAVE(x) __has_include(x)\n#define TOOLS_PASTE(a, b) a##b\n"
LANGUAGES = (None, None, None, "--std=c++14", "--std=c++20")

# What asks in ways of its own. `{head}` and `{tail}` are the halves of the name as it is asked for.
HAS = "#define HAS{n}(x) __has_include(x)\n"
NAME = "#define NAME{n} {q}\n"
MENTION = "#if 0\n#include {q}\n#endif\n"
SPLICES = {"LF": "\\\n", "CRLF": "\\\r\n", "CR CRLF": "\\\r\r\n", "two LF": "\\\n\\\n"}
TRIGRAPH = "trigraph"


def split_by(what, splice):
    return [
        inclusion(f"include split by {what}", f"#incl{splice}ude {{q}}"),
        inclusion(f"name of an include split by {what}", f"#include {{head}}{splice}{{tail}}"),
        inclusion(f"macro of an include split by {what}", f"#include NA{splice}ME{{n}}", NAME),
        question(f"has_include split by {what}", f"#if __has_inc{splice}lude({{q}})"),
        question(f"name of a question split by {what}", f"#if __has_include({{head}}{splice}{{tail}})"),
        question(f"wrapper split by {what}", f"#if HA{splice}S{{n}}({{q}})", HAS),
        question(f"wrapper of a macro split by {what}", f"#if HA{splice}S{{n}}(NAME{{n}})", HAS + NAME),
        question(f"comment split by {what}", before=f"// a{splice}/*\n", behind="//*/\n"),
    ]


EMBEDDED_CONSTRUCTS = CONSTRUCTS + [construct for pair in SPLICES.items() for construct in split_by(*pair)] + [
    inclusion("include pasted", "#include PASTE{n}(NA, ME{n})", PASTE + NAME),
    inclusion("include stringised, behind a condition", "#if 1\n#include STRING{n}({bare})\n#endif", STRING,
              quoted=True),
    inclusion("include pasted by another header", "#include TOOLS_PASTE(NA, ME{n})", NAME),
    inclusion("include of a macro by digraph", "%:include NAME{n}", NAME),
    inclusion("include by trigraph", "??=include {q}"),
    inclusion("include of a macro by trigraph", "??=include NAME{n}", NAME),
    inclusion("include split by trigraph", "#incl??/\nude {q}"),
    inclusion("include behind a comment of two lines", "/*\n#undef */ #include {q}"),
    inclusion("include of a macro behind a comment of two lines", "#include /*\n#if */ NAME{n}", NAME),
    question("question by trigraph", "??=if __has_include({q})"),
    question("wrapper split by trigraph", "#if HA??/\nS{n}(NAME{n})", HAS + NAME),
    question("wrapper behind a comment of two lines", "#if /*\n*/ HAS{n}(NAME{n})", HAS + NAME),
    question("wrapper behind a comment with a directive", "#if 1 /*\n#undef */ && HAS{n}(NAME{n})", HAS + NAME),
    question("directive behind a comment with a directive", "/*\n#undef */ #if HAS{n}(NAME{n})", HAS + NAME),
    question("wrapper behind an empty macro", "#if nodefined{n} HAS{n}(NAME{n})",
             HAS + NAME + "#define nodefined{n}\n"),
    question("wrapper behind an empty macro's end", "#if n{n}defined HAS{n}(NAME{n})",
             HAS + NAME + "#define n{n}defined\n"),
    question("wrapper pasted", "#if PASTE{n}(HA, S{n})({q})", HAS + PASTE),
    question("wrapper of a macro pasted", "#if PASTE{n}(HA, S{n})(NAME{n})", HAS + NAME + PASTE),
    question("wrapper pasted by another header", "#if TOOLS_PASTE(HA, S{n})(NAME{n})", HAS + NAME),
    question("wrapper of another header", "#if TOOLS_HAVE({q})"),
    question("wrapper of another header, given a macro", "#if TOOLS_HAVE(NAME{n})", NAME),
    question("wrapper in #elif", "#if 0\n#elif 1 && (HAS{n} (NAME{n}))", HAS + NAME),
    question("wrapper in a macro", "#if ASK{n}", HAS + NAME + "#define ASK{n} HAS{n}(NAME{n})\n"),
    question("wrapper by another name", "#if ALSO{n}(NAME{n})", HAS + NAME + "#define ALSO{n} HAS{n}\n"),
    question("wrapper nested, given a macro", "#if OUTER{n}(NAME{n})", HAS + NAME + "#define OUTER{n}(x) HAS{n}(x)\n"),
    question("question of a macro in parentheses", "#if __has_include NAME{n}", "#define NAME{n} ({q})\n"),
    question("behind what is no splice", before="// a\\ \n"),
    question("behind a raw string that is split", before='__device__ const char* r{n} = R"x(\\\n)" /* )x";\n'),
]


@dataclasses.dataclass
class Ask(Place):
    """A place that can split the name."""

    def words(self):
        words = super().words()
        middle = len(words["q"]) // 2
        return {**words, "head": words["q"][:middle], "tail": words["q"][middle:]}


EDITED = ("embedded", "disk", "switches", "extra", "language")


class Carrier:
    """A program, the headers that it carries and those on disk, by name. What a header asks for comes behind it by the
    last part of its name, so that no move of a header makes a circle."""

    def __init__(self, random, only, without):
        self.random = random
        self.versions = 1
        self.switches = set()
        self.extra = []
        self.leaves = random.randint(2, 4)
        self.offers_disk = random.random() < 0.6
        self.toolkit = random.random() < 0.85
        every = [construct for construct in EMBEDDED_CONSTRUCTS if not any(text in construct.name for text in without)]
        often = [construct for construct in every if any(text in construct.name for text in only)]
        self.places = [self.make_place(number, often if often and random.random() < 0.5 else every)
                       for number in range(random.randint(3, 8))]
        self.make_headers()
        self.language = self.choose_language()

    def make_place(self, number, constructs):
        construct = self.random.choice(constructs)
        # What else names the header has it offered to the compiler, though it be not kept among what was asked for.
        if self.random.random() < 0.3:
            construct = dataclasses.replace(construct, before=MENTION + construct.before)
        folder = FOLDER if construct.folder else self.random.choice(("", FOLDER))
        quoted = self.random.random() < 0.4 if construct.quoted is None else construct.quoted
        return Ask(number, construct, f"{folder}h{self.random.randrange(self.leaves)}.h", quoted)

    def make_headers(self):
        names = sorted({place.name for place in self.places}, key=lambda name: (leaf_of(name), name))[:6]
        self.headers = {name: Header(slot, self.random.choice(ONCE), []) for slot, name in enumerate(names)}
        self.places = [place for place in self.places if place.name in names]
        count = self.random.randint(2, 4)
        self.main = self.places[:count]
        for place in self.places[count:]:
            above = [name for name in names if leaf_of(name) < leaf_of(place.name)]
            (self.headers[self.random.choice(above)].places if above else self.main).append(place)
        # A prelude ends with the first text that is no directive.
        self.main.sort(key=lambda place: "__device__" in place.construct.before)
        self.embedded, self.disk = {}, {}
        for name, header in self.headers.items():
            if any(place.name == name and place.construct.kind == INCLUDES for place in self.places) \
                    or self.random.random() < 0.75:
                on_disk = self.offers_disk and self.random.random() < 0.2
                (self.disk if on_disk else self.embedded)[name] = header

    def choose_language(self):
        if any(TRIGRAPH in place.construct.name for place in self.places):
            return "--std=c++14"
        return self.random.choice(LANGUAGES)

    def new_version(self):
        self.versions += 1
        return self.versions

    def source(self):
        values = [f"V{header.slot}" for header in self.headers.values()] + [f"L{place.number}" for place in self.places]
        return (f"#include <{TOOLS}>\n" + "".join(place.construct.text(place) for place in self.main)
                + "".join(f"#ifndef {value}\n#define {value} 0\n#endif\n" for value in values)
                + 'extern "C" __global__ void k(int* x) {\n'
                + "".join(f"  x[{number}] = {value};\n" for number, value in enumerate(values)) + "}\n")

    def texts(self):
        return {TOOLS: TOOLS_TEXT, **{name: header.text() for name, header in self.embedded.items()}}

    def options(self):
        define = [word for place in self.places for word in place.construct.defines(place)]
        return [*(f"-D{word}" for word in define + sorted(self.switches)), *self.extra,
                *([self.language] if self.language else [])]

    def write(self, folder):
        """The headers on disk. What is still as it was is left alone, and looks as it did."""
        root = folder / DISK
        root.mkdir(exist_ok=True)
        for path in [path for path in root.rglob("*.h") if str(path.relative_to(root)) not in self.disk]:
            path.unlink()
        for name, header in self.disk.items():
            text = header.text().encode()
            if not (root / name).exists() or (root / name).read_bytes() != text:
                write_file(root / name, text)

    # What lies where a place asks.

    def holder(self, place):
        """Which embedded header the place stands in, by name."""
        return next((name for name, header in self.embedded.items() if place in header.places), None)

    def names(self, place):
        holder = self.holder(place)
        beside = [folder_of(holder) + place.name] if holder and place.quoted else []
        return [*beside, place.name]

    def found(self, place):
        """Where it lies, and its name there."""
        stores = (self.embedded, self.disk)
        return next(((store, name) for store in stores for name in self.names(place) if name in store),
                    (None, place.name))

    def has_neighbours(self):
        """Whether an embedded header quotes one that has a neighbour of that name: NVRTC looks for the name as it is
        spelled, and kiln for the neighbour."""
        return any(place.quoted and folder_of(name) and folder_of(name) + place.name in self.embedded
                   for name, header in self.embedded.items() for place in header.places)

    def save(self):
        return copy.deepcopy({name: getattr(self, name) for name in EDITED})

    def restore(self, saved):
        self.__dict__.update(copy.deepcopy(saved))

    def told(self):
        """The whole of it, for a person."""
        parts = [("source", self.source()), *(("embedded " + name, text) for name, text in self.texts().items()),
                 *(("on disk " + name, header.text()) for name, header in self.disk.items())]
        return "\n".join([f"options {self.options()}, {'an' if self.offers_disk else 'no'} include directory, "
                          f"{'with' if self.toolkit else 'without'} the toolkit's headers",
                          *(f"--- {what}\n{visible(text)}" for what, text in parts)])


def visible(text):
    return text.replace("\r", "<CR>").rstrip("\n")


def folder_of(name):
    return name[:name.rfind("/") + 1]


def leaf_of(name):
    return name[name.rfind("/") + 1:]


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


def edit_of_disk(name):
    return edit_of(name, lambda carrier: carrier.disk)


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
    if not carrier.offers_disk or name in carrier.disk:
        return False
    carrier.disk[name] = store.pop(name)


@edit_of_disk("embedded")
def embed(carrier, store, name):
    carrier.embedded[name] = store.pop(name)


@edit_of_disk("its file changed")
def change_file(carrier, store, name):
    store[name] = new_text(carrier, store[name])


@edit_of_disk("its file removed")
def remove_file(carrier, store, name):
    del store[name]


@edit_of_disk("its file shadowed")
def shadow(carrier, store, name):
    carrier.embedded[name] = new_text(carrier, store[name])


@edit_of_embedded("a file of its name made or changed")
def make_file(carrier, store, name):
    if not carrier.offers_disk:
        return False
    carrier.disk[name] = new_text(carrier, store[name])


@edit("a neighbour of its name added")
def add_neighbour(carrier, place):
    first = carrier.names(place)[0]
    if first in carrier.embedded:
        return False
    carrier.embedded[first] = new_text(carrier, carrier.headers[place.name])


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


class CHeader(ctypes.Structure):
    _fields_ = [("name", kiln_library.text), ("text", kiln_library.text)]


class Counters(kiln_library.Sized):
    """Of a runtime, as far as is asked for here."""

    _fields_ = [("size", ctypes.c_size_t), *((name, kiln_library.number) for name in (
        "memory_hits", "local_hits", "bundle_hits", "misses", "compiles", "precompiled"))]


@dataclasses.dataclass
class Request:
    """A program as it is at one moment."""

    folder: pathlib.Path
    name: str
    source: str
    headers: dict
    include: list
    toolkit: list  # The folders that are searched behind these, where kiln is to search its toolkit.
    options: list
    arch: str = ARCH
    image: str = "ptx"

    def job(self):
        """The same for plain NVRTC. Nothing in it has internal linkage, whose names would go by kiln's seed."""
        folders = [*(str(self.folder / folder) for folder in self.include), *self.toolkit] or [NOWHERE]
        return {"name": f"/kiln/{self.name}", "source": self.source, "headers": self.headers, "kernels": ["k"],
                "options": [f"--gpu-architecture={self.arch}", "--no-cache", *(f"-I{folder}" for folder in folders),
                            *self.options]}


class Runtime(kiln_library.Runtime):
    """One that is asked for programs with headers of their own, and no others."""

    def spec(self, program):
        library = self.library
        texts = (CHeader * len(program.headers))(*((name.encode(), text.encode())
                                                   for name, text in program.headers.items()))
        made = kiln_library.handle()
        self.check(library.kiln_header_set_make(texts, ctypes.c_size_t(len(texts)), ctypes.byref(made)))
        headers = (kiln_library.handle * 1)(made)
        include, includes = kiln_library.strings(program.include)
        kernels, kernel_count = kiln_library.strings(["k"])
        options, option_count = kiln_library.strings(program.options)
        spec = kiln_library.ProgramSpec(
            name=program.name.encode(), source=program.source.encode(), no_toolkit_headers=not program.toolkit,
            headers=headers, header_count=1, include_dirs=include, include_dir_count=includes, kernels=kernels,
            kernel_count=kernel_count, options=options, option_count=option_count)
        return spec, (HeaderSet(library, made), headers, include, kernels, options)


    def precompiled(self):
        """How many compiles used a precompiled prelude."""
        counters = Counters()
        self.check(self.library.kiln_runtime_get_counters(self.handle, ctypes.byref(counters)))
        return counters.precompiled


class HeaderSet:
    """Freed when nobody holds it any more."""

    def __init__(self, library, made):
        self.library, self.made = library, made

    def __del__(self):
        self.library.kiln_header_set_free(self.made)


class PlainNvrtc:
    """NVRTC without kiln, in a process that stays. To be made before the library is loaded."""

    def __init__(self, found):
        self.path = os.environ.get("KILN_NVRTC") or found["path"]
        line = next((line for line in found["details"] if line.startswith("headers of CUDA: ")), "")
        self.toolkit = [folder for folder in line.partition(": ")[2].split(", ") if folder]
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=self.serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def serve(self, pipe):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.pipe.close()
        nvrtc = Nvrtc(self.path)
        with contextlib.suppress(EOFError):
            while True:
                pipe.send(self.compile(nvrtc, *pipe.recv()))

    @staticmethod
    def compile(nvrtc, job, folder):
        os.chdir(folder)
        try:
            nvrtc.create(job)
            nvrtc.compile(job["options"])
            return nvrtc.bytes_of("PTX").rstrip(b"\0"), ""
        except RuntimeError as failure:
            return None, str(failure)
        finally:
            nvrtc.call("nvrtcDestroyProgram", ctypes.byref(nvrtc.program))
            os.chdir("/")

    def ask(self, request):
        """The image, or None and what was said."""
        self.pipe.send((request.job(), str(request.folder)))
        return self.pipe.recv()


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
        return Request(self.folder, name, carrier.source(), carrier.texts(), [DISK] if carrier.offers_disk else [],
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
