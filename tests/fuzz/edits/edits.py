"""Single changes of a graph, each aimed at one place: at the header that is found there, or would be. An edit returns
False where it cannot be made."""

import dataclasses
import os
import shutil

import tree
from constructs import BEHIND_MACRO
from graph import FOLDERS

EDITS = {}


class Aim:
    """A place in a reading, and what lies there."""

    def __init__(self, graph, place, beside, path):
        self.graph, self.place, self.beside, self.path = graph, place, beside, path
        self.random = graph.random
        self.file = path and graph.folder / path
        self.header = path and graph.header_at(path)

    @property
    def root(self):
        """The include directory in which it was found, or None: beside the file that asks."""
        return next((root for root in self.graph.include if self.path == os.path.join(root, self.place.name)), None)

    def free_candidates(self):
        """Where a header would be found before this one, as far as a file can be made there."""
        free = []
        for path in self.graph.candidates(self.place, self.beside):
            if path == self.path:
                break
            if self.graph.is_free(path):
                free.append(path)
        return free

    def another_version(self):
        return dataclasses.replace(self.graph.headers[self.place.name], version=self.graph.new_version())

    def replace(self, header):
        """By a new file, so that what is linked to the old one stays."""
        self.file.unlink()
        self.graph.write(self.path, header)

    def twin(self):
        """A copy of the found header, where nobody looks."""
        twin = self.graph.folder / f"twins/{self.graph.new_version()}.h"
        tree.write_file(twin, self.file.read_bytes())
        return twin

    def link(self, target):
        tree.link(self.path, os.path.relpath(target, os.path.realpath(self.file.parent)))(self.graph.folder)


def edit(name):
    def add(function):
        EDITS[name] = function
        return function
    return add


def edit_of_file(name):
    """One that needs a header at the place."""
    def add(function):
        EDITS[name] = lambda aim: bool(aim.header) and function(aim)
        return function
    return add


@edit_of_file("content changed")
def change(aim):
    aim.replace(dataclasses.replace(aim.header, version=aim.graph.new_version()))


@edit_of_file("content changed, time put back")
def change_unnoticed(aim):
    changed = dataclasses.replace(aim.header, version=aim.graph.new_version())
    text = changed.text().encode()
    aim.graph.known[text] = changed
    tree.rewrite_unnoticed(aim.path, text)(aim.graph.folder)


@edit_of_file("remark added")
def remark(aim):
    aim.replace(dataclasses.replace(aim.header, remark=aim.header.remark + "// a remark\n"))


@edit_of_file("written again")
def write_again(aim):
    aim.replace(aim.header)


@edit_of_file("touched")
def touch(aim):
    tree.touch(aim.path, aim.random.randrange(10**9))(aim.graph.folder)


@edit_of_file("deleted")
def delete(aim):
    aim.file.unlink()


@edit_of_file("renamed")
def rename(aim):
    aim.file.rename(aim.file.with_suffix(".old"))


@edit("made")
def make(aim):
    if aim.path or not (free := aim.free_candidates()):
        return False
    aim.graph.write(aim.random.choice(free), aim.another_version())


@edit("shadowed")
def shadow(aim):
    if not aim.path or not (free := aim.free_candidates()):
        return False
    aim.graph.write(aim.random.choice(free), aim.another_version())


@edit("shadowed by the same")
def shadow_by_same(aim):
    if not aim.header or not (free := aim.free_candidates()):
        return False
    aim.graph.write(aim.random.choice(free), aim.header)


@edit_of_file("moved to another folder")
def move(aim):
    others = [folder for folder in aim.graph.include if aim.graph.is_free(os.path.join(folder, aim.place.name))]
    if not others:
        return False
    to = aim.graph.folder / aim.random.choice(others) / aim.place.name
    to.parent.mkdir(parents=True, exist_ok=True)
    aim.file.rename(to)


@edit_of_file("becomes a link of a copy")
def link_to_copy(aim):
    aim.link(aim.twin())


