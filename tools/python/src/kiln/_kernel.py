"""Launches."""

from __future__ import annotations

import operator
import struct
import weakref
from ctypes import addressof, byref, c_size_t, c_uint32, c_void_p, create_string_buffer

from . import _library as c
from ._arguments import Layout
from ._artifact import kernel_info
from ._errors import error_of
from ._given import INT32, UINT32, UINT64, invalid, whole
from ._library import kernel_launch
from ._record import Record
from ._streams import stream_handle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union

    from ._arguments import Convert, Place
    from ._artifact import KernelInfo

    Size = Union[int, tuple[int, ...]]
    # How values of these types are packed, and which of them are converted first.
    Plan = tuple[Any, list[tuple[int, Convert]]]

MOST_PLANS = 256


class KernelAttributes(Record):
    """What the driver and the image tell of a kernel on the device that it was loaded for."""

    __slots__ = ("registers", "shared_bytes", "local_bytes", "constant_bytes", "max_threads_per_block",
                 "max_dynamic_shared_bytes", "required_cluster", "binary_version")

    registers: int
    shared_bytes: int
    local_bytes: int
    constant_bytes: int
    max_threads_per_block: int
    max_dynamic_shared_bytes: int
    required_cluster: tuple[int, int, int]
    binary_version: int


class LaunchAttributes(Record):
    """How a kernel is launched beyond its grid: cooperative, cluster and preferred_cluster (numbers of up to three
    dimensions), cluster_scheduling ("spread", "load-balancing"), programmatic_serialization, priority. Each needs, where it
    is set, a driver and a device that know it."""

    __slots__ = ("cooperative", "cluster", "preferred_cluster", "cluster_scheduling", "programmatic_serialization", "priority")

    def __init__(self, *, cooperative: bool = False, cluster: Size | None = None, preferred_cluster: Size | None = None,
                 cluster_scheduling: str | None = None, programmatic_serialization: bool = False,
                 priority: int | None = None) -> None:
        super().__init__(cooperative, cluster, preferred_cluster, cluster_scheduling, programmatic_serialization, priority)

    cooperative: bool
    cluster: Size | None
    preferred_cluster: Size | None
    cluster_scheduling: str | None
    programmatic_serialization: bool
    priority: int | None

    def set_in(self, config: c.LaunchConfig) -> None:
        config.cooperative = 1 if self.cooperative else 0
        config.programmatic_serialization = 1 if self.programmatic_serialization else 0
        if self.cluster is not None:
            config.cluster = dim3(self.cluster, "cluster")
        if self.preferred_cluster is not None:
            config.preferred_cluster = dim3(self.preferred_cluster, "preferred_cluster")
        if self.cluster_scheduling is not None:
            config.cluster_scheduling = 1 + c.place_in(c.CLUSTER_SCHEDULINGS, self.cluster_scheduling, "cluster_scheduling")
        if self.priority is not None:
            config.has_priority, config.priority = 1, whole(self.priority, "priority", INT32)


class Slot:
    """The memory of one launch at a time: the arguments, and what C is given to find them by."""

    __slots__ = ("buffer", "arguments", "config", "stream", "key", "call")

    def __init__(self, handle: c.KernelHandle, places: list[Place], offsets: list[int]) -> None:
        self.buffer = create_string_buffer(max([at + place.size for at, place in zip(offsets, places)], default=1))
        base = addressof(self.buffer)
        self.arguments = (c.Bytes * max(1, len(places)))(
            *(c.Bytes(base + at, place.size) for at, place in zip(offsets, places)))
        self.config = c.LaunchConfig()
        self.stream = c_void_p()
        # How the last launch was configured.
        self.key: Any = None
        self.call = (handle, self.stream, byref(self.config), self.arguments, c_size_t(len(places)))

    def configure(self, key: Any) -> None:
        grid, block, shared_bytes, stream, attributes = key
        self.key = None
        config = self.config = c.LaunchConfig(grid=dim3(grid, "grid"), block=dim3(block, "block"),
                                              shared_bytes=whole(shared_bytes, "shared_bytes", UINT32))
        if attributes is not None:
            attributes.set_in(config)
        self.stream.value = whole(stream, "stream", UINT64)
        self.call = (self.call[0], self.stream, byref(config), *self.call[3:])
        self.key = key


