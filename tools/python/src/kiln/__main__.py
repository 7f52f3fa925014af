"""`python -m kiln …` is the tool `kiln`."""

import os
import sys

from ._runtime import nvrtc_elsewhere
from ._tool import tool


def main() -> None:
    program, nvrtc = tool(), nvrtc_elsewhere()
    if nvrtc is not None:
        os.environ["KILN_NVRTC"] = os.fsdecode(nvrtc)
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
