"""Neighbours within a radius where only boxes can be searched: on a GPU. Pairs of boxes around the points, then exact distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._native import UnsupportedError
from .pairs import find_pairs
from .sorting import argsort


class _NumPyLike:
    """NumPy's or CuPy's names for what is needed here."""

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays

    def double(self, x: Any) -> Any:
        return x.astype("float64")

    def cast(self, x: Any, kind: str) -> Any:
        return x.astype(kind)

    def numbers(self, count: int, _like: Any) -> Any:
        return self.arrays.arange(count, dtype="int64")

    def join(self, parts: list[Any]) -> Any:
        return self.arrays.concatenate(parts)

    def stack(self, parts: list[Any]) -> Any:
        return self.arrays.stack(parts)

    def counts(self, x: Any, length: int) -> Any:
        return self.arrays.bincount(x, minlength=length)

    def columns(self, x: Any) -> Any:
        """(n, 3) of the first three columns; zeros where there are fewer."""
        made = self.arrays.zeros((len(x), 3), x.dtype)
        made[:, : min(3, x.shape[1])] = x[:, :3]
        return made


class _Torch(_NumPyLike):
    def double(self, x: Any) -> Any:
        return x.double()

    def cast(self, x: Any, kind: str) -> Any:
        return x.to(getattr(self.arrays, kind))

    def numbers(self, count: int, like: Any) -> Any:
        return self.arrays.arange(count, device=like.device)

    def join(self, parts: list[Any]) -> Any:
        return self.arrays.cat(parts)

    def columns(self, x: Any) -> Any:
        made = x.new_zeros((len(x), 3))
        made[:, : min(3, x.shape[1])] = x[:, :3]
        return made


def _operations(maker: str) -> _NumPyLike:
    if maker == "torch":
        import torch

        return _Torch(torch)
    if maker == "cupy":
        import cupy

        return _NumPyLike(cupy)
    if maker == "numpy":
        return _NumPyLike(np)
    raise UnsupportedError(f"neighbours on a GPU are for PyTorch and CuPy arrays; these are of {maker}")


def _boxes(on: _NumPyLike, points: Any, radius: float, other: Any) -> Any:
    """Boxes of half the radius, and more than what rounding takes away: those of neighbours overlap."""
    least = 1.2e-7 if str(points.dtype).endswith("32") else 2.3e-16
    most = max([float(abs(x).max()) for x in (points, other) if len(x) and x.shape[1]], default=0.0)
    most = most if most < float("inf") else 0.0  # such points have no neighbours
    half = radius / 2 * (1 + 1e-6) + 8 * least * most + 1e-30
    x = on.columns(points)
    return x - half, x + half


def _pairs(on: _NumPyLike, search: Any, points: Any, queries: Any) -> tuple[Any, Any]:
    """Candidates (neighbour, query), both directions."""
    worlds = None if not search.batches else tuple(search.held) if search.between else search.held[0]
    boxes = _boxes(on, points, search.radius, queries)
    other = _boxes(on, queries, search.radius, points) if search.between else None
    pairs = on.cast(find_pairs(boxes, other, worlds=worlds), "int64")
    a, b = pairs[:, 0], pairs[:, 1]
    return (a, b) if search.between else (on.join([a, b]), on.join([b, a]))


def find_by_pairs(search: Any, as_edges: bool, distances: bool, index: str) -> tuple[Any, ...]:
    """As radius._on_the_cpu. Nothing is tested twice but the borders; the memory is that of all pairs of boxes."""
    on = _operations(search.points.maker)
    points, queries = (x if x.ndim == 2 else x.reshape(-1, 1) for x in search.arrays)
    neighbour, query = _pairs(on, search, points, queries)
    squares = 0 * on.double(points[neighbour, 0])
    for axis in range(points.shape[1]):  # in the order that is promised
        difference = on.double(points[neighbour, axis]) - on.double(queries[query, axis])
        squares = squares + difference * difference
    near = squares <= search.radius * search.radius
    neighbour, query, squares = neighbour[near], query[near], squares[near]
    if search.loop and not search.between:
        own = on.numbers(len(points), points)[abs(points).sum(1) < float("inf")]
        neighbour, query = on.join([neighbour, own]), on.join([query, own])
        squares = on.join([squares, on.double(0 * points[own, 0])])
    order = on.cast(argsort(query * len(points) + neighbour), "int64")
    neighbour, query, squares = neighbour[order], query[order], squares[order]
    counts = on.counts(query, len(queries))
    if search.most is not None:
        order = on.cast(argsort(squares), "int64")
        order = order[on.cast(argsort(query[order]), "int64")]  # by query, then by distance, then by neighbour
        first = (counts.cumsum(0) - counts)[query]
        kept = on.cast(argsort(order[on.numbers(len(order), points) - first < search.most]), "int64")
        nearest = order[on.numbers(len(order), points) - first < search.most][kept]
        neighbour, query, squares = neighbour[nearest], query[nearest], squares[nearest]
        counts = on.counts(query, len(queries))
    indices = on.cast(on.stack([neighbour, query]) if as_edges else neighbour, index)
    offsets = None if as_edges else on.join([on.cast(counts[:1] * 0, "int64"), on.cast(counts.cumsum(0), "int64")])
    if offsets is not None and len(queries) == 0:
        offsets = on.numbers(1, points)
    return offsets, indices, on.cast(on.arrays.sqrt(squares), search.points.dtype) if distances else None
