"""Checks that whatever walks the list of loaded libraries keeps fork() waiting: the loader's lock is never released in a
child that is forked meanwhile, which then hangs at its next look.

Usage: loader_beside_fork.py SOURCE_DIR
"""

import pathlib
import re
import sys


def main():
    root = pathlib.Path(sys.argv[1])
    calls = 0
    faults = []
    for folder in ("cache", "runtime", "tools"):
        for path in sorted((root / folder).rglob("*.cpp")):
            text = path.read_text()
            for call in re.finditer(r"\bdl_iterate_phdr\(", text):
                calls += 1
                if "NoFork" not in "\n".join(text[:call.start()].splitlines()[-8:]):
                    faults.append(f"{path.relative_to(root)}: dl_iterate_phdr() without a system::NoFork before it")
    print(*faults, sep="\n")
    print(f"{calls} calls checked, {len(faults)} faults")
    return 1 if faults or not calls else 0


if __name__ == "__main__":
    sys.exit(main())
