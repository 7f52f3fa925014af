"""Checks that building a program builds the worker that its compiles go to.

    worker_is_built.py NINJA BUILD_FOLDER WORKER PROGRAM…
"""

import pathlib
import subprocess
import sys


def main():
    ninja, folder, worker, *programs = sys.argv[1:]
    wanted = str(pathlib.Path(worker).relative_to(folder))
    for program in programs:
        name = str(pathlib.Path(program).relative_to(folder))
        inputs = subprocess.run([ninja, "-C", folder, "-t", "inputs", name], capture_output=True, text=True, check=True)
        if wanted not in map(str.strip, inputs.stdout.splitlines()):
            sys.exit(f"building {name} does not build {wanted}")


main()
