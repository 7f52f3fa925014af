"""What kiln raises."""

from __future__ import annotations


class Error(Exception):
    """What went wrong, in words that are fit for a person.

    `code` is the kind in words, such as "compile_failed"; `message` names the thing and the remedy; `log` is the whole
    output of the compiler or the linker, else empty; `vendor_code` is NVRTC's, the driver's or SQLite's number, else 0.
    """

    def __init__(self, code: str, message: str, log: str = "", vendor_code: int = 0) -> None:
        super().__init__(code, message, log, vendor_code)
        self.code = code
        self.message = message
        self.log = log
        self.vendor_code = vendor_code

    def __str__(self) -> str:
        return f"{self.message}\n{self.log}" if self.log else self.message


class InvalidError(Error, ValueError):
    """A value, a setting, an option or an architecture makes no sense."""


class NotFoundError(Error, LookupError):
    """There is no kernel, entry or name such as was asked for."""


class CompileError(Error):
    """The compiler or the linker refused the source, or an include leads nowhere."""


class NotCachedError(Error):
    """Nothing stored serves, and compiling is forbidden."""


class CancelledError(Error):
    """The compile was cancelled."""


class MissingError(Error):
    """This machine has no usable NVRTC, driver, device or linker."""


class DriverError(Error):
    """The driver answered with an error, or is too old (before CUDA 12.3) to load what is missing while a stream is captured."""


class ArgumentError(Error, TypeError):
    """The kernel does not take these launch arguments."""


class OutOfMemoryError(Error, MemoryError):
    """This process has no memory left."""


CLASSES: dict[str, type[Error]] = {
    "invalid_argument": InvalidError,
    "invalid_setting": InvalidError,
    "invalid_option": InvalidError,
    "unknown_arch": InvalidError,
    "unknown_kernel": NotFoundError,
    "not_found": NotFoundError,
    "header_not_found": CompileError,
    "compile_failed": CompileError,
    "link_failed": CompileError,
    "not_cached": NotCachedError,
    "cancelled": CancelledError,
    "compiler_missing": MissingError,
    "driver_missing": MissingError,
    "driver_failed": DriverError,
    "capturing": DriverError,
    "argument_mismatch": ArgumentError,
    "out_of_memory": OutOfMemoryError,
}


def error_of(code: str, message: str, log: str = "", vendor_code: int = 0) -> Error:
    return CLASSES.get(code, Error)(code, message, log, vendor_code)
