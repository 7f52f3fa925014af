"""The runtime: asks the cache, compiles on a miss, stores, loads."""

from __future__ import annotations

import itertools
import os
import sys
import weakref
from ctypes import byref, c_char_p, c_int32, c_size_t, c_void_p, cast

from . import _library as c
from ._artifact import Artifact
from ._compiling import Compiling
from ._errors import Error, error_of
from ._given import (INT32, UINT64, absolute, bytes_of, encoded, invalid, milliseconds, require_several, require_switch, whole,
                     wrong_type)
from ._kernel import Kernel
from ._program import handle_of
from ._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType
    from typing import Any, Union

    from ._program import Program

    Item = Union[tuple[Program, str], tuple[Program, str, str]]

FIRST_PRIORITY = (1 << 31) - 1
NO_WORKERS, AUTOMATIC_WORKERS = -1, -2
# As the variable has it.
MOST_WORKERS = 1024


class Event(Record):
    """One thing that kiln did: kind is "hit", "miss", "compile_begin", "compile_end", "store", "not_stored", "load" or
    "launch_failed". `origin` says who served a hit."""

    __slots__ = ("kind", "origin", "program", "arch", "key", "milliseconds", "detail")

    kind: str
    origin: str
    program: str
    arch: str
    key: str
    milliseconds: float
    detail: str


class Explanation(Record):
    """Whether a compile would be served now, by which layer and entry, and if not, why. `summary` is all of it in one line,
    with the nearest entry's differences."""

    __slots__ = ("hit", "origin", "key", "reason", "summary")

    hit: bool
    origin: str
    key: str
    reason: str
    summary: str


class Counters(Record):
    """What a runtime did since it was opened."""

    __slots__ = ("memory_hits", "local_hits", "bundle_hits", "misses", "compiles", "precompiled", "combines", "waits",
                 "stores", "refusals", "cache_errors", "loads", "remote_hits", "lease_waits")

    memory_hits: int
    local_hits: int
    bundle_hits: int
    misses: int
    compiles: int
    precompiled: int
    combines: int
    waits: int
    stores: int
    refusals: int
    cache_errors: int
    loads: int
    remote_hits: int
    lease_waits: int


class Remote(Record):
    """A store that a runtime shares with other machines, and what this machine's helper knows of its server. `fault` says why
    it cannot be asked, and is empty where it can. What is counted, the helper counted since it was started; of the latest
    call that succeeded, `round_trip_us` are microseconds."""

    __slots__ = ("url", "fault", "last_failure", "read_only", "resting", "gives_leases", "round_trip_us", "asked", "found",
                 "failures", "slow", "pushed", "duplicates", "dropped", "waiting", "lease_waits")

    url: str
    fault: str
    last_failure: str
    read_only: bool
    resting: bool
    gives_leases: bool
    round_trip_us: int
    asked: int
    found: int
    failures: int
    slow: int
    pushed: int
    duplicates: int
    dropped: int
    waiting: int
    lease_waits: int


class Availability(Record):
    """Whether one tool of the machine was found, and why not."""

    __slots__ = ("available", "description", "reason", "path")

    available: bool
    description: str
    reason: str
    path: str


class Progress(Record):
    """One item of a prefetch is done, with an origin or with an error; the other is None."""

    __slots__ = ("done", "total", "program", "arch", "origin", "error")

    done: int
    total: int
    program: Program
    arch: str
    origin: str | None
    error: Error | None


class PrefetchReport(Record):
    """How many items were there, were compiled, and failed, or were not done since the prefetch was ended."""

    __slots__ = ("hits", "compiled", "failures")

    hits: int
    compiled: int
    failures: int


def arch_bytes(arch: str) -> bytes:
    if not isinstance(arch, str):
        raise wrong_type("arch", 'a str such as "sm_90a"', arch)
    return encoded(arch, "arch")


def image_number(arch: str, image: str | None) -> int:
    """A cubin where nothing else is asked for; PTX of an architecture that only PTX is for."""
    return c.place_in(c.IMAGES, image or ("ptx" if arch.startswith("compute_") else "cubin"), "image")


def on_log(user: int | None, level: int, line: bytes) -> None:
    take = logs.get(user or 0)
    if take is not None:
        take(c.name_in(("", *c.LOG_LEVELS), level), c.text(line))


