"""Neighbours within a radius: exact, in order, as lists (CSR) or edges, and in the forms that SciPy has."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from . import _arrays
from ._arrays import view
from ._native import ArgumentError, Context, argument_errors, buffer_of, ffi, lib
from ._radius_pairs import find_by_pairs
from .pairs import radius_finders

_INDEX = ("int32", "int64")


class Neighbours(NamedTuple):
    """A list of neighbours for each of n queries: query q has ``indices[offsets[q]:offsets[q + 1]]``, ascending.

    offsets : int64 (n + 1,)
        int32 in JAX where it has 32 bits; so is int64 below.
    indices : int32 or int64 (all,)
    distances : float32 or float64 (all,), as the points; None unless asked for
    """

    offsets: Any
    indices: Any
    distances: Any


class Edges(NamedTuple):
    """Neighbours as edges.

    edge_index : int32 or int64 (2, all)
        Row 0 the neighbour, row 1 the query (the centre); ascending by query, then by neighbour.
    distances : float32 or float64 (all,), as the points; None unless asked for
    """

    edge_index: Any
    distances: Any


def _point_view(points: Any, name: str) -> Any:
    one = view(points, name)
    if one.dtype not in ("float32", "float64") or len(one.shape) not in (1, 2):
        raise ArgumentError(f"{name} is {one.dtype} {one.shape}; float32 or float64 (n, d) is wanted")
    if len(one.shape) == 1:  # points on a line
        one.shape, one.strides = (one.shape[0], 1), (one.strides[0], one.itemsize)
    count, dimensions = one.shape
    if count and (one.strides[1] != one.itemsize and dimensions > 1):
        raise ArgumentError(f"{name} has strides {one.strides}; adjacent columns are wanted")
    if count > 1 and one.strides[0] < dimensions * one.itemsize:
        raise ArgumentError(f"{name} has strides {one.strides}; points must lie in ascending order and apart")
    return one


def _batch_view(batch: Any, name: str, count: int) -> tuple[Any, Any]:
    """A View of int32 or uint32 (count,), and what holds its memory."""
    one = view(batch, name)
    if one.shape != (count,) or one.dtype not in ("int32", "uint32", "int64"):
        raise ArgumentError(f"{name} is {one.dtype} {one.shape}; int32, uint32 or int64 ({count},) is wanted")
    if one.dtype == "int64":
        if one.maker not in ("numpy", "torch", "cupy", "jax"):
            raise ArgumentError(f"{name} is int64; of {one.maker} int32 is wanted")
        if count and not 0 <= int(batch.min()) <= int(batch.max()) < 1 << 31:
            raise ArgumentError(f"{name} holds {int(batch.min())} to {int(batch.max())}; numbers from 0 to 2147483647 are wanted")
        batch = batch.int() if one.maker == "torch" else batch.astype(np.int32)
        one = view(batch, name)
    if not one.contiguous:
        raise ArgumentError(f"{name} has strides {one.strides}; a contiguous array is wanted")
    return one, batch


def checked_radius(radius: Any) -> float:
    number = float(radius)
    if not 0 <= number < float("inf"):
        raise ArgumentError(f"radius is {radius!r}; a finite number, 0 or more, is wanted")
    return number


class _Search:
    """The checked arguments of a search."""

    def __init__(self, points: Any, radius: float, queries: Any, batch: Any, query_batch: Any, loop: bool,
                 max_neighbours: int | None) -> None:
        self.points = _point_view(points, "points")
        self.between = queries is not None
        self.queries = _point_view(queries, "queries") if self.between else self.points
        if self.queries.dtype != self.points.dtype or self.queries.shape[1] != self.points.shape[1]:
            raise ArgumentError(f"points are {self.points.dtype} {self.points.shape} and queries {self.queries.dtype} "
                                f"{self.queries.shape}; the same type and number of columns are wanted")
        if (batch is None) != (query_batch is None) and self.between:
            raise ArgumentError("give batch and query_batch, or none of them")
        if query_batch is not None and not self.between:
            raise ArgumentError("query_batch is for `queries`, which were not given")
        self.radius = checked_radius(radius)
        if max_neighbours is not None and not 1 <= int(max_neighbours) < 1 << 31:
            raise ArgumentError(f"max_neighbours is {max_neighbours!r}; None (all) or a number from 1 is wanted")
        self.most = max_neighbours
        self.loop = bool(loop)
        self.batches: list[Any] = []
        self.arrays = (points, points if queries is None else queries)
        self.held: list[Any] = []
        for given, name, of in ((batch, "batch", self.points), (query_batch, "query_batch", self.queries)):
            if given is not None:
                one, kept = _batch_view(given, name, of.shape[0])
                self.batches.append(one)
                self.held.append(kept)  # as it is searched
        self.device, self.stream = _arrays.same_place([self.points, self.queries, *self.batches])

    def set_of(self, target: Any, points: Any, batch: Any) -> None:
        count, dimensions = points.shape
        target.coordinates = buffer_of(points.pointer, points.nbytes)
        target.stride = points.strides[0] if count > 1 else dimensions * points.itemsize
        target.count = count
        if batch is not None:
            target.worlds = buffer_of(batch.pointer, batch.nbytes)

    def struct(self, distances: bool) -> Any:
        search = ffi.new("psv_neighbour_search *", lib.psv_default_neighbour_search())
        batches = [*self.batches, None, None]
        self.set_of(search.points, self.points, batches[0])
        if self.between:
            self.set_of(search.queries, self.queries, batches[1])
        search.between, search.itself, search.distances = self.between, self.loop, distances
        search.doubles, search.dimensions = self.points.dtype == "float64", self.points.shape[1]
        search.radius, search.most = self.radius, self.most or 0
        return search


class _Finder:
    """A psv_neighbour_finder with a context of its own."""

    def __init__(self) -> None:
        self.context = Context(-1)
        made = ffi.new("psv_neighbour_finder **")
        self.context.check(lib.psv_create_neighbour_finder(self.context.handle, made))
        self.handle = made[0]
        weakref.finalize(self, _destroy, self.handle, self.context)


def _destroy(handle: Any, _context: Context) -> None:
    lib.psv_destroy_neighbour_finder(handle)


def _kept_finder() -> _Finder:
    """The calling thread's finder, whose memory the next call needs again; clear_cache() frees it."""
    finder: _Finder = radius_finders.take("radius", lambda _kept: True) or _Finder()
    radius_finders.objects["radius"] = finder
    return finder


