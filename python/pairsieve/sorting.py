"""Stable sorts of keys, of keys with values, and the permutation that sorts."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from . import _arrays
from ._arrays import view
from ._native import ArgumentError, CapacityError, Context, buffer_of, ffi, lib, locked, name_of, text, argument_errors
from .pairs import device_number, struct_dict

_KEYS = {"uint32": "U32", "int32": "I32", "float32": "F32", "uint64": "U64", "int64": "I64", "float64": "F64"}
_MOST_KEPT = 4  # sorters that sort and argsort keep for each thread


def methods(device: str | int = "cpu") -> list[str]:
    """Names of the sorting methods of a device, ``"auto"`` first."""
    backend = lib.PSV_BACKEND_CPU if device_number(device) < 0 else lib.PSV_BACKEND_CUDA
    names, index = ["auto"], 0
    while (name := text(lib.psv_sort_method_name(backend, index))) is not None:
        names.append(name)
        index += 1
    return names


def _one_row(array, name):
    one = view(array, name)
    if len(one.shape) != 1 or not one.contiguous:
        raise ArgumentError(f"{name} has shape {one.shape}; one dimension, contiguous, is wanted")
    return one


class Sorter:
    """A sorting method with its memory: made once, used every frame. All sorts are stable and in place.

    Parameters
    ----------
    max_count : int
        Most keys of a call.
    dtype : str or dtype
        Keys: uint32, int32, float32, uint64, int64 or float64. -0 and +0 are equal; NaN comes last.
    value_bytes : int
        0 (keys alone), 4 or 8: the largest values that will be sorted along.
    device : str or int
        As for PairFinder.
    descending : bool
    begin_bit, end_bit : int
        Only these bits of the transformed key are compared; end_bit 0: all.
    method : str
        See :func:`methods`; the default is the fastest that is known.
    stream : int or stream object, optional
        Default: the current stream of the library whose arrays are given.
    """

    @argument_errors
    def __init__(self, max_count: int, dtype: Any = "uint32", *, value_bytes: int = 4, device: str | int = "cpu", descending: bool = False,
                 begin_bit: int = 0, end_bit: int = 0, method: str = "radix", stream: Any = None) -> None:
        name = str(getattr(dtype, "name", dtype)).replace("torch.", "")
        if name not in _KEYS:
            raise ArgumentError(f"dtype is {dtype!r}; accepted: {', '.join(_KEYS)}")
        self.dtype = name
        self.device = device_number(device)
        self._stream = _arrays.stream_number(stream)
        self.context = Context(self.device, self._stream)
        self._lock = self.context.lock
        definition = ffi.new("psv_sorter_def *", lib.psv_default_sorter_def())
        keep = name_of(method, "method")
        definition.method = keep
        definition.key_type = getattr(lib, "PSV_KEY_" + _KEYS[name])
        try:
            definition.max_count, definition.value_bytes = max_count, value_bytes
            definition.begin_bit, definition.end_bit = begin_bit, end_bit
        except (OverflowError, TypeError) as error:
            raise ArgumentError(f"max_count {max_count!r}, value_bytes {value_bytes!r}: {error}") from None
        definition.descending = descending
        made = ffi.new("psv_sorter **")
        self.context.check(lib.psv_create_sorter(self.context.handle, definition, made))
        self.handle = made[0]
        self.max_count = max_count
        self.value_bytes = value_bytes
        self._finalizer = weakref.finalize(self, _destroy, self.handle, self.context)

    def _prepare(self, views, stream):
        device, current = _arrays.same_place(views)
        if device != self.device:
            raise ArgumentError(f"keys lie on {_arrays.place(device)}, the sorter works on {_arrays.place(self.device)}")
        if views[0].dtype != self.dtype:
            raise ArgumentError(f"keys are {views[0].dtype}; the sorter is for {self.dtype}")
        wanted = self._stream if stream is None else _arrays.stream_number(stream)
        self.context.use_stream(current if wanted is None else wanted)
        if views[0].shape[0] > self.max_count:
            raise CapacityError(f"{views[0].shape[0]} keys; the sorter has room for {self.max_count}", views[0].shape[0])

    @locked
    def sort(self, keys: Any, values: Any = None, *, stream: Any = None) -> None:
        """Sorts keys, and values of 4 or 8 bytes along with them, in place."""
        views = [_one_row(keys, "keys")] + ([] if values is None else [_one_row(values, "values")])
        for one in views:
            if not one.writable:
                raise ArgumentError("the array is read-only; sort() works in place")
        self._prepare(views, stream)
        n = views[0].shape[0]
        if values is None:
            self.context.check(lib.psv_sort_keys(self.handle, buffer_of(views[0].pointer, views[0].nbytes), n))
            return
        if views[1].shape[0] != n:
            raise ArgumentError(f"{n} keys and {views[1].shape[0]} values")
        if views[1].itemsize not in (4, 8):
            raise ArgumentError(f"values are {views[1].dtype}; 4 or 8 bytes each are wanted")
        self._check_values(views[1].itemsize)
        self.context.check(lib.psv_sort_pairs(self.handle, buffer_of(views[0].pointer, views[0].nbytes),
                                              buffer_of(views[1].pointer, views[1].nbytes), n))

    def _check_values(self, itemsize):
        if itemsize != self.value_bytes:
            raise ArgumentError(f"values of {itemsize} bytes; the sorter was made with value_bytes {self.value_bytes}")

    @locked
    def argsort(self, keys: Any, index: Any, *, keys_after: str = "undefined", stream: Any = None) -> None:
        """Writes the permutation that sorts: ``sorted = keys[index]``. Equal keys keep their order.

        index is int32 or uint32; `keys_after` says what `keys` holds afterwards: ``"sorted"``, ``"kept"`` or ``"undefined"`` (fastest).
        """
        views = [_one_row(keys, "keys"), _one_row(index, "index")]
        self._prepare(views, stream)
        if views[1].dtype not in ("int32", "uint32") or views[1].shape != views[0].shape or not views[1].writable:
            raise ArgumentError(f"index is {views[1].dtype} {views[1].shape}; writable int32 {views[0].shape} is wanted")
        if keys_after not in ("sorted", "kept", "undefined"):
            raise ArgumentError(f"keys_after is {keys_after!r}; accepted: 'sorted', 'kept', 'undefined'")
        self.context.check(lib.psv_sort_index(self.handle, buffer_of(views[0].pointer, views[0].nbytes),
                                              buffer_of(views[1].pointer, views[1].nbytes), views[0].shape[0],
                                              getattr(lib, "PSV_INDEX_KEYS_" + keys_after.upper())))

    @locked
    def statistics(self) -> dict[str, Any]:
        """Digit passes of the last call, as a dict. Waits for the device."""
        out = ffi.new("psv_sort_statistics *")
        self.context.check(lib.psv_read_sort_statistics(self.handle, out))
        return struct_dict(out)

    def method(self, count: int) -> str:
        """The method that runs for that many keys: never ``"auto"``."""
        return text(lib.psv_sorter_method(self.handle, count))


def _destroy(handle, _context):
    lib.psv_destroy_sorter(handle)


_local = threading.local()


def _kept_sorter(like, value_bytes, descending, method):
    kept = _local.__dict__.setdefault("sorters", {})
    key = (like.device, like.dtype, value_bytes, descending, method)
    count = like.shape[0]
    sorter = kept.pop(key, None)
    if sorter is None or sorter.max_count < count or sorter.max_count > 4 * count + 65536:
        sorter = None  # frees its memory first
        while len(kept) >= _MOST_KEPT:
            kept.pop(next(iter(kept)))
        sorter = Sorter(max(count + count // 4, 1024), like.dtype, value_bytes=value_bytes, device=like.device,
                        descending=descending, method=method)
    kept[key] = sorter
    return sorter


def _copy(array, like):
    made, made_view = _arrays.empty(like.shape, like.dtype, like)
    if like.maker == "jax":
        source = _arrays.wrap(like.pointer, like.shape, like.dtype, like.device, None, "cupy" if like.device >= 0 else "numpy", like.owner)
    else:
        source = array
    if like.shape[0]:
        _arrays.copy_into(made, source)
    return made, made_view


@argument_errors
def sort(keys: Any, *, descending: bool = False, method: str = "radix", stream: Any = None) -> Any:
    """A sorted copy of `keys`: stable, -0 equal to +0, NaN last. One dimension of uint32, int32, float32, uint64, int64 or float64.

    On a GPU nothing waits for the device.
    """
    like = _one_row(keys, "keys")
    made, made_view = _copy(keys, like)
    _kept_sorter(made_view, 0, descending, method).sort(made, stream=stream)
    return _arrays.finish(made, like)


@argument_errors
def argsort(keys: Any, *, descending: bool = False, method: str = "radix", stream: Any = None) -> Any:
    """The permutation that sorts `keys`, an int32 array of the same library: ``keys[argsort(keys)]`` is sorted. Stable.

    At most 2^31 - 1 keys. On a GPU nothing waits for the device.
    """
    like = _one_row(keys, "keys")
    if like.shape[0] >= 1 << 31:
        raise CapacityError(f"{like.shape[0]} keys; argsort numbers at most 2147483647")
    index, _ = _arrays.empty(like.shape, "int32", like)
    source = keys
    if like.maker == "jax":
        source = _arrays.wrap(like.pointer, like.shape, like.dtype, like.device, None, "cupy" if like.device >= 0 else "numpy", like.owner)
    if like.shape[0]:
        _kept_sorter(like, 4, descending, method).argsort(source, index, keys_after="kept", stream=stream)
    return _arrays.finish(index, like)


@argument_errors
def sort_pairs(keys: Any, values: Any, *, descending: bool = False, method: str = "radix", stream: Any = None) -> tuple[Any, Any]:
    """Sorted copies of `keys` and of the `values` (4 or 8 bytes each) that belong to them, as a tuple. Stable."""
    like, value_like = _one_row(keys, "keys"), _one_row(values, "values")
    made, made_view = _copy(keys, like)
    made_values, _ = _copy(values, value_like)
    _kept_sorter(made_view, value_like.itemsize, descending, method).sort(made, made_values, stream=stream)
    return _arrays.finish(made, like), _arrays.finish(made_values, value_like)