def on_event(user: int | None, event: Any) -> None:
    take = observers.get(user or 0)
    if take is not None:
        told = event.contents
        take(Event(c.name_in(c.EVENTS, told.kind), c.name_in(c.ORIGINS, told.origin), c.text(told.program),
                   c.text(told.arch), c.text(told.key), told.milliseconds, c.text(told.detail)))


# Two callbacks for all runtimes, which are never freed: a thread of kiln's may call one after its runtime has ended. It then
# finds nobody here.
log_callback, observer_callback = c.LogCallback(on_log), c.Observer(on_event)
logs: dict[int, Callable[[str, str], object]] = {}
observers: dict[int, Callable[[Event], object]] = {}
numbers = itertools.count(1)

live: weakref.WeakSet[Runtime] = weakref.WeakSet()
# Calls that nobody can end, and that the interpreter's end waits for.
in_flight: set[object] = set()
ending = False


class Runtime:
    """The pipeline, and a context manager that closes it. Threads share one.

    Opening needs no GPU, no driver and no NVRTC. An argument that is given goes before its `KILN_*` variable, which goes
    before the default; their meanings are those of the README's table of settings. `workers` is a number of processes that
    compile, 0 for none, or "auto"; `cache` and `read_only` switch the cache on disk; `timeout` and `patience` are seconds;
    `trust_owners`, `group` and `trust_others` say whom the cache is taken from beside its user; `trusted_keys` whose signatures
    count, and `signing_key` who signs. `remotes` are URLs of stores that machines share, asked in this order. `mode` is "jit",
    "warn" or "cache-only". `embedded_bundles` are bundles' bytes.

    `log` takes each line that kiln logs, as (level, text), instead of standard error; `observer` takes each Event. Both are
    called from any thread, must not call back into the runtime, and are called no more once it is closed.

    A child that was forked does not use its parent's runtime; it opens one.
    """

    def __init__(self, *, cache_dir: str | os.PathLike[str] | None = None, cache: bool | None = None,
                 read_only: bool | None = None, trust_others: bool | None = None, trust_owners: str | None = None,
                 group: str | None = None, trusted_keys: str | None = None,
                 signing_key: str | os.PathLike[str] | None = None, max_bytes: int | None = None, engine: str | None = None,
                 allow_ptx: bool | None = None, bundles: Iterable[str | os.PathLike[str]] | None = None,
                 embedded_bundles: Iterable[bytes] = (), mode: str | None = None, workers: int | str | None = None,
                 timeout: float | None = None, patience: float | None = None,
                 nvrtc: str | os.PathLike[str] | None = None, nvjitlink: str | os.PathLike[str] | None = None,
                 nvfatbin: str | os.PathLike[str] | None = None, driver: str | os.PathLike[str] | None = None,
                 worker: str | os.PathLike[str] | None = None, remotes: str | Iterable[str] | None = None,
                 remote_helper: str | os.PathLike[str] | None = None, variant: str | None = None,
                 record: str | os.PathLike[str] | None = None, log_level: str | None = None,
                 log: Callable[[str, str], object] | None = None,
                 observer: Callable[[Event], object] | None = None) -> None:
        self._number = next(numbers)
        for what, value in (("read_only", read_only), ("trust_others", trust_others), ("allow_ptx", allow_ptx)):
            if value is not None:
                require_switch(value, what)
        if cache is not None:
            require_switch(cache, "cache", "True or False (cache_dir names its folder)")
        if bundles is not None:
            require_several(bundles, "bundles")
        require_several(embedded_bundles, "embedded_bundles")
        options = c.RuntimeOptions(
            cache_directory=path_of(cache_dir, "cache_dir"), cache_disabled=switch(None if cache is None else not cache),
            cache_read_only=switch(read_only), cache_trust_others=switch(trust_others), allow_ptx=switch(allow_ptx),
            cache_max_bytes=0 if max_bytes is None else whole(max_bytes, "max_bytes", (1, UINT64[1])),
            mode=0 if mode is None else c.place_in(c.MODES, mode, "mode") + 1,
            compile_workers=workers_number(workers),
            compile_timeout=0 if timeout is None else milliseconds(timeout, "timeout", 0.001),
            compile_patience=0 if patience is None else milliseconds(patience, "patience"),
            nvrtc=path_of(nvrtc, "nvrtc") or nvrtc_elsewhere(),
            nvjitlink=path_of(nvjitlink, "nvjitlink"), nvfatbin=path_of(nvfatbin, "nvfatbin"),
            cuda_driver=path_of(driver, "driver"), worker=path_of(worker, "worker"), variant=text_of(variant, "variant"),
            record=path_of(record, "record"), cache_trust_owners=text_of(trust_owners, "trust_owners"),
            cache_group=text_of(group, "group"), engine=text_of(engine, "engine"),
            trusted_keys=text_of(trusted_keys, "trusted_keys"), signing_key=path_of(signing_key, "signing_key"),
            remotes=remotes_of(remotes), remote_helper=path_of(remote_helper, "remote_helper"),
            log_level=0 if log_level is None else c.place_in(c.LOG_LEVELS, log_level, "log_level") + 1)
        if bundles is not None:
            options.bundles, options.bundle_count = c.texts((absolute(bundle, "bundles") for bundle in bundles), "bundles")
        self._embedded = [bytes_of(bundle, "embedded_bundles") for bundle in embedded_bundles]
        if self._embedded:
            options.embedded_bundles = (c.Bytes * len(self._embedded))(
                *(c.Bytes(cast(c_char_p(bundle), c_void_p), len(bundle)) for bundle in self._embedded))
            options.embedded_bundle_count = len(self._embedded)
        if log is not None:
            logs[self._number] = log
            options.log, options.log_user = log_callback, self._number
        if observer is not None:
            observers[self._number] = observer
            options.observer, options.observer_user = observer_callback, self._number
        handle = c.RuntimeHandle()
        try:
            c.check(c.runtime_open(byref(options), byref(handle)))
        except Error:
            forget_callbacks(self._number)
            raise
        # The bytes must outlive the runtime, whatever else keeps that alive.
        handle.embedded = self._embedded
        self._handle: c.RuntimeHandle | None = handle
        live.add(self)

    def close(self) -> None:
        """Ends it once the calls that are under way and the kernels that it gave have ended. Compiles that are not done are
        cancelled then. Closing twice does nothing."""
        self._handle = None
        forget_callbacks(self._number)

    def __del__(self) -> None:
        # Of one that was given a wrong argument there is nothing.
        if hasattr(self, "_number"):
            forget_callbacks(self._number)

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()

    def compile(self, program: Program, arch: str, *, image: str | None = None) -> Artifact:
        """The artifact of this program for this architecture ("sm_90a", "compute_90", "native"): from memory, from the cache,
        or compiled and stored. Needs no GPU, but for "native". Threads and processes that ask for the same one share one
        compile. `image` is "cubin", "ptx", "ltoir", "optixir"; by default a cubin, and PTX for `compute_`.

        An interrupt (Ctrl-C) cancels it. Raises CompileError, NotFoundError, InvalidError, MissingError, NotCachedError, and
        Error for a compile that took too long or whose worker failed."""
        compiling = self.compile_async(program, arch, image=image, priority=FIRST_PRIORITY)
        try:
            return compiling.result()
        except KeyboardInterrupt:
            compiling.cancel()
            raise

    def compile_async(self, program: Program, arch: str, *, image: str | None = None, priority: int = 0) -> Compiling:
        """As compile(), without waiting: a hit is ready at once, and a miss is queued, the higher priority first. Errors of
        the compile come when it is awaited."""
        handle = c.CompilingHandle()
        c.check(c.runtime_compile_async(self._open(), handle_of(program), c_char_p(arch_bytes(arch)),
                                        c_int32(image_number(arch, image)), c_int32(whole(priority, "priority", INT32)),
                                        byref(handle)))
        return Compiling(handle)

    def prefetch(self, items: Iterable[Item], *, progress: Callable[[Progress], object] | None = None) -> PrefetchReport:
        """Brings all items, (program, arch) or (program, arch, image), into the cache, and compiles what is missing. Waits
        until all are done; one that fails does not stop the others. `progress` is called in this thread as each is done. What
        it raises ends the prefetch, and so does its answer False. So does an interrupt, when the next item is done."""
        wanted = [(item[0], item[1], item[2] if len(item) == 3 else None) for item in items]
        array = (c.PrefetchItem * max(1, len(wanted)))(*(
            c.PrefetchItem(handle_of(program).value, arch_bytes(arch), image_number(arch, image))
            for program, arch, image in wanted))
        raised: list[BaseException] = []

        def on_item(_: Any, index: int, artifact: int | None, error: int | None, done: int, total: int) -> int:
            try:
                program, arch, _image = wanted[index]
                told = None if progress is None else progress(
                    Progress(done, total, program, arch, origin_of(artifact), borrowed(error)))
                return 1 if ending or told is False else 0
            except BaseException as failure:
                raised.append(failure)
                return 1

        callback, report = c.PrefetchCallback(on_item), c.PrefetchFields()
        self._blocking(c.runtime_prefetch, self._open(), array, c_size_t(len(wanted)), callback, None, byref(report))
        if raised:
            raise raised[0]
        return PrefetchReport(report.hits, report.compiled, report.failures)

    def explain(self, program: Program, arch: str, *, image: str | None = None) -> Explanation:
        """Whether compile() would be served now, and if not, why. Compiles, writes and counts nothing."""
        handle, fields = c.ExplanationHandle(), c.ExplanationFields()
        c.check(c.runtime_explain(self._open(), handle_of(program), c_char_p(arch_bytes(arch)),
                                  c_int32(image_number(arch, image)), byref(handle)))
        c.check(c.explanation_get_info(handle, byref(fields)))
        return Explanation(fields.hit != 0, c.name_in(c.ORIGINS, fields.origin), c.text(fields.key), c.text(fields.reason),
                           c.text(fields.summary))

    def link(self, name: str, inputs: Sequence[Artifact], arch: str, *, image: str = "cubin", options: Iterable[str] = (),
             kernels: Iterable[str] = ()) -> Artifact:
        """The inputs linked to one image: LTO-IR, relocatable cubins (compiled with "-rdc=true"), PTX, in order. `kernels` are
        name expressions of the inputs, or symbols; without any all are listed. Raises CompileError with the linker's log."""
        require_several(options, "options")
        require_several(kernels, "kernels")
        arguments, argument_count = c.texts(options, "options")
        expressions, expression_count = c.texts(kernels, "kernels")
        spec = c.LinkSpec(name=encoded(name, "name", "a str"),
                          inputs=(c_void_p * max(1, len(inputs)))(*(each._handle.value for each in inputs)),
                          input_count=len(inputs), arch=arch_bytes(arch), kind=image_number(arch, image),
                          options=arguments, option_count=argument_count,
                          kernels=expressions, kernel_count=expression_count)
        handle = c.ArtifactHandle()
        self._blocking(c.runtime_link, self._open(), byref(spec), byref(handle))
        return Artifact(handle)

    def fatbin(self, program: Program, archs: Iterable[str]) -> Artifact:
        """One image of this program for all these architectures, PTX for a `compute_` one."""
        require_several(archs, "archs")
        targets = [c.Target(arch_bytes(arch), image_number(arch, None)) for arch in archs]
        handle = c.ArtifactHandle()
        self._blocking(c.runtime_fatbin, self._open(), handle_of(program), (c.Target * max(1, len(targets)))(*targets),
                       c_size_t(len(targets)), byref(handle))
        return Artifact(handle)

    def kernel(self, program: Program, name: str, *, arch: str | None = None, image: str | None = None) -> Kernel:
        """The kernel of this expression for the device of the thread's current context, from the best stored image that the
        device runs; compiled only where there is none. With `arch` from the image for exactly that. Loaded once, whoever
        asks; still, keep it. Raises MissingError without a driver, and what compile() raises."""
        handle, expression = c.KernelHandle(), c_char_p(encoded(name, "name", "a str"))
        if arch is None:
            self._blocking(c.runtime_kernel, self._open(), handle_of(program), expression, byref(handle))
        else:
            self._blocking(c.runtime_kernel_for_target, self._open(), handle_of(program), expression,
                           c_char_p(arch_bytes(arch)), c_int32(image_number(arch, image)), byref(handle))
        handle.embedded = self._embedded
        return Kernel(handle)

    def set_mode(self, mode: str) -> None:
        """What becomes of a miss from now on: "jit", "warn" or "cache-only"."""
        c.check(c.runtime_set_mode(self._open(), c_int32(c.place_in(c.MODES, mode, "mode") + 1)))

    def check_cache(self) -> None:
        """Raises Error, with the code "cache_unusable", where the cache on disk cannot be used."""
        c.check(c.runtime_check_cache(self._open()))

    def counters(self) -> Counters:
        fields = c.CountersFields()
        c.check(c.runtime_get_counters(self._open(), byref(fields)))
        return Counters(*(getattr(fields, name) for name in c.CountersFields.NAMES))

    def remotes(self, *, reach: bool = False) -> list[Remote]:
        """The stores that machines share, in their order. `reach`: asks each server something first, to measure it."""
        require_switch(reach, "reach")
        handle, count, fields = c.RemotesHandle(), c_size_t(), c.RemoteFields()
        self._blocking(c.runtime_get_remotes, self._open(), c_int32(reach), byref(handle), byref(count))
        told = []
        for index in range(count.value):
            c.check(c.remotes_get_info(handle, c_size_t(index), byref(fields)))
            told.append(Remote(*(c.text(getattr(fields, name)) for name in c.RemoteFields.TEXTS),
                               *(getattr(fields, name) != 0 for name in c.RemoteFields.SWITCHES),
                               *(getattr(fields, name) for name in c.RemoteFields.NUMBERS)))
        return told

    def availability(self, tool: str) -> Availability:
        """Of "compiler", "driver", "linker", "packer" or "worker". Looks for it where that was not done yet."""
        handle, fields = c.AvailabilityHandle(), c.AvailabilityFields()
        c.check(c.runtime_availability(self._open(), c_int32(c.place_in(c.TOOLS, tool, "tool")), byref(handle)))
        c.check(c.availability_get_info(handle, byref(fields)))
        return Availability(fields.available != 0, c.text(fields.description), c.text(fields.reason), c.text(fields.path))

    def _open(self) -> c.RuntimeHandle:
        handle = self._handle
        if not handle:
            raise error_of("invalid_argument", "the runtime is closed, or was opened before this process was forked; open "
                                               "another one")
        return handle

    def _blocking(self, call: Any, *arguments: Any) -> None:
        """A call that may compile, and that nobody can end."""
        token = object()
        in_flight.add(token)
        try:
            c.check(call(*arguments))
        finally:
            in_flight.discard(token)


