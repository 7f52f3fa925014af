"""A program and its headers, made at random, and what a compiler asks for when it reads them."""

import dataclasses
import os
import shutil

from constructs import ASKS, BEHIND_MACRO, CONSTRUCTS, INCLUDES, SKIPPED
from tree import write_file
from ways import kiln_tool

FOLDERS = ("d0", "d1", "d2", "d3")
ONCE = ("", "", "pragma", "guard")
SLOTS = 7
PLACES = 9
DEEPEST = 30
MOST_ASKED = 2000


@dataclasses.dataclass
class Place:
    """One place at which a file asks for a header."""

    number: int
    construct: object
    name: str
    quoted: bool

    def words(self):
        folder, _, leaf = self.name.rpartition("/")
        return {"q": f'"{self.name}"' if self.quoted else f"<{self.name}>", "bare": self.name, "dir": folder,
                "leaf": leaf, "n": str(self.number)}

    @property
    def switch(self):
        return f"ON{self.number}"


@dataclasses.dataclass
class Header:
    """What it defines tells its version, and whether it was read before."""

    slot: int
    once: str
    places: list
    version: int = 1
    remark: str = ""

    def text(self):
        value = f"V{self.slot}"
        body = (f"#ifdef {value}\n#undef {value}\n#define {value} {2 * self.version + 1}\n"
                f"#else\n#define {value} {2 * self.version}\n#endif\n"
                + "".join(place.construct.text(place) for place in self.places) + self.remark)
        if self.once == "pragma":
            return "#pragma once\n" + body
        return f"#ifndef G{self.slot}\n#define G{self.slot}\n{body}#endif\n" if self.once else body


class Graph:
    def __init__(self, folder, random):
        self.folder, self.random = folder, random
        self.include = list(FOLDERS[:3])
        self.standard = False
        self.switches = set()
        self.known = {}  # what each text says, by its bytes
        self.versions = 1
        self.names = [self.random.choice(("h{}.h", "lib/h{}.h")).format(slot) for slot in range(SLOTS)]
        self.places = [self.make_place(number) for number in range(PLACES)]
        self.main = self.places[:4]
        self.make_headers()
        self.write_source()

    def make_place(self, number):
        construct = self.random.choice(CONSTRUCTS)
        # What a header asks for comes behind it, so that there is no circle.
        name = self.names[self.random.randrange(SLOTS)]
        if construct.folder and "/" not in name:
            name = f"lib/x{number}.h"
        quoted = self.random.random() < 0.5 if construct.quoted is None else construct.quoted
        return Place(number, construct, name, quoted)

    def make_headers(self):
        """Each header in one folder, at times in two; each place beyond the source's in one of them."""
        wanted = sorted({place.name for place in self.places} | set(self.names))
        self.headers = {name: Header(slot, self.random.choice(ONCE), []) for slot, name in enumerate(wanted)}
        for place in self.places[len(self.main):]:
            above = [name for name in wanted if name < place.name]
            (self.headers[self.random.choice(above)].places if above else self.main).append(place)
        for name, header in self.headers.items():
            if self.random.random() < 0.85 or not self.may_be_absent(name):
                self.write(f"{self.random.choice(self.include)}/{name}", header)
            if self.random.random() < 0.2:
                self.write(f"{self.random.choice(FOLDERS)}/{name}", dataclasses.replace(header, version=self.new_version()))

    def may_be_absent(self, name):
        return not any(place.name == name and place.construct.kind == INCLUDES for place in self.places)

    def new_version(self):
        self.versions += 1
        return self.versions

    def write(self, path, header):
        text = header.text().encode()
        self.known[text] = header
        write_file(self.folder / path, text)

    def is_free(self, path):
        """Whether a file can be made there: none of its folders is a file, or a link that leads nowhere."""
        file = self.folder / path
        return not os.path.lexists(file) and all(folder.is_dir() for folder in file.parents if os.path.lexists(folder))

    def header_at(self, path):
        return self.known.get((self.folder / path).read_bytes())

    def write_source(self):
        values = [f"V{slot}" for slot in range(len(self.headers))] + [f"L{place.number}" for place in self.places]
        write_file(self.folder / "k.cu",
                   "".join(place.construct.text(place) for place in self.main)
                   + "#if __has_include(<cstdint>)\n#define STANDARD 1\n#else\n#define STANDARD 0\n#endif\n"
                   + "".join(f"#ifndef {value}\n#define {value} 0\n#endif\n" for value in values)
                   + 'extern "C" __global__ void k(int* x) {\n  x[0] = STANDARD;\n'
                   + "".join(f"  x[{number}] = {value};\n" for number, value in enumerate(values, 1)) + "}\n")

    def program(self):
        define = [word for place in self.places for word in place.construct.defines(place)]
        return kiln_tool.Program(self.folder, list(self.include), define + sorted(self.switches),
                                 standard=self.standard)

    # What a compiler asks for.

    def candidates(self, place, beside):
        if place.quoted and beside is not None:
            yield os.path.join(beside, place.name)
        for folder in self.include:
            yield os.path.join(folder, place.name)

    def found(self, place, beside):
        return next((path for path in self.candidates(place, beside) if os.path.isfile(self.folder / path)), None)

    def reading(self):
        return Reading(self)

    def save(self, where):
        shutil.copytree(self.folder, where, symlinks=True)
        return {"include": list(self.include), "standard": self.standard, "switches": set(self.switches)}

    def restore(self, where, state):
        bring_back(self.folder, where)
        self.__dict__.update({"include": list(state["include"]), "standard": state["standard"],
                              "switches": set(state["switches"])})


