"""Runs a program in C beside another version of libkiln, as an engine and its plugin may bring one each: a library that
is found before all others and has every name of libkiln under another version, each of which ends the process. The
program finds the names that it was linked with, and so do the libraries themselves.

Usage: another_version.py NM CC LIBKILN SCRATCH PROGRAM TEST...
"""

import os
import pathlib
import subprocess
import sys

NM, CC, LIBKILN, SCRATCH, PROGRAM, *TESTS = sys.argv[1:]


def functions():
    lines = subprocess.run([NM, "--dynamic", "--defined-only", LIBKILN], check=True, text=True,
                           capture_output=True).stdout.splitlines()
    return sorted({line.split()[-1].partition("@")[0] for line in lines if line.split()[-2] in "TW"})


def build_other(folder, names):
    """A library of them under the version KILN_0.0."""
    (folder / "other.s").write_text("".join(
        f".globl {name}\n.type {name}, @function\n{name}: .long 0\n" for name in names) +
        '.section .note.GNU-stack,"",@progbits\n')
    (folder / "other.map").write_text("KILN_0.0 { global: *; };\n")
    library = folder / "libother.so"
    subprocess.run([CC, "-shared", "-nostdlib", folder / "other.s", f"-Wl,--version-script={folder}/other.map",
                    "-o", library], check=True)
    return library


def main():
    folder = pathlib.Path(SCRATCH)
    folder.mkdir(parents=True, exist_ok=True)
    names = functions()
    library = build_other(folder, names)
    failed = [test for test in TESTS
              if subprocess.run([PROGRAM, test], env={**os.environ, "LD_PRELOAD": str(library.resolve())}).returncode]
    print(f"{len(names)} names of another version, {len(TESTS)} tests, failed: {' '.join(failed) or 'none'}")
    return 1 if failed or len(names) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
