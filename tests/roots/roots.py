"""One build of kiln on machines of every kind: {no driver, a stub, one that works} x {no NVRTC, a wheel's, a
toolkit's}, and wheels of the user's and of the machine's, outside an environment; each a mount namespace of its own in which /usr/local holds nothing else of CUDA. In each, what
doctor says is what then happens: compiling, serving from a bundle, launching.

    roots.py KILN ENGINE BUNDLE CUDA_FOLDER FAKE_DRIVER STUB_DRIVER SCRATCH DRIVER NVRTC
    roots.py … bare           a machine with a driver and a bundle, and nowhere to write

CUDA_FOLDER has lib or lib64 and include. Where namespaces of mounts are not allowed, the parts of CUDA stand in folders
of the tests' own, which shows the same but for what the machine itself has. Status 77: it cannot be shown so."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

KERNEL = 'extern "C" __global__ void k(int* x) { *x = 1; }\n'
SKIPPED = 77
WHEEL = "nvidia/cu13"


class Machine:
    """Runs commands in a namespace where the wanted parts of CUDA stand where such a machine has them."""

    def __init__(self, cuda, scratch, driver, nvrtc):
        self.cuda, self.scratch, self.driver, self.nvrtc = cuda, scratch, driver, nvrtc
        self.toolkit = "/usr/local/lib/toolkit"
        packages = {"users_wheel": scratch / "home/.local/lib/python3.11/site-packages",
                    "machines_wheel": pathlib.Path("/usr/local/lib/python3.12/dist-packages")}
        self.wheel = packages.get(nvrtc, scratch / "venv/lib/python3.11/site-packages") / WHEEL

    def mounts(self):
        libraries = next(f for f in ("lib64", "lib") if (self.cuda / f / "libnvrtc.so.13").exists())
        kept = self.scratch / "kept"
        wheel = self.wheel
        for folder in (kept / "lib", kept / "include"):
            folder.mkdir(parents=True, exist_ok=True)
        yield f"mount --bind {self.cuda / libraries} {kept}/lib"
        yield f"mount --bind {self.cuda}/include {kept}/include"
        # What hides the toolkit must not hide the tests.
        yield "for f in /usr/local/cuda*; do if [ -d $f ]; then mount -t tmpfs none $(readlink -f $f); fi; done"
        yield "mount -t tmpfs none /usr/local/lib"
        yield f"mkdir -p {wheel}/lib {wheel}/include"
        if self.nvrtc == "toolkit":
            root = self.toolkit
            yield f"mkdir -p {root}/lib64 {root}/include"
            yield f"mount --bind {kept}/lib {root}/lib64 && mount --bind {kept}/include {root}/include"
        if self.nvrtc.endswith("wheel"):
            yield f"mount --bind {kept}/lib {wheel}/lib && mount --bind {kept}/include {wheel}/include"
        if self.nvrtc.endswith("builtins"):
            yield f"cp -L {kept}/lib/libnvrtc.so.13 {wheel}/lib/"
        if self.nvrtc == "others_builtins":
            yield f"cp -L {kept}/lib/libnvrtc-builtins.so.*.* {wheel}/lib/libnvrtc-builtins.so.13.99"
        yield f"umount {kept}/lib {kept}/include"
        # Where the loader is told to look.
        yield "mkdir -p /usr/local/lib/driver"
        if self.driver is not None:
            yield f"cp {self.driver} /usr/local/lib/driver/libcuda.so.1"

    def environment(self, more):
        found = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "/usr/local/lib/driver", **more}
        if self.nvrtc == "toolkit":
            found["CUDA_HOME"] = self.toolkit
        if self.nvrtc == "wheel" or self.nvrtc.endswith("builtins"):
            found["VIRTUAL_ENV"] = str(self.scratch / "venv")
        if self.nvrtc == "users_wheel":
            found["HOME"] = str(self.scratch / "home")
        return found

    def run(self, *command, last="true", **more):
        script = "\n".join(["set -e", *self.mounts(), last, "exec \"$@\""])
        return subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "bash", "-c", script, "bash",
             *map(str, command)],
            env=self.environment(more), capture_output=True, text=True, timeout=600)


class OrdinaryMachine(Machine):
    """The same without any right: nothing is hidden, and what is wanted lies where variables lead."""

    def __init__(self, *parts):
        super().__init__(*parts)
        self.toolkit = str(self.scratch / "toolkit")
        libraries = next(f for f in ("lib64", "lib") if (self.cuda / f / "libnvrtc.so.13").exists())
        if self.nvrtc == "toolkit":
            self.place(libraries, pathlib.Path(self.toolkit), "lib64", "lib*")
        if self.nvrtc.endswith("wheel"):
            self.place(libraries, self.wheel, "lib", "lib*")
        if self.nvrtc.endswith("builtins"):
            self.place(libraries, self.wheel, "lib", "libnvrtc.so.13")
        if self.nvrtc == "others_builtins":
            others = next((self.cuda / libraries).glob("libnvrtc-builtins.so.*.*"))
            shutil.copy(others, self.wheel / "lib/libnvrtc-builtins.so.13.99")
        driver_folder = self.scratch / "driver"
        driver_folder.mkdir()
        if self.driver is not None:
            shutil.copy(self.driver, driver_folder / "libcuda.so.1")

    def place(self, libraries, root, name, pattern):
        (root / name).mkdir(parents=True)
        for file in (self.cuda / libraries).glob(pattern):
            try:
                os.link(file.resolve(), root / name / file.name)
            except OSError:
                shutil.copy(file, root / name)
        (root / "include").symlink_to(self.cuda / "include")

    def environment(self, more):
        found = super().environment(more)
        found["LD_LIBRARY_PATH"] = str(self.scratch / "driver")
        return found

    def run(self, *command, **more):
        return subprocess.run(list(map(str, command)), env=self.environment(more), capture_output=True, text=True,
                              timeout=600)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def may_mount():
    return subprocess.run(["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "none", "/tmp"],
                          capture_output=True).returncode == 0


def ordinary(parts, kiln):
    """The machine without rights, where this one has no CUDA of its own that would be found instead."""
    if parts[-1] == "machines_wheel":
        skip("no mounts are allowed here, and /usr/local/lib is this machine's")
    machine = OrdinaryMachine(*parts)
    bare = subprocess.run([kiln, "doctor", "--json"], env={"PATH": "/usr/bin:/bin", "KILN_CACHE_DIR": str(machine.scratch)},
                          capture_output=True, text=True)
    found = json.loads(bare.stdout)
    # A wheel's goes before it.
    if machine.nvrtc != "wheel" and found["compiler"]["path"]:
        skip(f"no mounts are allowed here that would hide {found['compiler']['path']}")
    if machine.driver is None and found["can_launch"]["yes"]:
        skip("no mounts are allowed here that would hide this machine's driver")
    return machine


def expect(condition, what, outcome):
    if not condition:
        sys.exit(f"{what}\nstatus {outcome.returncode}\n{outcome.stdout}\n{outcome.stderr}")


def verdicts(machine, kiln, cache):
    outcome = machine.run(kiln, "doctor", "--json", KILN_CACHE_DIR=cache)
    document = json.loads(outcome.stdout)
    found = {what: document[f"can_{what}"]["yes"] for what in ("serve", "compile", "launch")}
    return outcome, found, document["compiler"]["path"]


def check(machine, kiln, engine, bundle, expects_launch):
    cache = str(machine.scratch / "cache")
    expects_compile = machine.nvrtc != "none"
    outcome, found, compiler = verdicts(machine, kiln, cache)
    wanted = {"serve": True, "compile": expects_compile, "launch": expects_launch}
    expect(found == wanted, f"doctor says {found}, not {wanted}", outcome)
    # A farm needs no driver.
    expect(outcome.returncode == (0 if expects_compile else 1), "doctor's status", outcome)
    places = {"none": "", "toolkit": machine.toolkit}
    expect(compiler.startswith(places.get(machine.nvrtc, str(machine.wheel))) and bool(compiler) == expects_compile,
           f"doctor finds {compiler}", outcome)

    source = machine.scratch / "k.cu"
    source.write_text(KERNEL)
    compiled = machine.run(kiln, "compile", source, "--arch", "sm_80", "--name", "k",
                           KILN_CACHE_DIR=cache)
    if expects_compile:
        expect(compiled.returncode == 0, "does not compile", compiled)
    else:
        message = compiled.stderr
        expect(compiled.returncode == 3 and "NVRTC: not found" in message
               and "libnvrtc.so.13" in message and "KILN_NVRTC" in message,
               "a machine without NVRTC has another error", compiled)

    # A machine with a compiler asks whether the bundle is of its own compiler's; it is.
    served = machine.run(engine, KILN_BUNDLES=bundle, KILN_CACHE_DIR=cache)
    expect(served.returncode == 0 and " 0 compiled," in served.stdout, "is not served", served)

    launched = machine.run(engine, "--launch", KILN_BUNDLES=bundle, KILN_CACHE_DIR=cache)
    if expects_launch:
        expect(launched.returncode == 0 and " 0 compiled," in launched.stdout
               and " 0 launched" not in launched.stdout, "does not launch", launched)
    elif machine.driver is None:
        expect("no usable libcuda.so.1 was found" in launched.stderr, "has another error", launched)
    else:
        expect("stub" in launched.stderr, "a stub has another error", launched)


def check_builtins(machine, kiln):
    """An NVRTC that lacks its own builtins is named, and which it wants, before anything is compiled."""
    source = machine.scratch / "k.cu"
    source.write_text(KERNEL)
    outcome = machine.run(kiln, "compile", source, "--arch", "sm_80", "--name", "k",
                          KILN_CACHE_DIR=str(machine.scratch / "cache"))
    wanted = [str(machine.wheel / "lib/libnvrtc.so.13"), "its builtins, libnvrtc-builtins.so."]
    if machine.nvrtc == "others_builtins":
        wanted.append("libnvrtc-builtins.so.13.99 is that of another")
    expect(outcome.returncode == 3 and all(word in outcome.stderr for word in wanted),
           "builtins that are missing have another error", outcome)


def check_bare(machine, engine, bundle):
    """Nothing may be written anywhere, and there is no home."""
    read_only = """
