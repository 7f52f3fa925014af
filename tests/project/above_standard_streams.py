"""Checks that what kiln opens to keep, lock or write never takes the number of a closed standard stream: files are
opened by one function, and descriptors from elsewhere are moved by another.

Usage: above_standard_streams.py SOURCE_DIR
"""

import pathlib
import re
import sys

OPENER = pathlib.Path("cache/system/standard_streams.h")
# A worker is a process of kiln's own; so is the tool, which fills closed streams when it starts.
FOLDERS = ("cache", "runtime")
OPENING = re.compile(r"(?<!above_standard_streams\()(?<!\w)::(?:open|openat|creat|mkostemp|mkstemp|memfd_create)\(")
# Where two descriptors are got at once, the file moves both.
PAIR = re.compile(r"(?<!\w)::(?:pipe2?|socketpair)\(")
MOVES_PAIRS = {pathlib.Path("runtime/compile/worker/worker_process.cpp"): "above_standard_streams(pair[1])"}


def faults_in(file, text):
    if file == OPENER:
        return []
    found = [f"{file}: calls {call[0]}…) itself" for call in OPENING.finditer(text)]
    if PAIR.search(text) and MOVES_PAIRS.get(file, "\0") not in text:
        found.append(f"{file}: keeps a pair of descriptors as it got them")
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in {".h", ".cpp"}]
    faults = [fault for path in files for fault in faults_in(path.relative_to(root), path.read_text())]
    print(*faults, sep="\n")
    print(f"{len(files)} files checked, {len(faults)} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
