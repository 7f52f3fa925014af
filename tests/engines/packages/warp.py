"""Warp: CUDA C++ that its own generator makes of the Python kernels in ../warp_kernels.py, and its headers."""

import functools
import json
import os
import subprocess
import sys

import fetch
import kernels

OPTIONS = ["--std=c++17", "-default-device", "-w"]
GENERATOR = kernels.HERE / "warp_kernels.py"


@functools.cache
def generated():
    """{name: {"source", "kernels"}}, made in a process of its own."""
    path = os.pathsep.join(str(fetch.folder_of(package)) for package in ("warp-lang", "numpy"))
    made = subprocess.run([sys.executable, GENERATOR], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    if made.returncode:
        sys.exit(f"Warp generates nothing: {made.stderr[-1000:]}")
    return json.loads(made.stdout.splitlines()[-1])


def package():
    if not (fetch.is_here("warp-lang") and fetch.is_here("numpy")):
        return None
    listed = [kernels.Kernel(f"warp_{name}.cu", each["source"], each["kernels"], archs=("sm_80",), options=OPTIONS, family="warp")
              for name, each in generated().items()]
    return kernels.Package("warp", listed, {"native": fetch.folder_of("warp-lang") / "warp/native"}, ("native",))
