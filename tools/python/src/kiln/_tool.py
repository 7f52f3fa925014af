"""Where the tool `kiln` is."""

from __future__ import annotations

import os
import sys

from ._library import FOLDER, path


def tool() -> str:
    """The wheel's, or the one that was built with the library that `KILN_PYTHON_LIBRARY` names."""
    folder = os.path.dirname(path())
    for candidate in (os.path.join(FOLDER, "kiln"), os.path.join(folder, "..", "bin", "kiln")):
        if os.access(candidate, os.X_OK):
            return os.path.normpath(candidate)
    sys.stderr.write(f"kiln: error: the tool is neither in {FOLDER} nor beside {folder}; install kiln from its wheel\n")
    sys.exit(3)
