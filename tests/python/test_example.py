"""The worked example: compiled in the background at its first start, served at the second, and right. And its types."""

import os
import pathlib
import subprocess
import sys

import pytest

import kiln

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "tools/python/examples/rms_norm.py"
PACKAGE = pathlib.Path(kiln.__file__).parent


def test_it_compiles_then_serves(cache):
    driver = os.environ.get("KILN_COMPUTING_CUDA")
    if not driver:
        pytest.skip("KILN_COMPUTING_CUDA does not name the driver that computes")
    environment = {**os.environ, "KILN_CACHE_DIR": str(cache), "KILN_CUDA_DRIVER": driver}
    for words in ("5 compiled, 0 served", "0 compiled, 5 served"):
        done = subprocess.run([sys.executable, str(EXAMPLE)], env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0 and words in done.stdout, done.stdout + done.stderr


def test_types(tmp_path):
    pytest.importorskip("mypy")
    assert (PACKAGE / "py.typed").exists()
    environment = dict(os.environ)
    if "KILN_PYTHON_LIBRARY" in environment:  # It is not installed, so mypy does not find it by itself.
        environment["MYPYPATH"] = str(PACKAGE.parent)
    for what in ([str(EXAMPLE)], ["-p", "kiln"]):
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), *what],
                              env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
