"""Fetches CUTLASS's headers into build/engine-programs, from a wheel that carries them: a step by hand, never of CI.

    fetch_cutlass.py [flashinfer-python==0.6.8]

That release carries CUTLASS 4.4.2. What it hides from NVRTC though it compiles there is uncovered: descriptors of sm_100
for its tensor memory accelerator, of which only the types are used."""

import pathlib
import subprocess
import sys
import tempfile
import zipfile

from engine_program import ROOT

FOLDER = ROOT / "build/engine-programs"
CUTLASS = FOLDER / "cutlass/include"
HIDDEN = "cute/atom/copy_traits_sm100_tma.hpp"
GUARD = "#if !defined(__CUDACC_RTC__)"


def download(requirement, folder):
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest",
                    folder, requirement], check=True)
    return next(pathlib.Path(folder).glob("*.whl"))


def unpack(wheel):
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            _, found, below = name.partition("/cutlass/include/")
            if found and not name.endswith("/"):
                target = CUTLASS / below
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(files.read(name))


def uncover():
    file = CUTLASS / HIDDEN
    text = file.read_text()
    second = text.index(GUARD, text.index(GUARD) + 1)  # The first hides a header of the host.
    lines = (text[:second] + "#if 1" + text[second + len(GUARD):]).splitlines(keepends=True)
    file.write_text("".join(line.replace("CUTE_HOST", "CUTE_HOST_DEVICE") if line.strip() in ("CUTE_HOST", "CUTE_HOST_RTC")
                            else line for line in lines).replace("CUTE_HOST_DEVICE_RTC", "CUTE_HOST_DEVICE"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        unpack(download(sys.argv[1] if len(sys.argv) > 1 else "flashinfer-python==0.6.8", folder))
    uncover()
    print(f"{sum(1 for path in CUTLASS.rglob('*') if path.is_file())} headers in {CUTLASS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
