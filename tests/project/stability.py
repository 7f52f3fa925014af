"""Compares what README.md promises of versions with what holds programs to it: which requests find_package takes, below
1.0 and above, the sonames, the name of a cache's file.

Usage: stability.py CMAKE SOURCE_DIR SCRATCH VERSION
"""

import pathlib
import re
import subprocess
import sys

CMAKE, SOURCES, SCRATCH, VERSION = sys.argv[1:]
REQUESTS = ["0.1", "0.2", "0.3", "1.0", "1.2", "1.3", "2.0"]
# What a version is taken for: of 0.x the requests of its minor version, later those of its major version up to it.
TAKEN = {"0.1.0": ["0.1"], "0.1.7": ["0.1"], "0.2.0": ["0.2"], "1.2.0": ["1.0", "1.2"], "2.0.0": ["2.0"]}


def probe(version):
    """The requests that this version is taken for, then its two sonames."""
    done = subprocess.run([CMAKE, f"-DVERSION={version}", f"-DSOURCES={SOURCES}", f"-DSCRATCH={SCRATCH}",
                           f"-DREQUESTED={';'.join(REQUESTS)}", "-P",
                           pathlib.Path(__file__).with_name("version_probe.cmake")],
                          check=True, text=True, capture_output=True)
    *taken, cxx, c = done.stderr.split()
    return taken, cxx, c


def promised():
    """The rows of README.md's table of promises: what each is of, to what holds it."""
    text = (pathlib.Path(SOURCES) / "README.md").read_text()
    section = text.partition("\n## Versions and stability\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines()
            if line.startswith("|")]
    return {row[0]: (row[1], re.findall(r"`([^`]+)`", row[2])) for row in rows}


def main():
    pathlib.Path(SCRATCH).mkdir(parents=True, exist_ok=True)
    faults = [f"{version} is taken for {taken}, not for {wanted}"
              for version, wanted in TAKEN.items() if (taken := probe(version)[0]) != wanted]
    sonames = {version: probe(version)[1:] for version in (VERSION, "1.2.0")}
    minor = VERSION.rpartition(".")[0]
    if sonames != {VERSION: (f"libkiln.so.{minor}", "libkiln_c.so.1"), "1.2.0": ("libkiln.so.1.2", "libkiln_c.so.1")}:
        faults.append(f"the sonames are {sonames}")
    schema = re.search(r"`(kernels\.v\d+\.db)`", (pathlib.Path(SOURCES) / "cache/README.md").read_text())[1]
    rows = promised()
    held = {"C++, sources": f"find_package(kiln {minor})", "C++, binaries": f"libkiln.so.{minor}",
            "C": "libkiln_c.so.1", "cache": schema}
    faults += [f"README.md: the row of {name} does not say `{said}`"
               for name, said in held.items() if said not in rows.get(name, ("", []))[1]]
    for words in ("minor version of 0.x", "from 1.0 on within a major"):
        if words not in rows.get("C++, sources", ("", []))[0]:
            faults.append(f"README.md: the row of C++, sources does not say '{words}'")
    print(*faults, f"{len(faults)} faults", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
