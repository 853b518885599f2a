"""Stable sorts of many lists in one array, each on its own."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from . import _arrays
from ._native import ArgumentError, CapacityError, Context, buffer_of, ffi, lib, locked, argument_errors
from .pairs import device_number
from .sorting import _KEYS, _copy, _one_row

_MOST_KEPT = 4  # sorters that sort_segments keeps for each thread


class SegmentSorter:
    """A segmented sorter with its memory: made once, used every frame. Sorts are stable and in place.

    Parameters
    ----------
    max_count, max_segments : int
        Most elements and most segments of a call.
    dtype : str or dtype
        Keys: uint32, int32, float32, uint64, int64 or float64. -0 and +0 are equal; NaN comes last.
    value_bytes : int
        0 (keys alone), 4 or 8.
    device, descending, begin_bit, end_bit, stream
        As for Sorter.
    """

    @argument_errors
    def __init__(self, max_count: int, max_segments: int, dtype: Any = "uint32", *, value_bytes: int = 4, device: str | int = "cpu",
                 descending: bool = False, begin_bit: int = 0, end_bit: int = 0, stream: Any = None) -> None:
        name = str(getattr(dtype, "name", dtype)).replace("torch.", "")
        if name not in _KEYS:
            raise ArgumentError(f"dtype is {dtype!r}; accepted: {', '.join(_KEYS)}")
        self.dtype = name
        self.device = device_number(device)
        self._stream = _arrays.stream_number(stream)
        self.context = Context(self.device, self._stream)
        self._lock = self.context.lock
        definition = ffi.new("psv_segment_sorter_def *", lib.psv_default_segment_sorter_def())
        definition.key_type = getattr(lib, "PSV_KEY_" + _KEYS[name])
        try:
            definition.max_count, definition.max_segments, definition.value_bytes = max_count, max_segments, value_bytes
            definition.begin_bit, definition.end_bit = begin_bit, end_bit
        except (OverflowError, TypeError) as error:
            raise ArgumentError(f"max_count {max_count!r}, max_segments {max_segments!r}: {error}") from None
        definition.descending = descending
        made = ffi.new("psv_segment_sorter **")
        self.context.check(lib.psv_create_segment_sorter(self.context.handle, definition, made))
        self.handle = made[0]
        self.max_count, self.max_segments, self.value_bytes = max_count, max_segments, value_bytes
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

    def _segments(self, offsets):
        if offsets.dtype not in ("int32", "uint32") or offsets.shape[0] < 1:
            raise ArgumentError(f"offsets is {offsets.dtype} {offsets.shape}; int32 or uint32 (segments + 1,) is wanted")
        segments = ffi.new("psv_segments *")
        segments.offsets = buffer_of(offsets.pointer, offsets.nbytes)
        segments.count = offsets.shape[0] - 1
        if segments.count > self.max_segments:
            raise CapacityError(f"{segments.count} segments; the sorter has room for {self.max_segments}", segments.count)
        return segments

    @locked
    def sort(self, keys: Any, offsets: Any, values: Any = None, *, stream: Any = None) -> None:
        """Sorts ``keys[offsets[i]:offsets[i + 1]]`` for every i, and values of 4 or 8 bytes along with them, in place.

        offsets is int32 or uint32, on the same device. On a GPU nothing waits: whether the offsets were good is known to :meth:`check`.
        """
        views = [_one_row(keys, "keys"), _one_row(offsets, "offsets")] + ([] if values is None else [_one_row(values, "values")])
        for one in views[:1] + views[2:]:
            if not one.writable:
                raise ArgumentError("the array is read-only; sort() works in place")
        self._prepare(views, stream)
        segments, n = self._segments(views[1]), views[0].shape[0]
        keys_buffer = buffer_of(views[0].pointer, views[0].nbytes)
        if values is None:
            self.context.check(lib.psv_sort_segments_keys(self.handle, keys_buffer, n, segments))
            return
        if views[2].shape[0] != n:
            raise ArgumentError(f"{n} keys and {views[2].shape[0]} values")
        if views[2].itemsize != self.value_bytes:
            raise ArgumentError(f"values of {views[2].itemsize} bytes; the sorter was made with value_bytes {self.value_bytes}")
        self.context.check(lib.psv_sort_segments(self.handle, keys_buffer, buffer_of(views[2].pointer, views[2].nbytes), n, segments))

    @locked
    def argsort(self, keys: Any, offsets: Any, index: Any, *, keys_after: str = "undefined", stream: Any = None) -> None:
        """Writes for each segment the permutation that sorts it: places within the segment, from 0. The rest as Sorter.argsort."""
        views = [_one_row(keys, "keys"), _one_row(offsets, "offsets"), _one_row(index, "index")]
        self._prepare(views, stream)
        if views[2].dtype not in ("int32", "uint32") or views[2].shape != views[0].shape or not views[2].writable:
            raise ArgumentError(f"index is {views[2].dtype} {views[2].shape}; writable int32 {views[0].shape} is wanted")
        if keys_after not in ("sorted", "kept", "undefined"):
            raise ArgumentError(f"keys_after is {keys_after!r}; accepted: 'sorted', 'kept', 'undefined'")
        self.context.check(lib.psv_sort_segments_index(self.handle, buffer_of(views[0].pointer, views[0].nbytes),
                                                       buffer_of(views[2].pointer, views[2].nbytes), views[0].shape[0],
                                                       self._segments(views[1]), getattr(lib, "PSV_INDEX_KEYS_" + keys_after.upper())))

    @locked
    def check(self) -> None:
        """Raises ArgumentError when the offsets of the last call were not in order or beyond the keys; nothing was sorted then.
        Waits for the device."""
        self.context.check(lib.psv_read_segments_status(self.handle))


def _destroy(handle, _context):
    lib.psv_destroy_segment_sorter(handle)


_local = threading.local()


def _kept_sorter(like, segments, value_bytes, descending):
    kept = _local.__dict__.setdefault("sorters", {})
    key = (like.device, like.dtype, value_bytes, descending)
    count = like.shape[0]
    sorter = kept.pop(key, None)
    if sorter is None or sorter.max_count < count or sorter.max_segments < segments or sorter.max_count > 4 * count + 65536:
        sorter = None  # frees its memory first
        while len(kept) >= _MOST_KEPT:
            kept.pop(next(iter(kept)))
        sorter = SegmentSorter(max(count + count // 4, 1024), max(segments + segments // 4, 1024), like.dtype, value_bytes=value_bytes,
                               device=like.device, descending=descending)
    kept[key] = sorter
    return sorter


@argument_errors
def sort_segments(keys: Any, offsets: Any, values: Any = None, *, descending: bool = False, stream: Any = None) -> Any:
    """A copy of `keys` in which each segment ``[offsets[i], offsets[i + 1])`` is sorted; with `values` a tuple of both. Stable.

    Elements in no segment stay as they are. Offsets that are not in order, or beyond the keys, raise ArgumentError; to know that, the
    call waits for the device. :class:`SegmentSorter` does not.

    >>> import numpy as np, pairsieve
    >>> pairsieve.sort_segments(np.array([3, 1, 2, 9, 8], np.uint32), np.array([0, 3, 5], np.uint32))
    array([1, 2, 3, 8, 9], dtype=uint32)
    """
    like, segments = _one_row(keys, "keys"), _one_row(offsets, "offsets").shape[0] - 1
    made, made_view = _copy(keys, like)
    if values is None:
        sorter = _kept_sorter(made_view, segments, 0, descending)
        sorter.sort(made, offsets, stream=stream)
        sorter.check()
        return _arrays.finish(made, like)
    value_like = _one_row(values, "values")
    made_values, _ = _copy(values, value_like)
    sorter = _kept_sorter(made_view, segments, value_like.itemsize, descending)
    sorter.sort(made, offsets, made_values, stream=stream)
    sorter.check()
    return _arrays.finish(made, like), _arrays.finish(made_values, value_like)