for place in $(findmnt -rno TARGET | sort -r); do mount -o remount,ro,bind $place 2>/dev/null || true; done
for place in /tmp /var/tmp /root /dev/shm "$PWD"; do
  if touch "$place/kiln-probe" 2>/dev/null; then echo "$place can be written to" >&2; exit 1; fi
done"""
    outcome = machine.run(engine, "--launch", last=read_only, KILN_BUNDLES=bundle)
    expect(outcome.returncode == 0 and " 0 compiled," in outcome.stdout
           and " 0 launched" not in outcome.stdout, "a bare machine does not launch", outcome)
    print(outcome.stdout.strip())


def main():
    kiln, engine, bundle, cuda, fake, stub, scratch, driver, *nvrtc = sys.argv[1:]
    scratch = pathlib.Path(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    mounts = may_mount()
    if driver == "bare":
        if not mounts:
            skip("no mounts are allowed here that would make everything read-only")
        check_bare(Machine(pathlib.Path(cuda), scratch, fake, "none"), engine, bundle)
        return
    parts = pathlib.Path(cuda), scratch, {"none": None, "stub": stub, "fake": fake}[driver], nvrtc[0]
    machine = Machine(*parts) if mounts else ordinary(parts, kiln)
    if machine.nvrtc.endswith("builtins"):
        check_builtins(machine, kiln)
        return
    check(machine, kiln, engine, bundle, driver == "fake")


main()
