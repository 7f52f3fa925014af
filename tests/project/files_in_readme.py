"""Checks that a folder's README names each file and folder beside it, and nothing that is not there. A header and its
source may be named together, without their endings.

Usage: files_in_readme.py FOLDER
"""

import fnmatch
import pathlib
import re
import sys

NOT_NAMED = {"README.md", "CMakeLists.txt", "__pycache__"}


def main():
    folder = pathlib.Path(sys.argv[1])
    rows = [line.split("|")[1] for line in (folder / "README.md").read_text().splitlines() if line.startswith("|")]
    named = [name.rstrip("/") for row in rows for name in re.findall(r"`([^`]+)`", row)]
    there = [path.name for path in sorted(folder.iterdir()) if path.name not in NOT_NAMED]
    stems = {name: re.sub(r"\.(h|cpp)$", "", name) for name in there}
    faults = [f"{name} is not in the README" for name in there
              if not any(fnmatch.fnmatch(name, pattern) or stems[name] == pattern for pattern in named)]
    faults += [f"the README names {pattern}, which is not there" for pattern in named
               if pattern not in stems.values() and not fnmatch.filter(there, pattern)]
    print(*faults, sep="\n")
    print(f"{len(there)} files checked, {len(faults)} faults")
    return 1 if faults or not there else 0


if __name__ == "__main__":
    sys.exit(main())
