"""Refuses one call of the system after the other, by strace, while a host is served, compiles in its process, and compiles in a
worker: the host lives, what it gets is the right image or an error, and whoever comes next gets the right one.

    refused_calls.py HOST [--most 8] [--scenario compile]

Of each kind of call so many are refused in each way, spread over all that there are; 0: every one, which takes an hour."""

import argparse
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
PROGRAMS = 2
WORKERS = {"hit": 0, "compile": 0, "worker": 1}
# What a call may fail with. Memory is left out, of which the language itself knows no better than to throw.
ERRORS = {
    "openat": ["EMFILE", "EACCES", "EIO"], "read": ["EIO", "ESRCH"], "pread64": ["EIO"], "pwrite64": ["EIO", "ENOSPC"],
    "newfstatat": ["EIO", "EACCES"], "fstat": ["EIO"], "statx": ["EIO"], "access": ["EIO"], "faccessat2": ["EIO"],
    "close": ["EIO", "EINTR"], "fcntl": ["EMFILE", "ENOLCK"], "flock": ["ENOLCK", "EINTR"], "lseek": ["EIO"],
    "getdents64": ["EIO"], "readlink": ["EIO"], "getcwd": ["ENOENT"], "chdir": ["EACCES"], "statfs": ["EIO"],
    "fstatfs": ["EIO"], "fdatasync": ["EIO"], "fsync": ["EIO"], "ftruncate": ["EIO"], "fallocate": ["ENOSPC"],
    "mkdir": ["ENOSPC", "EACCES"], "rmdir": ["EBUSY"], "unlink": ["EACCES"], "unlinkat": ["EACCES"], "rename": ["EIO"],
    "link": ["EPERM"], "linkat": ["EPERM"], "fchown": ["EPERM"], "fchmod": ["EPERM"], "utimensat": ["EPERM"],
    "mprotect": ["ENOMEM"], "madvise": ["EINVAL"], "prlimit64": ["EPERM"], "getrandom": ["ENOSYS"],
    "clone3": ["EAGAIN"], "clone": ["EAGAIN"], "vfork": ["EAGAIN"], "execve": ["ENOENT"], "kill": ["EPERM"],
    "socket": ["EMFILE"], "socketpair": ["EMFILE"], "pipe2": ["EMFILE"], "memfd_create": ["EMFILE"],
    "sendmsg": ["EPIPE"], "recvmsg": ["EIO"], "sendto": ["EPIPE"], "recvfrom": ["EIO"], "poll": ["EINTR"],
    "wait4": ["EINTR"], "waitid": ["EINTR"],
}
CALL = re.compile(r"^(\d+) +([a-z0-9_]+)\(", re.MULTILINE)
IMAGE = re.compile(r"^image (\d+) (\w+)$", re.MULTILINE)
ERROR = re.compile(r"^error (.*)$", re.MULTILINE)
NOT_LOADED = "error while loading shared libraries"


def images_of(said):
    """The digest of each program's image, by its number."""
    return dict(IMAGE.findall(said))


class Scenario:
    def __init__(self, name, host, scratch):
        self.name, self.host, self.scratch = name, host, scratch
        self.cache, self.filled, self.headers = scratch / "cache", scratch / "filled", scratch / "headers"
        self.headers.mkdir(exist_ok=True)
        (self.headers / "value.h").write_text("#define VALUE 7\n")
        self.begin()
        self.images = images_of(self.run()[0])
        if len(self.images) != PROGRAMS:
            raise SystemExit("the host compiles nothing")
        if name == "hit" and not self.filled.exists():
            shutil.copytree(self.cache, self.filled)

    def begin(self):
        shutil.rmtree(self.cache, ignore_errors=True)
        if self.name == "hit" and self.filled.exists():
            shutil.copytree(self.filled, self.cache)

    def run(self, *strace):
        """What it said on standard error, and its status: None where it hung."""
        command = [*strace, self.host, self.cache, self.headers, str(WORKERS[self.name]), str(PROGRAMS)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, errors="replace",
                              start_new_session=True) as process:
            try:
                _, said = process.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # Without strace the host would go on.
                return "", None
        return said, process.returncode

    def calls(self):
        """How often the busiest thread makes each call: strace counts for each by itself."""
        trace = self.scratch / "trace"
        self.begin()
        self.run("strace", "-f", "-o", trace)
        counts = collections.Counter(match.groups() for match in CALL.finditer(trace.read_text(errors="replace")))
        most = collections.Counter()
        for (_, call), count in counts.items():
            most[call] = max(most[call], count)
        return most

    def faults(self, call, error, ordinal):
        """What is wrong where the call of this number is refused; None where it was not made, or the host not even loaded."""
        trace = self.scratch / "trace"
        self.begin()
        said, status = self.run("strace", "-f", "-o", trace, "-e", f"trace={call}",
                                "-e", f"inject={call}:error={error}:when={ordinal}")
        if NOT_LOADED in said or "(INJECTED)" not in trace.read_text(errors="replace"):
            return None
        found = []
        images, errors = images_of(said), ERROR.findall(said)
        if status is None:
            found.append("it hangs")
        elif status != 0:
            found.append(f"it ended with {status}: {said[-300:]}")
        elif len(images) + len(errors) < (1 if errors else PROGRAMS):
            found.append(f"it got neither image nor error: {said[-300:]}")
        found += [f"program {number}: another image" for number, image in images.items() if self.images[number] != image]
        said, status = self.run()
        if status is None or images_of(said) != self.images:
            found.append(f"the next one {'hangs' if status is None else 'was not served'}")
        return found


def spread(count, most):
    """At most so many of 1 to count, the last among them, where what kiln does stands; what comes first loads the host."""
    step = 1 if most == 0 else max(1, -(-count // most))
    return range(count, 0, -step)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("host", type=pathlib.Path)
    parser.add_argument("--most", type=int, default=8)
    parser.add_argument("--scenario", choices=WORKERS, action="append")
    return parser.parse_args()


def main():
    arguments = parse()
    if shutil.which("strace") is None or subprocess.run(["strace", "-f", "true"], capture_output=True).returncode != 0:
        print("skipped: no strace, or no right to trace")
        return SKIPPED
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.scenario or WORKERS:
            scenario = Scenario(name, arguments.host.resolve(), pathlib.Path(folder))
            refused = unmade = 0
            for call, count in sorted(scenario.calls().items()):
                for error in ERRORS.get(call, []):
                    for ordinal in spread(count, arguments.most):
                        faults = scenario.faults(call, error, ordinal)
                        refused += faults is not None
                        unmade += faults is None
                        for fault in faults or []:
                            failed += 1
                            print(f"{name}: {call} number {ordinal} refused by {error}: {fault}", flush=True)
            print(f"{name}: {refused} refusals, {unmade} that met no call or no host, {failed} faults so far", flush=True)
            failed += refused == 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
