"""Checks that kiln goes by the libraries that it finds and never by those of the machine that built it: no source
asks for the version of the CUDA headers that it is compiled with.

Usage: no_build_version.py SOURCE_DIR
"""

import pathlib
import re
import sys

VERSION = re.compile(r"\b(CUDA_VERSION|CUDART_VERSION|__CUDACC_VER_\w+|NVRTC_VERSION\w*)\b")

# What stands between quotes asks nothing; a quote as a character opens nothing.
LITERAL = re.compile(r"""'\\?"'|"(?:[^"\\\n]|\\.)*\"""")

# Holds a header as text, which asks wherever it is compiled.
TEXT = "tools/cli/verbs/clang_prelude.cpp"


def main():
    root = pathlib.Path(sys.argv[1])
    files = [path for folder in ("cache", "runtime", "tools") for path in sorted((root / folder).rglob("*"))
             if path.suffix in {".h", ".cpp"} and path != root / TEXT]
    faults = [f"{path.relative_to(root)}: asks for {found[0]}" for path in files
              if (found := VERSION.search(LITERAL.sub("", path.read_text())))]
    print(*faults, sep="\n")
    print(f"{len(files)} files checked, {len(faults)} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
