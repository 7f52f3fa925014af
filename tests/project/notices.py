"""Checks that tools/NOTICES has a section for each library that kiln is built from, which is what CMake looks for, less
what only tests need and what is no library.

Usage: notices.py SOURCE_DIR
"""

import pathlib
import re
import sys

NO_LIBRARY = {"Threads", "PkgConfig", "GTest", "Python3", "benchmark"}


def main():
    root = pathlib.Path(sys.argv[1])
    dependencies = (root / "tools/cmake/KilnDependencies.cmake").read_text()
    libraries = set(re.findall(r"^\s*find_package\(([\w-]+)", dependencies, re.MULTILINE)) - NO_LIBRARY
    libraries |= set(re.findall(r"^\s*pkg_check_modules\(.* ([\w-]+)\)", dependencies, re.MULTILINE))
    sections = set(re.findall(r"^(.+)\n-+$", (root / "tools/NOTICES").read_text(), re.MULTILINE))
    missing = sorted(libraries - sections)
    print(*(f"tools/NOTICES has no section {name}" for name in missing), f"{len(libraries)} libraries", sep="\n")
    return 1 if missing or len(libraries) < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
