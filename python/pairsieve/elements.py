"""Pairs of edges, vertices and faces of meshes."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from . import _arrays
from ._arrays import View
from ._casting import Cast, exact, table
from ._native import ArgumentError, Context, Worker, address_of, argument_errors, buffer_of, ffi, integer, lib
from .typing import Array, ElementKind, HostArray, Indices, Marks, Stream

_KINDS = {"edge-edge": "PSV_EDGE_EDGE", "vertex-face": "PSV_VERTEX_FACE", "face-face": "PSV_FACE_FACE", "edge-face": "PSV_EDGE_FACE"}


def edges_of(faces: HostArray | Sequence[Sequence[int]]) -> Indices:
    """The distinct sides of triangles (m, 3), as an int32 array (e, 2) with the lower vertex first. NumPy arrays."""
    corners = np.asarray(faces)
    if corners.ndim != 2 or corners.shape[1] != 3 or corners.dtype.kind not in "iu":
        raise ArgumentError(f"faces is {corners.dtype} {corners.shape}; integers (n, 3) are wanted")
    sides = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]), axis=1)
    return np.unique(sides[sides[:, 0] != sides[:, 1]], axis=0).astype(np.int32)


class _Finder(Worker):
    """A psv_element_finder for one call."""

    def __init__(self, context: Context, kinds: Sequence[str], counts: tuple[int, int, int], rings: int, bodies: bool,
                 method: str) -> None:
        definition = ffi.new("psv_element_finder_def *", lib.psv_default_element_finder_def())
        self._method = ffi.new("char[]", method.encode())
        definition.method = self._method
        definition.max_vertices, definition.max_edges, definition.max_faces = counts
        for kind in kinds:
            definition.max_pairs[getattr(lib, _KINDS[kind])] = 16 * max(*counts, 64)
        definition.grow_pairs = definition.rows = True
        definition.rings, definition.bodies = integer(rings, "rings", most=(1 << 32) - 1), bodies
        made = ffi.new("psv_element_finder **")
        context.check(lib.psv_create_element_finder(context.handle, definition, made))
        self.handle: Any = made[0]
        self.context = context
        self._finalizer = weakref.finalize(self, _destroy, self.handle, context)


def _destroy(handle: Any, _context: Context) -> None:
    lib.psv_destroy_element_finder(handle)


def _pairs(context: Context, handle: Any, kind: str, like: View) -> Any:
    number, count = getattr(lib, _KINDS[kind]), ffi.new("uint64_t *")
    status = lib.psv_read_element_pairs(handle, number, ffi.NULL, 0, count)  # no room is given: only the count is wanted
    if status != lib.PSV_ERROR_CAPACITY:
        context.check(status)
    rows = int(count[0])
    made, _ = _arrays.empty((rows, 2), "int32", like)
    if rows:
        source = lib.psv_element_pair_buffer(handle, number)
        library = like.maker if like.maker != "jax" else "cupy" if like.device >= 0 else "numpy"
        _arrays.copy_into(made, _arrays.wrap(address_of(source), (rows, 2), "int32", like.device, None, library, None))
        context.synchronize()
    return _arrays.finish(made, like)


@overload
def element_pairs(start: HostArray, faces: Marks, edges: Marks | None = None, *, end: HostArray | None = None,
                  kinds: ElementKind | Sequence[ElementKind] = ("edge-edge", "vertex-face"), radius: float = 0.0, rings: int = 0,
                  bodies: Marks | None = None, body_filters: Marks | None = None, apart: bool = False, method: str = "auto",
                  cast: Cast = None, stream: Stream | None = None) -> dict[str, Indices]: ...
@overload
def element_pairs(start: Array, faces: Array, edges: Array, *, end: Array | None = None,
                  kinds: ElementKind | Sequence[ElementKind] = ("edge-edge", "vertex-face"), radius: float = 0.0, rings: int = 0,
                  bodies: Array | None = None, body_filters: Array | None = None, apart: bool = False, method: str = "auto",
                  cast: Cast = None, stream: Stream | None = None) -> dict[str, Array]: ...
@argument_errors
def element_pairs(start: Any, faces: Any, edges: Any = None, *, end: Any = None, kinds: Any = ("edge-edge", "vertex-face"),
                  radius: float = 0.0, rings: int = 0, bodies: Any = None, body_filters: Any = None, apart: bool = False,
                  method: str = "auto", cast: Cast = None, stream: Any = None) -> Any:
    """Pairs of mesh elements whose boxes overlap and that share no vertex: candidates for cloth, contact potentials and cutting.

    Parameters
    ----------
    start : (v, 3) float32 or float64
        Positions of vertices. float64 is rounded outwards: no pair is lost.
    faces : (f, 3) int32 or uint32
        Triangles.
    edges : (e, 2) int32 or uint32, optional
        Default: the distinct sides of the faces (NumPy arrays alone; :func:`edges_of`).
    end : like start, optional
        Positions at the end of the step; boxes cover both times.
    kinds : str or names
        "edge-edge", "vertex-face", "face-face", "edge-face".
    radius : float
        Added on all sides of every box, in the unit of the positions.
    rings : int
        1, 2: elements with vertices that are so many edges apart, or fewer, are left out too.
    bodies : (v,) int32 or uint32, optional
        The body of each vertex.
    body_filters : (n, 2) int32 or uint32, optional
        Group and mask of each body: a and b pair only where ``group[a] & mask[b]`` and ``group[b] & mask[a]`` are not 0.
    apart : bool
        Elements of one body never pair.
    cast : bool, optional
        As in :meth:`PairFinder.find`.

    Returns
    -------
    dict
        An int32 array (count, 2) for each kind, ascending: (edge, edge), (vertex, face), (face, face), (edge, face).
        Arrays of the library and on the device of `start`. Waits for the device.
    """
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    for kind in kinds:
        if kind not in _KINDS:
            raise ArgumentError(f"kind is {kind!r}; accepted: {', '.join(_KINDS)}")
    integers, floats = ("int32", "uint32"), ("float32", "float64")
    first = _dense(start, "start", floats, 3, cast)
    if edges is None:
        if not isinstance(faces, (np.ndarray, list)):
            raise ArgumentError("edges is None; give the edges where faces is not a NumPy array")
        edges = edges_of(faces)
    views = [first, _dense(faces, "faces", integers, 3, cast), _dense(edges, "edges", integers, 2, cast)]
    count = first.shape[0]
    second = None if end is None else _dense(end, "end", (first.dtype,), 3, cast)
    body_view = exact(bodies, "bodies", integers, (count,), cast)
    filter_view = None if body_filters is None else _dense(body_filters, "body_filters", integers, 2, cast)
    views += [one for one in (second, body_view, filter_view) if one is not None]
    device, current = _arrays.same_place(views)
    wanted = _arrays.stream_number(stream)
    context = Context(device, current if wanted is None else wanted)
    elements, positions = ffi.new("psv_elements *"), ffi.new("psv_element_positions *")
    elements.vertices, elements.faces, elements.edges = count, views[1].shape[0], views[2].shape[0]
    elements.face_vertices = buffer_of(views[1].pointer, views[1].nbytes)
    elements.edge_vertices = buffer_of(views[2].pointer, views[2].nbytes)
    elements.apart = apart
    if body_view is not None:
        elements.bodies = buffer_of(body_view.pointer, body_view.nbytes)
    if filter_view is not None:
        elements.body_filters = buffer_of(filter_view.pointer, filter_view.nbytes)
        elements.body_count = filter_view.shape[0]
    positions.start = buffer_of(first.pointer, first.nbytes)
    positions.doubles, positions.radius = first.dtype == "float64", radius
    if second is not None:
        if second.shape != first.shape:
            raise ArgumentError(f"end has shape {second.shape}; that of start, {first.shape}, is wanted")
        positions.end = buffer_of(second.pointer, second.nbytes)
    counts = (count, elements.edges, elements.faces)
    finder = _Finder(context, kinds, counts, rings, body_view is not None, method)
    context.check(lib.psv_set_elements(finder.handle, elements))
    context.check(context.run(sum(counts), (finder, views, elements), lib.psv_find_element_pairs, finder.handle, positions))
    return {kind: _pairs(context, finder.handle, kind, first) for kind in kinds}


def _dense(array: Any, name: str, dtypes: Sequence[str], columns: int, cast: Cast) -> View:
    one = table(array, name, dtypes, columns, cast)
    if not one.contiguous:
        raise ArgumentError(f"{name} has strides {one.strides}; rows one behind the other are wanted")
    return one
