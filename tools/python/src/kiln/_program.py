"""What is compiled."""

from __future__ import annotations

import os
from ctypes import byref, c_size_t, c_void_p, pointer

from . import _library as c
from ._errors import error_of
from ._given import absolute, encoded, path_bytes, require_several, require_switch, wrong_type
from ._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


class Variant(Record):
    """An alternative of a program for some architectures. What is None is the program's own.

    `since` is which targets it is for: "sm_90a" means that target alone, "sm_100f" the `a` and `f` targets of that family,
    "sm_80" that target and all later ones. `kernels` maps name expressions of the program to the variant's own.
    """

    __slots__ = ("name", "since", "source", "file", "options", "kernels")

    def __init__(self, name: str, since: str, source: str | None = None, file: str | None = None,
                 options: tuple[str, ...] | None = None, kernels: Mapping[str, str] | None = None) -> None:
        super().__init__(name, since, source, file, options, {} if kernels is None else dict(kernels))

    name: str
    since: str
    source: str | None
    file: str | None
    options: tuple[str, ...] | None
    kernels: dict[str, str]


class Program:
    """Source text and all that is compiled with it, validated once. Immutable; any runtime and any thread may use it.

    `source` is CUDA C++, or the path of a file, which is read now. Of a file the program takes its name, and searches its
    folder before all `include_dirs`. Source text needs a `name`, which messages and `__FILE__` use.

    `kernels` are name expressions, such as "rms_norm<__half, 4096>". `headers` maps names, as they are included, to texts; it
    is searched before any directory. kiln's own device headers (`<kiln/...>`) are always there; `standard_headers` adds those
    of the C++ standard library that NVRTC does not bring. `toolkit_headers=False` leaves those of the CUDA toolkit out.
    `options` are the compiler's, such as "--std=c++20".

    Raises InvalidError, for an option that kiln owns with the argument to use instead.
    """

    def __init__(self, source: str | bytes | os.PathLike[str], *, name: str | None = None, kernels: Iterable[str] = (),
                 include_dirs: Iterable[str | os.PathLike[str]] = (), headers: Mapping[str, str] | None = None,
                 options: Iterable[str] = (), standard_headers: bool = False, toolkit_headers: bool = True,
                 variants: Iterable[Variant] = ()) -> None:
        for what, value in (("kernels", kernels), ("options", options), ("include_dirs", include_dirs)):
            require_several(value, what)
        require_switch(standard_headers, "standard_headers")
        require_switch(toolkit_headers, "toolkit_headers")
        folders = [path_bytes(folder, "include_dirs") for folder in include_dirs]
        if isinstance(source, os.PathLike):
            file = os.fsdecode(absolute(source, "source"))
            with open(file, "rb") as opened:
                text = opened.read()
            name = os.path.basename(file) if name is None else name
            folders.insert(0, os.fsencode(os.path.dirname(file)))
        else:
            text = encoded(source, "source", "a str, bytes or a pathlib.Path")
        if name is None:
            raise error_of("invalid_argument", "a program that is given as text has no name; give name='something.cu', or "
                           "pathlib.Path(...) for a file")
        self._name = name
        self._kernels = tuple(kernels)
        self._handle = make_handle(encoded(name, "name", "a str"), encoded(text, f"{name}'s text"), self._kernels, folders,
                                   headers or {}, tuple(options), standard_headers, toolkit_headers, tuple(variants))

    @property
    def name(self) -> str:
        return self._name

    @property
    def kernels(self) -> tuple[str, ...]:
        """The name expressions, as they were given."""
        return self._kernels

    def __repr__(self) -> str:
        return f"<kiln.Program {self._name}: {', '.join(self._kernels)}>"


def handle_of(program: Program) -> c.ProgramHandle:
    if not isinstance(program, Program):
        raise wrong_type("program", "a kiln.Program, as kiln.Program(source, name=..., kernels=[...]) makes one", program)
    return program._handle


def make_handle(name: bytes, source: bytes, kernels: tuple[str, ...], folders: list[bytes], headers: Mapping[str, str],
                options: tuple[str, ...], standard_headers: bool, toolkit_headers: bool,
                variants: tuple[Variant, ...]) -> c.ProgramHandle:
    own = header_set(headers)
    sets = [own.value] if own is not None else []
    sets.append(c.device_headers())
    if standard_headers:
        sets.append(c.standard_headers())
    expressions, expression_count = c.texts(kernels, "kernels")
    include_dirs, include_dir_count = c.texts(folders, "include_dirs")
    arguments, argument_count = c.texts(options, "options")
    specs = [variant_spec(variant) for variant in variants]
    spec = c.ProgramSpec(
        name=name, source=source, no_toolkit_headers=0 if toolkit_headers else 1,
        headers=(c_void_p * len(sets))(*sets), header_count=len(sets),
        include_dirs=include_dirs, include_dir_count=include_dir_count,
        kernels=expressions, kernel_count=expression_count, options=arguments, option_count=argument_count,
        variants=(type(pointer(c.VariantSpec())) * max(1, len(specs)))(*map(pointer, specs)), variant_count=len(specs))
    handle = c.ProgramHandle()
    c.check(c.program_make(byref(spec), byref(handle)))
    return handle


def header_set(headers: Mapping[str, str]) -> c.HeaderSetHandle | None:
    if not headers:
        return None
    if not hasattr(headers, "items"):
        raise wrong_type("headers", "a dict of names and texts", headers)
    array = (c.Header * len(headers))(*(c.Header(encoded(name, "a header's name"), encoded(text, f"the header {name}"))
                                        for name, text in headers.items()))
    handle = c.HeaderSetHandle()
    c.check(c.header_set_make(array, c_size_t(len(headers)), byref(handle)))
    return handle


def variant_spec(variant: Variant) -> c.VariantSpec:
    def given(value: str | None) -> bytes | None:
        return None if value is None else encoded(value, f"the variant {variant.name}")

    replaced = [c.ReplacedKernel(encoded(expression, "a kernel"), encoded(own, "a kernel"))
                for expression, own in variant.kernels.items()]
    fields: dict[str, Any] = {"kernels": (c.ReplacedKernel * max(1, len(replaced)))(*replaced),
                              "kernel_count": len(replaced)}
    if variant.options is not None:
        what = f"the options of the variant {variant.name}"
        require_several(variant.options, what)
        fields["options"], fields["option_count"] = c.texts(variant.options, what)
    return c.VariantSpec(name=given(variant.name), since=given(variant.since), file=given(variant.file),
                         source=given(variant.source), **fields)
