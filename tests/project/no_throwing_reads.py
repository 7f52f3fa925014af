"""Checks that kiln reads no file by a stream's iterator: where such a read fails, an exception leaves it, which no state of the
stream tells of. A process in /proc that ends between open and read is enough.

Usage: no_throwing_reads.py SOURCE_DIR
"""

import pathlib
import sys

ITERATOR = "istreambuf_iterator"


def main():
    root = pathlib.Path(sys.argv[1])
    files = [path for folder in ("cache", "runtime", "tools", "device") for path in sorted((root / folder).rglob("*"))
             if path.suffix in {".h", ".cpp"}]
    faults = [f"{path.relative_to(root)}: reads by {ITERATOR}; system::read_file() does not throw" for path in files
              if ITERATOR in path.read_text(errors="replace")]
    print(*faults, sep="\n")
    print(f"{len(files)} files checked, {len(faults)} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
