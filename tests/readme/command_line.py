"""The README's commands, pasted as they stand: on the command line, to a shipped bundle, and to launches.

Usage: command_line.py KILN README SOURCE_DIR BUILD_DIR SCRATCH, where BUILD_DIR has been built, tests too.
Status 77: this machine lacks a library or a program of the toolkit that the commands are about.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

KILN, README, SOURCES, BUILD, SCRATCH = map(pathlib.Path, sys.argv[1:])
SKIPPED = 77
SECTIONS = ("On the command line", "Shipping a cache")
NEEDED = ("can_compile", "can_link", "can_pack", "can_disassemble")
# Tells what failed, with which status, and goes on, as a terminal does.
PASTED = """
trap 'echo "$? $BASH_COMMAND" >>"$FAILED"' ERR
exec 2>&1
"""


def blocks(readme, title):
    """The commands of a section that are typed in the checkout; how kiln itself is packed is another test's matter."""
    section = re.search(rf"^## {title}\n(.*?)^## ", readme, re.M | re.S)[1]
    return [block for block in re.findall(r"^```sh\n(.*?)^```", section, re.M | re.S) if "cmake" not in block]


def paste(commands):
    shutil.rmtree(SCRATCH, ignore_errors=True)
    (SCRATCH / "build").mkdir(parents=True)
    (SCRATCH / "tools").symlink_to(SOURCES / "tools")
    (SCRATCH / "build/release").symlink_to(BUILD)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KILN_") or name == "KILN_NVRTC"}
    failed = SCRATCH / "failed"
    done = subprocess.run(["bash", "-c", PASTED + "\n".join(commands)], cwd=SCRATCH, capture_output=True, text=True,
                          check=False, env={**kept, "HOME": str(SCRATCH), "FAILED": str(failed),
                                            "PATH": f"{KILN.parent}:{kept['PATH']}"})
    return done.stdout, failed.read_text().splitlines() if failed.exists() else []


def main():
    doctor = json.loads(subprocess.run([KILN, "--json", "doctor"], capture_output=True, text=True, check=False).stdout)
    if missing := [name for name in NEEDED if not doctor[name]["yes"]]:
        print("skipped:", *(f"{name}: {doctor[name]['reason']}" for name in missing), sep="\n")
        return SKIPPED
    readme = README.read_text(encoding="utf-8")
    output, failed = paste([block for title in SECTIONS for block in blocks(readme, title)])
    print(output)
    # What the README says of it.
    expected = ["1 kiln explain $kernels/rms_norm.cu --arch sm_90a --name 'rms_norm<__half, 512>'"]
    wanted = ["nearest", "silu_and_mul", ".text.", "all sound", "entries are as farm-1 signed them", "not in the store  0",
              ", 8 from bundles\nright: ", " from shared stores"]
    lacking = [text for text in wanted if text not in output]
    print(f"failed: {failed}", f"lacking: {lacking}", sep="\n")
    return 1 if failed != expected or lacking else 0


sys.exit(main())
