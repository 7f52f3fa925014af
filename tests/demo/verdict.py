"""The program kiln-demo: its verdict, what it shows on which terminal, what its cache keeps, what a signal leaves,
and the commands that it hands out, which are run as they are printed.

    verdict.py DEMO DECODER FAKE_DRIVER COMPUTING_DRIVER SCRATCH

The fake driver takes launches and does nothing, the other one computes them on the host."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

from terminal import run_on_terminal

IMAGES = 7
KERNELS = 36
ENDING = [signal.SIGHUP, signal.SIGINT, signal.SIGTERM]
LABELS = ["right", "time", "text", "by", "cache"]
CONTROL = re.compile(r"[^\n -~]")


def expect(condition, what, found):
    if not condition:
        sys.exit(f"{what}:\n{found}")


class Demo:
    """The program for one architecture, over a cache in a folder that a shell has to have quoted."""

    def __init__(self, program, scratch):
        self.program = program
        self.folder = scratch / "it's a folder"
        self.folder.mkdir(parents=True)
        self.no_driver = str(scratch / "libcuda.so.1")

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items()
                if name not in ("NO_COLOR", "TERM") and (not name.startswith("KILN_") or name == "KILN_NVRTC")}
        return {**kept, "KILN_CUDA_DRIVER": self.no_driver, "FAKE_CUDA_ARCH": "90", **more}

    def words(self, *words):
        return [self.program, "--arch", "sm_90a", *words]

    def run(self, *words, **more):
        return subprocess.run(self.words(*words), cwd=self.folder, env=self.environment(**more), capture_output=True,
                              text=True, timeout=300)

    def run_on_terminal(self, *words, **more):
        return run_on_terminal(self.words(*words), self.environment(**more), cwd=self.folder)

    def shell(self, line):
        """As in a shell that knows nothing of kiln."""
        plain = {name: value for name, value in os.environ.items() if not name.startswith("KILN_")}
        return subprocess.run(line, shell=True, cwd=self.folder, env=plain, capture_output=True, text=True)


def lines_of(output):
    """The five lines by their labels; those after them."""
    lines = output.splitlines()
    return {label: text.strip() for label, _, text in (line.partition(" ") for line in lines[:5])}, lines[5:]


def text_of_decoder(decoder, environment):
    outcome = subprocess.run([decoder, "--device", "cpu"], env={**environment, "KILN_CACHE_DISABLE": "1"},
                             capture_output=True, text=True)
    return re.search(r"^text: +(.+)$", outcome.stdout, re.MULTILINE)[1]


def check_first_run(demo, decoder):
    """Five lines and the commands; plain text, since there is no terminal."""
    outcome = demo.run("--cache", "demo/cache")
    told, rest = lines_of(outcome.stdout)
    expect(outcome.returncode == 0 and list(told) == LABELS, "it is no verdict of five lines", outcome)
    expect(not CONTROL.search(outcome.stdout + outcome.stderr), "control characters without a terminal", outcome)
    expect(outcome.stderr.splitlines() == [f"compiling 1 of {IMAGES}: rms_norm.cu for sm_90a"],
           "without a terminal the work is not one line", outcome)
    expect(told["right"].startswith(f"{KERNELS} kernels in {IMAGES} images: "), "it counts wrongly", outcome)
    expect(re.fullmatch(r"cold \d+\.\d\d s \| warm \d+\.\d ms, \d+ times less \| second process \d+\.\d ms",
                        told["time"]), "its times", outcome)
    expect(told["text"] == text_of_decoder(decoder, demo.environment()), "it is not the decoder's text", outcome)
    expect(told["by"].startswith("the CPU's references of the kernels; kernels not run: CUDA driver: "),
           "it does not say who computed", outcome)
    expect(f"demo/cache: {IMAGES} images" in told["cache"] and f"left 0 of the {IMAGES}" in told["cache"],
           "an empty cache", outcome)
    return rest


def check_commands(demo, rest):
    """Pasted as they stand, where the reader stands: three, which all find what was compiled."""
    expect(len(rest) == 5 and rest[0] == "" and rest[1].startswith("to try next"), "it hands out no commands", rest)
    listed, shown, counted = (demo.shell(line.strip()) for line in rest[2:])
    for outcome in (listed, shown, counted):
        expect(outcome.returncode == 0 and not outcome.stderr, "a command does not work", outcome)
    expect(listed.stdout.count("sm_90a") == IMAGES, "the cache does not hold what was compiled", listed)
    expect("rms_norm.cu" in shown.stdout, "no entry is shown", shown)
    expect(re.search(rf"^entries +{IMAGES}$", counted.stdout, re.MULTILINE), "the statistics are of another cache",
           counted)


def check_second_run(demo):
    """Finds what the first one left, and compiles all of it nevertheless, so that cold is cold."""
    outcome = demo.run("--cache", "demo/cache", KILN_NVRTC=str(demo.folder / "no_nvrtc.so"))
    expect(outcome.returncode == 1 and "NVRTC" in outcome.stderr and "right" not in outcome.stdout,
           "without a compiler it says how long compiling takes", outcome)
    status, written = demo.run_on_terminal("--cache", "demo/cache", "--verbose", TERM="xterm", NO_COLOR="1")
    expect(status == 0 and f"\rcompiling {IMAGES} of {IMAGES}: " in written, "the work is no line that moves", written)
    told, rest = lines_of(written.rpartition("\r\x1b[K")[2])
    expect(list(told) == LABELS and f"left {IMAGES} of the {IMAGES}" in told["cache"],
           "it does not find what the first run left", written)
    expect("\x1b[1m" not in written, "bold in spite of NO_COLOR", written)
    rows = [line for line in rest if re.search(r" sm_90a +\d+", line)]
    expect(len(rows) == KERNELS and max(map(len, rest[:KERNELS + 2])) <= 80, "the rows of --verbose", written)


def check_gpu(demo, computing, text):
    status, written = demo.run_on_terminal("--cache", "demo/cache", TERM="xterm", KILN_CUDA_DRIVER=computing)
    expect(status == 0 and "\x1b[1mright \x1b[0m" in written, "it is not right on a GPU", written)
    told, _ = lines_of(re.sub(r"\x1b\[[01]m", "", written.rpartition("\x1b[K")[2]))
    expect(told["by"].startswith("kernels that the cache served, on ") and told["text"] == text,
           "the text is not by kernels", written)


def check_wrong(demo, fake):
    """A GPU that computes nothing, and a cache that can keep nothing: each is told, and is a failure."""
    status, written = demo.run_on_terminal("--cache", "demo/cache", TERM="dumb", KILN_CUDA_DRIVER=fake)
    expect(status == 1 and re.search(r"^WRONG +\d+ kernels are WRONG on the GPU; the decoder's logits are", written,
                                     re.MULTILINE), "a GPU that is wrong", written)
    expect(not CONTROL.search(written), "control characters on a dumb terminal", written)
    outcome = demo.run("--cache", "demo/small", KILN_CACHE_MAX_SIZE="4K")
    expect(outcome.returncode == 1 and f"WRONG  {IMAGES} images were not served" in outcome.stdout,
           "a cache that keeps nothing", outcome)


def check_without_cache(demo):
    for wrong in (["--serve"], ["--what"]):
        outcome = demo.run(*wrong)
        expect(outcome.returncode == 2 and wrong[0] in outcome.stderr, "a wrong word is another status", outcome)
    served = demo.run("--serve", "--cache", "demo/cache")
    expect(served.returncode == 0 and served.stdout.startswith(f"{KERNELS} kernels served, 0 compiled: "),
           "it is not served", served)


def default_signals():
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)  # A shell's background processes begin with some ignored.


def check_interrupted(demo, scratch):
    """Whatever ends it, its folder goes."""
    for number in ENDING:
        temporary = scratch / f"temporary {number.name}"
        temporary.mkdir()
        with subprocess.Popen(demo.words(), env=demo.environment(TMPDIR=str(temporary)), preexec_fn=default_signals,
                              stderr=subprocess.PIPE, text=True) as process:
            told = process.stderr.readline()
            expect(told.startswith("compiling 1 of"), "it does not begin", told)
            expect(list(temporary.glob("kiln-demo-*")), "there is no folder to remove", list(temporary.iterdir()))
            process.send_signal(number)
            status = process.wait(60)
        expect(status == -number, f"{number.name} does not end it", status)
        expect(not list(temporary.glob("kiln-demo-*")), f"{number.name} leaves its folder", list(temporary.iterdir()))


def main():
    program, decoder, fake, computing, scratch = sys.argv[1:]
    shutil.rmtree(scratch, ignore_errors=True)
    demo = Demo(program, pathlib.Path(scratch))
    check_commands(demo, check_first_run(demo, decoder))
    check_second_run(demo)
    check_without_cache(demo)
    check_interrupted(demo, demo.folder)
    check_gpu(demo, computing, text_of_decoder(decoder, demo.environment()))
    check_wrong(demo, fake)


main()
