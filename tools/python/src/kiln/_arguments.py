"""What Python's values become as a kernel's arguments.

How to convert depends on the kernel and on the values' types alone, so it is decided once for each tuple of types that a
kernel is launched with: a plan. A launch then packs the values at once."""

from __future__ import annotations

import ctypes
import numbers
import operator
import struct
import sys

from ._artifact import SIZES, kind_of, letters_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._artifact import Parameter

    Convert = Callable[[Any], Any]

CTYPES = (ctypes.Structure, ctypes.Union, ctypes.Array, ctypes._SimpleCData, ctypes._Pointer)
# Bytes may be a parameter's own, but nobody means those to be an address.
BYTES = (bytes, bytearray, memoryview)
INTEGERS_BY_SIZE = {1: "b", 2: "h", 4: "i", 8: "q"}
FLOATS_BY_SIZE = {2: "e", 4: "f", 8: "d"}
# DLPack's numbers of memory that kernels may be given: kDLCUDA, kDLCUDAManaged.
DEVICES_OF_KERNELS = (2, 13)


class Place:
    """One argument's place, for messages and conversions."""

    def __init__(self, kernel: str, position: int, count: int, size: int, letter: str | None) -> None:
        self.where = f"{kernel}: argument {position + 1} of {count}"
        self.size = size
        self.letter = letter

    def takes(self) -> str:
        kind = kind_of(self.letter)
        if self.letter == "other":
            return f"a type of the program's own of {self.size} bytes, given as a ctypes structure or as bytes"
        return f"{self.size} bytes" if kind == "unknown" else \
            {"pointer": "a pointer", "integer": f"an integer of {self.size} bytes",
             "floating": f"a floating-point number of {self.size} bytes"}[kind]

    def wrong(self, value: Any) -> TypeError:
        return TypeError(f"{self.where} takes {self.takes()}, but a {named(type(value))} was given")

    def plan(self, value: Any) -> tuple[str, Convert | None]:
        """The struct module's format for values of this one's type, and how to convert them first, if they have to be."""
        kind = kind_of(self.letter)
        if kind == "pointer" and isinstance(value, (*BYTES, ctypes.Array, ctypes.Structure, ctypes.Union)):
            raise self.on_host(value)
        if isinstance(value, CTYPES):
            return self.plan_ctypes(value)
        if isinstance(value, BYTES):
            return f"{self.size}s", self.bytes_of
        if value is None:
            return self.plan_address(value, lambda _: 0)
        if isinstance(value, numbers.Number):
            return self.plan_number(value, kind)
        if is_tensor(value):
            return self.plan_address(value, self.address_of_tensor)
        if is_array(value):
            return self.plan_address(value, self.address_of)
        raise self.wrong(value)

    def plan_ctypes(self, value: Any) -> tuple[str, Convert | None]:
        given, code = ctypes.sizeof(value), getattr(type(value), "_type_", None)
        if given != self.size:
            raise TypeError(f"{self.where} takes {self.takes()}, but a {named(type(value))} of {given} bytes was given")
        if isinstance(code, str) and self.letter is not None and self.letter != "other":
            # What ctypes takes from strings and objects lies in host memory.
            kind = "floating" if code in "fdg" else "pointer" if code == "P" else "object" if code in "zZO" else "integer"
            # An address may come as an integer.
            if kind != kind_of(self.letter) and not (kind == "integer" and self.letter == "P"):
                raise self.wrong(value)
        return f"{self.size}s", bytes

    def plan_number(self, value: Any, kind: str) -> tuple[str, Convert | None]:
        exact = type(value) in (int, bool, float)
        is_integer = isinstance(value, numbers.Integral)
        if not is_integer and not isinstance(value, numbers.Real):
            raise self.wrong(value)
        if kind == "unknown" and self.letter is None:
            letter = (INTEGERS_BY_SIZE if is_integer else FLOATS_BY_SIZE).get(self.size)
            if letter is None:
                raise self.wrong(value)
        elif kind == "unknown" or (not is_integer and kind != "floating"):
            raise self.wrong(value)
        else:
            letter = self.letter or ""
        if letter == "bfloat16":
            return "H", lambda number: bfloat16_bits(float(number))
        if letter == "?":
            return letter, None
        if kind_of(letter) == "floating":
            return letter, None if exact else float
        return ("Q" if letter == "P" else letter), None if exact else operator.index

    def plan_address(self, value: Any, convert: Convert) -> tuple[str, Convert | None]:
        if self.letter not in ("P", None) or self.size != 8:
            raise self.wrong(value)
        return "Q", convert

    def bytes_of(self, value: Any) -> bytes:
        result = bytes(value)
        if len(result) != self.size:
            raise TypeError(f"{self.where} takes {self.size} bytes, but {len(result)} bytes were given")
        return result

    def address_of(self, array: Any) -> int:
        """Of a device array, by `__cuda_array_interface__`, else by DLPack."""
        try:
            return array.__cuda_array_interface__["data"][0]  # type: ignore[no-any-return]
        except AttributeError:
            return self.address_by_dlpack(array)

    def address_by_dlpack(self, array: Any) -> int:
        device = getattr(array, "__dlpack_device__", None)
        if device is None or int(device()[0]) not in DEVICES_OF_KERNELS:
            raise self.on_host(array)
        return dlpack_address(array)

    def address_of_tensor(self, tensor: Any) -> int:
        """Of torch's: its protocols take microseconds, and refuse tensors that require gradients."""
        if not tensor.is_cuda:
            raise self.on_host(tensor)
        return tensor.data_ptr()  # type: ignore[no-any-return]

    def on_host(self, array: Any) -> TypeError:
        return TypeError(f"{self.where} is a {named(type(array))} in host memory; a kernel takes device arrays, which have "
                         "__cuda_array_interface__ or are on a CUDA device by DLPack. Copy it to the device first")

    def as_signed(self, value: Any) -> Any:
        """An integer for a place whose type is not known, with the bits of the unsigned one."""
        if self.letter is None and isinstance(value, int) and value >> (8 * self.size - 1) == 1:
            return value - (1 << 8 * self.size)
        return value

    def check_range(self, value: Any) -> None:
        """Raises for a converted value that does not fit."""
        letter, _ = self.plan(value)
        try:
            struct.pack(f"={letter}", self.as_signed(value))
        except (struct.error, OverflowError):
            raise OverflowError(f"{self.where} takes {self.takes()}, which {value!r} does not fit in") from None


