"""Checks an installed tree: no program or shared library in it has symbols or debug information that nobody needs to
run it, and the licence, the notices and the schema of what the tool prints are there, as in the sources.

Usage: installed_tree.py READELF SOURCE_DIR PREFIX
"""

import pathlib
import subprocess
import sys

READELF, SOURCES, PREFIX = sys.argv[1], *map(pathlib.Path, sys.argv[2:])


def unstripped(file):
    sections = subprocess.run([READELF, "--sections", "--wide", file], check=True, text=True,
                              capture_output=True).stdout
    return [name for name in (".symtab", ".debug_info") if f" {name} " in sections]


def main():
    files = [path for path in PREFIX.rglob("*") if path.is_file() and not path.is_symlink()]
    binaries = [path for path in files if path.suffix != ".a" and path.read_bytes()[:4] == b"\x7fELF"]
    faults = [f"{path} has {', '.join(found)}" for path in binaries if (found := unstripped(path))]
    for source in (SOURCES / "LICENSE", SOURCES / "tools/NOTICES"):
        installed = PREFIX / "share/doc/kiln" / source.name
        if not installed.is_file() or installed.read_bytes() != source.read_bytes():
            faults.append(f"{installed} is not {source}")
    schema = SOURCES / "tools/cli/kiln.schema.json"
    installed = PREFIX / "share/kiln" / schema.name
    if (PREFIX / "bin/kiln").exists() and not (installed.is_file() and installed.read_bytes() == schema.read_bytes()):
        faults.append(f"{installed} is not {schema}")
    print(*faults, f"{len(binaries)} binaries of {len(files)} files, {len(faults)} faults", sep="\n")
    return 1 if faults or not binaries else 0


if __name__ == "__main__":
    sys.exit(main())
