"""Checks that include_directions.py finds what it is for: each fault is planted in a copy of the sources.

Usage: planted_includes.py SOURCE_DIR
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).with_name("include_directions.py")
# A file, what is added to it, and what the check has to say.
PLANTED = [
    ("runtime/lookup/layers.h", '#include "queue/compile_queue.h"', "may not include runtime/queue"),
    ("runtime/compile/in_process.cpp", '#include "launch/launch_checks.h"', "may not include runtime/launch"),
    ("runtime/source/directives.h", '#include "lookup/layers.h"', "may not include runtime/lookup"),
    ("runtime/vendor/nvrtc.h", '#include "image/cubin.h"', "may not include runtime/image"),
    ("runtime/c_api/c_api.cpp", '#include "pipeline.h"', "may not include runtime"),
    ("runtime/image/recipe.h", '#include "file/sqlite.h"', "may not include cache/file"),
    ("cache/record/fields.h", '#include "rows/tally.h"', "may not include cache/rows"),
    ("cache/include/kiln/size.h", '#include "record/fields.h"', "may not include cache/record"),
    ("cache/cache.cpp", "#include <kiln/runtime.h>", "cache/ may not include runtime/"),
    ("runtime/source/source.cpp", "#include <nvrtc.h>", "only runtime/vendor/ calls vendors"),
    ("runtime/pipeline.cpp", "#include <sqlite3.h>", "only cache/ knows SQLite"),
    ("runtime/leftover.h", "#pragma once", "has no room"),
    ("runtime/attic/leftover.cpp", "int leftover;", "has no room"),
    ("cache/attic/leftover.h", "#pragma once", "has no room"),
    ("runtime/queue/README.md", "more\n" * 25, "lines: a room is explained"),
]


def check(root):
    done = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder).resolve()
        for top in ("cache", "runtime"):
            shutil.copytree(root / top, copy / top)
        status, said = check(copy)
        if status != 0:
            faults.append(f"nothing was planted, and yet: {said}")
        for name, text, expected in PLANTED:
            file = copy / name
            before = file.read_text() if file.is_file() else None
            file.parent.mkdir(exist_ok=True)
            file.write_text((before or "") + text + "\n")
            status, said = check(copy)
            if status == 0 or f"{name}: " not in said or expected not in said:
                faults.append(f"{text} in {name} is not found: {said}")
            file.unlink() if before is None else file.write_text(before)
    print(*faults, sep="\n")
    print(f"{len(PLANTED)} faults planted, {len(faults)} not found")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