def _on_the_cpu(search: _Search, as_edges: bool, distances: bool, index: str) -> tuple[Any, ...]:
    """(offsets or None, indices or edge_index, distances or None)"""
    kept, like = _kept_finder(), search.points
    context, finder = kept.context, kept.handle
    found = ffi.new("uint64_t *")
    context.check(lib.psv_find_neighbours(finder, search.struct(distances), found))
    count, lists = int(found[0]), ffi.new("psv_neighbour_lists *")
    lists.wide = index == "int64"
    offsets = near = None
    if as_edges:
        indices, where = _arrays.empty((2, count), index, like)
        row = where.nbytes // 2
        if count:
            lists.indices, lists.queries = buffer_of(where.pointer, row), buffer_of(where.pointer + row, row)
    else:
        offsets, begins = _arrays.empty((search.queries.shape[0] + 1,), "int64", like)
        indices, where = _arrays.empty((count,), index, like)
        lists.offsets = buffer_of(begins.pointer, begins.nbytes)
        if count:
            lists.indices = buffer_of(where.pointer, where.nbytes)
    if distances:
        near, numbers = _arrays.empty((count,), like.dtype, like)
        if count:
            lists.distances = buffer_of(numbers.pointer, numbers.nbytes)
    context.check(lib.psv_write_neighbours(finder, lists))
    return tuple(None if one is None else _arrays.finish(one, like) for one in (offsets, indices, near))


@argument_errors
def _find(points: Any, radius: float, queries: Any = None, *, batch: Any = None, query_batch: Any = None, loop: bool = False,
          max_neighbours: int | None = None, as_edges: bool = False, distances: bool = False, index: str = "int32") -> tuple[Any, ...]:
    if index not in _INDEX:
        raise ArgumentError(f"index is {index!r}; accepted: 'int32', 'int64'")
    search = _Search(points, radius, queries, batch, query_batch, loop, max_neighbours)
    if search.device >= 0:
        return find_by_pairs(search, as_edges, distances, index)
    return _on_the_cpu(search, as_edges, distances, index)


