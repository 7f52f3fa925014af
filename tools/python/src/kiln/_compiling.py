"""Compiles that are on their way, waited for by threads and by asyncio's tasks."""

from __future__ import annotations

import time
import weakref
from _thread import allocate_lock
from ctypes import byref, c_int32, c_uint64

from . import _library as c
from ._artifact import Artifact
from ._given import require_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Generator
    from typing import Any

# How long one call waits, so that the interpreter sees an interrupt.
SLICE = c_uint64(100)
AT_ONCE = c_uint64(0)
# As long as forever, and added to a time without overflow.
YEARS = 1e9


class Compiling:
    """A compile on its way. `await` gives its Artifact, and so does result(), which waits in this thread.

    A task that is cancelled while it awaits cancels the compile. When the last reference goes, the compile goes on.
    """

    def __init__(self, handle: c.CompilingHandle) -> None:
        self._handle = handle
        live.add(self)

    def done(self) -> bool:
        """Whether it is ready, with an artifact or with an error."""
        return self._wait(AT_ONCE)

    def cancel(self) -> None:
        """Makes it ready with a CancelledError, unless it is ready already."""
        c.check(c.compiling_cancel(self._handle))

    def result(self, timeout: float | None = None) -> Artifact:
        """Waits until it is ready. Raises what the compile failed with, CancelledError among it, and TimeoutError where
        `timeout` seconds have passed."""
        end = None if timeout is None else end_of(timeout)
        if not self._wait(AT_ONCE):
            while not self._wait(SLICE if end is None else c_uint64(min(100, max(0, int((end - time.monotonic()) * 1e3))))):
                if end is not None and time.monotonic() >= end:
                    raise TimeoutError(f"the compile was not ready within {timeout} s")
        artifact = c.ArtifactHandle()
        c.check(c.compiling_get(self._handle, byref(artifact)))
        return Artifact(artifact)

    def __await__(self) -> Generator[Any, None, Artifact]:
        if not self.done():
            import asyncio  # Likewise.

            future = asyncio.get_running_loop().create_future()
            waiter.watch(self, future)
            try:
                yield from future
            except asyncio.CancelledError:
                self.cancel()
                raise
        return self.result()

    def _wait(self, patience: c_uint64) -> bool:
        ready = c_int32()
        handle = self._handle
        c.check(c.compiling_wait(handle, patience, byref(ready)))
        return ready.value != 0


def end_of(timeout: float) -> float:
    require_seconds(timeout, "timeout")
    return time.monotonic() + max(0, min(timeout, YEARS))


class Waiter:
    """One thread that waits for all compiles that tasks await. It ends where there is none left."""

    def __init__(self) -> None:
        self.lock = allocate_lock()
        self.watched: list[tuple[Compiling, Any]] = []
        self.thread: threading.Thread | None = None

    def watch(self, compiling: Compiling, future: Any) -> None:
        import threading  # Not before: who imports kiln does not pay for it.

        with self.lock:
            self.watched.append((compiling, future))
            if self.thread is None:
                self.thread = threading.Thread(target=self.run, name="kiln waiter", daemon=True)
                self.thread.start()

    def run(self) -> None:
        while True:
            with self.lock:
                watched = [(compiling, future) for compiling, future in self.watched if not future.done()]
                if not watched:
                    self.watched = []
                    self.thread = None
                    return
                self.watched = watched
            # Others may become ready, or be watched, meanwhile: so not for long.
            watched[0][0]._wait(c_uint64(max(5, len(watched) // 50)))
            ready = [each for each in watched if each[0].done()]
            for compiling, future in ready:
                tell(future)
            with self.lock:
                self.watched = [each for each in self.watched if each not in ready]


def tell(future: Any) -> None:
    def finish() -> None:
        if not future.done():
            future.set_result(None)

    try:
        future.get_loop().call_soon_threadsafe(finish)
    except RuntimeError:
        pass  # The loop is closed, and nobody awaits the future.


live: weakref.WeakSet[Compiling] = weakref.WeakSet()
waiter = Waiter()


def cancel_all() -> None:
    for compiling in c.all_of(live):
        compiling.cancel()


def after_fork() -> None:
    """In a child: its parent's compiles are not its own."""
    global waiter
    waiter = Waiter()
    for compiling in c.all_of(live):
        compiling._handle.value = None
