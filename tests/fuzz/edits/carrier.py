"""A program that carries its headers, as embedded.py edits it."""

import copy
import dataclasses

from constructs import INCLUDES, fill
from embedded_constructs import EMBEDDED_CONSTRUCTS, MENTION, TOOLS, TOOLS_TEXT, TRIGRAPH, Ask
from graph import ONCE, Header
from tree import write_file

FOLDER = "lib/"
DIRECTORIES = ("d0", "d1")
TOOLS_BY = (f"#include <{TOOLS}>\n",) * 3 + (f"#define TOOLS(x) #x\n#include TOOLS({TOOLS})\n",)
LANGUAGES = (None, None, None, "--std=c++14", "--std=c++20")
EDITED = ("embedded", "disk", "switches", "extra", "language")


class Carrier:
    """A program, the headers that it carries, by name, and those on disk, by path. What a header asks for comes behind it by
    the last part of its name, so that no move of a header makes a circle."""

    def __init__(self, random, only, without):
        self.random = random
        self.versions = 1
        self.switches = set()
        self.extra = []
        self.leaves = random.randint(2, 4)
        self.offers_disk = random.random() < 0.6
        self.toolkit = random.random() < 0.85
        self.tools_by = random.choice(TOOLS_BY)
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
                if self.offers_disk and self.random.random() < 0.3:
                    self.disk[f"{self.random.choice(DIRECTORIES)}/{name}"] = header
                else:
                    self.embedded[name] = header

    def choose_language(self):
        if any(TRIGRAPH in place.construct.name for place in self.places):
            return "--std=c++14"
        return self.random.choice(LANGUAGES)

    def new_version(self):
        self.versions += 1
        return self.versions

    def source(self):
        values = [f"V{header.slot}" for header in self.headers.values()] + [f"L{place.number}" for place in self.places]
        return (self.tools_by + "".join(place.construct.text(place) for place in self.main)
                + "".join(f"#ifndef {value}\n#define {value} 0\n#endif\n" for value in values)
                + 'extern "C" __global__ void k(int* x) {\n'
                + "".join(f"  x[{number}] = {value};\n" for number, value in enumerate(values)) + "}\n")

    def texts(self):
        tools = TOOLS_TEXT + "".join(fill(place.construct.elsewhere, place) for place in self.places)
        return {TOOLS: tools, **{name: header.text() for name, header in self.embedded.items()}}

    def options(self):
        define = [word for place in self.places for word in place.construct.defines(place)]
        return [*(f"-D{word}" for word in define + sorted(self.switches)), *self.extra,
                *([self.language] if self.language else [])]

    def write(self, folder):
        """The headers on disk. What is still as it was is left alone, and looks as it did."""
        for directory in DIRECTORIES:
            (folder / directory).mkdir(exist_ok=True)
        for path in [path for path in folder.rglob("*.h") if str(path.relative_to(folder)) not in self.disk]:
            path.unlink()
        for name, header in self.disk.items():
            text = header.text().encode()
            if not (folder / name).exists() or (folder / name).read_bytes() != text:
                write_file(folder / name, text)

    # What lies where a place asks.

    def holder(self, place):
        """Which header the place stands in, embedded or on disk, by name."""
        return next((name for store in (self.embedded, self.disk) for name, header in store.items()
                     if place in header.places), None)

    def names(self, place):
        holder = self.holder(place)
        beside = [folder_of(holder) + place.name] if holder and place.quoted else []
        return [*beside, place.name]

    def found(self, place):
        """Where it lies, and its name there."""
        on_disk = [name for name in self.names(place)[:-1] if is_path(name)]
        on_disk += [f"{directory}/{place.name}" for directory in DIRECTORIES]
        stores = ((self.embedded, self.names(place)), (self.disk, on_disk))
        return next(((store, name) for store, names in stores for name in names if name in store), (None, place.name))

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
        return "\n".join([f"options {self.options()}, {'two' if self.offers_disk else 'no'} include directories, "
                          f"{'with' if self.toolkit else 'without'} the toolkit's headers",
                          *(f"--- {what}\n{visible(text)}" for what, text in parts)])


def visible(text):
    return text.replace("\r", "<CR>").rstrip("\n")


def is_path(name):
    """Whether this is the path of a file, and no name of an embedded header."""
    return name.partition("/")[0] in DIRECTORIES


def name_of(path):
    """By which a search finds this file."""
    return path.partition("/")[2]


def folder_of(name):
    return name[:name.rfind("/") + 1]


def leaf_of(name):
    return name[name.rfind("/") + 1:]
