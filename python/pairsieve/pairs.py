"""Overlapping pairs of boxes."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from . import _arrays
from ._arrays import View, view
from ._casting import Cast, corners, exact
from ._native import (ArgumentError, CapacityError, Context, Profiled, address_of, argument_errors, buffer_of, ffi, integer,
                      last_error, lib, locked, name_of, names_of, text)
from ._messages import in_python
from .typing import AnyArray, Array, Boxes, Device, HostBoxes, Indices, Marks, Stream, Vector

_MOST_KEPT = 4  # finders that find_pairs keeps for each thread
_INTEGERS = ("uint32", "int32")
_BYTES = ("uint8", "int8")
_FLOATS = ("float32", "float64")


def methods(device: Device = "cpu") -> list[str]:
    """Names of the broad-phase methods of a device, ``"auto"`` first."""
    backend = backend_of(device)
    return names_of(["auto"], lambda index: lib.psv_broad_phase_name(backend, index))


def backend_of(device: Device) -> Any:
    return lib.PSV_BACKEND_CPU if device_number(device) < 0 else lib.PSV_BACKEND_CUDA


def device_number(device: Device) -> int:
    """-1 for ``"cpu"``, else the CUDA device of ``"cuda"``, ``"cuda:1"``, 1 or a device object."""
    if isinstance(device, int):
        return device
    name = str(device)
    kind, _, number = name.partition(":")
    if kind == "cpu":
        return -1
    if kind == "cuda" and (number.isdigit() or not number):
        return int(number or 0)
    raise ArgumentError(f"device is {device!r}; accepted: 'cpu', 'cuda', 'cuda:N'")


def device_text(device: int) -> str:
    """As arguments name a device."""
    return "cpu" if device < 0 else f"cuda:{device}"


def interleave(groups: Any, masks: Any, count: int, like: View, cast: Cast = None) -> View:
    """(n, 2) groups and masks as the library wants them; arrays (n,) of 32-bit integers."""
    made, made_view = _arrays.empty((count, 2), "int32", like)
    for column, (array, name) in enumerate(((groups, "groups"), (masks, "masks"))):
        one = exact(array, name, _INTEGERS, (count,), cast)
        if one is None:
            made[:, column] = -1
            continue
        if one.maker in ("jax", "warp"):
            raise ArgumentError(f"{name}: give `filters` (n, 2) for arrays of {one.maker}")
        source = one.owner[0] if isinstance(one.owner, tuple) else one.owner
        made[:, column] = source.view(made.dtype)
    return made_view


def filter_part(groups: Any, masks: Any, filters: Any, count: int, like: View, cast: Cast = None) -> View | None:
    """Groups and masks side by side, given so or apart."""
    if groups is None and masks is None:
        return exact(filters, "filters", _INTEGERS, (count, 2), cast)
    if filters is not None:
        raise ArgumentError("give filters or groups and masks, not both")
    return interleave(groups, masks, count, like, cast)


def set_parts(struct: Any, views: list[View], **parts: View | None) -> None:
    """Fills buffers of a struct, and keeps what they point to."""
    for field, part in parts.items():
        if part is not None:
            setattr(struct, field, buffer_of(part.pointer, part.nbytes))
            views.append(part)


class _PlainSet:
    """A psv_box_set of one array (n, 6) without further parts, used again from frame to frame: what most frames are."""

    def __init__(self) -> None:
        self.set: Any = ffi.new("psv_box_set *")
        self.views: Sequence[View] = ()
        self.count = 0

    def show(self, boxes: Any) -> bool:
        """True where `boxes` is such an array; all others, also those with errors, are for _Set."""
        one = view(boxes, "boxes")
        shape = one.shape
        if one.dtype != "float32" or len(shape) != 2 or shape[1] != 6 or shape[0] < 2 or one.strides[1] != 4 or one.strides[0] < 24:
            return False
        box_set = self.set
        box_set.min.address = ffi.cast("void *", one.pointer)
        box_set.min.bytes = (shape[0] - 1) * one.strides[0] + 24
        box_set.min_stride = one.strides[0]
        box_set.count = self.count = shape[0]
        self.views = (one,)
        return True


class BoxSet:
    """A psv_box_set and the arrays that it points to."""

    def __init__(self, boxes: Any, name: str, *, accepted: Sequence[str] = _FLOATS, cast: Cast = None, worlds: Any = None,
                 groups: Any = None, masks: Any = None, filters: Any = None, flags: Any = None, count: Any = None, ids: Any = None,
                 owners: Any = None, layers: Any = None, kept: Any = None, kept_version: Any = None, moved: Any = None,
                 margin: Any = None, origin: Any = None) -> None:
        low, high = corners(boxes, name, accepted, cast)
        n = self.count = low.shape[0]
        self.views = [low]
        self.before: Sequence[View] = ()  # of a tree: what still counts of the build
        box_set = self.set = ffi.new("psv_box_set *")
        box_set.min = buffer_of(low.pointer, low.nbytes)
        box_set.doubles = low.dtype == "float64"
        corner = 3 * low.itemsize
        box_set.min_stride = low.strides[0] if n > 1 else (2 * corner if high is None else corner)
        if high is not None:
            self.views.append(high)
            box_set.max = buffer_of(high.pointer, high.nbytes)
            box_set.max_stride = high.strides[0] if n > 1 else corner
        box_set.count = n
        if origin is not None:
            numbers = [float(number) for number in origin]
            if len(numbers) != 3:
                raise ArgumentError(f"origin is {origin!r}; 3 numbers are wanted")
            box_set.origin = numbers
        box_set.kept = integer(kept or 0, "kept")
        box_set.kept_version = integer(kept_version or 0, "kept_version")
        if moved is not None:
            box_set.moved_count = len(moved)
        margins = None
        if margin is not None and np.ndim(margin) == 0 and not hasattr(margin, "__cuda_array_interface__"):
            box_set.margin = float(margin)
        elif margin is not None:
            margins = exact(margin, "margin", ("float32",), (n,), cast)
        set_parts(box_set, self.views, filters=filter_part(groups, masks, filters, n, low, cast),
                  worlds=exact(worlds, "worlds", _INTEGERS, (n,), cast), flags=exact(flags, "flags", (*_BYTES, "bool"), (n,), cast),
                  count_buffer=exact(count, "count", ("uint64", "int64"), (1,), cast), ids=exact(ids, "ids", _INTEGERS, (n,), cast),
                  owners=exact(owners, "owners", _INTEGERS, (n,), cast), layers=exact(layers, "layers", _BYTES, (n,), cast),
                  margins=margins, moved=exact(moved, "moved", _INTEGERS, (int(box_set.moved_count),), cast))


class PairFinder(Profiled):
    """Finds all overlapping pairs of boxes, frame after frame, without taking memory in a frame.

    Boxes are closed: touching counts. Each pair is reported once, ``a < b``, none is missing. Boxes with NaN or
    ``min > max`` are left out and listed by :meth:`bad_boxes`. On a GPU nothing waits for the device until a count, pairs or
    statistics are asked for, and a frame can be captured in a CUDA graph.

    Parameters
    ----------
    max_boxes : int
        Most boxes of a frame, of both sets together where two are given.
    device : str or int
        ``"cpu"``, ``"cuda"``, ``"cuda:N"`` or the number of a CUDA device.
    max_pairs : int
        Room for pairs; 0: 8 a box.
    grow : bool
        Enlarge the room and repeat a frame whose pairs do not fit (``find`` then waits for the device). Otherwise such a frame raises
        CapacityError with ``needed``, when the pairs are asked for.
    sort : bool
        Pairs in ascending order: the same bytes on every run and device.
    events : bool
        Keep the previous frame's pairs for :meth:`events`.
    worlds : int
        Number of worlds that boxes may belong to; boxes of different worlds never pair.
    ids : bool
        Frames may give `ids`.
    doubles : bool
        Frames may give float64 boxes, whose pairs are exact in double precision: 24 bytes more a box.
    max_excluded : int
        Most pairs of ``set_rules(excluded=)``.
    max_kept : int
        Most boxes of ``find(kept=)``; not on every device (UnsupportedError).
    margins : bool
        Frames may give a `margin`: on the CPU 76 bytes more a box and two more lists of pairs.
    count_worlds : bool
        Pairs of each world are counted, see :attr:`world_count_buffer`.
    world_pairs : int
        Room of each world: none takes more of the room for pairs; 0: worlds share it as they come. Counts worlds too.
    method, sort_method : str
        See :func:`pairsieve.methods`; ``"auto"`` is the fastest that is known. `sort_method` may also be ``"cells"``, the default: as is
        fastest for the method, without a calibration.
    stream : int or stream object, optional
        CUDA stream to work on. Default: the current stream of the library whose arrays are given.
    """

    @argument_errors
    def __init__(self, max_boxes: int, *, device: Device = "cpu", max_pairs: int = 0, grow: bool = False, sort: bool = False,
                 events: bool = False, worlds: int = 1, ids: bool = False, doubles: bool = False, max_excluded: int = 0,
                 max_kept: int = 0, margins: bool = False, count_worlds: bool = False, world_pairs: int = 0, method: str = "auto",
                 sort_method: str = "cells", stream: Stream | None = None) -> None:
        self._stream = _arrays.stream_number(stream)
        self.device = device_number(device)
        self.context = Context(self.device, self._stream)
        self._lock = self.context.lock
        definition = ffi.new("psv_pair_finder_def *", lib.psv_default_pair_finder_def())
        names = [name_of(method, "method"), name_of(sort_method, "sort_method")]
        definition.method, definition.sort_method = names
        self._method = method
        definition.max_boxes, definition.max_pairs = integer(max_boxes, "max_boxes"), integer(max_pairs, "max_pairs")
        definition.world_count = integer(worlds, "worlds", most=(1 << 32) - 1)
        definition.max_excluded, definition.max_kept = integer(max_excluded, "max_excluded"), integer(max_kept, "max_kept")
        definition.world_pairs, definition.margins = integer(world_pairs, "world_pairs"), margins
        definition.ids, definition.doubles, definition.count_worlds = ids, doubles, count_worlds
        definition.grow_pairs, definition.sort_output, definition.events = grow, sort, events
        made = ffi.new("psv_pair_finder **")
        self.context.check(lib.psv_create_pair_finder(self.context.handle, definition, made))
        self.handle: Any = made[0]
        self.max_boxes = max_boxes
        self.max_kept = max_kept
        self.grow = grow
        self._accepted = _FLOATS if doubles else _FLOATS[:1]
        self._like: View | None = None
        self._held: Sequence[_PlainSet | BoxSet] = ()
        self._rules: Sequence[View] = ()
        self._worlds = max(worlds, 1)
        self._amount = 0  # boxes of the last frame
        self._plain = _PlainSet()
        # The context outlives the finder: the finalizer holds it.
        self._finalizer = weakref.finalize(self, _destroy, self.handle, self.context)

    def __repr__(self) -> str:
        """Room, device and method; of the last frame its boxes, and on the CPU its pairs and route."""
        device, last = device_text(self.device), ""
        if self._held:
            last = f", last frame {sum(one.count for one in self._held):,} boxes"
            if self.device < 0 and self.context.helper is None:  # on a GPU it would have to wait
                found = self.statistics()
                last += f", {found['pairs']:,} pairs by {found['method']}, route {found['route']}"
        return f"<pairsieve.PairFinder for {self.max_boxes:,} boxes on {device}, method {self.method!r}{last}>"

    @locked
    def find(self, boxes: Boxes, other: Boxes | None = None, *, worlds: Marks | tuple[Marks | None, Marks | None] | None = None,
             groups: Marks | tuple[Marks | None, Marks | None] | None = None,
             masks: Marks | tuple[Marks | None, Marks | None] | None = None,
             filters: Marks | tuple[Marks | None, Marks | None] | None = None,
             flags: Marks | tuple[Marks | None, Marks | None] | None = None,
             count: AnyArray | tuple[AnyArray | None, AnyArray | None] | None = None,
             ids: Marks | tuple[Marks | None, Marks | None] | None = None,
             owners: Marks | tuple[Marks | None, Marks | None] | None = None,
             layers: Marks | tuple[Marks | None, Marks | None] | None = None,
             kept: int | tuple[int, int] = 0, kept_version: int | tuple[int, int] = 0, moved: Marks | None = None,
             margin: Any = None, origin: Vector | None = None, cast: Cast = None, stream: Stream | None = None) -> PairFinder:
        """Finds the pairs of one set, or between two; returns the finder.

        Parameters
        ----------
        boxes : array or pair of arrays
            float32, (n, 6) or (n, 2, 3) with the lower corner first, or two (n, 3) with the lower and upper corners. Any stride
            from box to box; nothing is copied. On the finder's device. float64 where the finder has ``doubles=True``.
        other : like boxes, optional
            Second set: pairs are then (index in boxes, index in other). The optional arrays belong to `boxes` then; use tuples
            (for boxes, for other) to give both.
        worlds : (n,) uint32 or int32, optional
        groups, masks : (n,) uint32 or int32, optional
            a and b pair only where ``groups[a] & masks[b]`` and ``groups[b] & masks[a]`` are not 0. What is not given is all ones.
        filters : (n, 2) uint32 or int32, optional
            Group and mask side by side, which saves a copy.
        flags : (n,) uint8, optional
            1: static (two static boxes never pair), 2: disabled.
        count : (1,) uint64 or int64, optional
            Count of this frame, read on the device; `boxes` then holds the most there can be.
        ids : (n,) uint32 or int32, optional
            Pairs, events and excluded pairs name a box by its id instead of by its number, so that a slot used again with a new
            id is a new box. Different within a set, below 2^31 to read as positive. Needs ``ids=True``.
        owners : (n,) uint32 or int32, optional
            Boxes of one owner never pair (the colliders of one body); -1: of no owner.
        layers : (n,) uint8, optional
            0 to 31, see :meth:`set_rules`.
        kept : int
            The first so many boxes, with all that belongs to them, are as they were in the last call with the same `kept_version`,
            but for those that `moved` names: static and sleeping ones. A frame then costs what the other boxes cost, events
            included. Needs `max_kept`. Of two sets the second alone may be kept, as a whole: ``kept=(0, n)``.
        kept_version : int
            Another number whenever anything about the kept boxes has changed.
        moved : (m,) uint32 or int32, optional
            Numbers of boxes, in any order, that have changed since the last call. With ``kept=len(boxes)`` it names all that move,
            wake, fall asleep, come or go. On the CPU; on a GPU all boxes are looked for in such a call.
        margin : number or (n,) float32, optional
            Boxes that stay within so much of where they were cost little in the next frames; pairs are exact and only speed depends
            on it. Needs ``margins=True``. A third of a box serves well where boxes take many frames for that distance. With `kept`
            and `moved` too, each frame goes the way that takes less time.
        origin : 3 numbers, optional
            Of float64 boxes: the middle of the scene, or a point near the boxes that matter. Only speed depends on it.
        cast : bool, optional
            True converts arrays of other types or layouts, and boxes of two dimensions, (n, 4) or (n, 2, 2) or two (n, 2); False
            refuses them. Default: small arrays are converted, with a CastWarning. Boxes are rounded outwards, so that no pair is lost.
        stream : int or stream object, optional
            For this frame and those after it.
        """
        parts = dict(worlds=worlds, groups=groups, masks=masks, filters=filters, flags=flags, count=count, ids=ids, owners=owners,
                     layers=layers, kept=kept or None, moved=moved, margin=margin)
        plain = other is None and type(boxes) not in (tuple, list) and all(part is None for part in parts.values())
        parts["kept_version"] = kept_version
        sets: tuple[_PlainSet | BoxSet, ...]
        if plain and self._plain.show(boxes):
            sets = (self._plain,)
        elif other is None:
            sets = (BoxSet(boxes, "boxes", **parts, origin=origin, cast=cast, accepted=self._accepted),)
        else:
            split = [{k: v[i] if isinstance(v, tuple) else (v if i == 0 else None) for k, v in parts.items()} for i in (0, 1)]
            sets = tuple(BoxSet(part, name, **more, origin=origin, cast=cast, accepted=self._accepted)
                         for part, name, more in ((boxes, "boxes", split[0]), (other, "other", split[1])))
        views = sets[0].views if other is None else [*sets[0].views, *sets[-1].views]
        self._use(views, stream, "boxes")
        self._like = views[0]
        self._held = sets  # the device may still read them
        if other is None:
            amount = sets[0].count
            status = self.context.run(amount, (self, sets), lib.psv_find_pairs, self.handle, sets[0].set)
        else:
            amount = sets[0].count + sets[-1].count
            status = self.context.run(amount, (self, sets), lib.psv_find_pairs_between, self.handle, sets[0].set, sets[-1].set)
        self._amount = amount
        if status != lib.PSV_OK:
            fits = amount <= self.max_boxes and sum(one.set.kept for one in sets) <= self.max_kept
            if status != lib.PSV_ERROR_CAPACITY or not fits:
                self.context.check(status)
            # Of pairs, on the CPU: reported when they are asked for, as on a GPU.
        return self

    def _check_pairs(self, status: int, count: int) -> None:
        """Of a frame whose pairs did not fit: the room that it needs, or that a world needs."""
        if status == lib.PSV_ERROR_CAPACITY and count <= lib.psv_pair_buffer(self.handle).bytes // 8:
            buffer = lib.psv_world_pair_buffer(self.handle)
            counts = ffi.new("uint64_t[]", self._worlds)
            self.context.check(lib.psv_download(self.context.handle, counts, buffer, 8 * self._worlds))
            count = max(counts)
        self._check(status, int(count))

    def _check(self, status: int, needed: int | None = None) -> None:
        if status == lib.PSV_ERROR_CAPACITY:
            raise CapacityError(last_error(self.context.handle), needed)
        self.context.check(status)

    @locked
    def set_rules(self, *, layer_matrix: Marks | None = None, excluded: Marks | None = None, cast: Cast = None,
                  stream: Stream | None = None) -> None:
        """What else decides about pairs, from the next :meth:`find` on, in place of the rules before; nothing: no rules.

        Parameters
        ----------
        layer_matrix : (32,) uint32 or int32, optional
            Boxes of layers i and j pair only where bit j of word i and bit i of word j are set.
        excluded : (m, 2) uint32 or int32, optional
            Pairs that are never reported (joints, neighbours of a mesh), in any order, each as it would be reported: ``a < b``
            within one set, by id where boxes have ids. At most `max_excluded`.
        cast, stream
            As for :meth:`find`.

        The arrays lie on the finder's device and are read now (on a GPU: on the stream).
        """
        rules = ffi.new("psv_pair_rules *", lib.psv_default_pair_rules())
        views: list[View] = []
        set_parts(rules, views, layer_matrix=exact(layer_matrix, "layer_matrix", _INTEGERS, (lib.PSV_LAYERS,), cast))
        if excluded is not None:
            listed = view(excluded, "excluded")
            rules.excluded_count = listed.shape[0] if listed.shape else 0
            shape = (listed.shape[0] if listed.shape else 0, 2)
            set_parts(rules, views, excluded=exact(excluded, "excluded", _INTEGERS, shape, cast))
        self._use(views, stream, "rules")
        self.context.check(lib.psv_set_pair_rules(self.handle, rules if views else ffi.NULL))
        self._rules = views  # the device may still read them

    def _use(self, views: Sequence[View], stream: Stream | None, what: str) -> None:
        """Works from now on where the arrays are, and on their stream."""
        device, current = _arrays.same_place(views) if views else (self.device, self.context.stream)
        if device != self.device:
            raise ArgumentError(f"{what} lie on {_arrays.place(device)}, the finder works on {_arrays.place(self.device)}")
        wanted = self._stream if stream is None else _arrays.stream_number(stream)
        self.context.use_stream(current if wanted is None else wanted)

    @locked
    def count(self) -> int:
        """Exact number of pairs of the last frame. Waits for the device. Raises CapacityError where they did not fit."""
        count = ffi.new("uint64_t *")
        status = self._finish(count)
        self._check_pairs(status, count[0])
        return int(count[0])

    def _finish(self, count: Any) -> int:
        """Waits for the frame's count."""
        if self._like is None:
            raise ArgumentError("the finder has no frame yet; call find() first")
        return self.context.run(self._amount, (self, self._held), lib.psv_finish_pairs, self.handle, count)

    @locked
    def pairs(self, copy: bool = True) -> Any:
        """The last frame's pairs, an int32 array (count, 2) of the library and on the device of the boxes.

        Waits for the device to know the count. With ``copy=False`` the array is the finder's own memory: valid until the next
        ``find``, and not to be written to, since pairs of kept boxes stay there. Raises CapacityError with ``needed`` where they did
        not fit.
        """
        count = ffi.new("uint64_t *")
        self._check_pairs(self._finish(count), count[0])
        whole = self._buffer(int(count[0]))
        if not copy:
            return whole
        like = self._like
        assert like is not None  # there is a frame
        made, _ = _arrays.empty((int(count[0]), 2), "int32", like)
        if count[0]:
            source = whole if like.maker != "jax" else self._buffer(int(count[0]), "cupy" if like.device >= 0 else "numpy")
            _arrays.copy_into(made, source)
        return _arrays.finish(made, like)

    def _buffer(self, rows: int, library: str | None = None) -> Any:
        buffer = lib.psv_pair_buffer(self.handle)
        like = self._like
        return _arrays.read_only(_arrays.wrap(address_of(buffer), (rows, 2), "int32", self.device, None,
                                              library or (like.maker if like is not None else "numpy"), self))

    @property
    def pair_buffer(self) -> Any:
        """All room for pairs, an int32 array (room, 2) without a copy and without waiting; see :attr:`count_buffer`.

        It is not to be written to, and NumPy's cannot be: pairs of kept boxes stay there from frame to frame.
        """
        return self._buffer(int(lib.psv_pair_buffer(self.handle).bytes // 8))

    @property
    def count_buffer(self) -> Any:
        """The exact count, a uint64 (int64 in PyTorch) array (1,) on the device, without waiting; may exceed the room."""
        return self._counts(lib.psv_pair_count_buffer(self.handle), 1)

    @property
    def world_count_buffer(self) -> Any:
        """The exact count of each world, a uint64 (int64 in PyTorch) array (worlds,) on the device, without waiting.

        Needs ``count_worlds=True`` or `world_pairs`. With `world_pairs` a world that has more makes ``count`` and ``pairs`` raise
        CapacityError, with the most that a world has as ``needed``; the pairs of all other worlds are complete.
        """
        buffer = lib.psv_world_pair_buffer(self.handle)
        if buffer.bytes == 0:
            raise ArgumentError("the finder does not count worlds: make it with count_worlds=True or world_pairs")
        return self._counts(buffer, self._worlds)

    def _counts(self, buffer: Any, number: int) -> Any:
        library = self._like.maker if self._like is not None else "numpy"
        pointer = address_of(buffer)
        kind = "int64" if library == "torch" else "uint64"
        return _arrays.read_only(_arrays.wrap(pointer, (number,), kind, self.device, None, library, self))

    @locked
    def events(self) -> tuple[Any, Any]:
        """(begun, ended): pairs of the last frame that the one before had not, and the reverse, each an int32 array (n, 2) in
        ascending order, on the finder's device. Needs ``events=True``; call once a frame. Waits for the device."""
        lists = ffi.new("psv_pair_event_lists *")
        self._check(lib.psv_pair_events(self.handle, lists))
        counts = [ffi.new("uint64_t *") for _ in range(2)]
        for count, source in zip(counts, (lists.begin_count, lists.end_count)):
            self._check(lib.psv_download(self.context.handle, count, source, 8))
        self.count()
        begun, ended = (self._listed(source, int(count[0])) for count, source in zip(counts, (lists.begin, lists.end)))
        return begun, ended

    def _listed(self, source: Any, count: int) -> Any:
        """A copy of a list of pairs, in the library of the boxes."""
        like = self._like
        assert like is not None  # there is a frame
        library = like.maker
        if library == "jax":
            library = "cupy" if self.device >= 0 else "numpy"
        made, _ = _arrays.empty((count, 2), "int32", like)
        if count:
            _arrays.copy_into(made, _arrays.wrap(address_of(source), (count, 2), "int32", self.device, None, library, self))
        return _arrays.finish(made, like)

    @locked
    def bad_boxes(self) -> np.ndarray[Any, np.dtype[np.uint32]]:
        """Indices of the boxes that were left out (NaN, min > max, unknown world), a NumPy uint32 array in ascending order;
        those of a second set follow after the first set's count. Waits for the device."""
        room = 64
        while True:
            out, count = np.empty(room, np.uint32), ffi.new("uint64_t *")
            status = lib.psv_read_bad_boxes(self.handle, ffi.cast("uint32_t *", out.ctypes.data), room, count)
            if status != lib.PSV_ERROR_CAPACITY:
                self.context.check(status)
                return out[: int(count[0])].copy()
            room = int(count[0])

    @locked
    def check(self, samples: int = 64) -> dict[str, Any]:
        """Tests `samples` boxes of the last frame (1 to 256) with all others, and compares the result with the frame's pairs.

        Returns a dict: `boxes` that were compared, their `pairs`, how many are `missing` and `extra`, the least of each
        (`first_missing` and `first_extra`, a tuple or None) and `ms`. The arrays of the last :meth:`find` must be as they were then.
        Each call takes other boxes. Waits for the device.
        """
        out = ffi.new("psv_pair_check *")
        if not self._held:
            raise ArgumentError("the finder has no frame yet; call find() first")
        second = self._held[1].set if len(self._held) > 1 else ffi.NULL
        self._check(lib.psv_check_pairs(self.handle, self._held[0].set, second, integer(samples, "samples", most=(1 << 32) - 1), out))
        found = {name: getattr(out, name) for name in ("boxes", "pairs", "missing", "extra", "ms")}
        for name in ("missing", "extra"):
            pair = getattr(out, f"first_{name}")
            found[f"first_{name}"] = (pair.a, pair.b) if found[name] else None
        return found

    @locked
    def statistics(self) -> dict[str, Any]:
        """What the last frame did, as a dict: boxes, pairs, candidates tested, rows, levels, method, ... Waits for the device."""
        out = ffi.new("psv_pair_statistics *")
        self.context.check(lib.psv_read_pair_statistics(self.handle, out))
        return struct_dict(out)

    @locked
    def explain(self) -> str:
        """What the last frame did in plain words, a line for each subject: method, route and why it was not a faster one, plan,
        work, memory by part, the next frame. Waits for the device."""
        room = 4096
        while True:
            out, needed = ffi.new("char[]", room), ffi.new("uint64_t *")
            status = lib.psv_explain_frame(self.handle, out, room, needed)
            if status != lib.PSV_ERROR_CAPACITY:
                self.context.check(status)
                return in_python(text(out) or "")
            room = int(needed[0])

    @property
    def method(self) -> str:
        """The method of the finder; ``"auto"`` chooses for each frame, see :meth:`explain`."""
        return self._method


def _destroy(handle: Any, _context: Context) -> None:
    lib.psv_destroy_pair_finder(handle)


def struct_dict(pointer: Any) -> dict[str, Any]:
    """The fields of a struct of numbers and names."""
    out: dict[str, Any] = {}
    for name, field in ffi.typeof(pointer).item.fields:
        value = getattr(pointer, name)
        out[name] = text(value) if field.type.kind == "pointer" else value
    return out


class Kept(threading.local):
    """Objects that calls without an object of their own keep, a few for each thread: the newest by what they are for."""

    def __init__(self) -> None:
        self.objects: dict[Any, Any] = {}

    def take(self, key: Any, serves: Any) -> Any:
        """The object of this key, where serves(object) is true; room for another one otherwise, and None. An object whose call was
        interrupted goes on by itself and is forgotten, so that nothing waits for it."""
        kept = self.objects.pop(key, None)
        if kept is not None and kept.context.helper is None and serves(kept):
            return kept
        del kept  # frees its memory first
        while len(self.objects) >= _MOST_KEPT:
            self.objects.pop(next(iter(self.objects)))
        return None


_finders = Kept()
sorters = Kept()
radius_finders = Kept()


def clear_cache() -> None:
    """Frees the finders and sorters that find_pairs, neighbours, sort and argsort keep for the calling thread."""
    _finders.objects.clear()
    sorters.objects.clear()
    radius_finders.objects.clear()


@overload
def find_pairs(boxes: HostBoxes, other: HostBoxes | None = None, *, worlds: Any = None, groups: Any = None, masks: Any = None,
               filters: Any = None, flags: Any = None, ids: Any = None, owners: Any = None, layers: Any = None,
               layer_matrix: Marks | None = None, excluded: Marks | None = None, origin: Vector | None = None, sort: bool = False,
               method: str = "auto", max_pairs: int = 0, cast: Cast = None, stream: Stream | None = None) -> Indices: ...
@overload
def find_pairs(boxes: Array | tuple[Array, Array], other: Array | tuple[Array, Array] | None = None, *, worlds: Any = None,
               groups: Any = None, masks: Any = None, filters: Any = None, flags: Any = None, ids: Any = None, owners: Any = None,
               layers: Any = None, layer_matrix: Marks | None = None, excluded: Marks | None = None, origin: Vector | None = None,
               sort: bool = False, method: str = "auto", max_pairs: int = 0, cast: Cast = None,
               stream: Stream | None = None) -> Array: ...
@argument_errors
def find_pairs(boxes: Any, other: Any = None, *, worlds: Any = None, groups: Any = None, masks: Any = None, filters: Any = None,
               flags: Any = None, ids: Any = None, owners: Any = None, layers: Any = None, layer_matrix: Any = None,
               excluded: Any = None, origin: Any = None, sort: bool = False, method: str = "auto", max_pairs: int = 0,
               cast: Cast = None, stream: Any = None) -> Any:
    """All overlapping pairs of boxes, an int32 array (count, 2) of the library and on the device of `boxes`.

    Touching counts; each pair once, ``a < b``; with `other` a is of `boxes` and b of `other`. float64 boxes are compared as such. Waits
    for the device to know the count. The memory that it needs is kept for the next call (:func:`clear_cache`);
    :class:`PairFinder` gives more control.

    Parameters are those of :meth:`PairFinder.find` and :meth:`PairFinder.set_rules`; `sort` gives ascending order, `max_pairs` the room
    to begin with, which grows as needed.

    >>> import numpy as np, pairsieve
    >>> pairsieve.find_pairs(np.array([[0, 0, 0, 1, 1, 1], [1, 0, 0, 2, 1, 1], [5, 5, 5, 6, 6, 6]], np.float32))
    array([[0, 1]], dtype=int32)
    """
    low, high = corners(boxes, "boxes", _FLOATS, cast)
    count, device, doubles = low.shape[0], low.device, low.dtype == "float64"
    # Views: what was looked at and converted is not converted again.
    first: Any = low if high is None else (low, high)
    second: Any = None
    if other is not None:
        low, high = corners(other, "other", _FLOATS, cast)
        count, doubles = count + low.shape[0], doubles or low.dtype == "float64"
        second = low if high is None else (low, high)
    max_pairs, world_count = integer(max_pairs, "max_pairs", most=1 << 40), _world_count(worlds)
    # A power of two, so that lists of about one length share a finder.
    room = 0 if excluded is None else 1 << max(10, (len(excluded) - 1).bit_length())
    key = (device, bool(sort), method, world_count, ids is not None, doubles, room)
    finder = _finders.take(key, lambda kept: count <= kept.max_boxes <= 4 * count + 65536)
    if finder is None:
        finder = PairFinder(max(count + count // 4, 1024), device=device, max_pairs=max_pairs, grow=True, sort=sort,
                            worlds=world_count, ids=ids is not None, doubles=doubles, max_excluded=room, method=method, stream=stream)
        finder._stream = None
    _finders.objects[key] = finder
    if layer_matrix is not None or excluded is not None or finder._rules:
        finder.set_rules(layer_matrix=layer_matrix, excluded=excluded, cast=cast, stream=stream)
    finder.find(first, second, worlds=worlds, groups=groups, masks=masks, filters=filters, flags=flags,
                ids=ids, owners=owners, layers=layers, origin=origin, cast=cast, stream=stream)
    return finder.pairs()


def _world_count(worlds: Any) -> int:
    """The number of worlds for a finder: a power of two that holds the largest number."""
    most = 0
    for array in worlds if isinstance(worlds, tuple) else (worlds,):
        if array is not None and len(array):
            numbers: Any = array
            if isinstance(array, (list, tuple)):
                numbers = np.asarray(array)
            elif type(array).__module__.startswith("warp"):
                numbers = array.numpy()
            most = max(most, int(numbers.max()))
    if most >= 1 << 31:
        raise ArgumentError(f"worlds holds {most}; numbers from 0 to 2^31 - 1 are wanted")
    return 1 << most.bit_length()
