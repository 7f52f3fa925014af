"""What is given to kiln, checked before C gets it: C would cut a text at a zero byte, and wrap a number."""

from __future__ import annotations

import numbers
import operator
import os

from ._errors import error_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._errors import Error

INT32 = (-(1 << 31), (1 << 31) - 1)
UINT32, UINT64 = (0, (1 << 32) - 1), (0, (1 << 64) - 1)
# The most seconds that the variables take.
A_DAY = 86400


def wrong_type(what: str, expected: str, value: object) -> TypeError:
    return TypeError(f"{what} has to be {expected}, not {type(value).__name__}")


def invalid(message: str) -> Error:
    return error_of("invalid_argument", message)


def bytes_of(value: object, what: str, expected: str = "bytes") -> bytes:
    try:
        return bytes(memoryview(value))  # type: ignore[arg-type]
    except TypeError:
        raise wrong_type(what, expected, value) from None


def encoded(value: object, what: str, expected: str = "a str or bytes") -> bytes:
    """As C reads it, up to the first zero byte: so there may be none."""
    try:
        result = value.encode() if isinstance(value, str) else bytes_of(value, what, expected)
    except UnicodeEncodeError:
        raise invalid(f"{what} holds half a character (a lone surrogate)") from None
    if b"\0" in result:
        raise invalid(f"{what} holds a NUL byte")
    return result


def encoded_for_files(value: object, what: str, expected: str) -> bytes:
    """The same for what is a path, or may have one in it."""
    try:
        result = os.fsencode(value)  # type: ignore[arg-type]
    except TypeError:
        raise wrong_type(what, expected, value) from None
    return encoded(result, what)


def path_bytes(path: object, what: str) -> bytes:
    """An empty path would be that of the working directory."""
    result = encoded_for_files(path, what, "a str, bytes or a pathlib.Path")
    if not result:
        raise invalid(f"{what}: the path is empty")
    return result


def absolute(path: object, what: str) -> bytes:
    return os.path.abspath(path_bytes(path, what))


def whole(value: object, what: str, bounds: tuple[int, int]) -> int:
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise wrong_type(what, "an int", value) from None
    least, most = bounds
    if not least <= number <= most:
        raise invalid(f"{what} is {number}; it can be a number from {least} to {most}")
    return number


def require_seconds(value: object, what: str) -> None:
    if not isinstance(value, numbers.Real):
        raise wrong_type(what, "a number of seconds", value)


def milliseconds(seconds: float, what: str, least: float = 0) -> int:
    """At least one, as 0 tells C that nothing is given."""
    require_seconds(seconds, what)
    if not least <= seconds <= A_DAY:
        raise invalid(f"{what} is {seconds}; it can be a number of seconds from {least} to {A_DAY}")
    return max(1, round(seconds * 1000))


def require_several(values: object, what: str) -> None:
    """Python would take one text for a list of its letters."""
    if isinstance(values, (str, bytes, bytearray, memoryview)):
        kind = type(values).__name__
        raise TypeError(f"{what} is one {kind}; give a list of {kind}")
    if not hasattr(values, "__iter__"):
        raise wrong_type(what, "a list", values)


def require_switch(value: object, what: str, expected: str = "True or False") -> None:
    if type(value).__name__ not in ("bool", "bool_"):  # numpy's, too
        raise wrong_type(what, expected, value)
