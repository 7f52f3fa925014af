"""The last stage of the demo's Containerfile, made again in a namespace of mounts: a root with what that stage copies
and the C library, in which nothing can be written. Its entry point is served every kernel from its bundle.

    container.py CONTAINERFILE DECODER BUNDLE DRIVER SCRATCH CHECKSUM

DRIVER is a libcuda.so.1 that computes on the host. Status 77: namespaces of mounts are not allowed here."""

import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

SKIPPED = 77
PROGRAMS = 8
NOBODY = "65534:65534"
# What every base image has.
C_LIBRARY = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2",
             "ld-linux-aarch64.so.1"}


def expect(condition, what, outcome=None):
    if condition:
        return
    if outcome is not None:
        what += f"\nstatus {outcome.returncode}\n{outcome.stdout}\n{outcome.stderr}"
    sys.exit(what)


def last_stage(containerfile):
    """What the instructions after the last FROM say, as pairs of a word and the rest."""
    text = re.sub(r"^\s*#.*\n", "", containerfile.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    instructions = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    start = max(i for i, (word, _) in enumerate(instructions) if word == "FROM")
    return instructions[start + 1:]


class Image:
    """The last stage: what it copies, and how it is run."""

    def __init__(self, containerfile):
        self.copies, self.environment, self.user, self.entry_point = {}, {}, None, None
        for word, rest in last_stage(containerfile):
            if word == "COPY":
                stage, source, target = shlex.split(rest)
                expect(stage == "--from=build" and target.endswith("/"), f"COPY {rest}: not from the build to a folder")
                self.copies[pathlib.PurePath(source).name] = target.strip("/")
            elif word == "ENV":
                self.environment.update(pair.split("=", 1) for pair in shlex.split(rest))
            elif word == "USER":
                self.user = rest
            elif word == "ENTRYPOINT":
                self.entry_point = json.loads(rest)
            else:
                sys.exit(f"{word} has no place in a stage that is a program and its bundle")


def needed(file):
    dynamic = subprocess.run(["readelf", "-d", "-W", file], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))


def libraries(decoder):
    """The C library as the machine's loader finds it, and the loader."""
    listing = subprocess.run(["ldd", decoder], check=True, capture_output=True, text=True).stdout
    return [pathlib.Path(path) for path in re.findall(r"(/\S+) \(0x", listing)]


def make_root(root, image, files, driver):
    for name, folder in image.copies.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(files[name], root / folder)
    for library in libraries(files["kiln-decoder"]):
        target = root / library.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
        # Where NVIDIA's container runtime puts the driver of the machine: beside the C library.
        if driver and library.name == "libc.so.6":
            shutil.copy(driver, target.parent / "libcuda.so.1")
    (root / "proc").mkdir()


def run(root, image, *words, **more):
    script = f"""set -e
mount --bind {root} {root}
mount --rbind /proc {root}/proc
mount -o remount,ro,bind {root}
if touch {root}/probe 2>/dev/null; then echo "{root} can be written to" >&2; exit 1; fi
exec chroot --userspec={NOBODY} {root} "$@"
"""
    return subprocess.run(["unshare", "--mount", "--propagation", "private", "bash", "-c", script, "bash",
                           *image.entry_point, *words],
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **image.environment, **more},
                          capture_output=True, text=True, timeout=300)


def check_served(root, image, checksum):
    for arch in ("80", "90", "100"):
        outcome = run(root, image, FAKE_CUDA_ARCH=arch)
        # Neither compiler nor headers are there, which is told once.
        told = outcome.stderr.strip().splitlines()
        expect(outcome.returncode == 0 and len(told) == 1 and "cannot be compiled here" in told[0]
               and f"checksum {checksum}\n" in outcome.stdout
               and f"programs 0 compiled, 0 from the cache, {PROGRAMS} from bundles" in outcome.stdout
               and "\nright: " in outcome.stdout, f"a device of {arch} is not served", outcome)
        print(outcome.stdout)


def check_miss(root, image):
    """No kernel is made for a device that the bundle is not for; and what is missing has a name."""
    outcome = run(root, image, FAKE_CUDA_ARCH="75")
    expect(outcome.returncode == 1 and ".cu for sm_75" in outcome.stderr and "cache-only" in outcome.stderr,
           "a miss is another error", outcome)
    print(outcome.stderr)


def check_without_driver(root, image, checksum):
    outcome = run(root, image)
    expect(outcome.returncode == 0 and f"checksum {checksum}\n" in outcome.stdout
           and "not run on a GPU: CUDA driver: not available" in outcome.stdout, "does not do without a GPU", outcome)
    outcome = run(root, image, "--device", "gpu")
    expect(outcome.returncode == 1 and "not run on a GPU" in outcome.stdout, "--device gpu does without", outcome)


def main():
    containerfile, decoder, bundle, driver, scratch, checksum = sys.argv[1:]
    if subprocess.run(["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "none", "/tmp"],
                      capture_output=True).returncode != 0:
        print("skipped: namespaces of mounts are not allowed here")
        sys.exit(SKIPPED)
    image = Image(pathlib.Path(containerfile))
    files = {"kiln-decoder": decoder, "decoder.kiln": bundle}
    expect(image.copies.keys() == files.keys(), f"the stage copies {list(image.copies)}")
    expect(image.user == "nobody", f"the stage runs as {image.user}")
    expect(needed(decoder) <= C_LIBRARY, f"the decoder needs {needed(decoder)}")

    shutil.rmtree(scratch, ignore_errors=True)
    with_driver, without = pathlib.Path(scratch) / "driver", pathlib.Path(scratch) / "none"
    make_root(with_driver, image, files, driver)
    make_root(without, image, files, None)
    check_served(with_driver, image, checksum)
    check_miss(with_driver, image)
    check_without_driver(without, image, checksum)


main()
