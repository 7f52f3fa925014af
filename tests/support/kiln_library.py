"""libkiln in this process, through the C API: for tests in Python that ask more often than processes can be
started, and of runtimes that stay open. The library is the one beside the tool (KILN_BIN)."""

import contextlib
import ctypes
import os
import pathlib

import kiln_tool

LIBRARY = pathlib.Path(kiln_tool.TOOL).resolve().parents[1] / "lib/libkiln_c.so"
KINDS = {"cubin": 0, "ptx": 1, "ltoir": 2, "optixir": 3}
ORIGINS = ("compiled", "memory", "local", "bundle", "remote")
STORE, NOT_STORED = 4, 5
HIT = 0
TRUSTED = b"are trusted"
WORKERS_NONE = -1
ON = 1

text, handle, number, switch = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int32
Strings = ctypes.POINTER(ctypes.c_char_p)


class Bytes(ctypes.Structure):
    _fields_ = [("data", handle), ("size", ctypes.c_size_t)]


class Sized(ctypes.Structure):
    """A structure that begins with its size, which a test may set to another."""

    def __init__(self, **fields):
        super().__init__(**{"size": ctypes.sizeof(self), **fields})


class ProgramSpec(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("name", text), ("source", text), ("no_toolkit_headers", switch),
                ("headers", ctypes.POINTER(handle)), ("header_count", ctypes.c_size_t),
                ("include_dirs", Strings), ("include_dir_count", ctypes.c_size_t),
                ("kernels", Strings), ("kernel_count", ctypes.c_size_t),
                ("options", Strings), ("option_count", ctypes.c_size_t),
                ("variants", handle), ("variant_count", ctypes.c_size_t)]


class Event(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("kind", switch), ("origin", switch), ("program", text), ("arch", text),
                ("key", text), ("milliseconds", ctypes.c_double), ("detail", text)]


LogCallback = ctypes.CFUNCTYPE(None, handle, switch, text)
Observer = ctypes.CFUNCTYPE(None, handle, ctypes.POINTER(Event))


class RuntimeOptions(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("cache_directory", text), ("cache_disabled", switch),
                ("cache_read_only", switch), ("cache_trust_others", switch), ("allow_ptx", switch),
                ("cache_max_bytes", number), ("bundles", Strings), ("bundle_count", ctypes.c_size_t),
                ("embedded_bundles", handle), ("embedded_bundle_count", ctypes.c_size_t), ("mode", switch),
                ("compile_workers", switch), ("compile_timeout", number), ("compile_patience", number),
                ("nvrtc", text), ("nvjitlink", text), ("nvfatbin", text), ("cuda_driver", text), ("worker", text),
                ("variant", text), ("record", text), ("log_level", switch), ("log", LogCallback), ("log_user", handle),
                ("observer", Observer), ("observer_user", handle)]


class ArtifactInfo(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("key", text), ("program", text), ("arch", text), ("kind", switch),
                ("origin", switch), ("image", Bytes), ("log", text), ("toolchain", text), ("compile_us", number),
                ("kernel_count", ctypes.c_size_t)]


def load():
    """The library; ends the test where there is none, as with a static build."""
    if not LIBRARY.exists():
        kiln_tool.skip(f"no {LIBRARY}")
    library = ctypes.CDLL(str(LIBRARY))
    for name in ("device_headers", "standard_headers", "program_make", "runtime_open", "runtime_compile",
                 "artifact_get_info"):
        getattr(library, f"kiln_{name}").restype = handle
    library.kiln_error_message.restype = text
    return library


def strings(values):
    encoded = [os.fsencode(value) for value in values]
    return (ctypes.c_char_p * max(1, len(encoded)))(*encoded), len(encoded)


class Failed(Exception):
    """With kiln's message."""


class Runtime:
    """A runtime over one cache, or over none (None). What is logged and told of a request goes into its answer; one thread
    asks. The last resort is logged once in a runtime, so that the observer's remark on each such hit counts as the warning."""

    def __init__(self, library, cache, workers=WORKERS_NONE):
        self.library, self.logged, self.events = library, [], []
        self.log = LogCallback(lambda _, level, line: self.logged.append(line.decode(errors="replace")))
        self.observer = Observer(lambda _, event: self.note(event.contents))
        self.options = RuntimeOptions(cache_directory=cache and os.fsencode(cache), cache_disabled=ON if cache is None else 0,
                                      compile_workers=workers, log=self.log, observer=self.observer)
        self.handle = handle()
        self.check(library.kiln_runtime_open(ctypes.byref(self.options), ctypes.byref(self.handle)))

    def close(self):
        self.library.kiln_runtime_close(self.handle)

    def note(self, event):
        if event.kind == HIT and TRUSTED in (event.detail or b""):
            self.logged.append(event.detail.decode(errors="replace"))
        if event.kind in (STORE, NOT_STORED):
            self.events.append((event.kind, (event.detail or b"").decode(errors="replace")))

    def check(self, error):
        if error:
            error = handle(error)
            message = self.library.kiln_error_message(error).decode(errors="replace")
            self.library.kiln_error_free(error)
            raise Failed(message)

    def ask(self, program):
        """What came of it, as the tool's answer; asked from the program's folder."""
        self.logged, self.events = [], []
        with chdir(program.folder):
            try:
                image, report = self.compile(program)
            except Failed as failed:
                return kiln_tool.Answer(1, str(failed))
        for kind, detail in self.events:
            report.update({"stored": True} if kind == STORE else {"stored": False, "not_stored": detail})
        return kiln_tool.Answer(0, "".join(f"warning: {line}\n" for line in self.logged), image, report)

    def compile(self, program):
        made, artifact = handle(), handle()
        spec, kept_alive = self.spec(program)
        self.check(self.library.kiln_program_make(ctypes.byref(spec), ctypes.byref(made)))
        del kept_alive
        try:
            self.check(self.library.kiln_runtime_compile(self.handle, made, program.arch.encode(),
                                                         KINDS[program.image], ctypes.byref(artifact)))
        finally:
            self.library.kiln_program_free(made)
        info = ArtifactInfo()
        self.check(self.library.kiln_artifact_get_info(artifact, ctypes.byref(info)))
        image = ctypes.string_at(info.image.data, info.image.size)
        report = {"origin": ORIGINS[info.origin], "key": info.key.decode()}
        self.library.kiln_artifact_free(artifact)
        return image, report

    def spec(self, program):
        """As the tool makes it of its words."""
        offered = [self.library.kiln_device_headers()]
        if program.standard:
            offered.append(self.library.kiln_standard_headers())
        headers = (handle * len(offered))(*offered)
        include, includes = strings(program.include)
        kernels, kernel_count = strings(program.kernels)
        options, option_count = strings([*(f"-D{value}" for value in program.define), *program.option])
        source = (pathlib.Path(program.folder) / program.source).read_bytes()
        spec = ProgramSpec(name=program.source.encode(), source=source, headers=headers, header_count=len(offered),
                           include_dirs=include, include_dir_count=includes, kernels=kernels,
                           kernel_count=kernel_count, options=options, option_count=option_count)
        return spec, (headers, include, kernels, options)


@contextlib.contextmanager
def chdir(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
