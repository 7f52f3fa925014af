"""Which stream a launch goes into."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def stream_handle(stream: Any, kernel: str) -> int:
    """The CUstream of an object with `__cuda_stream__`, of torch's stream, or, for None, of torch's current one."""
    if stream is None:
        return current_stream_of_torch(kernel)
    if isinstance(stream, int):
        return int(stream)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        _, handle = protocol() if callable(protocol) else protocol
        return int(handle)
    handle = getattr(stream, "cuda_stream", None)
    if isinstance(handle, int):
        return handle
    raise TypeError(f"{kernel}: the stream is a {type(stream).__qualname__}; it can be an object with __cuda_stream__, or "
                    "a CUstream as an integer")


def current_stream_of_torch(kernel: str) -> int:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        raise TypeError(f"{kernel}: no stream is given, and torch, whose current one would be taken, is not loaded or has no "
                        "GPU. Give stream=, where 0 is the default stream")
    return int(torch.cuda.current_stream().cuda_stream)
