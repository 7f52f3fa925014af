"""Checks that a shared library exports the C functions of a list, and no others that begin with kiln_: one
that is missing breaks programs that were built before, and one that is new raises KILN_API_VERSION. Beside
them there is nothing; with --cxx there are names of C++, of namespace kiln and of no namespace or class that is internal.
All of them carry the version VERSION, which programs that were linked with it ask for.

Usage: exported_symbols.py NM LIBRARY LIST VERSION [--cxx]
"""

import pathlib
import re
import subprocess
import sys

# A name of kiln's: in its namespace, or the type information or a static variable of what is there.
CXX = re.compile(r"_Z(T[ISV]|Z|GVZ)?N(K?)4kiln")


def exported(nm, library, version):
    """The names; one of another version, or of none, keeps what nm prints behind it."""
    lines = subprocess.run([nm, "--dynamic", "--defined-only", library], check=True, text=True,
                           capture_output=True).stdout.splitlines()
    symbols = [line.split()[-2:] for line in lines]
    # The version is an absolute symbol of its own.
    return {name.removesuffix(f"@@{version}") if "@" in name else f"{name} without a version"
            for kind, name in symbols if kind != "A"}


def not_public(names):
    def is_internal(name):
        demangled = subprocess.run(["c++filt", name], check=True, text=True, capture_output=True).stdout
        return bool(re.match(r"kiln::(\w+::)*(Impl|vendor|storage)::", demangled))

    return [name for name in names if not CXX.match(name) or is_internal(name)]


def main():
    nm, library, listing, version, *cxx = sys.argv[1:]
    listed = pathlib.Path(listing).read_text().split()
    names = exported(nm, library, version)
    found = {name for name in names if name.startswith("kiln_")}
    others = sorted(names - found)
    hidden = not_public(others) if cxx else others
    for name in hidden:
        print(f"{name} is exported and not public")
    for name in sorted(found.symmetric_difference(listed)):
        print(f"{name} is", "exported and not listed" if name in found else "listed and not exported")
    ordered = listed == sorted(set(listed))
    print(f"{len(found)} functions exported, {len(listed)} listed{'' if ordered else ', not in order'}")
    return 0 if ordered and not hidden and found == set(listed) else 1


if __name__ == "__main__":
    sys.exit(main())