def named(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def is_tensor(value: Any) -> bool:
    kind = getattr(sys.modules.get("torch"), "Tensor", None)
    return isinstance(kind, type) and isinstance(value, kind)


def is_array(value: Any) -> bool:
    return any(hasattr(value, name) for name in ("__cuda_array_interface__", "__dlpack_device__", "__array_interface__"))


def bfloat16_bits(number: float) -> int:
    """Rounded to the nearest, of two the even one."""
    bits = int(struct.unpack("=I", struct.pack("=f", number))[0])
    if number != number:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


class DlTensor(ctypes.Structure):
    """The beginning of DLPack's DLManagedTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


def dlpack_address(array: Any) -> int:
    # The caller orders its streams itself: -1 asks the array's owner not to.
    capsule = array.__dlpack__(stream=-1)
    tensor = DlTensor.from_address(capsule_pointer(capsule, b"dltensor"))
    return int(tensor.data or 0) + int(tensor.byte_offset)


class Layout:
    """Where a kernel's parameters lie, and what each takes."""

    def __init__(self, kernel: str, symbol: str, params: tuple[Parameter, ...] | None) -> None:
        self.kernel = kernel
        self.told = params is not None
        sizes = None if params is None else [param.size for param in params]
        self.letters = letters_of(symbol, sizes)
        self.params = params

    def places(self, args: tuple[Any, ...]) -> tuple[list[Place], list[int]]:
        """The arguments' places and their offsets. Where the image does not tell them, the symbol's types and the values
        themselves do."""
        count = len(args)
        if self.params is not None:
            expected = len(self.params)
        else:
            expected = count if self.letters is None else len(self.letters)
        if count != expected:
            raise TypeError(f"{self.kernel} takes {expected} arguments, {count} were given")
        if self.params is not None:
            letters = self.letters or []
            return [Place(self.kernel, at, count, param.size, letter)
                    for at, (param, letter) in enumerate(zip(self.params, letters))], [param.offset for param in self.params]
        places, offsets, end = [], [], 0
        for at, value in enumerate(args):
            letter = None if self.letters is None else self.letters[at]
            size = SIZES.get(letter or "") or own_size(value)
            if size is None:
                raise TypeError(f"{self.kernel}: argument {at + 1} of {count} is a {named(type(value))}, and the image does "
                                "not tell what the kernel takes there. Give a ctypes value, or bytes")
            places.append(Place(self.kernel, at, count, size, letter))
            offsets.append(end)
            end += size
        return places, offsets


def own_size(value: Any) -> int | None:
    """How many bytes a value is by itself."""
    if isinstance(value, CTYPES):
        return ctypes.sizeof(value)
    if isinstance(value, (bytes, bytearray)):
        return len(value)
    if isinstance(value, memoryview):
        return value.nbytes
    return 8 if not isinstance(value, numbers.Number) and (is_tensor(value) or is_array(value)) else None
