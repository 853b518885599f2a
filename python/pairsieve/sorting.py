"""Stable sorts of keys, of keys with values, and the permutation that sorts."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, overload

from numpy.typing import NDArray

from . import _arrays
from ._arrays import View, view
from ._native import (ArgumentError, CapacityError, Context, Worker, argument_errors, buffer_of, ffi, integer, lib, locked, name_of,
                      names_of, text)
from .pairs import backend_of, device_number, device_text, sorters, struct_dict
from .typing import AnyArray, Array, Device, HostArray, Indices, KeysAfter, NaNOrder, Scalar, Stream

_KEYS = {"uint32": "U32", "int32": "I32", "float32": "F32", "uint64": "U64", "int64": "I64", "float64": "F64", "uint8": "U8", "int8": "I8",
         "uint16": "U16", "int16": "I16", "float16": "F16", "bfloat16": "BF16", "S16": "BYTES16"}
_KEYS_AFTER = ("sorted", "kept", "undefined")
_NAN = {"last": lib.PSV_NAN_LAST, "bits": lib.PSV_NAN_BITWISE}


def methods(device: Device = "cpu") -> list[str]:
    """Names of the sorting methods of a device, ``"auto"`` first."""
    backend = backend_of(device)
    return names_of(["auto"], lambda index: lib.psv_sort_method_name(backend, index))


def one_row(array: Any, name: str) -> View:
    """A View of one dimension, contiguous."""
    one = view(array, name)
    if len(one.shape) != 1 or not one.contiguous:
        raise ArgumentError(f"{name} has shape {one.shape}; one dimension, contiguous, is wanted")
    return one


class SorterOfKeys(Worker):
    """What sorters of one list and of many have in common. ``kind`` is the library's name: ``sorter``, ``segment_sorter``."""

    kind: str

    def _create(self, max_count: int, dtype: Any, value_bytes: int, device: Device, descending: bool, begin_bit: int, end_bit: int,
                nan: str, stream: Stream | None, **fields: Any) -> None:
        name = str(getattr(dtype, "name", dtype)).replace("torch.", "").replace("bytes128", "S16")
        if name not in _KEYS:
            raise ArgumentError(f"dtype is {dtype!r}; accepted: {', '.join(_KEYS)}")
        if nan not in _NAN:
            raise ArgumentError(f"nan is {nan!r}; accepted: {', '.join(map(repr, _NAN))}")
        self.dtype = name
        self.device = device_number(device)
        self._stream = _arrays.stream_number(stream)
        self.context = Context(self.device, self._stream)
        self._lock = self.context.lock
        definition = ffi.new(f"psv_{self.kind}_def *", getattr(lib, f"psv_default_{self.kind}_def")())
        definition.key_type = getattr(lib, "PSV_KEY_" + _KEYS[name])
        numbers = dict(max_count=max_count, value_bytes=value_bytes, begin_bit=begin_bit, end_bit=end_bit)
        for field, value in numbers.items():
            setattr(definition, field, integer(value, field, most=(1 << 64) - 1 if field == "max_count" else 255))
        for field, value in fields.items():
            setattr(definition, field, value)
        definition.descending, definition.nan_policy = bool(descending), _NAN[nan]
        made = ffi.new(f"psv_{self.kind} **")
        self.context.check(getattr(lib, f"psv_create_{self.kind}")(self.context.handle, definition, made))
        self.handle: Any = made[0]
        self.max_count, self.value_bytes, self.descending = max_count, value_bytes, bool(descending)
        # The context outlives the sorter: the finalizer holds it.
        self._finalizer = weakref.finalize(self, _destroy, getattr(lib, f"psv_destroy_{self.kind}"), self.handle, self.context)

    def _described(self) -> str:
        order = ", descending" if self.descending else ""
        return f"{self.max_count:,} {self.dtype} keys with {self.value_bytes} bytes of values on {device_text(self.device)}{order}"

    def _prepare(self, views: Sequence[View], stream: Stream | None) -> None:
        device, current = _arrays.same_place(views)
        if device != self.device:
            raise ArgumentError(f"keys lie on {_arrays.place(device)}, the sorter works on {_arrays.place(self.device)}")
        if views[0].dtype != self.dtype:
            raise ArgumentError(f"keys are {views[0].dtype}; the sorter is for {self.dtype}")
        wanted = self._stream if stream is None else _arrays.stream_number(stream)
        self.context.use_stream(current if wanted is None else wanted)
        if views[0].shape[0] > self.max_count:
            raise CapacityError(f"{views[0].shape[0]} keys; the sorter has room for {self.max_count}", views[0].shape[0])

    def _check_values(self, keys: View, values: View | None) -> None:
        for one in (keys, values):
            if one is not None and not one.writable:
                raise ArgumentError("the array is read-only; sort() works in place")
        if values is None:
            return
        if values.shape != keys.shape:
            raise ArgumentError(f"{keys.shape[0]} keys and {values.shape[0]} values")
        if values.itemsize not in (4, 8):
            raise ArgumentError(f"values are {values.dtype}; 4 or 8 bytes each are wanted")
        if values.itemsize != self.value_bytes:
            raise ArgumentError(f"values of {values.itemsize} bytes; the sorter was made with value_bytes {self.value_bytes}")

    def _run(self, call: Any, views: Sequence[View], *more: Any, keep: Any = None) -> None:
        """The call for keys and what is sorted along with them."""
        n = views[0].shape[0]
        buffers = [buffer_of(one.pointer, one.nbytes) for one in views]
        self.context.check(self.context.run(n, (self, views, keep), call, self.handle, *buffers, n, *more))