def dim3(size: Any, what: str) -> c.Dim3:
    sizes = size if isinstance(size, tuple) else (size,)
    try:
        numbers = [operator.index(each) for each in sizes]
    except TypeError:
        numbers = []
    in_range = all(1 <= each <= UINT32[1] for each in numbers)
    if not 1 <= len(numbers) <= 3 or not in_range:
        words = f"{what} is {size!r}; it can be a number from 1 to {UINT32[1]}, or a tuple of up to three"
        raise TypeError(words) if in_range else invalid(words)
    return c.Dim3(*numbers)


class Kernel:
    """A kernel that can be launched, from any thread. Keeps its runtime alive.

    `kernel(grid, block, *args, stream=stream)` or `kernel[grid, block, stream](*args)` queues a launch. grid and block are
    numbers of up to three dimensions. An argument is a device array (`__cuda_array_interface__`, or DLPack), a number, a
    ctypes value, or the bytes of a parameter that is no pointer; None is a null pointer. The kernel's parameters decide the numbers' types.

    stream is an object with `__cuda_stream__`, or a CUstream as an integer. Without one it is torch's current stream where
    torch is loaded, and else a TypeError. kiln does not order streams: an array is used in the stream of the launch.
    """

    __slots__ = ("_handle", "_info", "_layout", "_plans", "_slots", "__weakref__")

    def __init__(self, handle: c.KernelHandle) -> None:
        fields = c.KernelFields()
        c.check(c.kernel_get_info(handle, byref(fields)))
        self._handle = handle
        self._info = kernel_info(fields)
        self._layout = Layout(self._info.expression, self._info.symbol, self._info.params)
        self._plans: dict[tuple[type, ...], Plan] = {}
        self._slots: list[Slot] = []
        live.add(self)

    @property
    def info(self) -> KernelInfo:
        return self._info

    def __call__(self, grid: Size, block: Size, *args: Any, stream: Any = None, shared_bytes: int = 0,
                 attributes: LaunchAttributes | None = None) -> None:
        """Queues a launch.

        Raises TypeError, which names kernel and position, for an argument that the kernel does not take, OverflowError for a
        number that does not fit, InvalidError for a configuration beyond a limit, DriverError."""
        plan = self._plans.get(tuple(map(type, args)))
        if plan is None:
            if not self._layout.told:
                return self._launch_untold(grid, block, args, stream, shared_bytes, attributes)
            plan = self._make_plan(args)
        pack_into, conversions = plan
        given: Any = args
        if conversions:
            given = [*args]
            for at, convert in conversions:
                given[at] = convert(args[at])
        if type(stream) is not int:
            stream = stream_handle(stream, self._info.expression)
        try:
            slot = self._slots.pop()
        except IndexError:
            slot = Slot(self._handle, *self._layout.places(args))
        try:
            pack_into(slot.buffer, 0, *given)
        except (struct.error, OverflowError):
            self._pack_unsigned(pack_into, slot, given, self._layout.places(args)[0])
        key = (grid, block, shared_bytes, stream, attributes)
        if slot.key != key:
            slot.configure(key)
        error = kernel_launch(*slot.call)
        self._slots.append(slot)
        if error is not None:
            raise c.take_error(error)

    def __getitem__(self, where: Any) -> ConfiguredKernel:
        if not isinstance(where, tuple) or not 2 <= len(where) <= 4:
            raise TypeError(f"{self._info.expression}: launch it as kernel[grid, block, stream](...), with the bytes of dynamic "
                            "shared memory behind the stream where it takes any")
        grid, block, stream, shared_bytes = (*where, None, 0)[:4] if len(where) == 2 else (*where, 0)[:4]
        return ConfiguredKernel(self, grid, block, stream, shared_bytes)

    def attributes(self) -> KernelAttributes:
        """Raises DriverError."""
        fields = c.AttributesFields()
        c.check(c.kernel_get_attributes(self._handle, byref(fields)))
        cluster = fields.required_cluster
        return KernelAttributes(*(getattr(fields, name) for name in c.AttributesFields.NAMES),
                                (cluster.x, cluster.y, cluster.z), fields.binary_version)

    def blocks_per_multiprocessor(self, threads: int, shared_bytes: int = 0) -> int:
        """How many blocks of so many threads, each with so much dynamic shared memory, one multiprocessor runs at once."""
        blocks = c_uint32()
        c.check(c.kernel_blocks_per_multiprocessor(
            self._handle, c_uint32(whole(threads, "threads", UINT32)), c_uint32(whole(shared_bytes, "shared_bytes", UINT32)),
            byref(blocks)))
        return blocks.value

    def _make_plan(self, args: tuple[Any, ...]) -> Plan:
        self._require_own()
        places, offsets = self._layout.places(args)
        plan = plan_of(places, offsets, args)
        if len(self._plans) >= MOST_PLANS:
            self._plans.clear()
        self._plans[tuple(map(type, args))] = plan
        return plan

    def _require_own(self) -> None:
        if not self._handle:
            raise error_of("invalid_argument", f"{self._info.expression} was loaded before this process was forked; load it in "
                                               "the child")

    def _pack_unsigned(self, pack_into: Any, slot: Slot, given: Any, places: list[Place]) -> None:
        """Packs what does not fit as signed numbers. Where the parameters' types are not known, unsigned ones are right too.
        Raises what names the first that does not fit either way."""
        for place, value in zip(places, given):
            place.check_range(value)
        pack_into(slot.buffer, 0, *(place.as_signed(value) for place, value in zip(places, given)))

    def _launch_untold(self, grid: Size, block: Size, args: tuple[Any, ...], stream: Any, shared_bytes: int,
                       attributes: LaunchAttributes | None) -> None:
        """Where the image does not tell the parameters: the values decide, anew each time."""
        self._require_own()
        places, offsets = self._layout.places(args)
        pack_into, conversions = plan_of(places, offsets, args)
        slot = Slot(self._handle, places, offsets)
        given = [*args]
        for at, convert in conversions:
            given[at] = convert(args[at])
        try:
            pack_into(slot.buffer, 0, *given)
        except (struct.error, OverflowError):
            self._pack_unsigned(pack_into, slot, given, places)
        slot.configure((grid, block, shared_bytes, stream_handle(stream, self._info.expression), attributes))
        c.check(c.kernel_launch(*slot.call))

    def __repr__(self) -> str:
        return f"<kiln.Kernel {self._info.expression} for {self._info.arch}>"


def plan_of(places: list[Place], offsets: list[int], args: tuple[Any, ...]) -> Plan:
    parts, conversions, end = ["="], [], 0
    for at, (place, offset, value) in enumerate(zip(places, offsets, args)):
        letter, convert = place.plan(value)
        parts.append(f"{offset - end}x{letter}")
        end = offset + place.size
        if convert is not None:
            conversions.append((at, convert))
    return struct.Struct("".join(parts)).pack_into, conversions


class ConfiguredKernel(Record):
    """A kernel with its grid, block and stream: call it with the arguments."""

    __slots__ = ("kernel", "grid", "block", "stream", "shared_bytes")

    kernel: Kernel
    grid: Size
    block: Size
    stream: Any
    shared_bytes: int

    def __call__(self, *args: Any) -> None:
        self.kernel(self.grid, self.block, *args, stream=self.stream, shared_bytes=self.shared_bytes)


live: weakref.WeakSet[Kernel] = weakref.WeakSet()


def after_fork() -> None:
    """In a child: what its parent loaded is not its own."""
    for kernel in c.all_of(live):
        kernel._handle.value = None
        kernel._plans.clear()
