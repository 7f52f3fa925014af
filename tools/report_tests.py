"""Prints what the failed tests of a ctest run said, from its JUnit file, so that it stands at the end.

    failed_tests.py JUNIT_FILE
"""
import sys
import xml.etree.ElementTree as ElementTree

for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
    if case.find("failure") is None:
        continue
    output = case.findtext("system-out") or ""
    print(f"\n-- {case.get('name')} failed:\n{output[-6000:]}")
