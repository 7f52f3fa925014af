"""libkiln_c: found, opened, declared. The only module that knows how the C functions are called."""

from __future__ import annotations

import os
from ctypes import (CDLL, CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64,
                    c_void_p, sizeof)

from ._errors import error_of
from ._given import encoded_for_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._errors import Error

FOLDER = os.path.dirname(os.path.abspath(__file__))
IMAGES = ("cubin", "ptx", "ltoir", "optixir", "fatbin")
ORIGINS = ("compiled", "memory", "local", "bundle", "remote")
EVENTS = ("hit", "miss", "compile_begin", "compile_end", "store", "not_stored", "load", "launch_failed",
          "remote_store", "lease_wait")
LOG_LEVELS = ("off", "warn", "info", "debug")
MODES = ("jit", "warn", "cache-only")
TOOLS = ("compiler", "driver", "linker", "packer", "worker")
CLUSTER_SCHEDULINGS = ("spread", "load-balancing")
KNOWN_API_VERSION = 6


class Bytes(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class Sized(Structure):
    """A structure that begins with its size, by which an older and a newer library know what it has."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=sizeof(self), **fields)


class Header(Structure):
    _fields_ = [("name", c_char_p), ("text", c_char_p)]


class ReplacedKernel(Structure):
    _fields_ = [("expression", c_char_p), ("replacement", c_char_p)]


Texts = POINTER(c_char_p)


class VariantSpec(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("since", c_char_p), ("file", c_char_p), ("source", c_char_p),
                ("options", Texts), ("option_count", c_size_t),
                ("kernels", POINTER(ReplacedKernel)), ("kernel_count", c_size_t)]


class ProgramSpec(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("source", c_char_p), ("no_toolkit_headers", c_int32),
                ("headers", POINTER(c_void_p)), ("header_count", c_size_t),
                ("include_dirs", Texts), ("include_dir_count", c_size_t),
                ("kernels", Texts), ("kernel_count", c_size_t),
                ("options", Texts), ("option_count", c_size_t),
                ("variants", POINTER(POINTER(VariantSpec))), ("variant_count", c_size_t)]


class EventFields(Structure):
    _fields_ = [("size", c_size_t), ("kind", c_int32), ("origin", c_int32), ("program", c_char_p), ("arch", c_char_p),
                ("key", c_char_p), ("milliseconds", c_double), ("detail", c_char_p)]


LogCallback = CFUNCTYPE(None, c_void_p, c_int32, c_char_p)
Observer = CFUNCTYPE(None, c_void_p, POINTER(EventFields))
PrefetchCallback = CFUNCTYPE(c_int32, c_void_p, c_size_t, c_void_p, c_void_p, c_size_t, c_size_t)


class RuntimeOptions(Sized):
    _fields_ = [("size", c_size_t), ("cache_directory", c_char_p), ("cache_disabled", c_int32),
                ("cache_read_only", c_int32), ("cache_trust_others", c_int32), ("allow_ptx", c_int32),
                ("cache_max_bytes", c_uint64), ("bundles", Texts), ("bundle_count", c_size_t),
                ("embedded_bundles", POINTER(Bytes)), ("embedded_bundle_count", c_size_t), ("mode", c_int32),
                ("compile_workers", c_int32), ("compile_timeout", c_uint64), ("compile_patience", c_uint64),
                ("nvrtc", c_char_p), ("nvjitlink", c_char_p), ("nvfatbin", c_char_p), ("cuda_driver", c_char_p),
                ("worker", c_char_p), ("variant", c_char_p), ("record", c_char_p), ("log_level", c_int32),
                ("log", LogCallback), ("log_user", c_void_p), ("observer", Observer), ("observer_user", c_void_p),
                ("cache_trust_owners", c_char_p), ("cache_group", c_char_p), ("engine", c_char_p),
                ("trusted_keys", c_char_p), ("signing_key", c_char_p), ("remotes", c_char_p),
                ("remote_helper", c_char_p)]


class CountersFields(Sized):
    NAMES = ("memory_hits", "local_hits", "bundle_hits", "misses", "compiles", "precompiled", "combines", "waits",
             "stores", "refusals", "cache_errors", "loads", "remote_hits", "lease_waits")
    _fields_ = [("size", c_size_t), *((name, c_uint64) for name in NAMES)]


class RemoteFields(Sized):
    TEXTS = ("url", "fault", "last_failure")
    SWITCHES = ("read_only", "resting", "gives_leases")
    NUMBERS = ("round_trip_us", "asked", "found", "failures", "slow", "pushed", "duplicates", "dropped", "waiting",
               "lease_waits")
    _fields_ = [("size", c_size_t), *((name, c_char_p) for name in TEXTS), *((name, c_int32) for name in SWITCHES),
                *((name, c_uint64) for name in NUMBERS)]


class AvailabilityFields(Sized):
    _fields_ = [("size", c_size_t), ("available", c_int32), ("description", c_char_p), ("reason", c_char_p),
                ("path", c_char_p)]


class ArtifactFields(Sized):
    _fields_ = [("size", c_size_t), ("key", c_char_p), ("program", c_char_p), ("arch", c_char_p), ("kind", c_int32),
                ("origin", c_int32), ("image", Bytes), ("log", c_char_p), ("toolchain", c_char_p),
                ("compile_us", c_uint64), ("kernel_count", c_size_t)]


class ParameterFields(Structure):
    _fields_ = [("offset", c_uint32), ("size", c_uint32)]


class KernelFields(Sized):
    _fields_ = [("size", c_size_t), ("expression", c_char_p), ("symbol", c_char_p), ("arch", c_char_p),
                ("kind", c_int32), ("registers", c_uint32), ("shared_bytes", c_uint32), ("local_bytes", c_uint32),
                ("params_known", c_int32), ("param_count", c_size_t), ("params", POINTER(ParameterFields))]


class LinkSpec(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("inputs", POINTER(c_void_p)), ("input_count", c_size_t),
                ("arch", c_char_p), ("kind", c_int32), ("options", Texts), ("option_count", c_size_t),
                ("kernels", Texts), ("kernel_count", c_size_t)]


class Target(Structure):
    _fields_ = [("arch", c_char_p), ("kind", c_int32)]


class ExplanationFields(Sized):
    _fields_ = [("size", c_size_t), ("hit", c_int32), ("origin", c_int32), ("key", c_char_p), ("reason", c_char_p),
                ("summary", c_char_p)]


class PrefetchItem(Structure):
    _fields_ = [("program", c_void_p), ("arch", c_char_p), ("kind", c_int32)]


class PrefetchFields(Sized):
    _fields_ = [("size", c_size_t), ("hits", c_size_t), ("compiled", c_size_t), ("failures", c_size_t)]


class Dim3(Structure):
    _fields_ = [("x", c_uint32), ("y", c_uint32), ("z", c_uint32)]


class LaunchConfig(Sized):
    _fields_ = [("size", c_size_t), ("grid", Dim3), ("block", Dim3), ("shared_bytes", c_uint32),
                ("cooperative", c_int32), ("cluster", Dim3), ("preferred_cluster", Dim3),
                ("cluster_scheduling", c_int32), ("programmatic_serialization", c_int32),
                ("has_priority", c_int32), ("priority", c_int32)]


class AttributesFields(Sized):
    NAMES = ("registers", "shared_bytes", "local_bytes", "constant_bytes", "max_threads_per_block",
             "max_dynamic_shared_bytes")
    _fields_ = [("size", c_size_t), *((name, c_uint32) for name in NAMES), ("required_cluster", Dim3),
                ("binary_version", c_uint32)]


def path() -> str:
    """The library's file: that of the wheel, unless `KILN_PYTHON_LIBRARY` names another one."""
    return os.environ.get("KILN_PYTHON_LIBRARY") or os.path.join(FOLDER, "libkiln_c.so")


def open_library() -> CDLL:
    try:
        opened = CDLL(path())
    except OSError as failure:
        raise ImportError(f"kiln's library cannot be opened: {failure}. Install kiln from its wheel, or name the library "
                          "with KILN_PYTHON_LIBRARY") from None
    opened.kiln_api_version.restype = c_uint32
    version = opened.kiln_api_version()
    if version < KNOWN_API_VERSION:
        raise ImportError(f"{path()} has version {version} of kiln's C API; this package needs {KNOWN_API_VERSION}")
    return opened


library = open_library()


def declare(name: str, result: Any) -> Any:
    function = getattr(library, f"kiln_{name}")
    function.restype = result
    return function


error_code = declare("error_code", c_int32)
error_code_name = declare("error_code_name", c_char_p)
error_message = declare("error_message", c_char_p)
error_log = declare("error_log", c_char_p)
error_vendor_code = declare("error_vendor_code", c_int32)
error_free = declare("error_free", None)
device_headers = declare("device_headers", c_void_p)
standard_headers = declare("standard_headers", c_void_p)


def fallible(name: str) -> Any:
    """A function that gives an error's address, or None. Arguments are ctypes values: nothing converts them, which is half
    of what a call costs. Whoever calls it hands the result to check()."""
    return declare(name, c_void_p)


header_set_make, program_make = fallible("header_set_make"), fallible("program_make")
runtime_open, runtime_set_mode = fallible("runtime_open"), fallible("runtime_set_mode")
runtime_check_cache, runtime_get_counters = fallible("runtime_check_cache"), fallible("runtime_get_counters")
runtime_get_remotes, remotes_get_info = fallible("runtime_get_remotes"), fallible("remotes_get_info")
runtime_availability, availability_get_info = fallible("runtime_availability"), fallible("availability_get_info")
runtime_compile_async, compiling_wait = fallible("runtime_compile_async"), fallible("compiling_wait")
compiling_get, compiling_cancel = fallible("compiling_get"), fallible("compiling_cancel")
artifact_get_info, artifact_get_kernel = fallible("artifact_get_info"), fallible("artifact_get_kernel")
runtime_link, runtime_fatbin = fallible("runtime_link"), fallible("runtime_fatbin")
runtime_explain, explanation_get_info = fallible("runtime_explain"), fallible("explanation_get_info")
runtime_prefetch = fallible("runtime_prefetch")
runtime_kernel, runtime_kernel_for_target = fallible("runtime_kernel"), fallible("runtime_kernel_for_target")
kernel_get_info, kernel_launch = fallible("kernel_get_info"), fallible("kernel_launch")
kernel_get_attributes = fallible("kernel_get_attributes")
kernel_blocks_per_multiprocessor = fallible("kernel_blocks_per_multiprocessor")


def text(value: bytes | None) -> str:
    return (value or b"").decode(errors="replace")


def take_error(address: int) -> Error:
    """The exception for an error that a function gave. The error ends here."""
    error = c_void_p(address)
    try:
        return borrowed_error(address)
    finally:
        error_free(error)


def borrowed_error(address: int) -> Error:
    error = c_void_p(address)
    return error_of(text(error_code_name(error)), text(error_message(error)), text(error_log(error)),
                    error_vendor_code(error))


def check(error: int | None) -> None:
    if error is not None:
        raise take_error(error)


def texts(values: Any, what: str) -> tuple[Any, int]:
    """An array of C's strings, which lives as long as the caller keeps it, and how many there are."""
    given = [encoded_for_files(value, what, "a list of str") for value in values]
    return (c_char_p * max(1, len(given)))(*given), len(given)


def place_in(names: tuple[str, ...], name: str, what: str) -> int:
    try:
        return names.index(name)
    except ValueError:
        raise error_of("invalid_argument", f"{what} is '{name}'; it can be {', '.join(names)}") from None


def name_in(names: tuple[str, ...], number: int) -> str:
    """A later library may have more of them."""
    return names[number] if 0 <= number < len(names) else f"unknown ({number})"


def all_of(objects: Any) -> list[Any]:
    """What a weak set holds, while other threads may add to it."""
    while True:
        try:
            return list(objects)
        except RuntimeError:
            continue


class Handle(c_void_p):
    """One of kiln's, freed with the last reference to it. A call that is under way has a reference."""

    free: Any = None
    # Bytes that have to live as long.
    embedded: Any = None

    def __del__(self) -> None:
        if self.value is not None:
            self.free(self)
            self.value = None


class ProgramHandle(Handle):
    free = declare("program_free", None)


class HeaderSetHandle(Handle):
    free = declare("header_set_free", None)


class RuntimeHandle(Handle):
    free = declare("runtime_close", None)


class RemotesHandle(Handle):
    free = declare("remotes_free", None)


class AvailabilityHandle(Handle):
    free = declare("availability_free", None)


class ArtifactHandle(Handle):
    free = declare("artifact_free", None)


class ExplanationHandle(Handle):
    free = declare("explanation_free", None)


class CompilingHandle(Handle):
    free = declare("compiling_free", None)


class KernelHandle(Handle):
    free = declare("kernel_free", None)