def check_index(keys: View, index: View, keys_after: str) -> Any:
    """The library's number of `keys_after`; the index has to be writable and of the keys' length."""
    if index.dtype not in ("int32", "uint32") or index.shape != keys.shape or not index.writable:
        raise ArgumentError(f"index is {index.dtype} {index.shape}; writable int32 {keys.shape} is wanted")
    if keys_after not in _KEYS_AFTER:
        raise ArgumentError(f"keys_after is {keys_after!r}; accepted: 'sorted', 'kept', 'undefined'")
    return getattr(lib, "PSV_INDEX_KEYS_" + keys_after.upper())


class Sorter(SorterOfKeys):
    """A sorting method with its memory: made once, used every frame. All sorts are stable and in place.

    Parameters
    ----------
    max_count : int
        Most keys of a call.
    dtype : str or dtype
        Keys: integers of 8 to 64 bits, float16, bfloat16, float32, float64, or S16 (strings of up to 16 bytes).
        -0 and +0 are equal.
    value_bytes : int
        0 (keys alone), 4 or 8: the largest values that will be sorted along.
    device : str or int
        As for PairFinder.
    descending : bool
    begin_bit, end_bit : int
        Only these bits of the transformed key are compared; end_bit 0: all.
    method : str
        See :func:`pairsieve.sort_methods`; the default is the fastest that is known.
    nan : str
        "last": NaN after every number in both orders, equal among each other. "bits": by sign and bits, negative NaN below and positive
        NaN above every number.
    stream : int or stream object, optional
        Default: the current stream of the library whose arrays are given.
    """

    kind = "sorter"

    @argument_errors
    def __init__(self, max_count: int, dtype: Any = "uint32", *, value_bytes: int = 4, device: Device = "cpu", descending: bool = False,
                 begin_bit: int = 0, end_bit: int = 0, method: str = "radix", nan: NaNOrder = "last",
                 stream: Stream | None = None) -> None:
        name = name_of(method, "method")
        self._create(max_count, dtype, value_bytes, device, descending, begin_bit, end_bit, nan, stream, method=name)
        self._method = method

    def __repr__(self) -> str:
        """Room, type of keys, device and method."""
        return f"<pairsieve.Sorter for {self._described()}, method {self._method!r}>"

    @locked
    def sort(self, keys: AnyArray, values: AnyArray | None = None, *, stream: Stream | None = None) -> None:
        """Sorts keys, and values of 4 or 8 bytes along with them, in place."""
        views = [one_row(keys, "keys")] + ([] if values is None else [one_row(values, "values")])
        self._prepare(views, stream)
        self._check_values(views[0], views[1] if len(views) > 1 else None)
        self._run(lib.psv_sort_keys if values is None else lib.psv_sort_pairs, views)

    @locked
    def argsort(self, keys: AnyArray, index: AnyArray, *, keys_after: KeysAfter = "undefined", stream: Stream | None = None) -> None:
        """Writes the permutation that sorts: ``sorted = keys[index]``. Equal keys keep their order.

        index is int32 or uint32; `keys_after` says what `keys` holds afterwards: ``"sorted"``, ``"kept"`` or ``"undefined"`` (fastest).
        """
        views = [one_row(keys, "keys"), one_row(index, "index")]
        self._prepare(views, stream)
        self._run(lib.psv_sort_index, views, check_index(views[0], views[1], keys_after))

    @locked
    def statistics(self) -> dict[str, Any]:
        """Digit passes of the last call, as a dict. Waits for the device."""
        out = ffi.new("psv_sort_statistics *")
        self.context.check(lib.psv_read_sort_statistics(self.handle, out))
        return struct_dict(out)

    def method(self, count: int) -> str:
        """The method that runs for that many keys: never ``"auto"``."""
        return text(lib.psv_sorter_method(self.handle, integer(count, "count"))) or "?"


