"""Writes a source that holds the example of each public header, in a function of its own.

    header_examples.py OUTPUT HEADER...

An example is what stands indented in the comment that a header opens with. What it may take for granted stands in
`header_examples.h`. A header without one is an error.
"""

import pathlib
import re
import sys


def example(header):
    opening = re.match(r"#pragma once\n\n((?://.*\n)+)", header.read_text())
    if not opening or not opening[1].startswith(f"// kiln/{header.name}: "):
        sys.exit(f"{header}: does not open with `// kiln/{header.name}: ` and what it is for")
    lines = re.findall(r"^//     (.*)\n", opening[1], re.MULTILINE)
    if not lines:
        sys.exit(f"{header}: does not open with an example")
    return "\n".join(f"  {line}" for line in lines)


def main():
    output, *headers = map(pathlib.Path, sys.argv[1:])
    functions = "\n".join(f"void example_of_{header.stem}(void);\nvoid example_of_{header.stem}(void) {{\n{example(header)}\n}}\n"
                          for header in headers)
    if output.suffix == ".c":
        output.write_text(f"#include <stdio.h>\n\n#include <kiln/c_api.h>\n\n{functions}")
    else:
        output.write_text(f"#include \"header_examples.h\"\n\nnamespace examples {{\n\n{functions}\n}}  // namespace examples\n")


main()