def bring_back(folder, saved):
    """Makes a folder again what it was. What is still as it was is left alone, and looks as it did."""
    for path in sorted(folder.rglob("*"), reverse=True):
        before = saved / path.relative_to(folder)
        if is_file(path) and is_file(before) and path.stat().st_nlink == 1 and path.read_bytes() == before.read_bytes():
            continue
        if path.is_symlink() or not path.is_dir():
            path.unlink()
        elif not before.is_dir() or before.is_symlink():
            path.rmdir()
    for before in sorted(saved.rglob("*")):
        path = folder / before.relative_to(saved)
        if before.is_symlink():
            path.symlink_to(os.readlink(before))
        elif before.is_dir():
            path.mkdir(exist_ok=True)
        elif not path.exists():
            shutil.copy2(before, path)


def is_file(path):
    return path.is_file() and not path.is_symlink()


class Reading:
    """One reading of the program. `asked` is what was asked for and what came of it, in order: two readings that are
    alike in it are alike for a compiler. `places` tells of each place beside what it was asked, and what was found."""

    def __init__(self, graph):
        self.graph = graph
        self.asked, self.places, self.files = [], {}, {}
        self.read_once = set()
        self.depth = 0
        for place in graph.main:
            self.visit(place, None)

    def visit(self, place, beside):
        graph = self.graph
        path = graph.found(place, beside)
        self.places[place.number] = (place, beside, path)
        kind = place.construct.kind
        if kind == SKIPPED or (kind == BEHIND_MACRO and place.switch not in graph.switches):
            return
        self.asked.append((place.number, self.outcome(path)))
        if kind != ASKS and path is not None:
            self.read(path)

    def outcome(self, path):
        """The content, and which earlier file it is, if it is one."""
        if path is None:
            return None
        status = os.stat(self.graph.folder / path)
        first = self.files.setdefault((status.st_dev, status.st_ino), len(self.files))
        return (self.graph.folder / path).read_bytes(), first

    def read(self, path):
        header = self.graph.header_at(path)
        # An edit may have made a circle, of which no compiler sees the end either.
        endless = self.depth == DEEPEST or len(self.asked) > MOST_ASKED
        if header is None or endless or not self.enters(header, path):
            return
        self.depth += 1
        for place in header.places:
            self.visit(place, os.path.dirname(path))
        self.depth -= 1

    def enters(self, header, path):
        if not header.once:
            return True
        status = os.stat(self.graph.folder / path)
        token = header.slot if header.once == "guard" else (status.st_dev, status.st_ino)
        new = token not in self.read_once
        self.read_once.add(token)
        return new
