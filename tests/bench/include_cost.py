"""What including kiln's headers costs a source: processor time of `g++ -fsyntax-only`, beside that of the standard's headers that
they include alone, and of other trees of kiln. All in turns; prints medians in milliseconds.

    include_cost.py BUILD [--times 11] [--each] [--beside TREE ...]

BUILD is a build folder, which has the generated headers; `--each` measures each public header, too. What the standard's headers cost
is what no declaration of kiln's own can save."""

import argparse
import os
import pathlib
import re
import shlex
import statistics
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def public_headers(tree):
    return sorted(path for room in ("cache", "runtime") for path in (tree / room / "include/kiln").glob("*.h"))


def standard_headers(tree):
    """Those that kiln.h and what it includes of kiln's name."""
    texts = {path.name: path.read_text() for path in public_headers(tree)}
    found, waiting, read = set(), ["kiln.h"], set()
    while waiting:
        name = waiting.pop()
        if name in read or name not in texts:  # Some are generated, and include nothing.
            continue
        read.add(name)
        waiting += re.findall(r'^#include "kiln/([a-z_]+\.h)"$', texts[name], re.MULTILINE)
        found |= set(re.findall(r"^#include <([a-z_]+)>$", texts[name], re.MULTILINE))
    return sorted(found)


def includes(names):
    return "".join(f"#include <{name}>\n" for name in names)


class Source:
    def __init__(self, name, text, tree, build, scratch):
        self.name = name
        self.path = scratch / (re.sub(r"\W", "_", name) + ".cpp")
        self.path.write_text(text)
        folders = [tree / "cache/include", tree / "runtime/include", build / "cache/include", build / "runtime/include"]
        self.command = [*shlex.split(os.environ.get("CXX", "g++")), "-std=c++20", "-fsyntax-only",
                        *(f"-I{folder}" for folder in folders), str(self.path)]
        self.taken = []

    def measure(self):
        """Processor time of the compiler and of all that it starts."""
        child = os.posix_spawnp(self.command[0], self.command, os.environ)
        _, status, usage = os.wait4(child, 0)
        if status != 0:
            raise SystemExit(f"{self.name}: the compiler failed: {shlex.join(self.command)}")
        self.taken.append(1000 * (usage.ru_utime + usage.ru_stime))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=11)
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--beside", type=pathlib.Path, nargs="*", default=[])
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)

        def source(name, text, tree=ROOT):
            return Source(name, text, tree.resolve(), build, scratch)

        sources = [source("kiln/kiln.h", includes(["kiln/kiln.h"]))]
        sources += [source(f"kiln/kiln.h of {tree}", includes(["kiln/kiln.h"]), tree) for tree in arguments.beside]
        sources.append(source("the standard's alone", includes(standard_headers(ROOT))))
        if arguments.each:
            sources += [source(f"kiln/{path.name}", includes([f"kiln/{path.name}"])) for path in public_headers(ROOT)]
        for _ in range(arguments.times):
            for each in sources:
                each.measure()
    for each in sources:
        print(f"{statistics.median(each.taken):6.0f} ms  {each.name}")


if __name__ == "__main__":
    main()
