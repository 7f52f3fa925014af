"""Checks that every public header compiles alone, twice over, and brings in no header of CUDA, SQLite
or any other private dependency; that of the C API as C99, too.

Usage: public_headers_alone.py COMPILER INCLUDE_DIR...
"""

import os
import pathlib
import re
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
CXX = ["-std=c++20", "-x", "c++", *WARNINGS, "-"]
C = ["-std=c99", "-x", "c", *WARNINGS, "-Wstrict-prototypes", "-"]
LANGUAGES = {"kiln/c_api.h": [CXX, C]}
PRIVATE = re.compile(r"(?<!/include/kiln)/(cuda\w*|nvrtc|nvJitLink|sqlite3|zstd|xxhash|fmt/\w+)\.h\b")
# Variables that would put folders on the include path behind the command line's back.
INCLUDE_VARIABLES = {"CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH"}


def compile_with(compiler, arguments, language, source):
    environment = {name: value for name, value in os.environ.items() if name not in INCLUDE_VARIABLES}
    return subprocess.run([compiler, *arguments, *language], input=source, env=environment, text=True,
                          capture_output=True)


def faults_of(compiler, include_flags, spelling, language):
    source = f'#include "{spelling}"\n#include "{spelling}"\n'
    alone = compile_with(compiler, [*include_flags, "-fsyntax-only"], language, source)
    if alone.returncode != 0:
        return [f"{spelling} does not compile alone with {language[0]}:\n{alone.stderr}"]
    read = compile_with(compiler, [*include_flags, "-M"], language, source)
    return [f"{spelling} brings in {match.group(0)[1:]}" for match in PRIVATE.finditer(read.stdout)]


def main():
    compiler, *folders = sys.argv[1:]
    include_flags = [f"-I{folder}" for folder in folders]
    spellings = sorted(str(header.relative_to(folder))
                       for folder in folders for header in pathlib.Path(folder).rglob("*.h"))
    faults = [fault for spelling in spellings for language in LANGUAGES.get(spelling, [CXX])
              for fault in faults_of(compiler, include_flags, spelling, language)]
    print(*faults, sep="\n")
    print(f"{len(spellings)} headers checked, {len(faults)} faults")
    return 1 if faults or not spellings else 0


if __name__ == "__main__":
    sys.exit(main())
