"""What a World answers and tells: rays, nearest points and overlaps of its bodies, contacts and their events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _arrays
from ._arrays import View
from ._casting import Cast
from ._native import ArgumentError, Worker, buffer_of, ffi, integer, lib, locked
from .tree import QuerySet, Rows, check_parts, ray_view, sphere_view
from .typing import AnyArray, BodyQueryParts, Each, Points, Rays, Stream

if TYPE_CHECKING:
    from typing_extensions import Unpack


class BodyHits(NamedTuple):
    """What n rays hit.

    t : float32 (n,)
        The hit is at origin + t direction. The ray's t_max where nothing was hit.
    slot : int32 (n,)
        The body's slot, ``id["index1"] - 1``; -1 where nothing was hit.
    normal : float32 (n, 3)
        Unit, of the surface, towards where the ray comes from; of a ray that begins inside: against it.
    part : int32 (n,)
        Child of a compound, triangle of a mesh in the order of its own tree, half cell of a height field.
    """

    t: Any
    slot: Any
    normal: Any
    part: Any


class BodyPoints(NamedTuple):
    """The points of bodies that are nearest to n centres.

    point : float32 (n, 3)
        The centre itself inside of a body, or where nothing is within the radius.
    distance : float32 (n,)
        0 inside of solids and under planes; the radius where nothing is within it.
    normal : float32 (n, 3)
        Unit, from the point to the centre; zero at distance 0.
    slot : int32 (n,)
        -1 where nothing is within the radius.
    part : int32 (n,)
        As in BodyHits.
    """

    point: Any
    distance: Any
    normal: Any
    slot: Any
    part: Any


class ContactEvents(NamedTuple):
    """What happened in the last step, NumPy record arrays.

    begins, ends
        a, b: slots of two bodies that touch now and did not before, or the other way round; user_a, user_b: their user data.
    hits
        Beside these point (m), normal (from a to b), speed (m/s, of approach before the step) and impulse (N s): bodies that
        came together at ``hit_speed`` or faster and were stopped by more than half of it.
    """

    begins: NDArray[np.void]
    ends: NDArray[np.void]
    hits: NDArray[np.void]


def record_of(name: str) -> np.dtype[np.void]:
    """The NumPy record type of a struct, with its offsets."""
    kinds = {"uint32_t": "u4", "uint64_t": "u8", "float": "f4", "_Bool": "?", "int": "i4"}
    offsets: list[int] = []
    names: list[str] = []
    formats: list[Any] = []
    kind = ffi.typeof(name)
    for field, info in kind.fields:
        shape: tuple[int, ...] = ()
        inner = info.type
        while inner.kind == "array":
            shape, inner = (*shape, inner.length), inner.item
        names.append(field)
        offsets.append(info.offset)
        formats.append((record_of(inner.cname), shape) if inner.kind == "struct" else (kinds[inner.cname], shape))
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": ffi.sizeof(kind)})


_CONTACT = record_of("psv_contact")
_EVENT = record_of("psv_contact_event")
_HIT = record_of("psv_hit_event")


class WorldQueries(Worker):
    """The part of World that only looks. Queries are of the bodies where they are now, in bulk, on the world's device."""

    handle: Any
    device: int
    _asked: QuerySet

    def _body_queries(self, data: View, cast: Cast, stream: Stream | None, parts: Any) -> QuerySet:
        check_parts(parts, ("worlds", "groups", "masks", "filters", "count"))
        queries = QuerySet(data, **parts, cast=cast)
        device, current = _arrays.same_place(queries.views)
        if device != self.device:
            raise ArgumentError(f"queries lie on {_arrays.place(device)}, the world steps on {_arrays.place(self.device)}")
        self.context.use_stream(current if stream is None else _arrays.stream_number(stream))
        self._asked = queries  # the device may still read them
        return queries

    def _columns(self, call: Callable[..., int], queries: QuerySet, width: int, columns: Sequence[tuple[int, int, str]]) -> list[Any]:
        like = queries.views[0]
        made, made_view = _arrays.empty((queries.count, width), "float32", like)
        out, keep = buffer_of(made_view.pointer, made_view.nbytes), (self, queries, made_view)
        self.context.check(self.context.run(queries.count, keep, call, self.handle, queries.set, out))
        return [_arrays.field(made, first, count, dtype, like) for first, count, dtype in columns]

    @locked
    def cast_rays(self, rays: Rays, *, t_min: Each | AnyArray | None = None, t_max: Each | AnyArray | None = None,
                  cast: Cast = None, stream: Stream | None = None, **parts: Unpack[BodyQueryParts]) -> BodyHits:
        """The first body that each ray hits, by its exact shape, ground and static bodies included: BodyHits of n entries.

        Parameters
        ----------
        rays : (n, 8) float32, or (origins, directions), each (n, 3)
        t_min, t_max : number or (n,) float32, optional
            As in :meth:`pairsieve.Tree.trace_closest`; t is in lengths of a ray's direction.
        worlds : (n,) int32 or uint32, optional
            Sub-world of each ray; default 0.
        filters : (n, 2) int32 or uint32, or groups, masks : (n,), optional
            Against those of the bodies.
        count : (1,) uint64 or int64, optional
            Count of this frame, read on the device.
        cast : bool, optional
            As in :meth:`pairsieve.PairFinder.find`.
        stream : int or stream object, optional
            Default: the current stream of the library whose arrays are given; later steps go there too.

        The first query of a world takes memory; later ones do not, wait for nothing on a GPU, and can be captured.
        """
        queries = self._body_queries(ray_view(rays, t_min, t_max, cast), cast, stream, parts)
        return BodyHits(*self._columns(lib.psv_cast_rays, queries, 6, (
            (0, 0, "float32"), (1, 0, "int32"), (2, 3, "float32"), (5, 0, "int32"))))

    @locked
    def closest_bodies(self, points: Points, radius: Each | AnyArray | None = None, *,
                       cast: Cast = None, stream: Stream | None = None, **parts: Unpack[BodyQueryParts]) -> BodyPoints:
        """The point of all bodies that is nearest to each point, within the radius: BodyPoints of n entries.

        points : (n, 4) float32 with the radius last, or (n, 3) with `radius`, a number or (n,), in metres.
        The other arguments are those of :meth:`cast_rays`.
        """
        queries = self._body_queries(sphere_view(points, radius, "points", cast), cast, stream, parts)
        return BodyPoints(*self._columns(lib.psv_closest_bodies, queries, 9, (
            (0, 3, "float32"), (3, 0, "float32"), (4, 3, "float32"), (7, 0, "int32"), (8, 0, "int32"))))

    @locked
    def overlap_bodies(self, spheres: Points, radius: Each | AnyArray | None = None, *, each: int,
                       cast: Cast = None, stream: Stream | None = None, **parts: Unpack[BodyQueryParts]) -> Rows:
        """Slots of the bodies that each sphere touches: Rows of at most `each` a sphere, in any order; counts are exact.

        spheres : (n, 4) float32, centre and radius, or (n, 3) with `radius`. The other arguments are those of :meth:`cast_rays`.
        """
        each = integer(each, "each", most=(1 << 32) - 1)
        queries = self._body_queries(sphere_view(spheres, radius, "spheres", cast), cast, stream, parts)
        like = queries.views[0]
        counts, counts_view = _arrays.empty((queries.count,), "int32", like)
        made, made_view = _arrays.empty((queries.count, each, 1), "float32", like)
        _arrays.fill_with_ones(made)
        lists = ffi.new("psv_query_lists *")
        lists.counts = buffer_of(counts_view.pointer, counts_view.nbytes)
        if each:
            lists.results, lists.each = buffer_of(made_view.pointer, made_view.nbytes), each
        keep = (self, queries, counts_view, made_view)
        self.context.check(self.context.run(queries.count, keep, lib.psv_overlap_bodies, self.handle, queries.set, lists))
        return Rows(_arrays.finish(counts, like), _arrays.field(made, 0, 0, "int32", like))

    def _settle(self) -> None:
        """Waits until all steps have happened, also one that found too little room."""
        self.context.check(lib.psv_read_world_counters(self.handle, ffi.new("psv_world_counters *")))

    def _event_counts(self) -> Any:
        counts = ffi.new("psv_event_counts *")
        buffer = lib.psv_world_event_counts(self.handle)
        if buffer.bytes == 0:
            raise ArgumentError("the world keeps no events; make it with contact_events=True")
        self.context.check(lib.psv_download(self.context.handle, counts, buffer, ffi.sizeof("psv_event_counts")))
        return counts

    def _records(self, buffer: Any, count: int, kind: np.dtype[np.void]) -> NDArray[np.void]:
        out = np.zeros(count, kind)
        if count:
            self.context.check(lib.psv_download(self.context.handle, ffi.cast("void *", out.ctypes.data), buffer, out.nbytes))
        return out

    @locked
    def contacts(self) -> NDArray[np.void]:
        """Bodies that touch at the end of the last step, a NumPy record array, for worlds with ``contact_events=True``.

        a, b (slots), user_a, user_b, point (m), normal (from a to b), separation (m), normal_force and friction_force (N), points
        (their number). On the CPU in the order of the slots. Waits for the device.
        """
        self._settle()
        return self._records(lib.psv_world_contacts(self.handle), self._event_counts().contacts, _CONTACT)

    @locked
    def events(self) -> ContactEvents:
        """What began and ended to touch, and what hit hard, in the last step: ContactEvents. Waits for the device."""
        self._settle()
        counts = self._event_counts()
        return ContactEvents(self._records(lib.psv_world_begin_events(self.handle), counts.begins, _EVENT),
                             self._records(lib.psv_world_end_events(self.handle), counts.ends, _EVENT),
                             self._records(lib.psv_world_hit_events(self.handle), counts.hits, _HIT))