def forget_callbacks(number: int) -> None:
    logs.pop(number, None)
    observers.pop(number, None)


def path_of(path: str | os.PathLike[str] | None, name: str) -> bytes | None:
    return None if path is None else absolute(path, name)


def text_of(value: str | None, name: str) -> bytes | None:
    return None if value is None else encoded(value, name)


def remotes_of(remotes: str | Iterable[str] | None) -> bytes | None:
    if remotes is None or isinstance(remotes, str):
        return text_of(remotes, "remotes")
    require_several(remotes, "remotes")
    return b" ".join(encoded(remote, "remotes", "a list of str") for remote in remotes)


def switch(value: bool | None) -> int:
    return 0 if value is None else 1 if value else 2


def workers_number(workers: int | str | None) -> int:
    if workers is None:
        return 0
    if workers == "auto":
        return AUTOMATIC_WORKERS
    if not isinstance(workers, int) or not 0 <= workers <= MOST_WORKERS:
        raise invalid(f"workers is {workers!r}; it can be a number of processes, from 0 for none to {MOST_WORKERS}, or 'auto'")
    return workers or NO_WORKERS


def nvrtc_elsewhere() -> bytes | None:
    """NVRTC of a wheel that lies in another site-packages than kiln, as a user's beside a system's. kiln itself looks into its
    own and into `VIRTUAL_ENV`."""
    if "KILN_NVRTC" in os.environ:
        return None
    own = os.path.dirname(c.FOLDER)
    folders = [folder for folder in sys.path if folder.endswith(("site-packages", "dist-packages"))]
    if own in folders and wheel_library(own) is not None:
        return None
    for folder in folders:
        library = wheel_library(folder)
        if library is not None:
            return os.fsencode(library)
    return None


def wheel_library(folder: str) -> str | None:
    for place in ("nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"):
        library = os.path.join(folder, place)
        if os.path.isfile(library):
            return library
    return None


def origin_of(artifact: int | None) -> str | None:
    if artifact is None:
        return None
    fields = c.ArtifactFields()
    c.check(c.artifact_get_info(c_void_p(artifact), byref(fields)))
    return c.name_in(c.ORIGINS, fields.origin)


def borrowed(error: int | None) -> Error | None:
    return None if error is None else c.borrowed_error(error)


def after_fork() -> None:
    """In a child: what its parent opened is not its own, and is not closed here."""
    in_flight.clear()
    for runtime in c.all_of(live):
        if runtime._handle is not None:
            runtime._handle.value = None
