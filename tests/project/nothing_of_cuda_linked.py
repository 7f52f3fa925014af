"""Checks that none of these binaries needs a library of CUDA to start.

Usage: nothing_of_cuda_linked.py READELF BINARY...
"""

import re
import subprocess
import sys

NEEDED = re.compile(r"\(NEEDED\).*\[(.+)\]")
CUDA = re.compile(r"^lib(cuda|cudart|nv\w*)\b")


def main():
    readelf, *binaries = sys.argv[1:]
    failed = False
    for binary in binaries:
        dynamic = subprocess.run([readelf, "-d", "-W", binary], check=True, text=True,
                                 capture_output=True).stdout
        needed = NEEDED.findall(dynamic)
        print(f"{binary} needs {' '.join(needed)}")
        # Every one of them needs the C library at least: finding nothing means that nothing was read.
        failed = failed or not needed or any(CUDA.match(library) for library in needed)
    return 1 if failed or not binaries else 0


if __name__ == "__main__":
    sys.exit(main())