@edit_of_file("becomes a link of another header")
def link_to_other(aim):
    others = [other for _, _, other in aim.graph.reading().places.values()
              if other and not os.path.samefile(aim.graph.folder / other, aim.file)]
    if not others:
        return False
    aim.link(aim.graph.folder / aim.random.choice(sorted(others)))


@edit_of_file("becomes a hard link of a copy")
def hard_link(aim):
    twin = aim.twin()
    aim.file.unlink()
    os.link(twin, aim.file)


@edit_of_file("has a second name")
def second_name(aim):
    """Another header is now this very file, as its link."""
    others = [other for _, _, other in aim.graph.reading().places.values()
              if other and not os.path.samefile(aim.graph.folder / other, aim.file)]
    if not others:
        return False
    other = aim.graph.folder / aim.random.choice(sorted(others))
    other.unlink()
    os.link(aim.file, other)


@edit_of_file("becomes a link to nothing")
def dangle(aim):
    aim.link(aim.graph.folder / "nowhere.h")


@edit_of_file("becomes a folder")
def become_folder(aim):
    aim.file.unlink()
    aim.file.mkdir()


@edit("its folder dropped from -I")
def drop_folder(aim):
    if not aim.path or not aim.root:
        return False
    aim.graph.include.remove(aim.root)


@edit("a folder added to -I")
def add_folder(aim):
    others = [folder for folder in FOLDERS if folder not in aim.graph.include]
    if not others:
        return False
    aim.graph.include.insert(aim.random.randint(0, len(aim.graph.include)), aim.random.choice(others))


@edit("an empty folder added to -I")
def add_empty_folder(aim):
    name = f"empty{aim.graph.new_version()}"
    if aim.random.random() < 0.5:
        (aim.graph.folder / name).mkdir()
    aim.graph.include.insert(aim.random.randint(0, len(aim.graph.include)), name)


@edit("-I reordered")
def reorder(aim):
    if len(aim.graph.include) < 2:
        return False
    aim.graph.include.reverse()


@edit("its folder renamed, -I too")
def rename_folder(aim):
    if not aim.path or not aim.root:
        return False
    new = f"r{aim.graph.new_version()}"
    (aim.graph.folder / aim.root).rename(aim.graph.folder / new)
    aim.graph.include[aim.graph.include.index(aim.root)] = new


@edit("its folder renamed")
def rename_folder_alone(aim):
    if not aim.path or not aim.root:
        return False
    (aim.graph.folder / aim.root).rename(aim.graph.folder / f"r{aim.graph.new_version()}")


@edit("its folder becomes a link of a copy")
def link_folder(aim):
    if not aim.path or not aim.root or (aim.graph.folder / aim.root).is_symlink():
        return False
    copy = f"c{aim.graph.new_version()}"
    folder = aim.graph.folder / aim.root
    shutil.copytree(folder, aim.graph.folder / copy, symlinks=True)
    shutil.rmtree(folder)
    folder.symlink_to(copy)


@edit("its folder becomes a link of another one")
def link_folder_to_other(aim):
    others = [root for root in aim.graph.include if root != aim.root and (aim.graph.folder / root).is_dir()]
    if not aim.path or not aim.root or not others:
        return False
    folder = aim.graph.folder / aim.root
    other = aim.random.choice(others)
    if os.path.samefile(folder, aim.graph.folder / other):
        return False
    folder.rename(aim.graph.folder / f"r{aim.graph.new_version()}")
    folder.symlink_to(other)


@edit("an unread header made")
def make_unread(aim):
    tree.write_file(aim.graph.folder / (aim.root or "d0") / f"unread{aim.graph.new_version()}.h", "#error unread\n")


@edit("a macro of its own set or not")
def switch(aim):
    if aim.place.construct.kind != BEHIND_MACRO:
        return False
    aim.graph.switches ^= {aim.place.switch}


@edit("standard headers offered or not")
def standard(aim):
    aim.graph.standard = not aim.graph.standard
