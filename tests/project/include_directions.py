"""Checks that includes run one way: tests -> tools -> runtime -> cache.

device/ holds code for the GPU, which includes nothing from outside; only the program that embeds it knows
the cache's digest, and how the runtime follows includes. Inside runtime/ no stage includes another one: runtime.cpp and pipeline.cpp alone know
them. Only
runtime/vendor/ includes what is NVIDIA's and the loader's, only cache/ what is SQLite's.

Usage: include_directions.py SOURCE_DIR
"""

import pathlib
import re
import sys

MAY_INCLUDE = {
    "cache": {"cache"},
    "device": {"device", "runtime", "cache"},
    "runtime": {"runtime", "cache"},
    "tools": {"tools", "device", "runtime", "cache"},
    "tests": {"tests", "tools", "device", "runtime", "cache"},
}
# Who puts the stages together.
SEQUENCERS = {pathlib.Path("runtime") / name for name in ("runtime.cpp", "pipeline.h", "pipeline.cpp")}
# Where compile jobs run belongs to their stage, and a node of a graph is a launch.
PARTS = {"worker": "compile", "in": "compile", "nvrtc": "compile", "precompiled": "compile", "graph": "launch"}
STAGES = {"source", "fingerprint", "compile", "link", "fatbin", "load", "launch"}
# Where the compiler looks, after the folder of the including file.
INCLUDE_DIRS = ["cache/include", "runtime/include", "device", "cache", "cache/system", "runtime", "tools", "tests", "."]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)


def resolve(root, including, name):
    """The project's file that is meant, or None for anybody else's."""
    for folder in [including.parent, *(root / folder for folder in INCLUDE_DIRS)]:
        file = (folder / name).resolve()
        if file.is_file() and file.is_relative_to(root):
            return file.relative_to(root)
    return None


def stage(file):
    """The stage a file of runtime/ belongs to: compile.cpp and worker_pool.cpp to "compile"."""
    if file.parent != pathlib.Path("runtime"):
        return None
    word = re.split(r"[_.]", file.name)[0]
    word = PARTS.get(word, word)
    return word if word in STAGES else None


def foreign_fault(including, name):
    """What is wrong with including this header of somebody else's, or None."""
    if including.parts[0] not in {"cache", "runtime"}:
        return None
    if re.match(r"cuda|nvrtc|nvJitLink|nvFatbin|dlfcn|link\.h", name) and including.parts[:2] != ("runtime", "vendor"):
        return "only runtime/vendor/ calls vendors"
    if name == "sqlite3.h" and including.parts[0] != "cache":
        return "only cache/ knows SQLite"
    return None


def fault(including, included):
    """What is wrong with this include, or None."""
    if including.parts[:2] == ("device", "kiln") and included.parts[0] != "device":
        return "a device header includes nothing from outside"
    if included.parts[0] not in MAY_INCLUDE[including.parts[0]]:
        return f"{including.parts[0]}/ may not include {included.parts[0]}/"
    if including.parts[0] != "runtime" or including in SEQUENCERS:
        return None
    if stage(included) and stage(included) != stage(including):
        return f"only runtime.cpp and pipeline.cpp may know the stage '{stage(included)}' beside that stage itself"
    return None


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    checked = 0
    faults = []
    for folder in MAY_INCLUDE:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".h", ".cpp", ".cu", ".cuh"}:
                continue
            including = path.relative_to(root)
            for name in INCLUDE.findall(path.read_text(errors="replace")):
                included = resolve(root, path, name)
                checked += included is not None
                problem = fault(including, included) if included else foreign_fault(including, name)
                if problem:
                    faults.append(f"{including}: includes {included or name}: {problem}")
    print(*faults, sep="\n")
    print(f"{checked} includes checked, {len(faults)} faults")
    # Nothing to check would mean that the rules above no longer fit the tree.
    return 1 if faults or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
