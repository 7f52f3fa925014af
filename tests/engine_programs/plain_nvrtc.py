"""A plain NVRTC loop, in a process of its own: reads a job as JSON from standard input, compiles it, and prints what
came of it.

    {"library", "name", "source", "kernels", "options", "headers": {name: text}, "kind": "cubin" | "ptx", "image": FILE}

The answer: {"log", "lowered": {expression: symbol}, "began", "seconds", "peak_kib"}; status 1, and NVRTC's log, where it fails.
"began" is the system's monotonic time before NVRTC was loaded, "seconds" what the compile alone took."""

import ctypes
import json
import pathlib
import resource
import sys
import threading
import time


class Nvrtc:
    def __init__(self, path):
        path = pathlib.Path(path).resolve()
        # NVRTC opens its builtins by their bare name.
        for builtins in sorted(path.parent.glob("libnvrtc-builtins.so*")):
            if ".alt." not in builtins.name:
                ctypes.CDLL(str(builtins), ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(path))
        self.program = ctypes.c_void_p()

    def call(self, function, *arguments):
        status = getattr(self.library, function)(*arguments)
        if status:
            raise RuntimeError(f"{function}: {status}\n{self.log() if self.program else ''}")

    def create(self, job):
        names = [name.encode() for name in job["headers"]]
        texts = [text.encode() for text in job["headers"].values()]
        array = ctypes.c_char_p * len(names)
        self.call("nvrtcCreateProgram", ctypes.byref(self.program), job["source"].encode(), job["name"].encode(),
                  len(names), array(*texts), array(*names))
        for kernel in job["kernels"]:
            self.call("nvrtcAddNameExpression", self.program, kernel.encode())

    def compile(self, options):
        array = ctypes.c_char_p * len(options)
        self.call("nvrtcCompileProgram", self.program, len(options), array(*(option.encode() for option in options)))

    def bytes_of(self, what):
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{what}Size", self.program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.call(f"nvrtcGet{what}", self.program, buffer)
        return buffer.raw[:size.value]

    def log(self):
        return self.bytes_of("ProgramLog").rstrip(b"\0").decode(errors="replace")

    def lowered(self, kernel):
        name = ctypes.c_char_p()
        self.call("nvrtcGetLoweredName", self.program, kernel.encode(), ctypes.byref(name))
        return name.value.decode()


def main():
    job = json.load(sys.stdin)
    process_began = time.monotonic()
    nvrtc = Nvrtc(job["library"])
    # As in any engine: until a process has had a second thread, glibc leaves out locks.
    another = threading.Thread(target=lambda: None)
    another.start()
    another.join()
    began = time.monotonic()
    nvrtc.create(job)
    try:
        nvrtc.compile(job["options"])
    except RuntimeError as failure:
        print(failure, file=sys.stderr)
        return 1
    image = nvrtc.bytes_of("CUBIN") if job["kind"] == "cubin" else nvrtc.bytes_of("PTX").rstrip(b"\0")
    seconds = time.monotonic() - began
    pathlib.Path(job["image"]).write_bytes(image)
    json.dump({"log": nvrtc.log(), "lowered": {kernel: nvrtc.lowered(kernel) for kernel in job["kernels"]},
               "began": process_began, "seconds": seconds,
               "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
