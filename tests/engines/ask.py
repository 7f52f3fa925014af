"""Compiles programs in a process of its own, with plain NVRTC or through kiln, and tells what each took of the clock and of the
processor: reads a job as JSON from standard input.

    {"compiler": PATH or null, "plain": {the job of plain_nvrtc.py}}
    {"compiler": PATH or null, "cache": FOLDER, "programs": [{"folder", "source", "kernels", "include", "option", "arch"}]}

A compiler that is named is loaded first, so that neither is charged for it; and a thread is begun and ended before, as in any engine:
in a process that never had one, glibc leaves out locks, which are a tenth of NVRTC's time. For each program a line comes back: {"seconds", "cpu"} and
of plain NVRTC {"log", "lowered"}, of kiln {"key", "origin", "bytes"}, or {"error"}. The last line tells whether a compiler is mapped."""

import json
import pathlib
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "engine_programs")]
import kiln_library
import kiln_tool
import plain_nvrtc


def timed(work):
    began, cpu = time.monotonic(), time.process_time()
    try:
        told = work()
    except (RuntimeError, kiln_library.Failed) as failed:
        return {"error": str(failed)}
    return {**told, "seconds": time.monotonic() - began, "cpu": time.process_time() - cpu}


def plain(nvrtc, job):
    nvrtc.create(job)
    nvrtc.compile(job["options"])
    image = nvrtc.bytes_of("CUBIN")
    return {"log": nvrtc.log(), "lowered": {kernel: nvrtc.lowered(kernel) for kernel in job["kernels"]}, "image": image}


def asked(runtime, words):
    image, report = runtime.compile(kiln_tool.Program(**{**words, "image": "cubin", "kernels": tuple(words["kernels"])}))
    return {**report, "bytes": len(image)}


def main():
    job = json.load(sys.stdin)
    another = threading.Thread(target=lambda: None)
    another.start()
    another.join()
    nvrtc = plain_nvrtc.Nvrtc(job["compiler"]) if job["compiler"] else None
    if "plain" in job:
        told = timed(lambda: plain(nvrtc, job["plain"]))
        if "image" in told:
            pathlib.Path(job["plain"]["image"]).write_bytes(told.pop("image"))
        print(json.dumps(told))
    else:
        runtime = kiln_library.Runtime(kiln_library.load(), job["cache"])
        for words in job["programs"]:
            print(json.dumps(timed(lambda: asked(runtime, words))))
    print(json.dumps({"mapped": "libnvrtc" in pathlib.Path("/proc/self/maps").read_text()}))


if __name__ == "__main__":
    main()
