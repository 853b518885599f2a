"""Pairs, neighbours and stable sorts within ``jax.jit``: calls of fixed shapes, for arrays that JAX traces.

    from pairsieve.jax import argsort, find_pairs, neighbour_edges
    step = jax.jit(lambda boxes: find_pairs(boxes, capacity=100_000))
    pairs, count, overflow = step(boxes)

Shapes are fixed when JAX traces, so each call has room for `capacity` results. What is left of the room holds `fill`. Where the results do
not fit, the first ones in ascending order are there, `count` is still the exact number, and `overflow` is True.

Each call is a custom call of XLA on the CPU. A program that JAX compiles for a GPU is refused by XLA, which then finds no such call there;
outside of ``jit`` the functions of :mod:`pairsieve` work on the GPU. Under ``jax.vmap`` finding runs once for each element, and sorting
once for all. Integers have no gradients: compute distances from the indices, as docs/learn/neighbours.md shows.

Values that are refused while a compiled call runs arrive as JAX's own error, with the sentence of the :class:`pairsieve.Error` in it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from . import pairs as _pairs
from . import radius as _radius
from ._jax_calls import call, register
from ._native import ArgumentError, CapacityError, integer
from ._peers import peer
from .segments import argsort_rows

jax = peer("jax", "pairsieve.jax", "jax")
jnp = peer("jax.numpy", "pairsieve.jax", "jax")

_FLOATS = ("float32", "float64")
_INTEGERS = ("int32", "uint32")
_WIDER = {"bool": "uint8", "bfloat16": "float32"}
_MOST = (1 << 31) - 1

# All calls run in this thread, one after the other: its finders and sorters keep their memory, whichever thread of XLA calls. Each call
# uses all cores by itself.
_thread = ThreadPoolExecutor(1, thread_name_prefix="pairsieve.jax")


class Pairs(NamedTuple):
    """pairs: int32 (capacity, 2), ascending; count: int32 (), exact; overflow: bool (), True where count is more than capacity."""

    pairs: Any
    count: Any
    overflow: Any


class Neighbours(NamedTuple):
    """Lists as :class:`pairsieve.Neighbours` has them: query q has ``indices[offsets[q]:offsets[q + 1]]``.

    offsets : int32 (m + 1,)
        At most capacity: in an overflow lists end where the room ends.
    indices : int32 (capacity,)
    count : int32 (), exact
    overflow : bool ()
    """

    offsets: Any
    indices: Any
    count: Any
    overflow: Any


class Edges(NamedTuple):
    """edge_index: int32 (2, capacity), row 0 the neighbour and row 1 the query, ascending by query; count and overflow as in Pairs."""

    edge_index: Any
    count: Any
    overflow: Any


def clear_cache() -> None:
    """Frees the finders and sorters that the calls of this module keep."""
    _thread.submit(_pairs.clear_cache).result()


def _array(value: Any, name: str, types: tuple[str, ...], shapes: tuple[tuple[int | None, ...], ...]) -> Any:
    """The argument as an array of JAX without gradients, of one of these types and shapes (None: any length)."""
    made = jnp.asarray(value)
    fits = any(len(made.shape) == len(shape) and all(b in (None, a) for a, b in zip(made.shape, shape)) for shape in shapes)
    if made.dtype.name not in types or not fits:
        wanted = " or ".join(str(tuple("n" if length is None else length for length in shape)).replace("'", "") for shape in shapes)
        raise ArgumentError(f"{name} is {made.dtype.name} {made.shape}; {' or '.join(types)} {wanted} is wanted")
    return jax.lax.stop_gradient(made)


def _room(capacity: Any) -> int:
    return integer(capacity, "capacity", most=_MOST)


def _shape(*shape: int, kind: Any = np.int32) -> Any:
    return jax.ShapeDtypeStruct(shape, kind)


def _write(found: np.ndarray, settings: dict[str, Any], results: list[np.ndarray]) -> None:
    """What fits of (.., count), `fill` behind it, the count, and whether all fit."""
    *_, lists, count, overflow = results
    all_of_them, room = found.shape[-1], lists.shape[-1]
    kept = min(all_of_them, room)
    lists[..., :kept], lists[..., kept:] = found[..., :kept], settings["fill"]
    count[()], overflow[()] = min(all_of_them, _MOST), all_of_them > room


def _named(settings: dict[str, Any], operands: list[np.ndarray]) -> dict[str, Any]:
    return dict(zip(settings["operands"], operands))


def _call(name: str, shapes: tuple[Any, ...], settings: dict[str, Any], operands: dict[str, Any]) -> Any:
    return call(f"pairsieve_{name}", shapes, settings | dict(operands=list(operands)), *operands.values())


def _corners(boxes: Any, name: str) -> Any:
    """(n, 6)"""
    if isinstance(boxes, (tuple, list)) and len(boxes) == 2 and hasattr(boxes[0], "shape"):
        low = _array(boxes[0], f"{name}[0]", _FLOATS, ((None, 3),))
        return jnp.concatenate([low, _array(boxes[1], f"{name}[1]", (low.dtype.name,), (low.shape,))], axis=1)
    return _array(boxes, name, _FLOATS, ((None, 6), (None, 2, 3))).reshape(-1, 6)


def _marks(given: dict[str, Any], counts: tuple[int, ...]) -> dict[str, Any]:
    """Integers of each box, by the name of the argument and the number of the set."""
    out: dict[str, Any] = {}
    for name, value in given.items():
        both = value if isinstance(value, tuple) else (value,)
        if len(both) > len(counts):
            raise ArgumentError(f"{name} is a tuple of {len(both)}; sets of boxes are {len(counts)}")
        types = ("uint8", "int8", "bool") if name == "flags" else _INTEGERS
        rest = (2,) if name == "filters" else ()
        for number, (one, count) in enumerate(zip(both, counts)):
            if one is not None:
                out[f"{name} {number}"] = _array(one, name, types, ((count, *rest),))
    return out


def _find_pairs(settings: dict[str, Any], operands: list[np.ndarray], results: list[np.ndarray]) -> None:
    given = _named(settings, operands)
    both = {name: (given.get(f"{name} 0"), given.get(f"{name} 1")) for name in ("worlds", "filters", "flags", "owners")}
    other = given.get("other")
    marks: dict[str, Any] = {name: pair if other is not None else pair[0] for name, pair in both.items()}
    found = _thread.submit(lambda: _pairs.find_pairs(given["boxes"], other, sort=True, cast=True, **marks)).result()
    _write(found.T, settings, [results[0].T, *results[1:]])


def find_pairs(boxes: Any, other: Any = None, *, capacity: int, worlds: Any = None, filters: Any = None, flags: Any = None,
               owners: Any = None, fill: int = -1) -> Pairs:
    """All overlapping pairs of boxes, ascending, as :func:`pairsieve.find_pairs` has them with ``sort=True``.

    Parameters
    ----------
    boxes : (n, 6) or (n, 2, 3) float32 or float64, or two (n, 3)
        Lower corner, upper corner.
    other : like boxes, optional
        Second set: pairs are then (index in boxes, index in other).
    capacity : int
        Room for pairs, fixed when JAX traces.
    worlds, owners : (n,) int32 or uint32, optional
    filters : (n, 2) int32 or uint32, optional
    flags : (n,) uint8, int8 or bool, optional
        As in :meth:`pairsieve.PairFinder.find`. Tuples give those of both sets.
    fill : int
        What rows behind the last pair hold. An index beyond the boxes makes JAX's scatters leave these rows out.

    Returns
    -------
    Pairs
        pairs, count, overflow.

    Raises
    ------
    ArgumentError
        A shape, type or number that is not accepted.
    """
    room, settings = _room(capacity), dict(fill=_fill(fill))
    sets = dict(boxes=_corners(boxes, "boxes")) | ({} if other is None else dict(other=_corners(other, "other")))
    marks = _marks(dict(worlds=worlds, filters=filters, flags=flags, owners=owners), tuple(len(one) for one in sets.values()))
    return Pairs(*_call("pairs", (_shape(room, 2), _shape(), _shape(kind=np.bool_)), settings, sets | marks))


def _fill(fill: Any) -> int:
    return integer(fill, "fill", least=-_MOST - 1, most=_MOST)


def _find_neighbours(settings: dict[str, Any], operands: list[np.ndarray], results: list[np.ndarray]) -> None:
    given = _named(settings, operands)
    radius = float(given.pop("radius", settings["radius"]))
    more = {name: settings[name] for name in ("loop", "max_neighbours")}
    if len(results[0].shape) == 2:
        found = _thread.submit(_radius.neighbour_edges, radius=radius, index="int32", **given, **more).result()
        _write(found.edge_index, settings, results)
    else:
        offsets, indices, _ = _thread.submit(_radius.neighbours, radius=radius, **given, **more).result()
        np.minimum(offsets, len(results[1]), out=results[0], casting="unsafe")
        _write(indices, settings, results)


def _near(points: Any, radius: Any, queries: Any, capacity: Any, batch: Any, query_batch: Any, loop: bool, max_neighbours: Any, fill: int,
          as_edges: bool) -> Any:
    room, settings = _room(capacity), dict(fill=_fill(fill), loop=bool(loop), max_neighbours=None, radius=0.0)
    operands = dict(points=_array(points, "points", _FLOATS, ((None, None), (None,))))
    kind, (count, *columns) = operands["points"].dtype.name, operands["points"].shape
    batches = dict(batch=(batch, count))
    if queries is not None:
        operands["queries"] = _array(queries, "queries", (kind,), ((None, *columns),))
        count = len(operands["queries"])
    batches["query_batch"] = (query_batch, count)
    operands |= {name: _array(one, name, _INTEGERS, ((length,),)) for name, (one, length) in batches.items() if one is not None}
    if isinstance(radius, (int, float)):  # as it is: JAX would make a float32 of it
        settings["radius"] = _radius.checked_radius(radius)
    else:
        operands["radius"] = _array(radius, "radius", (*_FLOATS, *_INTEGERS, "int64"), ((),))
    if max_neighbours is not None:
        settings["max_neighbours"] = integer(max_neighbours, "max_neighbours", least=1, most=_MOST)
    lists = (_shape(2, room),) if as_edges else (_shape(count + 1), _shape(room))
    return _call("neighbours", (*lists, _shape(), _shape(kind=np.bool_)), settings, operands)


def neighbours(points: Any, radius: Any, queries: Any = None, *, capacity: int, batch: Any = None, query_batch: Any = None,
               loop: bool = False, max_neighbours: int | None = None, fill: int = -1) -> Neighbours:
    """All points within `radius` of each query, as lists (CSR): exact and in order, as :func:`pairsieve.neighbours` has them.

    Parameters
    ----------
    points : (n, d) or (n,) float32 or float64
    radius : number
        May be traced. A number of Python is taken in double precision; an array of JAX is as wide as its type.
    queries : (m, d) like points, optional
    capacity : int
        Room for neighbours of all queries together, fixed when JAX traces.
    batch, query_batch : (n,) and (m,) int32 or uint32, optional
    loop, max_neighbours
        As in :func:`pairsieve.neighbours`.
    fill : int
        What indices behind the last neighbour hold.

    Returns
    -------
    Neighbours
        offsets, indices, count, overflow.

    Raises
    ------
    ArgumentError
        A shape, type or number that is not accepted.
    """
    return Neighbours(*_near(points, radius, queries, capacity, batch, query_batch, loop, max_neighbours, fill, False))


def neighbour_edges(points: Any, radius: Any, queries: Any = None, *, capacity: int, batch: Any = None, query_batch: Any = None,
                    loop: bool = False, max_neighbours: int | None = None, fill: int = -1) -> Edges:
    """The same as edges of a graph: edge_index (2, capacity), row 0 the neighbour and row 1 the query. See :func:`neighbours`."""
    return Edges(*_near(points, radius, queries, capacity, batch, query_batch, loop, max_neighbours, fill, True))


def _argsort(settings: dict[str, Any], operands: list[np.ndarray], results: list[np.ndarray]) -> None:
    keys, index = operands[0], results[0]
    index.fill(0)
    if keys.size and keys.shape[-1] > 1:
        offsets = np.arange(0, keys.size + 1, keys.shape[-1], dtype=np.int64).astype(np.int32)
        _thread.submit(argsort_rows, keys.reshape(-1), offsets.size - 1, offsets, index.reshape(-1), settings["descending"]).result()


def argsort(keys: Any, axis: int = -1, descending: bool = False) -> Any:
    """The indices that sort along an axis, int32: as ``jnp.argsort(keys, axis, stable=True, descending=descending)``.

    keys holds integers or floats of 8 to 64 bits or bools, at most 2147483647; NaN is greater than every number, -0 equals +0. Raises
    ArgumentError and CapacityError.
    """
    keys = jax.lax.stop_gradient(jnp.asarray(keys))
    if keys.ndim == 0 or not -keys.ndim <= axis < keys.ndim:
        raise ArgumentError(f"axis is {axis} and keys have shape {keys.shape}; an axis of the array is wanted")
    if keys.size > _MOST:
        raise CapacityError(f"keys has {keys.size} elements; at most {_MOST} are sorted at once")
    if keys.dtype.kind not in "iuf" and keys.dtype.name not in _WIDER:
        raise ArgumentError(f"keys holds {keys.dtype.name}; integers, floats or bools are wanted")
    last = jnp.moveaxis(keys.astype(_WIDER.get(keys.dtype.name, keys.dtype)), axis, -1)
    if descending and last.dtype.kind == "f":
        last = jnp.where(jnp.isnan(last), jnp.nan, last)  # the positive one, as argsort_rows wants it
    index, = call("pairsieve_argsort", (_shape(*last.shape),), dict(descending=bool(descending)), last, together=True)
    return jnp.moveaxis(index, -1, axis)


def sort(keys: Any, axis: int = -1, descending: bool = False) -> Any:
    """A sorted copy, stable: ``jnp.take_along_axis(keys, argsort(keys, axis, descending), axis)``, through which gradients flow."""
    return jnp.take_along_axis(jnp.asarray(keys), argsort(keys, axis, descending), axis)


register("pairsieve_pairs", _find_pairs)
register("pairsieve_neighbours", _find_neighbours)
register("pairsieve_argsort", _argsort)


def __getattr__(name: str) -> Any:
    """For type checkers, which take this file for JAX where JAX is not installed."""
    raise AttributeError(f"module 'pairsieve.jax' has no attribute '{name}'")
