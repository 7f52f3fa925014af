"""The process's own turning points: a fork, and the interpreter's end."""

from __future__ import annotations

import atexit
import os
import time

from . import _compiling, _kernel, _runtime
from ._library import all_of

# How long the interpreter's end waits for calls that cannot be cancelled, in seconds.
PATIENCE = 2.0


def end() -> None:
    """Cancels all compiles, and closes all runtimes, so that no thread of kiln's calls Python when there is none any more."""
    _runtime.ending = True
    _compiling.cancel_all()
    deadline = time.monotonic() + PATIENCE
    while _runtime.in_flight and time.monotonic() < deadline:
        time.sleep(0.005)
    waiting = _compiling.waiter.thread
    if waiting is not None:
        waiting.join(PATIENCE)
    if not _runtime.in_flight:
        for runtime in all_of(_runtime.live):
            runtime.close()


def after_fork() -> None:
    _runtime.after_fork()
    _kernel.after_fork()
    _compiling.after_fork()


atexit.register(end)
os.register_at_fork(after_in_child=after_fork)
