"""The tool and its library where no kiln-worker is beside them: they compile in their own process, and say so only where
somebody asked for workers.

    alone_test.py KILN SCRATCH
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

KILN, SCRATCH = sys.argv[1], pathlib.Path(sys.argv[2])


def move_away():
    """Copies the tool with kiln's own shared libraries, where it has any; the tool's new place."""
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    loaded = subprocess.run(["ldd", KILN], capture_output=True, text=True, check=True).stdout
    for file in [KILN, *re.findall(r"^\s*libkiln\S* => (\S+)", loaded, re.MULTILINE)]:
        shutil.copy(file, SCRATCH)
    return SCRATCH / pathlib.Path(KILN).name


def compile_alone(tool, name, **settings):
    """Compiles another program each time; what was said on standard error."""
    (SCRATCH / f"{name}.cu").write_text(f'extern "C" __global__ void {name}() {{}}\n')
    environment = {key: value for key, value in os.environ.items() if key not in ("KILN_COMPILE_WORKERS", "KILN_WORKER")}
    environment |= {"LD_LIBRARY_PATH": str(SCRATCH), "KILN_CACHE_DIR": str(SCRATCH.absolute() / "cache"), **settings}
    done = subprocess.run([tool, "compile", SCRATCH / f"{name}.cu", "--arch", "sm_80", "--name", name],
                          env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


tool = move_away()
by_default = compile_alone(tool, "plain")
assert by_default == "", by_default
for settings in ({"KILN_COMPILE_WORKERS": "2"}, {"KILN_COMPILE_WORKERS": "auto"}, {"KILN_WORKER": "/nonexistent/worker"}):
    said = compile_alone(tool, f"asked_{len(list(SCRATCH.iterdir()))}", **settings)
    assert "kiln-worker: not found" in said, (settings, said)
