"""The program kiln-decoder: its numbers, its errors, and whose kernels it launches.

    decoder.py DECODER FAKE_DRIVER COMPUTING_DRIVER BUNDLE SCRATCH CHECKSUM

The fake driver takes launches and does nothing, the other one computes them on the host. BUNDLE holds the programs of
the decoder's manifest for sm_90a."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

PROGRAMS = 8


class Decoder:
    def __init__(self, program, driver, cache):
        self.program, self.driver, self.cache = program, driver, cache

    def run(self, *words, **more):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("KILN_") or name == "KILN_NVRTC"}
        environment.update(KILN_CUDA_DRIVER=self.driver, KILN_CACHE_DIR=str(self.cache), FAKE_CUDA_ARCH="90", **more)
        return subprocess.run([self.program, *map(str, words)], env=environment, capture_output=True, text=True,
                              timeout=300)


def expect(condition, what, outcome):
    if not condition:
        sys.exit(f"{what}\n{' '.join(map(str, outcome.args))}\nstatus {outcome.returncode}\n"
                 f"{outcome.stdout}\n{outcome.stderr}")


def checksum_of(outcome):
    found = re.search(r"^checksum (\w{16})$", outcome.stdout, re.MULTILINE)
    expect(outcome.returncode == 0 and found, "there is no checksum", outcome)
    return found[1]


def check_reference(decoder, checksum):
    """The same numbers at each run and on each machine, and others of another seed, prompt or length."""
    cpu = decoder.run("--device", "cpu")
    expect(checksum_of(cpu) == checksum, f"the checksum is not {checksum}", cpu)
    expect("driver" not in cpu.stdout and "GPU" not in cpu.stdout, "--device cpu looks for a GPU", cpu)
    others = [("--seed", 2), ("--prompt", "1,2,4"), ("--tokens", 11)]
    found = {checksum_of(decoder.run("--device", "cpu", *words)) for words in others}
    expect(len(found) == len(others) and checksum not in found, "other words have the same numbers", cpu)


def check_errors(decoder, scratch):
    """Bad words are status 2 before anything is run, and the message names what is wrong and what is right."""
    scratch.joinpath("torn.kiln").write_bytes(b"no bundle")
    long_prompt = ",".join(["1"] * 250)
    for words, *told in (
            (["--prompt", "1,1024"], "token 1024", "from 0 to 1023"),
            (["--prompt=-1"], "token -1", "from 0 to 1023"),
            (["--prompt", "1,x"], "--prompt", "x"),
            (["--prompt", long_prompt], "250", "256 positions", "fewer --tokens"),
            (["--tokens", "-3"], "--tokens", "-3", "256"),
            (["--tokens", "0"], "--tokens", "256"),
            (["--seed", "-1"], "--seed", "-1"),
            (["--device", "tpu"], "--device", "tpu"),
            (["--bundle", scratch / "no.kiln"], "no bundle at", "no.kiln", "kiln export"),
            (["--bundle", scratch / "torn.kiln"], "torn.kiln", "kiln export"),
            (["--what"], "--what"),
    ):
        outcome = decoder.run(*words)
        expect(outcome.returncode == 2 and not outcome.stdout and all(word in outcome.stderr for word in told),
               f"the error does not tell of {told}", outcome)
    outcome = decoder.run("--manifest", scratch / "no" / "folder.json")
    expect(outcome.returncode == 1 and "folder.json" in outcome.stderr and "No such file" in outcome.stderr,
           "a manifest that cannot be written has another error", outcome)


def check_without_driver(program, scratch, checksum):
    decoder = Decoder(program, str(scratch / "libcuda.so.1"), scratch / "unused")
    outcome = decoder.run()
    told = outcome.stdout.splitlines()[-1]
    expect(checksum_of(outcome) == checksum and told.startswith("not run on a GPU: CUDA driver: not available"),
           "a machine without a driver", outcome)
    expect(decoder.run("--device", "gpu").returncode == 1, "--device gpu does without", outcome)


def served(outcome, compiled, cached, bundled, right=True):
    programs = f"programs {compiled} compiled, {cached} from the cache, {bundled} from bundles\n"
    expect(programs in outcome.stdout and f"\n{'right' if right else 'WRONG'}: " in outcome.stdout
           and outcome.returncode == (0 if right else 1), f"not: {programs}", outcome)


def check_kernels(decoder, bundle, scratch):
    """Compiled once, then served; from the bundle of the manifest without a compiler."""
    cache = scratch / "cache"
    served(decoder.run("--device", "gpu", "--cache", cache), PROGRAMS, 0, 0)
    served(decoder.run("--cache", cache, "--prompt", "9,8,7,6", "--seed", 5, "--tokens", 60, "--cache-only"), 0,
           PROGRAMS, 0)
    shipped = ["--bundle", bundle, "--cache-only"]
    served(decoder.run(*shipped, KILN_NVRTC=str(scratch / "no_nvrtc.so")), 0, 0, PROGRAMS)
    missed = decoder.run("--cache-only")
    expect(missed.returncode == 1 and "embed.cu for sm_90a" in missed.stderr and "cache-only" in missed.stderr,
           "a miss has another error", missed)


def main():
    program, fake, computing, bundle, scratch, checksum = sys.argv[1:]
    scratch = pathlib.Path(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    decoder = Decoder(program, computing, scratch / "unused")
    check_reference(decoder, checksum)
    check_errors(decoder, scratch)
    check_without_driver(program, scratch, checksum)
    check_kernels(decoder, bundle, scratch)
    # Where kernels do nothing, every launch is taken, and the numbers are found to be wrong.
    idle = Decoder(program, fake, scratch / "unused")
    served(idle.run("--bundle", bundle, "--cache-only"), 0, 0, PROGRAMS, right=False)


main()