def _destroy(release: Any, handle: Any, _context: Context) -> None:
    release(handle)


def _kept_sorter(like: View, value_bytes: int, descending: bool, method: str, nan: NaNOrder = "last") -> Sorter:
    key = (like.device, like.dtype, value_bytes, bool(descending), method, nan)
    count = like.shape[0]
    sorter: Sorter | None = sorters.take(key, lambda kept: count <= kept.max_count <= 4 * count + 65536)
    if sorter is None:
        sorter = Sorter(max(count + count // 4, 1024), like.dtype, value_bytes=value_bytes, device=like.device,
                        descending=descending, method=method, nan=nan)
    sorters.objects[key] = sorter
    return sorter


def to_copy(array: Any, name: str) -> View:
    """A View of one dimension, of any stride: for calls that copy it."""
    one = view(array, name)
    if len(one.shape) != 1:
        raise ArgumentError(f"{name} has shape {one.shape}; one dimension is wanted")
    return one


def source_of(like: View) -> Any:
    """What `like` shows, as an array that can be copied into what `empty` makes for it."""
    if like.maker == "jax":
        return _arrays.wrap(like.pointer, like.shape, like.dtype, like.device, None, "cupy" if like.device >= 0 else "numpy", like.owner)
    return like.owner[0] if isinstance(like.owner, tuple) else like.owner


def copy_of(like: View) -> tuple[Any, View]:
    """A contiguous copy, and its View."""
    made, made_view = _arrays.empty(like.shape, like.dtype, like)
    if like.shape[0]:
        _arrays.copy_into(made, source_of(like))
    return made, made_view


@overload
def sort(keys: NDArray[Scalar], *, descending: bool = False, method: str = "radix", stream: Stream | None = None) -> NDArray[Scalar]: ...
@overload
def sort(keys: Array, *, descending: bool = False, method: str = "radix", stream: Stream | None = None) -> Array: ...
@overload
def sort(keys: Sequence[float], *, descending: bool = False, method: str = "radix", stream: Stream | None = None) -> HostArray: ...
@argument_errors
def sort(keys: Any, *, descending: bool = False, method: str = "radix", stream: Any = None) -> Any:
    """A sorted copy of `keys`: stable, -0 equal to +0, NaN last. One dimension of a type that Sorter knows.

    On a GPU nothing waits for the device.
    """
    like = to_copy(keys, "keys")
    made, made_view = copy_of(like)
    _kept_sorter(made_view, 0, descending, method).sort(made, stream=stream)
    return _arrays.finish(made, like)


@overload
def argsort(keys: HostArray | Sequence[float], *, descending: bool = False, method: str = "radix",
            stream: Stream | None = None) -> Indices: ...
@overload
def argsort(keys: Array, *, descending: bool = False, method: str = "radix", stream: Stream | None = None) -> Array: ...
@argument_errors
def argsort(keys: Any, *, descending: bool = False, method: str = "radix", stream: Any = None) -> Any:
    """The permutation that sorts `keys`, an int32 array of the same library: ``keys[argsort(keys)]`` is sorted. Stable.

    At most 2^31 - 1 keys. On a GPU nothing waits for the device.
    """
    like = to_copy(keys, "keys")
    if like.shape[0] >= 1 << 31:
        raise CapacityError(f"{like.shape[0]} keys; argsort numbers at most 2147483647")
    index, _ = _arrays.empty(like.shape, "int32", like)
    source = source_of(like) if like.contiguous else copy_of(like)[0]
    if like.shape[0]:
        _kept_sorter(like, 4, descending, method).argsort(source, index, keys_after="kept", stream=stream)
    return _arrays.finish(index, like)


@overload
def sort_pairs(keys: NDArray[Scalar], values: HostArray, *, descending: bool = False, method: str = "radix",
               stream: Stream | None = None) -> tuple[NDArray[Scalar], HostArray]: ...
@overload
def sort_pairs(keys: Array, values: Array, *, descending: bool = False, method: str = "radix",
               stream: Stream | None = None) -> tuple[Array, Array]: ...
@argument_errors
def sort_pairs(keys: Any, values: Any, *, descending: bool = False, method: str = "radix", stream: Any = None) -> Any:
    """Sorted copies of `keys` and of the `values` (4 or 8 bytes each) that belong to them, as a tuple. Stable."""
    like, value_like = to_copy(keys, "keys"), to_copy(values, "values")
    made, made_view = copy_of(like)
    made_values, _ = copy_of(value_like)
    _kept_sorter(made_view, value_like.itemsize, descending, method).sort(made, made_values, stream=stream)
    return _arrays.finish(made, like), _arrays.finish(made_values, value_like)
