"""Cases that need more than a request, a change and a request: limits, other processes, mounts."""

import contextlib
import dataclasses
import fcntl
import os
import shutil
import subprocess
import time

from tree import link, write_file
from ways import NearLimit, kiln_tool

OPTIONAL = '#if __has_include(<o.h>)\n#include <o.h>\n#else\n#define VAL 1\n#endif\n'
KERNEL = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = (float)(VAL); }\n'


class Skipped(Exception):
    """With the reason why this machine cannot show it."""


@dataclasses.dataclass
class Staged:
    name: str
    point: str
    check: object


STAGED = []


def staged(name, point):
    def add(function):
        STAGED.append(Staged(name, point, function))
        return function
    return add


def optional_program(folder):
    write_file(folder / "k.cu", OPTIONAL + KERNEL)
    write_file(folder / "i/o.h", "#define VAL 2\n")
    return kiln_tool.Program(folder, ["i"])


@staged("near the limit of descriptors", "A1")
def near_the_limit(way, folder):
    """Each number of descriptors in turn, each with a cache of its own."""
    program = optional_program(folder)
    fresh = kiln_tool.compile_freshly(program)
    wrong = []
    for descriptors in range(5, 29):
        starving = NearLimit("starving", way.workers)
        starving.random.randint = lambda *_: descriptors
        answer = starving.ask(program, folder.parent / f"cache{descriptors}")
        if answer.died or answer.image != fresh.image:
            wrong.append(f"{descriptors}{' died' if answer.died else ''}")
    return wrong and f"STALE: with {', '.join(wrong)} descriptors" or None


@staged("-I S/../inc reads what NVRTC reads", "A6")
def through_a_link(way, folder):
    write_file(folder / "k.cu", "#include <o.h>\n" + KERNEL)
    write_file(folder / "inc/o.h", "#define VAL 1\n")
    write_file(folder / "x/inc/o.h", "#define VAL 2\n")
    (folder / "x/y").mkdir()
    link("S", "x/y")(folder)
    served = way.ask(kiln_tool.Program(folder, ["S/../inc"]), folder.parent / "cache")
    straight = kiln_tool.compile_freshly(kiln_tool.Program(folder, ["x/inc"]))
    return None if served.image == straight.image else "another header than NVRTC's"


@staged("equal keys in this process and in workers", "A11")
def equal_keys(way, folder):
    for number, source in enumerate(("#include <o.h>\n", '#include "o.h"\n#if __has_include(<n.h>)\n#endif\n',
                                     "#if 0\n#include <u.h>\n#endif\n#include <o.h>\n")):
        write_file(folder / "k.cu", source + KERNEL)
        write_file(folder / "i/o.h", "#define VAL 2\n")
        write_file(folder / "i/u.h", "")
        program = kiln_tool.Program(folder, ["i"])
        keys = {kiln_tool.compile_program(program, folder.parent / f"{workers}_{number}",
                                          {"KILN_COMPILE_WORKERS": workers}).report.get("key") for workers in "02"}
        if len(keys) != 1:
            return f"two keys: {keys}"
    return None


@staged("a failure that was mended is not shared", "A9")
def mended_failure(way, folder):
    """The header is mended while the first compile is busy with CUB, and before the second one is asked for."""
    write_file(folder / "k.cu", "#include <o.h>\n#include <cub/block/block_radix_sort.cuh>\nstatic_assert(VAL == 2);\n"
               + KERNEL)
    write_file(folder / "i/o.h", "#define VAL 1\n")
    program = kiln_tool.Program(folder, ["i"])
    cache = folder.parent / "cache"
    log = folder.parent / "log"
    with open(log, "wb") as told:
        first = subprocess.Popen([kiln_tool.TOOL, "--cache", cache, "compile", *program.words()], cwd=folder,
                                 env=kiln_tool.environment({**way.settings(), "KILN_LOG": "debug"}),
                                 stdout=subprocess.DEVNULL, stderr=told)
    while b"compile_begin" not in log.read_bytes() and first.poll() is None:
        time.sleep(0.01)
    time.sleep(0.3)  # NVRTC comes to o.h first, and to CUB for a second.
    write_file(folder / "i/o.h", "#define VAL 2\n")
    if first.poll() is not None:
        raise Skipped("the first compile had ended before the header was mended")
    second = way.ask(program, cache)
    if first.wait() == 0:
        raise Skipped("the first compile read the mended header")
    return None if second.image else f"the error of a compile that began before: {second.errors.strip()[-2000:]}"


