"""Stable sorts of many lists in one array, each on its own."""

from __future__ import annotations

from typing import Any, overload

from numpy.typing import NDArray

from . import _arrays
from ._arrays import View, view
from ._native import ArgumentError, CapacityError, argument_errors, buffer_of, ffi, integer, lib, locked
from .pairs import sorters
from .sorting import SorterOfKeys, _kept_sorter as _kept_plain_sorter, check_index, copy_of, one_row, to_copy
from .typing import AnyArray, Array, Device, HostArray, KeysAfter, NaNOrder, Scalar, Stream


class SegmentSorter(SorterOfKeys):
    """A segmented sorter with its memory: made once, used every frame. Sorts are stable and in place.

    Parameters
    ----------
    max_count, max_segments : int
        Most elements and most segments of a call.
    dtype : str or dtype
        Keys: integers of 8 to 64 bits, float16, bfloat16, float32, float64 or S16. -0 and +0 are equal.
    value_bytes : int
        0 (keys alone), 4 or 8.
    device, descending, begin_bit, end_bit, nan, stream
        As for Sorter.
    """

    kind = "segment_sorter"

    @argument_errors
    def __init__(self, max_count: int, max_segments: int, dtype: Any = "uint32", *, value_bytes: int = 4, device: Device = "cpu",
                 descending: bool = False, begin_bit: int = 0, end_bit: int = 0, nan: NaNOrder = "last",
                 stream: Stream | None = None) -> None:
        self.max_segments = integer(max_segments, "max_segments")
        self._create(max_count, dtype, value_bytes, device, descending, begin_bit, end_bit, nan, stream, max_segments=self.max_segments)

    def __repr__(self) -> str:
        """Room, type of keys and device."""
        return f"<pairsieve.SegmentSorter for {self.max_segments:,} segments of {self._described()}>"

    def _segments(self, offsets: View) -> Any:
        if offsets.dtype not in ("int32", "uint32") or offsets.shape[0] < 1:
            raise ArgumentError(f"offsets is {offsets.dtype} {offsets.shape}; int32 or uint32 (segments + 1,) is wanted")
        segments = ffi.new("psv_segments *")
        segments.offsets = buffer_of(offsets.pointer, offsets.nbytes)
        segments.count = offsets.shape[0] - 1
        if segments.count > self.max_segments:
            raise CapacityError(f"{segments.count} segments; the sorter has room for {self.max_segments}", segments.count)
        return segments

    @locked
    def sort(self, keys: AnyArray, offsets: AnyArray, values: AnyArray | None = None, *, stream: Stream | None = None) -> None:
        """Sorts ``keys[offsets[i]:offsets[i + 1]]`` for every i, and values of 4 or 8 bytes along with them, in place.

        offsets is int32 or uint32, on the same device. On a GPU nothing waits: whether the offsets were good is known to :meth:`check`.
        """
        row, ends = one_row(keys, "keys"), one_row(offsets, "offsets")
        along = [] if values is None else [one_row(values, "values")]
        self._prepare([row, ends, *along], stream)
        self._check_values(row, along[0] if along else None)
        self._run(lib.psv_sort_segments if along else lib.psv_sort_segments_keys, [row, *along], self._segments(ends), keep=ends)

    @locked
    def argsort(self, keys: AnyArray, offsets: AnyArray, index: AnyArray, *, keys_after: KeysAfter = "undefined",
                stream: Stream | None = None) -> None:
        """Writes for each segment the permutation that sorts it: places within the segment, from 0. The rest as Sorter.argsort."""
        row, ends, places = one_row(keys, "keys"), one_row(offsets, "offsets"), one_row(index, "index")
        self._prepare([row, ends, places], stream)
        after = check_index(row, places, keys_after)
        self._run(lib.psv_sort_segments_index, [row, places], self._segments(ends), after, keep=ends)

    @locked
    def check(self) -> None:
        """Raises ArgumentError when the offsets of the last call were not in order or beyond the keys; nothing was sorted then.
        Waits for the device."""
        self.context.check(lib.psv_read_segments_status(self.handle))


def _kept_sorter(like: View, segments: int, value_bytes: int, descending: bool, nan: NaNOrder = "last") -> SegmentSorter:
    key = ("segments", like.device, like.dtype, value_bytes, bool(descending), nan)
    count = like.shape[0]
    sorter: SegmentSorter | None = sorters.take(
        key, lambda kept: kept.max_segments >= segments and count <= kept.max_count <= 4 * count + 65536)
    if sorter is None:
        sorter = SegmentSorter(max(count + count // 4, 1024), max(segments + segments // 4, 1024), like.dtype, value_bytes=value_bytes,
                               device=like.device, descending=descending, nan=nan)
    sorters.objects[key] = sorter
    return sorter


def argsort_rows(flat: Any, rows: int, offsets: Any, index: Any, descending: bool) -> None:
    """Writes the places that sort each row of `flat`, contiguous keys, into `index` (int32, as many), stably. `offsets` holds the
    int32 begins of the rows and their end. For float keys in descending order every NaN has to be the positive one: they come first."""
    nan: NaNOrder = "bits" if descending else "last"
    if rows == 1:
        _kept_plain_sorter(view(flat), 4, descending, "radix", nan).argsort(flat, index, keys_after="kept")
    else:
        _kept_sorter(view(flat), rows, 4, descending, nan).argsort(flat, offsets, index, keys_after="kept")


@overload
def sort_segments(keys: NDArray[Scalar], offsets: HostArray, values: None = None, *, descending: bool = False,
                  stream: Stream | None = None) -> NDArray[Scalar]: ...
@overload
def sort_segments(keys: NDArray[Scalar], offsets: HostArray, values: HostArray, *, descending: bool = False,
                  stream: Stream | None = None) -> tuple[NDArray[Scalar], HostArray]: ...
@overload
def sort_segments(keys: Array, offsets: Array, values: None = None, *, descending: bool = False,
                  stream: Stream | None = None) -> Array: ...
@overload
def sort_segments(keys: Array, offsets: Array, values: Array, *, descending: bool = False,
                  stream: Stream | None = None) -> tuple[Array, Array]: ...
@argument_errors
def sort_segments(keys: Any, offsets: Any, values: Any = None, *, descending: bool = False, stream: Any = None) -> Any:
    """A copy of `keys` in which each segment ``[offsets[i], offsets[i + 1])`` is sorted; with `values` a tuple of both. Stable.

    Elements in no segment stay as they are. Offsets that are not in order, or beyond the keys, raise ArgumentError; to know that, the
    call waits for the device. :class:`SegmentSorter` does not.

    >>> import numpy as np, pairsieve
    >>> pairsieve.sort_segments(np.array([3, 1, 2, 9, 8], np.uint32), np.array([0, 3, 5], np.uint32))
    array([1, 2, 3, 8, 9], dtype=uint32)
    """
    like, segments = to_copy(keys, "keys"), one_row(offsets, "offsets").shape[0] - 1
    made, made_view = copy_of(like)
    value_like = None if values is None else to_copy(values, "values")
    made_values = None if value_like is None else copy_of(value_like)[0]
    sorter = _kept_sorter(made_view, segments, 0 if value_like is None else value_like.itemsize, descending)
    sorter.sort(made, offsets, made_values, stream=stream)
    sorter.check()
    if value_like is None:
        return _arrays.finish(made, like)
    return _arrays.finish(made, like), _arrays.finish(made_values, value_like)
