"""What a compile gives."""

from __future__ import annotations

from ctypes import byref, c_size_t, c_ubyte

from . import _library as c
from ._record import Record
from ._signature import parameter_letters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Parameter(Record):
    """One parameter of a kernel: its bytes, and its kind: "pointer", "integer", "floating", or "unknown" where the symbol
    does not tell it or it is a type of the program's own."""

    __slots__ = ("offset", "size", "kind")

    offset: int
    size: int
    kind: str


class KernelInfo(Record):
    """What is known of a kernel without loading it. `params` is None for images that do not tell (PTX, LTO-IR,
    OptiX-IR)."""

    __slots__ = ("expression", "symbol", "arch", "image", "registers", "shared_bytes", "local_bytes", "params")

    expression: str
    symbol: str
    arch: str
    image: str
    registers: int
    shared_bytes: int
    local_bytes: int
    params: tuple[Parameter, ...] | None


SIZES = {"?": 1, "b": 1, "B": 1, "h": 2, "H": 2, "e": 2, "bfloat16": 2, "i": 4, "I": 4, "f": 4, "q": 8, "Q": 8, "d": 8,
         "P": 8}


def kind_of(letter: str | None) -> str:
    if letter is None or letter == "other":
        return "unknown"
    if letter == "P":
        return "pointer"
    return "floating" if letter in ("e", "f", "d", "bfloat16") else "integer"


def letters_of(symbol: str, sizes: list[int] | None) -> list[str | None] | None:
    """The letters of a kernel's parameters, None for each whose type is not known. None where nothing is known, not even
    how many there are."""
    letters = parameter_letters(symbol)
    if sizes is None:
        return None if letters is None else [*letters]
    if letters is None or len(letters) != len(sizes) or any(
            SIZES.get(letter, size) != size for letter, size in zip(letters, sizes)):
        return [None] * len(sizes)
    return [*letters]


def kernel_info(fields: c.KernelFields) -> KernelInfo:
    symbol = c.text(fields.symbol)
    params: tuple[Parameter, ...] | None = None
    if fields.params_known:
        told = [(fields.params[at].offset, fields.params[at].size) for at in range(fields.param_count)]
        letters = letters_of(symbol, [size for _, size in told]) or []
        params = tuple(Parameter(offset, size, kind_of(letter)) for (offset, size), letter in zip(told, letters))
    return KernelInfo(c.text(fields.expression), symbol, c.text(fields.arch), c.name_in(c.IMAGES, fields.kind), fields.registers,
                      fields.shared_bytes, fields.local_bytes, params)


class Artifact:
    """A compiled program for one architecture. Immutable; outlives the runtime."""

    def __init__(self, handle: c.ArtifactHandle) -> None:
        self._handle = handle
        self._fields = c.ArtifactFields()
        self._kernels: tuple[KernelInfo, ...] | None = None
        c.check(c.artifact_get_info(handle, byref(self._fields)))

    @property
    def key(self) -> str:
        """32 hexadecimal digits, by which the tool `kiln` finds the entry."""
        return c.text(self._fields.key)

    @property
    def program(self) -> str:
        """The program's name."""
        return c.text(self._fields.program)

    @property
    def arch(self) -> str:
        return c.text(self._fields.arch)

    @property
    def image_kind(self) -> str:
        """"cubin", "ptx", "ltoir", "optixir" or "fatbin"."""
        return c.name_in(c.IMAGES, self._fields.kind)

    @property
    def origin(self) -> str:
        """Who served it: "compiled" for nobody, "memory" for this process, "local" for the cache on disk, "bundle"."""
        return c.name_in(c.ORIGINS, self._fields.origin)

    @property
    def image(self) -> memoryview:
        """The image's bytes, not copied, read-only. The view keeps them alive."""
        told = self._fields.image
        array: Any = (c_ubyte * told.size).from_address(told.data) if told.size else (c_ubyte * 0)()
        array.owner = self._handle
        return memoryview(array).cast("B").toreadonly()

    @property
    def log(self) -> str:
        """The compiler's warnings; empty when it had nothing to say."""
        return c.text(self._fields.log)

    @property
    def toolchain(self) -> str:
        """For people, such as "NVRTC 13.0"."""
        return c.text(self._fields.toolchain)

    @property
    def compile_seconds(self) -> float:
        """What the compile took when it was made."""
        return float(self._fields.compile_us) / 1e6

    @property
    def kernels(self) -> tuple[KernelInfo, ...]:
        """In the sorted order of their expressions."""
        if self._kernels is None:
            self._kernels = tuple(self._kernel(at) for at in range(self._fields.kernel_count))
        return self._kernels

    def _kernel(self, index: int) -> KernelInfo:
        fields = c.KernelFields()
        c.check(c.artifact_get_kernel(self._handle, c_size_t(index), byref(fields)))
        return kernel_info(fields)

    def __repr__(self) -> str:
        return f"<kiln.Artifact {self.program} for {self.arch}: {self._fields.image.size} bytes, {self.origin}>"
