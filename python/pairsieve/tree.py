"""A tree over boxes or triangles, and queries of it in bulk: rays, overlaps, nearest items, closest points."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from . import _arrays
from ._arrays import View, view
from ._casting import Cast, corners, exact, table
from ._native import (ArgumentError, CapacityError, Context, Worker, argument_errors, buffer_of, ffi, integer, lib, locked, name_of)
from .pairs import BoxSet, device_number, device_text, filter_part, set_parts, struct_dict
from .typing import AnyArray, Boxes, Device, Each, Marks, Points, QueryParts, Rays, Stream, TreeQuality

if TYPE_CHECKING:
    from typing_extensions import Unpack

_QUALITIES: dict[str, Any] = {"linear": lib.PSV_TREE_LINEAR, "fine": lib.PSV_TREE_FINE}
_FLOAT = ("float32",)
_INTEGERS = ("uint32", "int32")


class RayHits(NamedTuple):
    """What rays hit; arrays have one entry a ray, or one a hit.

    t : float32
        The hit is at origin + t direction. The ray's t_max where nothing was hit.
    item : int32
        The item's number; -1 where nothing was hit.
    uv : float32 (.., 2)
        Weights of a triangle's second and third vertex; 0 for boxes.
    """

    t: Any
    item: Any
    uv: Any


class ClosestPoints(NamedTuple):
    """The closest points to n centres.

    point : float32 (n, 3)
        On the item; the centre itself inside a box, or where nothing is within the radius.
    distance : float32 (n,)
        The radius where nothing is within it.
    item : int32 (n,)
        -1 where nothing is within the radius.
    uv : float32 (n, 2)
        Weights of a triangle's second and third vertex.
    """

    point: Any
    distance: Any
    item: Any
    uv: Any


class NearItems(NamedTuple):
    """The k nearest items of n centres, the nearest first, of equal squares of distances the lower item.

    distance : float32 (n, k)
        0 inside a box; the radius where there are no more.
    item : int32 (n, k)
        -1 where there are no more.
    """

    distance: Any
    item: Any


class Lists(NamedTuple):
    """A list for each of n queries: query q has ``items[offsets[q]:offsets[q + 1]]``.

    offsets : int64 (n + 1,)
        int32 in JAX where it has 32 bits.
    items : int32 (all,), or RayHits of that many entries
    """

    offsets: Any
    items: Any


class Rows(NamedTuple):
    """At most `each` results for each of n queries: query q has ``items[q, :min(counts[q], each)]``.

    counts : int32 (n,)
        Exact, also where more than `each` were found.
    items : int32 (n, each), or RayHits of that shape
        Past the results item is -1, t and uv are NaN.
    """

    counts: Any
    items: Any


def _pack(parts: Sequence[tuple[Any, int]], name: str, cast: Cast = None) -> View:
    """One array (n, width) of the library of the first part; parts are (array (n, columns) or (n,) or a number, columns)."""
    like = view(parts[0][0], name)
    width = sum(columns for _, columns in parts)
    if like.maker == "warp":
        raise ArgumentError(f"{name}: of warp give one array {(like.shape[0], width)}")
    made, made_view = _arrays.empty((like.shape[0], width), "float32", like)
    at = 0
    for part, columns in parts:
        target = made[:, at] if columns == 1 else made[:, at : at + columns]
        if hasattr(part, "shape") and tuple(part.shape) not in ((), tuple(target.shape)):
            raise ArgumentError(f"{name}: a part has shape {tuple(part.shape)}; {tuple(target.shape)} is wanted")
        if like.maker == "jax" and like.device >= 0 and hasattr(part, "shape"):
            import cupy

            part = cupy.from_dlpack(part)
        if isinstance(part, (list, tuple)):
            part = made.new_tensor(part) if like.maker == "torch" else made.dtype.type(part)
        target[...] = part
        at += columns
    made_view.maker = like.maker  # of JAX it was made by another library; results are JAX's again
    return made_view


def ray_view(rays: Any, t_min: Any, t_max: Any, cast: Cast = None) -> View:
    """Rays (n, 8) where they are, or of two arrays (n, 3) and bounds a copy."""
    if isinstance(rays, (tuple, list)) and len(rays) == 2 and (hasattr(rays[0], "shape") or isinstance(rays, tuple)):
        parts = [table(rays[i], f"rays[{i}]", _FLOAT, 3, cast) if isinstance(rays[i], (list, tuple)) else rays[i] for i in (0, 1)]
        parts = [part.owner if isinstance(part, View) else part for part in parts]
        return _pack([(parts[0], 3), (0.0 if t_min is None else t_min, 1), (parts[1], 3),
                      (float("inf") if t_max is None else t_max, 1)], "rays", cast)
    if t_min is not None or t_max is not None:
        raise ArgumentError("rays (n, 8) hold t_min and t_max; give them beside (origins, directions) alone")
    return table(rays, "rays", _FLOAT, 8, cast)


def sphere_view(spheres: Any, radius: Any, name: str = "spheres", cast: Cast = None) -> View:
    """Centres with radii (n, 4) where they are, or of (n, 3) and `radius` a copy."""
    if isinstance(spheres, (list, tuple)):
        spheres = view(spheres, name).owner
    shape: Any = getattr(spheres, "shape", ())
    if radius is None and len(shape) == 2 and shape[1] == 4:
        return table(spheres, name, _FLOAT, 4, cast)
    if len(shape) != 2 or shape[1] != 3 or radius is None:
        raise ArgumentError(f"{name} has shape {tuple(shape)}; (n, 4) with the radius last, or (n, 3) and `radius` are wanted")
    return _pack([(spheres, 3), (radius, 1)], name, cast)


class _Triangles:
    """A psv_triangle_set and the arrays that it points to."""

    def __init__(self, vertices: Any, indices: Any, *, worlds: Any = None, groups: Any = None, masks: Any = None, filters: Any = None,
                 flags: Any = None, count: Any = None, cast: Cast = None) -> None:
        points = table(vertices, "vertices", _FLOAT, 3, cast)
        self.views = [points]
        self.before: Sequence[View] = ()
        triangle_set = self.set = ffi.new("psv_triangle_set *")
        triangle_set.vertices = buffer_of(points.pointer, points.nbytes)
        triangle_set.vertex_stride = points.strides[0] if points.shape[0] > 1 else 12
        triangle_set.vertex_count = points.shape[0]
        if indices is None:
            n = points.shape[0] // 3
        else:
            corners = table(indices, "indices", ("int32", "uint32"), 3, cast)
            self.views.append(corners)
            n = corners.shape[0]
            triangle_set.indices = buffer_of(corners.pointer, corners.nbytes)
            triangle_set.index_stride = corners.strides[0] if n > 1 else 12
        triangle_set.count = self.count = n
        set_parts(triangle_set, self.views, filters=filter_part(groups, masks, filters, n, points, cast),
                  worlds=exact(worlds, "worlds", _INTEGERS, (n,), cast),
                  count_buffer=exact(count, "count", ("uint64", "int64"), (1,), cast),
                  flags=exact(flags, "flags", ("uint8", "int8", "bool"), (n,), cast))


class QuerySet:
    """A psv_query_set and the arrays that it points to."""

    def __init__(self, data: View, *, worlds: Any = None, groups: Any = None, masks: Any = None, filters: Any = None, count: Any = None,
                 sort_queries: bool = False, cast: Cast = None) -> None:
        self.views = [data]
        n = self.count = data.shape[0]
        if n > 1 and data.strides[0] <= 0:
            raise ArgumentError("queries must lie in ascending order of their addresses")
        query_set = self.set = ffi.new("psv_query_set *")
        query_set.data = buffer_of(data.pointer, data.nbytes)
        query_set.stride = data.strides[0] if n > 1 else data.shape[1] * 4
        query_set.count = n
        query_set.sort = sort_queries
        set_parts(query_set, self.views, filters=filter_part(groups, masks, filters, n, data, cast),
                  worlds=exact(worlds, "worlds", _INTEGERS, (n,), cast),
                  count_buffer=exact(count, "count", ("uint64", "int64"), (1,), cast))


def _hits(made: Any, like: View) -> RayHits:
    return RayHits(*(_arrays.field(made, first, columns, dtype, like)
                     for first, columns, dtype in ((0, 0, "float32"), (1, 0, "int32"), (2, 2, "float32"))))


def _items(made: Any, like: View) -> Any:
    return _arrays.field(made, 0, 0, "int32", like)


def owner_of(one: View) -> Any:
    """The array that a View shows."""
    return one.owner[0] if isinstance(one.owner, tuple) else one.owner


def check_parts(parts: Any, known: Sequence[str]) -> None:
    """Refuses further arguments of a query that it does not know."""
    for name in parts:
        if name not in known:
            raise TypeError(f"'{name}' is no argument of this query; accepted: {', '.join(known)}, cast, stream")


class Tree(Worker):
    """A bounding volume hierarchy over boxes or triangles, and queries in bulk. Made once, built or refitted every frame.

    Answers do not depend on the tree: every quality and every device give the same bytes. On a GPU nothing waits for the
    device, but for lists of unknown length (``each=None``) and :meth:`statistics`.

    >>> import numpy as np, pairsieve
    >>> tree = pairsieve.Tree(2).build(np.array([[0, 0, 0, 1, 1, 1], [3, 0, 0, 4, 1, 1]], np.float32))
    >>> tree.trace_closest((np.array([[-1, .5, .5]], np.float32), np.array([[1, 0, 0]], np.float32))).t
    array([1.], dtype=float32)

    Parameters
    ----------
    max_items : int
        Most boxes or triangles of a build.
    device : str or int
        As for PairFinder.
    triangles : bool
        Room for triangles (or as many boxes); False: for boxes alone.
    quality : str
        ``"linear"``: the fastest build. ``"fine"``: several times the build, faster queries.
    worlds : int
        Number of worlds that items and queries may belong to; a query finds items of its own world alone.
    max_queries : int, optional
        Most queries of a call that sorts them or makes lists of unknown length, 20 to 40 bytes each; default: `max_items`, at
        least 65,536.
    sort_method : str
        Sorter of the keys, see :func:`pairsieve.sort_methods`.
    stream : int or stream object, optional
        CUDA stream to work on. Default: the current stream of the library whose arrays are given.

    Queries
    -------
    All query methods take, beside their own arguments, each optional:

    worlds : (n,) int32 or uint32
        World of each query.
    filters : (n, 2) int32 or uint32, or groups, masks : (n,)
        Against those of the items, as in :meth:`PairFinder.find`.
    count : (1,) uint64 or int64
        Count of this frame, read on the device; the queries then are the most there can be.
    sort_queries : bool
        Take queries in the order of their places: for many that come in no order. Results lie where they would without.
    cast : bool
        As in :meth:`PairFinder.find`.
    stream : int or stream object

    Results are arrays of the library and on the device of the queries. They raise ArgumentError where an array has another shape,
    type or device than is wanted, or nothing was built, and CapacityError with ``needed`` for more queries than `max_queries`.
    """

    @argument_errors
    def __init__(self, max_items: int, *, device: Device = "cpu", triangles: bool = False, quality: TreeQuality = "linear", worlds: int = 1,
                 max_queries: int | None = None, sort_method: str = "radix", stream: Stream | None = None) -> None:
        if quality not in _QUALITIES:
            raise ArgumentError(f"quality is {quality!r}; accepted: {', '.join(_QUALITIES)}")
        self._stream = _arrays.stream_number(stream)
        self.device = device_number(device)
        self.context = Context(self.device, self._stream)
        self._lock = self.context.lock
        definition = ffi.new("psv_tree_def *", lib.psv_default_tree_def())
        name = name_of(sort_method, "sort_method")
        definition.sort_method = name
        definition.quality, definition.triangles = _QUALITIES[quality], triangles
        self.max_items = integer(max_items, "max_items")
        self.max_queries = max(self.max_items, 65536) if max_queries is None else integer(max_queries, "max_queries")
        definition.max_items, definition.max_queries = self.max_items, self.max_queries
        definition.world_count = integer(worlds, "worlds", most=(1 << 32) - 1)
        made = ffi.new("psv_tree **")
        self.context.check(lib.psv_create_tree(self.context.handle, definition, made))
        self.handle: Any = made[0]
        self.quality, self.triangles = quality, bool(triangles)
        self._items: BoxSet | _Triangles | None = None
        self._asked: QuerySet | None = None
        self._room = 1024  # for lists of unknown length: what the last one took
        self._finalizer = weakref.finalize(self, _destroy, self.handle, self.context)

    def __repr__(self) -> str:
        """Room, items of the last build, device and quality."""
        kind = "triangles" if self.triangles else "boxes"
        held = "nothing built" if self._items is None else f"built of {self._items.count:,}"
        return f"<pairsieve.Tree for {self.max_items:,} {kind} on {device_text(self.device)}, quality {self.quality!r}, {held}>"

    def _work_on(self, views: Sequence[View], stream: Stream | None, what: str) -> None:
        device, current = _arrays.same_place(views)
        if device != self.device:
            raise ArgumentError(f"{what} lie on {_arrays.place(device)}, the tree works on {_arrays.place(self.device)}")
        wanted = self._stream if stream is None else _arrays.stream_number(stream)
        self.context.use_stream(current if wanted is None else wanted)

    def _fill(self, call: Callable[..., int], items: BoxSet | _Triangles, stream: Stream | None, what: str) -> Tree:
        self._work_on(items.views, stream, what)
        self.context.check(self.context.run(items.count, (self, items), call, self.handle, items.set))
        self._items = items  # later queries read its filters, and the device may still read the rest
        return self

    @locked
    def build(self, boxes: Boxes, *, worlds: Marks | None = None, groups: Marks | None = None, masks: Marks | None = None,
              filters: Marks | None = None, flags: Marks | None = None, count: AnyArray | None = None, cast: Cast = None,
              stream: Stream | None = None) -> Tree:
        """Builds the tree of boxes, which replaces the previous tree; returns the tree.

        Arguments are those of :meth:`PairFinder.find`; float32 alone. Give points as ``(points, points)``. Bad boxes (NaN, min >
        max) and disabled ones (flag 2) are never found. Items are copied, but `filters` has to stay as it is for queries.
        """
        parts = dict(worlds=worlds, groups=groups, masks=masks, filters=filters, flags=flags, count=count)
        return self._fill(lib.psv_build_tree, BoxSet(boxes, "boxes", **parts, accepted=_FLOAT, cast=cast), stream, "boxes")

    @locked
    def build_triangles(self, vertices: Points, indices: Marks | None = None, *, worlds: Marks | None = None, groups: Marks | None = None,
                        masks: Marks | None = None, filters: Marks | None = None, flags: Marks | None = None,
                        count: AnyArray | None = None, cast: Cast = None, stream: Stream | None = None) -> Tree:
        """Builds the tree of triangles; returns the tree, which has to be made with ``triangles=True``.

        Parameters
        ----------
        vertices : (v, 3) float32
            Any stride from vertex to vertex; below 1e15. Triangles with a vertex that is not finite are never found.
        indices : (n, 3) int32 or uint32, optional
            Vertices of each triangle. Default: 0 to 2 are the first triangle, 3 to 5 the next.
        worlds, groups, masks, filters, flags, count, cast, stream
            As for :meth:`build`, an entry a triangle.
        """
        parts = dict(worlds=worlds, groups=groups, masks=masks, filters=filters, flags=flags, count=count)
        return self._fill(lib.psv_build_triangle_tree, _Triangles(vertices, indices, **parts, cast=cast), stream, "vertices")

    def _moved(self, items: BoxSet | _Triangles) -> BoxSet | _Triangles:
        old = self._items
        if old is None or type(old) is not type(items) or old.count != items.count:
            held = "nothing" if old is None else f"{old.count} {'boxes' if isinstance(old, BoxSet) else 'triangles'}"
            raise ArgumentError(f"{items.count} items are given, the tree was built of {held}; the same in other places are wanted")
        for field in ("filters", "worlds", "flags", "count_buffer"):
            setattr(items.set, field, getattr(old.set, field))
        items.before = old.views  # that hold those parts
        return items

    @locked
    def refit(self, boxes: Boxes, *, cast: Cast = None, stream: Stream | None = None) -> Tree:
        """The same tree for boxes that moved since :meth:`build`, whose other arrays go on to count; returns the tree.

        A third of the time of a build; queries get slower the further items moved.
        """
        return self._fill(lib.psv_refit_tree, self._moved(BoxSet(boxes, "boxes", accepted=_FLOAT, cast=cast)), stream, "boxes")

    @locked
    def refit_triangles(self, vertices: Points, indices: Marks | None = None, *, cast: Cast = None,
                        stream: Stream | None = None) -> Tree:
        """The same tree for vertices that moved since :meth:`build_triangles`, with the same `indices`; returns the tree."""
        items = self._moved(_Triangles(vertices, indices, cast=cast))
        return self._fill(lib.psv_refit_triangle_tree, items, stream, "vertices")

    def _queries(self, data: View, cast: Cast, stream: Stream | None, parts: Any) -> QuerySet:
        check_parts(parts, ("worlds", "groups", "masks", "filters", "count", "sort_queries"))
        queries = QuerySet(data, **parts, cast=cast)
        if queries.set.sort:
            self._need_room(queries.count)
        self._work_on(queries.views, stream, "queries")
        self._asked = queries  # the device may still read them
        return queries

    def _need_room(self, count: int) -> None:
        if count > self.max_queries:
            raise CapacityError(f"{count} queries; the tree was made with max_queries {self.max_queries}", count)

    def _answer(self, call: Callable[..., int], queries: QuerySet, shape: tuple[int, ...], *arguments: int) -> Any:
        made, made_view = _arrays.empty(shape, "float32", queries.views[0])
        out = buffer_of(made_view.pointer, made_view.nbytes)
        keep = (self, queries, made_view)
        self.context.check(self.context.run(queries.count, keep, call, self.handle, queries.set, *arguments, out))
        return made

    @locked
    def trace_closest(self, rays: Rays, *, t_min: Each | AnyArray | None = None, t_max: Each | AnyArray | None = None,
                      cast: Cast = None, stream: Stream | None = None, **parts: Unpack[QueryParts]) -> RayHits:
        """The first hit of each ray: RayHits of n entries, the least t, of equals the lowest item.

        Parameters
        ----------
        rays : (n, 8) float32, or (origins, directions), each (n, 3)
            origin, t_min, direction, t_max side by side, which saves a copy. A direction has any length; t is in lengths of it.
        t_min, t_max : number or (n,) float32, optional
            With (origins, directions); default 0 and infinite.
        **parts
            See :class:`Tree`.

        Boxes are closed and solid: a ray that begins inside hits at t_min. Triangles are hit from both sides, without gaps.
        """
        queries = self._queries(ray_view(rays, t_min, t_max, cast), cast, stream, parts)
        return _hits(self._answer(lib.psv_trace_closest, queries, (queries.count, 4)), queries.views[0])

    @locked
    def trace_any(self, rays: Rays, *, t_min: Each | AnyArray | None = None, t_max: Each | AnyArray | None = None,
                  cast: Cast = None, stream: Stream | None = None, **parts: Unpack[QueryParts]) -> Any:
        """int32 (n,): 1 where the ray hits anything, else 0. Arguments as for :meth:`trace_closest`."""
        queries = self._queries(ray_view(rays, t_min, t_max, cast), cast, stream, parts)
        made = self._answer(lib.psv_trace_any, queries, (queries.count, 1))
        return _arrays.field(made, 0, 0, "int32", queries.views[0])

    @overload
    def trace_all(self, rays: Rays, *, t_min: Each | AnyArray | None = None, t_max: Each | AnyArray | None = None,
                  each: None = None, in_order: bool = False,
                  cast: Cast = None, stream: Stream | None = None, **parts: Unpack[QueryParts]) -> Lists: ...
    @overload
    def trace_all(self, rays: Rays, *, t_min: Each | AnyArray | None = None, t_max: Each | AnyArray | None = None,
                  each: int, in_order: bool = False,
                  cast: Cast = None, stream: Stream | None = None, **parts: Unpack[QueryParts]) -> Rows: ...
    @locked
    def trace_all(self, rays: Rays, *, t_min: Each | AnyArray | None = None, t_max: Each | AnyArray | None = None,
                  each: int | None = None, in_order: bool = False,
                  cast: Cast = None, stream: Stream | None = None, **parts: Unpack[QueryParts]) -> Lists | Rows:
        """All items that each ray hits: Lists, or with `each` Rows, of RayHits. `in_order`: ascending t, then items.

        Rays as for :meth:`trace_closest`, `each` as for :meth:`overlap_boxes`.
        """
        queries = self._queries(ray_view(rays, t_min, t_max, cast), cast, stream, parts)
        return self._lists(lib.psv_trace_all, queries, 4, each, in_order)

    @overload
    def overlap_boxes(self, boxes: Boxes, *, each: None = None, in_order: bool = False,
                      cast: Cast = None, stream: Stream | None = None, **parts: Unpack[QueryParts]) -> Lists: ...
    @overload
    def overlap_boxes(self, boxes: Boxes, *, each: int, in_order: bool = False,
                      cast: Cast = None, stream: Stream | None = None, **parts: Unpack[QueryParts]) -> Rows: ...
    @locked
    def overlap_boxes(self, boxes: Boxes, *, each: int | None = None, in_order: bool = False,
                      cast: Cast = None, stream: Stream | None = None, **parts: Unpack[QueryParts]) -> Lists | Rows:
        """All items that each box touches: Lists, or with `each` Rows.

        Parameters
        ----------
        boxes : (n, 6) or (n, 2, 3) float32, or two (n, 3)
            Lower corner first; two arrays are copied. Bad boxes find nothing.
        each : int, optional
            Room for each query: nothing waits for the device then, and with ``in_order`` these are the first. 0: counts alone.
            Default: lists of any length; waits for the device to know it.
        in_order : bool
            Ascending items.
        **parts
            See :class:`Tree`.

        Boxes are closed. Triangles themselves are tested; what only touches may go either way there, by rounding.
        """
        low, high = corners(boxes, "boxes", _FLOAT, cast)
        if high is not None:
            low = _pack([(owner_of(low), 3), (owner_of(high), 3)], "boxes", cast)
        elif len(low.shape) == 3:
            low = View(low.pointer, (low.shape[0], 6), (low.strides[0], 4), low.dtype, low.device, low.stream, low.maker, low)
        return self._lists(lib.psv_overlap_boxes, self._queries(low, cast, stream, parts), 1, each, in_order)

    @overload
    def overlap_spheres(self, spheres: Points, radius: Each | AnyArray | None = None, *, each: None = None, in_order: bool = False,
                        cast: Cast = None, stream: Stream | None = None, **parts: Unpack[QueryParts]) -> Lists: ...
    @overload
    def overlap_spheres(self, spheres: Points, radius: Each | AnyArray | None = None, *, each: int, in_order: bool = False,
                        cast: Cast = None, stream: Stream | None = None, **parts: Unpack[QueryParts]) -> Rows: ...
    @locked
    def overlap_spheres(self, spheres: Points, radius: Each | AnyArray | None = None, *, each: int | None = None, in_order: bool = False,
                        cast: Cast = None, stream: Stream | None = None, **parts: Unpack[QueryParts]) -> Lists | Rows:
        """All items that each sphere touches: Lists, or with `each` Rows.

        Parameters
        ----------
        spheres : (n, 4) float32, centre and radius side by side, or (n, 3) with `radius`
        radius : number or (n,), optional
            At least 0; the sphere of a NaN or a negative radius finds nothing.
        each, in_order, **parts
            As for :meth:`overlap_boxes`.
        """
        queries = self._queries(sphere_view(spheres, radius, "spheres", cast), cast, stream, parts)
        return self._lists(lib.psv_overlap_spheres, queries, 1, each, in_order)

    @locked
    def find_nearest(self, points: Points, k: int = 1, *, radius: Each | AnyArray | None = None,
                     cast: Cast = None, stream: Stream | None = None, **parts: Unpack[QueryParts]) -> NearItems:
        """The k nearest items of each point, of those within the radius: NearItems.

        Parameters
        ----------
        points : (n, 3) float32, or (n, 4) with the radius last, which saves a copy
        k : int
            1 to about 100: each result costs up to k steps.
        radius : number or (n,), optional
            Default: infinite.
        **parts
            See :class:`Tree`.
        """
        k = integer(k, "k", 1, (1 << 31) - 1)
        queries = self._queries(self._centres(points, radius, cast), cast, stream, parts)
        made = self._answer(lib.psv_find_nearest, queries, (queries.count, k, 2), k)
        return NearItems(_arrays.field(made, 0, 0, "float32", queries.views[0]), _arrays.field(made, 1, 0, "int32", queries.views[0]))

    @locked
    def find_closest(self, points: Points, *, radius: Each | AnyArray | None = None,
                     cast: Cast = None, stream: Stream | None = None, **parts: Unpack[QueryParts]) -> ClosestPoints:
        """The closest point of all items to each point within the radius: ClosestPoints. Arguments as for :meth:`find_nearest`."""
        queries = self._queries(self._centres(points, radius, cast), cast, stream, parts)
        made = self._answer(lib.psv_find_closest, queries, (queries.count, 7))
        return ClosestPoints(*(_arrays.field(made, first, columns, dtype, queries.views[0]) for first, columns, dtype in (
            (0, 3, "float32"), (3, 0, "float32"), (4, 0, "int32"), (5, 2, "float32"))))

    @staticmethod
    def _centres(points: Any, radius: Any, cast: Cast) -> View:
        if isinstance(points, (list, tuple)):
            points = view(points, "points").owner
        shape: Any = getattr(points, "shape", ())
        return sphere_view(points, float("inf") if radius is None and len(shape) == 2 and shape[1] == 3 else radius, "points", cast)

    def _results(self, shape: tuple[int, ...], width: int, like: View) -> tuple[Any, Any, Callable[[Any, View], Any]]:
        """An array of items, or of hits, and what to give back of it."""
        made, made_view = _arrays.empty((*shape, width), "float32", like)
        show: Callable[[Any, View], Any] = _hits if width == 4 else _items
        return made, buffer_of(made_view.pointer, made_view.nbytes), show

    def _lists(self, call: Callable[..., int], queries: QuerySet, width: int, each: int | None, in_order: bool) -> Lists | Rows:
        like = queries.views[0]
        lists = ffi.new("psv_query_lists *")
        lists.in_order = in_order
        if each is None:
            return self._lists_of_any_length(call, queries, width, lists)
        each = integer(each, "each", most=(1 << 32) - 1)
        counts, counts_view = _arrays.empty((queries.count,), "int32", like)
        made, results, show = self._results((queries.count, each), width, like)
        _arrays.fill_with_ones(made)
        lists.counts = buffer_of(counts_view.pointer, counts_view.nbytes)
        if each:
            lists.results, lists.each = results, each
        keep = (self, queries, counts_view, made)
        self.context.check(self.context.run(queries.count, keep, call, self.handle, queries.set, lists))
        return Rows(_arrays.finish(counts, like), show(made, like))

    def _lists_of_any_length(self, call: Callable[..., int], queries: QuerySet, width: int, lists: Any) -> Lists:
        self._need_room(queries.count)
        like = queries.views[0]
        offsets, offsets_view = _arrays.empty((queries.count + 1,), "int64", like)
        lists.offsets = buffer_of(offsets_view.pointer, offsets_view.nbytes)
        total = ffi.new("uint64_t *")
        room = max(self._room, 4 * queries.count)
        while True:
            made, lists.results, show = self._results((room,), width, like)
            keep = (self, queries, offsets_view, made)
            status = self.context.run(queries.count, keep, call, self.handle, queries.set, lists)
            if status != lib.PSV_ERROR_CAPACITY:
                self.context.check(status)
            status = lib.psv_finish_queries(self.handle, total)
            if status != lib.PSV_ERROR_CAPACITY or total[0] <= room:
                break
            room = int(total[0])
        self.context.check(status)
        found = int(total[0])
        self._room = max(1024, found + found // 4)
        return Lists(_arrays.finish(offsets, like), show(made[:found], like))

    @locked
    def statistics(self) -> dict[str, Any]:
        """Of the last build, as a dict: items, bad_items, nodes, levels, key_bits, fell_back. Waits for the device."""
        out = ffi.new("psv_tree_statistics *")
        self.context.check(lib.psv_read_tree_statistics(self.handle, out))
        return struct_dict(out)


def _destroy(handle: Any, _context: Context) -> None:
    lib.psv_destroy_tree(handle)
