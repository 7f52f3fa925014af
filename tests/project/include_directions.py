"""Checks that each file of runtime/ and cache/ has its room, each room its README, and that includes run one way.

Between the top folders they run tests -> tools -> runtime -> cache. device/ holds code for the GPU, which includes
nothing from outside; only the program that embeds it knows the cache's digest and how the runtime follows includes.
Inside runtime/ and cache/ a file includes public headers, its own room and the rooms that ROOMS names for it. Only
runtime/vendor/ includes what is NVIDIA's and the loader's, only cache/ what is SQLite's, only cache/signing/ libsodium's.

Usage: include_directions.py SOURCE_DIR
"""

import fnmatch
import pathlib
import re
import sys

MAY_INCLUDE = {
    "cache": {"cache"},
    "device": {"device", "runtime", "cache"},
    "runtime": {"runtime", "cache"},
    "tools": {"tools", "device", "runtime", "cache"},
    "tests": {"tests", "tools", "device", "runtime", "cache"},
}

SYSTEM = {"cache/system"}
GROUND = SYSTEM | {"runtime/base", "runtime/program", "runtime/vendor"}
BENCH = {"runtime/source", "runtime/image", "runtime/remote"}
STAGES = {"runtime/settings", "runtime/lookup", "runtime/narrow", "runtime/compile", "runtime/compile/worker",
          "runtime/queue", "runtime/manifest", "runtime/launch"}
# What a room's files may include beside their own room and public headers. A room that is not named has no files.
ROOMS = {
    "cache/include": set(),
    "cache/system": set(),
    "cache/record": SYSTEM,
    "cache/file": SYSTEM | {"cache/record"},
    "cache/signing": SYSTEM | {"cache/record"},
    "cache/exchange": SYSTEM | {"cache/file"},
    "cache/rows": SYSTEM | {"cache/record", "cache/file", "cache/signing"},
    "cache": SYSTEM | {"cache/record", "cache/file", "cache/signing", "cache/rows"},
    "runtime/include": set(),
    "runtime/base": SYSTEM,
    "runtime/program": set(),
    "runtime/vendor": SYSTEM,
    "runtime/source": SYSTEM | {"runtime/base", "runtime/program"},
    "runtime/image": GROUND,
    "runtime/remote": GROUND,
    "runtime/lookup": GROUND | BENCH,
    "runtime/settings": GROUND | {"runtime/image", "runtime/remote"},
    "runtime/narrow": {"runtime/source", "runtime/base", "runtime/program"},
    "runtime/compile": GROUND | BENCH,
    "runtime/compile/worker": GROUND | BENCH | {"runtime/compile"},
    "runtime/queue": GROUND | BENCH,
    "runtime/manifest": GROUND | {"runtime/source"},
    "runtime/launch": GROUND | {"runtime/image"},
    "runtime/c_api": set(),
    "runtime/nvrtc_api": set(),
    "runtime": GROUND | BENCH | STAGES,
}
LONGEST_README = 25  # Lines, of a room.
# Who puts the rooms together.
TOP = {"runtime": ("runtime", "runtime_*", "availability", "pipeline", "obtainer", "making",
                   "compilation", "combination"), "cache": ("cache", "cache_*", "turn")}

# Where the compiler looks, after the folder of the including file.
INCLUDE_DIRS = ["cache/include", "runtime/include", "device", "cache", "runtime", "tools/cli", "tools", "tests", "."]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
SOURCES = {".h", ".cpp", ".cu", ".cuh"}


def resolve(root, including, name):
    """The project's file that is meant, or None for anybody else's."""
    for folder in [including.parent, *(root / folder for folder in INCLUDE_DIRS)]:
        file = (folder / name).resolve()
        if file.is_file() and file.is_relative_to(root):
            return file.relative_to(root)
    return None


def room_of(file):
    """The room of a file of runtime/ or cache/, or None where it has none."""
    folder = str(file.parent)
    top = file.parts[0]
    if folder.startswith(f"{top}/include"):
        return f"{top}/include"
    if folder == top and not any(fnmatch.fnmatch(file.stem, name) for name in TOP[top]):
        return None
    return folder if folder in ROOMS else None


def readme_faults(root):
    """Rooms that nobody explains, or at length."""
    for room in ROOMS:
        if room in TOP or room.endswith("/include"):
            continue
        readme = root / room / "README.md"
        lines = len(readme.read_text().splitlines()) if readme.is_file() else 0
        if not 0 < lines <= LONGEST_README:
            yield f"{room}/README.md: has {lines} lines: a room is explained in at most {LONGEST_README}"


def foreign_fault(including, name):
    """What is wrong with including this header of somebody else's, or None."""
    if including.parts[0] not in TOP:
        return None
    if re.match(r"cuda|nvrtc|nvJitLink|nvFatbin|link\.h", name) and including.parts[:2] != ("runtime", "vendor"):
        return "only runtime/vendor/ calls vendors"
    if name == "dlfcn.h" and including.parts[:2] not in (("runtime", "vendor"), ("cache", "signing")):
        return "only runtime/vendor/ and cache/signing/ open libraries"
    if name == "sodium.h" and including.parts[:2] != ("cache", "signing"):
        return "only cache/signing/ calls libsodium"
    if name == "sqlite3.h" and including.parts[0] != "cache":
        return "only cache/ knows SQLite"
    return None


def fault(including, included):
    """What is wrong with this include, or None."""
    if including.parts[:2] == ("device", "kiln") and included.parts[0] != "device":
        return "a device header includes nothing from outside"
    if included.parts[0] not in MAY_INCLUDE[including.parts[0]]:
        return f"{including.parts[0]}/ may not include {included.parts[0]}/"
    if including.parts[0] not in TOP:
        return None
    room, other = room_of(including), room_of(included)
    if other in {room, "cache/include", "runtime/include"} or other in ROOMS.get(room, ()):
        return None
    return f"the room {room} may not include {other}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    includes = in_rooms = 0
    faults = list(readme_faults(root))
    for top in MAY_INCLUDE:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            including = path.relative_to(root)
            if top in TOP and room_of(including) is None:
                faults.append(f"{including}: has no room: put it into one, or name a new one in ROOMS")
                continue
            in_rooms += top in TOP
            for name in INCLUDE.findall(path.read_text(errors="replace")):
                included = resolve(root, path, name)
                includes += included is not None
                problem = fault(including, included) if included else foreign_fault(including, name)
                if problem:
                    faults.append(f"{including}: includes {included or name}: {problem}")
    print(*faults, sep="\n")
    print(f"{in_rooms} files in {len(ROOMS)} rooms, {includes} includes checked, {len(faults)} faults")
    # Nothing to check would mean that the rules above no longer fit the tree.
    return 1 if faults or includes == 0 or in_rooms == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
