"""Checks that a shared library exports the C functions of a list, and no others that begin with kiln_: one
that is missing breaks programs that were built before, and one that is new raises KILN_API_VERSION.

Usage: exported_symbols.py NM LIBRARY LIST
"""

import pathlib
import subprocess
import sys


def exported(nm, library):
    lines = subprocess.run([nm, "--dynamic", "--defined-only", library], check=True, text=True,
                           capture_output=True).stdout.splitlines()
    return {name for *_, kind, name in map(str.split, lines) if kind == "T" and name.startswith("kiln_")}


def main():
    nm, library, listing = sys.argv[1:]
    listed = pathlib.Path(listing).read_text().split()
    found = exported(nm, library)
    for name in sorted(found.symmetric_difference(listed)):
        print(f"{name} is", "exported and not listed" if name in found else "listed and not exported")
    ordered = listed == sorted(set(listed))
    print(f"{len(found)} functions exported, {len(listed)} listed{'' if ordered else ', not in order'}")
    return 0 if ordered and listed and found == set(listed) else 1


if __name__ == "__main__":
    sys.exit(main())
