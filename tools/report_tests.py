"""Prints what was skipped in a ctest run and why, and what the failed tests said, from its JUnit file, so that it
stands at the end.

    report_tests.py JUNIT_FILE
"""
import collections
import re
import sys
import xml.etree.ElementTree as ElementTree


def reason_of(output):
    """What a test said of being skipped: the line after GoogleTest's word for it, else one with the word, else the last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for at, line in enumerate(lines[:-1]):
        if line.endswith(": Skipped"):
            return lines[at + 1]
    words = re.compile("skipped|not run|no GPU", re.IGNORECASE)
    spoken = [line for line in lines if words.search(line) and not line.startswith("[")]
    return (spoken or lines or ["says nothing"])[0 if spoken else -1]


skipped, failed = collections.defaultdict(list), []
for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
    output = case.findtext("system-out") or ""
    if case.find("failure") is not None:
        failed.append((case.get("name"), output))
    elif case.find("skipped") is not None:
        skipped[reason_of(output)].append(case.get("name"))
for reason, names in sorted(skipped.items()):
    print(f"skipped: {reason}: {', '.join(names)}")
for name, output in failed:
    print(f"\n-- {name} failed:\n{output[-6000:]}")
