"""Calls that XLA makes of Python functions while a compiled program runs on the CPU, by its foreign function interface.

``jax.pure_callback`` would do, but hands over arrays of JAX: to read one waits for a copy that, on a machine with few cores, needs the
thread that waits. Here functions see the memory of operands and results. What is declared below of XLA's interface is its part for
handlers: sizes and places have been the same since version 0.1, and XLA says which version it has.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._arrays import Memory
from ._peers import peer

jax = peer("jax", "pairsieve.jax", "jax")
if jax.__version_info__ < (0, 8):
    raise ImportError(f"pairsieve.jax needs JAX 0.8 or newer, whose XLA takes settings of calls; this is {jax.__version__}", name="jax")
ffi_calls = peer("jax.ffi", "pairsieve.jax", "jax")

_declarations = """
typedef struct xla_extension { size_t size; int kind; struct xla_extension *next; } xla_extension;
typedef struct { size_t size; xla_extension *extension; int major, minor; } xla_version;
typedef struct { size_t size; xla_version version; uint32_t traits; int64_t state_type; } xla_metadata;
typedef struct { xla_extension head; xla_metadata *metadata; } xla_metadata_question;
typedef struct { size_t size; xla_extension *extension; const char *message; int code; } xla_error;
typedef struct { size_t size; xla_extension *extension; xla_version version; void *internal; void *(*make_error)(xla_error *); } xla_api;
typedef struct { size_t size; xla_extension *extension; int type; void *data; int64_t rank; int64_t *lengths; } xla_buffer;
typedef struct { const char *text; size_t length; } xla_span;
typedef struct { size_t size; xla_extension *extension; int64_t count; int *kinds; xla_buffer **items; } xla_buffers;
typedef struct { size_t size; xla_extension *extension; int64_t count; int *kinds; xla_span **names; xla_span **items; } xla_attributes;
typedef struct {
    size_t size; xla_extension *extension; xla_api *api; void *context; int stage; xla_buffers operands, results; xla_attributes settings;
} xla_frame;
"""
_METADATA = 1  # kind of an extension
_FAILED = 13  # XLA's code for an internal error
_TYPES = {1: "bool", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "uint8", 7: "uint16", 8: "uint32", 9: "uint64", 10: "float16",
          11: "float32", 12: "float64"}

#: work(settings, operands, results): reads arrays of NumPy, and writes those of the results.
Work = Callable[[dict[str, Any], list[np.ndarray], list[np.ndarray]], None]
_c: Any = None
_kept: list[Any] = []  # handlers, which XLA calls as long as the program runs


def _reader() -> Any:
    global _c
    if _c is None:
        from cffi import FFI

        _c = FFI()
        _c.cdef(_declarations)
    return _c


def _arrays_of(c: Any, buffers: Any) -> list[np.ndarray]:
    made = []
    for i in range(buffers.count):
        one = buffers.items[i]
        shape = tuple(one.lengths[axis] for axis in range(one.rank))
        kind = _TYPES[one.type]
        empty = 0 in shape
        made.append(np.empty(shape, kind) if empty else np.asarray(Memory(int(c.cast("uintptr_t", one.data)), shape, kind, -1, None)))
    return made


def _answer(c: Any, work: Work, frame: Any) -> Any:
    """Runs the work of a frame, or answers XLA's question for the version; NULL or XLA's error."""
    extension = frame.extension
    if extension != c.NULL and extension.kind == _METADATA:
        metadata = c.cast("xla_metadata_question *", extension).metadata
        # Whatever version asks: the part that is declared here is the same in all of them.
        metadata.version.major, metadata.version.minor = (frame.api.version.major, frame.api.version.minor) if frame.api else (0, 1)
        return c.NULL
    settings = frame.settings.items[0]
    work(json.loads(c.buffer(settings.text, settings.length)[:]), _arrays_of(c, frame.operands), _arrays_of(c, frame.results))
    return c.NULL


def register(name: str, work: Work) -> None:
    """Makes `work` known to XLA by a name."""
    c = _reader()

    def handler(address: int) -> int:
        frame = c.cast("xla_frame *", address)
        try:
            made = _answer(c, work, frame)
        except BaseException as error:  # nothing else would tell
            message = c.new("char[]", f"{type(error).__name__}: {error}".encode())
            made = frame.api.make_error(c.new("xla_error *", dict(size=c.sizeof("xla_error"), message=message, code=_FAILED)))
        return int(c.cast("uintptr_t", made))

    _kept.append(ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(handler))
    ffi_calls.register_ffi_target(name, ffi_calls.pycapsule(_kept[-1]), platform="cpu")


def call(name: str, shapes: Sequence[Any], settings: dict[str, Any], *operands: Any, together: bool = False) -> Any:
    """What the work of that name writes: arrays of these shapes. Under vmap it runs once for each element, or once for all `together`."""
    made = ffi_calls.ffi_call(name, tuple(shapes), vmap_method="broadcast_all" if together else "sequential")
    return made(*operands, settings=json.dumps(settings, sort_keys=True))