def neighbours(points: Any, radius: float, queries: Any = None, *, batch: Any = None, query_batch: Any = None, loop: bool = False,
               max_neighbours: int | None = None, distances: bool = False, index: str = "int32") -> Neighbours:
    """All points within `radius` of each query: exact, in order, as lists (CSR). :func:`neighbour_edges` gives them as edges.

    A point p is a neighbour of q where ``dx*dx + dy*dy + dz*dz <= radius*radius`` (in this order, in double precision, for float32
    points too): the surface counts. Both directions are listed. Without `queries` each point is a query.

    Parameters
    ----------
    points : (n, d) or (n,) float32 or float64
        NumPy, PyTorch, JAX or Warp arrays on the CPU are read where they are; on a GPU PyTorch or CuPy arrays. d is 1 to 4096; cells use
        the first three coordinates.
    radius : float
        0 or more, in the unit of the points.
    queries : (m, d) like points, optional
    batch : (n,) int32, uint32 or int64, optional
        Points of different batches are no neighbours. int64 is converted.
    query_batch : (m,) like batch, optional
        Of `queries`.
    loop : bool
        Each point is its own neighbour. With `queries` nothing is left out.
    max_neighbours : int, optional
        At most so many of each query: the nearest, of equal distances the lower indices.
    distances : bool
        Give distances: the square root of the sum above, rounded to the points' type.
    index : str
        "int32" or "int64": the type of the indices.

    Returns
    -------
    Neighbours
        offsets, indices, distances: arrays of the library and on the device of `points`. Points and queries with a coordinate that is
        not finite have no neighbours and are nobody's.

    Raises
    ------
    ArgumentError
        An array or number that is not accepted; the sentence names it.
    OutOfMemoryError
        The neighbours do not fit into memory.

    >>> import numpy as np, pairsieve
    >>> pairsieve.neighbours(np.array([[0, 0, 0], [1, 0, 0], [5, 0, 0]], np.float32), 1.0).indices
    array([1, 0], dtype=int32)
    """
    return Neighbours(*_find(points, radius, queries, batch=batch, query_batch=query_batch, loop=loop, max_neighbours=max_neighbours,
                             distances=distances, index=index))


def neighbour_edges(points: Any, radius: float, queries: Any = None, *, batch: Any = None, query_batch: Any = None, loop: bool = False,
                    max_neighbours: int | None = None, distances: bool = False, index: str = "int64") -> Edges:
    """The same as edges of a graph: ``edge_index`` (2, all), row 0 the neighbour and row 1 the query. See :func:`neighbours`."""
    return Edges(*_find(points, radius, queries, batch=batch, query_batch=query_batch, loop=loop, max_neighbours=max_neighbours,
                        distances=distances, index=index, as_edges=True)[1:])


def query_pairs(points: Any, r: float, *, batch: Any = None, index: str = "int64") -> Any:
    """Pairs (i, j), i < j, of points within distance `r`: an array (count, 2), ascending.

    As SciPy's ``cKDTree(points).query_pairs(r, output_type="ndarray")`` (Euclidean, eps 0), with the pairs in order. Parameters and
    errors are those of :func:`neighbours`; NumPy and PyTorch arrays.
    """
    edges, _ = neighbour_edges(points, r, batch=batch, index=index)
    if isinstance(edges, np.ndarray):
        return np.ascontiguousarray(edges[:, edges[0] > edges[1]][::-1].T)
    if type(edges).__module__.partition(".")[0] != "torch":
        raise ArgumentError(f"points are of {type(points).__module__}; NumPy or PyTorch arrays are wanted")
    return edges[:, edges[0] > edges[1]].flip(0).t().contiguous()


def query_ball_point(points: Any, x: Any, r: float, *, return_length: bool = False) -> Any:
    """The points within distance `r` of each point of `x`, as SciPy's ``cKDTree(points).query_ball_point(x, r)`` gives them: an array of
    objects, each a list of indices that ascend; a list for one point x of shape (d,). With `return_length` their numbers alone.

    points (n, d), x (m, d) or (d,): what NumPy makes an array of; float64 unless both are float32. :func:`neighbours` is
    much faster, since it makes no lists.
    """
    points, x = np.asarray(points), np.asarray(x)
    kind = np.float32 if points.dtype == x.dtype == np.float32 else np.float64
    queries = np.ascontiguousarray(np.atleast_2d(x), kind)
    found = neighbours(np.ascontiguousarray(points, kind), r, queries, index="int64")
    if return_length:
        lengths = np.diff(found.offsets)
        return lengths if x.ndim > 1 else int(lengths[0])
    lists = np.empty(len(queries), object)
    indices, offsets = found.indices.tolist(), found.offsets.tolist()
    for i in range(len(queries)):
        lists[i] = indices[offsets[i] : offsets[i + 1]]
    return lists if x.ndim > 1 else lists[0]