@staged("two filesystems of whole seconds mounted in turn", "A8")
def mounted_in_turn(way, folder):
    """Equal in inode, size and times, as reproducible images are; a mount of one, then of the other."""
    return mounted_one_after_the_other(way, folder, make_ext4, at=10**18)


@staged("two images of a read-only filesystem mounted in turn", "A8")
def images_in_turn(way, folder):
    """The same with times that have fractions of a second."""
    return mounted_one_after_the_other(way, folder, make_erofs, at=10**18 + 123456789)


def mounted_one_after_the_other(way, folder, make, at):
    if os.geteuid():
        raise Skipped("needs root")
    images = [folder.parent / f"image{number}" for number in (1, 2)]
    trees = [folder.parent / f"tree{number}" for number in (1, 2)]
    written = [path for tree in trees for path in (tree / "o.h", tree)]
    seconds_of_change = ()
    while len(seconds_of_change) != 1:  # An image has the time of change too, in seconds.
        for number, tree in enumerate(trees, 1):
            write_file(tree / "o.h", f"#define VAL {number}\n")
        for path in written:
            os.utime(path, ns=(at, at))
        seconds_of_change = {int(path.stat().st_ctime) for path in written}
    for tree, image in zip(trees, images):
        make(tree, image)
    write_file(folder / "k.cu", "#include <o.h>\n" + KERNEL)
    (folder / "i").mkdir()
    program = kiln_tool.Program(folder, ["i"])
    time.sleep(2.5)  # What has just been written is never taken for settled.
    answers, stamps = [], []
    with loop_devices_alone():  # Both images on the same one.
        for image in images:
            with Mounted(image, folder / "i"):
                answers.append(way.ask(program, folder.parent / "cache"))
                status = os.stat(folder / "i/o.h")
                stamps.append((status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    if stamps[0] != stamps[1]:
        return f"the images are no pair: {stamps}"
    if not answers[0].image:
        return "not compiled"
    return None if not answers[1].hit and answers[0].image != answers[1].image else "STALE"


@contextlib.contextmanager
def loop_devices_alone():
    """Other processes of these tests take one only afterwards."""
    try:
        control = open("/dev/loop-control", "rb")
    except OSError as error:
        raise Skipped(f"needs loop devices: {error}") from error
    with control:
        fcntl.flock(control, fcntl.LOCK_EX)
        yield


# Nothing random or of the clock is in the images but what the files bring.
IMAGE_ID = "00000000-0000-0000-0000-000000000001"


def make_ext4(tree, image):
    run_tool(["mke2fs", "-q", "-t", "ext4", "-I", "256", "-d", tree, "-U", IMAGE_ID, "-E",
              f"hash_seed={IMAGE_ID},root_owner=0:0", image, "1M"], {"E2FSPROGS_FAKE_TIME": "1000000000"})


def make_erofs(tree, image):
    run_tool(["mkfs.erofs", "-x-1", "-U", IMAGE_ID, image, tree])


def run_tool(words, settings=None):
    """A tool of the system's; what it cannot do on this machine is no fault of kiln's."""
    if not shutil.which(words[0]):
        raise Skipped(f"needs {words[0]}")
    done = subprocess.run(words, env={**os.environ, **(settings or {})}, capture_output=True, text=True)
    if done.returncode:
        raise Skipped(f"{words[0]} failed: {done.stderr.strip()}")


class Mounted:
    def __init__(self, image, at):
        self.image, self.at = image, at

    def __enter__(self):
        run_tool(["mount", "-o", "loop,ro", self.image, self.at])

    def __exit__(self, *_):
        subprocess.run(["umount", "--lazy", self.at], check=True)
