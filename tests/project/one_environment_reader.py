"""Checks that kiln reads the environment in one place, which a setuid program's caller cannot use.

Usage: one_environment_reader.py SOURCE_DIR
"""

import pathlib
import re
import sys

READER = pathlib.Path("cache/system/environment.h")
CALL = re.compile(r"\b(?:secure_)?getenv\b")


def main():
    root = pathlib.Path(sys.argv[1])
    files = [path for folder in ("cache", "runtime", "tools", "device") for path in sorted((root / folder).rglob("*"))
             if path.suffix in {".h", ".cpp", ".c"}]
    callers = [path.relative_to(root) for path in files if CALL.search(path.read_text(errors="replace"))]
    faults = [f"{path}: reads the environment; {READER} does" for path in callers if path != READER]
    if "secure_getenv" not in (root / READER).read_text():
        faults.append(f"{READER}: heeds the environment in a setuid program too")
    print(*faults, sep="\n")
    print(f"{len(files)} files checked, {len(faults)} faults")
    return 1 if faults or READER not in callers else 0


if __name__ == "__main__":
    sys.exit(main())
