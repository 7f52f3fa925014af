"""Checks that no loop walks over part of a temporary. In `for (auto& x : make().value())` what make() returned is gone
before the first round: until C++23 only a range that is the temporary itself lives as long as the loop.

Usage: loops_over_temporaries.py SOURCE_DIR
"""

import pathlib
import re
import sys

FOLDERS = ("cache", "runtime", "device", "tools", "tests")
FILES = {".h", ".cpp", ".cuh", ".cu", ".md"}
LOOP = re.compile(r"\bfor \(")
# A call whose result is asked for a reference into itself.
PART = re.compile(r"\)\s*(?:\.(?:value|error|at|front|back|get_ref<[^>]*>)\(|->|\[)")

WRONG = ("for (const auto& entry : cache.list().value()) {", "for (auto& x : list(a).value().kernels)",
         "for (auto& [name, value] :\n     object(a).get_ref<Json::object_t&>())", "for (auto x : split(text)[1])")
RIGHT = ("for (const auto& x : values(a, b))", "for (auto& x : known.at(f(y)))", "for (int i = f(a).value(); i < 3; ++i)",
         "const auto entries = cache.list().value();\nfor (const auto& entry : entries) use(f(entry).value());")


def range_of(text, begin):
    """What the loop whose head begins there walks over; empty for a loop of another kind."""
    depth, colon = 1, None
    for at in range(begin, len(text)):
        char = text[at]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return text[colon + 1:at] if colon else ""
        elif char == ";" and depth == 1:
            return ""
        elif char == ":" and depth == 1 and not colon and ":" not in (text[at - 1], text[at + 1]):
            colon = at
    return ""


def faults_in(name, text):
    for loop in LOOP.finditer(text):
        walked = range_of(text, loop.end())
        if PART.search(walked):
            line = text.count("\n", 0, loop.start()) + 1
            yield f"{name}:{line}: walks over part of a temporary: {' '.join(walked.split())}"


def main():
    misjudged = [text for texts, is_wrong in ((WRONG, True), (RIGHT, False)) for text in texts
                 if any(faults_in("", text)) != is_wrong]
    root = pathlib.Path(sys.argv[1])
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in FILES]
    faults = [fault for path in files for fault in faults_in(path.relative_to(root), path.read_text())]
    print(*(f"misjudged: {text}" for text in misjudged), *faults, sep="\n")
    print(f"{len(files)} files checked, {len(faults)} faults")
    return 1 if misjudged or faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
