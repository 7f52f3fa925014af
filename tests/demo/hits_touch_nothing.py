"""Watches a process that is served from the cache: every hit leaves the machine as it was.

    hits_touch_nothing.py CACHE COMMAND...

The command must succeed and say that it served at least 72 kernels and compiled none. Under strace it
must write to no file, create, rename and unlink nothing, open nothing of the cache but the database,
and map no library of CUDA.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

WATCHED = "%file,write,pwrite64,writev,pwritev,ftruncate,fallocate,mmap,dup,dup2,dup3,fcntl"


def listing(folder):
    """Every file with its size, times, owner, rights and bytes; access times are nobody's promise."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        found[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, path.read_bytes())
    return found, folder.stat().st_mtime_ns


def faults(trace, cache):
    """What the trace holds that a hit must not do. File descriptors stand with their paths (strace -y)."""
    for line in trace.splitlines():
        call = re.sub(r"^\d+\s+", "", line)
        failed = re.search(r"= -1 ", call) is not None
        name = call.split("(", 1)[0]
        if name in ("rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "link",
                    "linkat", "symlink", "symlinkat", "truncate", "ftruncate", "fallocate", "chmod", "fchmodat",
                    "utimensat", "mknod", "mknodat"):
            yield "changes the file system", line
        if name in ("open", "openat", "creat") and not failed and ("O_CREAT" in call or "O_TRUNC" in call):
            yield "creates a file", line
        if name in ("open", "openat") and not failed and str(cache) in call and ".lock" in call:
            yield "opens the lock file", line
        if name in ("write", "pwrite64", "writev", "pwritev") and re.search(r"\(\d+</(?!dev/)", call):
            yield "writes to a file", line
        if name == "mmap" and "PROT_EXEC" in call and re.search(r"libnv|libcuda|libcudart", call):
            yield "maps a library of CUDA as code", line


def main():
    cache, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    before = listing(cache)
    with tempfile.TemporaryDirectory() as scratch:
        trace_file = os.path.join(scratch, "trace")
        run = subprocess.run(["strace", "-f", "-y", "-e", f"trace={WATCHED}", "-o", trace_file, *command],
                             capture_output=True, text=True, stdin=subprocess.DEVNULL)
        trace = pathlib.Path(trace_file).read_text(errors="replace")
    print(run.stdout)
    problems = list(faults(trace, cache))
    if run.returncode != 0:
        problems.append(("failed", run.stderr))
    served = re.search(r"(\d+) kernels served, 0 compiled", run.stdout)
    if not served or int(served.group(1)) < 72:
        problems.append(("serves fewer than 72 kernels", ""))
    if str(cache) not in trace:
        problems.append(("never opened the cache, so nothing was watched", ""))
    if listing(cache) != before:
        problems.append(("leaves the cache's directory changed", ""))
    for what, line in problems:
        print(f"a hit {what}: {line}", file=sys.stderr)
    return 1 if problems else 0


sys.exit(main())
