"""Fetches the packages whose device code is compiled here into build/engines, each at one version: a step by hand.

    fetch.py [PACKAGE...]

Each is taken as a wheel, without what it depends on, and unpacked; what is there already is left as it is. KILN_WHEELS names a
local folder of wheels. Nothing of a package is run, but for Warp's code generator, which makes its kernels and wants numpy."""

import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/engines"
PINNED = {
    "cuda-cccl": "1.2.1",
    "cupy-cuda13x": "14.2.0",
    "flashinfer-python": "0.6.8",
    "numba-cuda": "0.30.4",
    "numpy": "2.2.6",
    "nvidia-cutlass": "4.2.0.0",
    "tilelang": "0.1.15",
    "warp-lang": "1.19.0",
}


def folder_of(package):
    return FOLDER / f"{package}-{PINNED[package]}"


def is_here(package):
    return folder_of(package).is_dir()


def fetch(package):
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        local = os.environ.get("KILN_WHEELS")
        source = ["--no-index", "--find-links", local] if local else []
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--only-binary=:all:", *source, "--dest", scratch, f"{package}=={PINNED[package]}"], check=True)
        unpacked = pathlib.Path(scratch) / "unpacked"
        with zipfile.ZipFile(next(pathlib.Path(scratch).glob("*.whl"))) as wheel:
            wheel.extractall(unpacked)
        unpacked.rename(folder_of(package))


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for package in sys.argv[1:] or PINNED:
        if package not in PINNED:
            sys.exit(f"{package}: one of {', '.join(PINNED)}")
        if not is_here(package):
            fetch(package)
        print(f"{package} {PINNED[package]}: {folder_of(package).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
