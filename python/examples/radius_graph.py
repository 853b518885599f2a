"""Neighbours within a radius, with the semantics of PyTorch Geometric's radius_graph, by pairsieve.

    edge_index = radius_graph(x, r=0.1, batch=batch)     # (2, edges), int64: row 0 the neighbour, row 1 the centre

x: (n, 3) float32 in NumPy or PyTorch, on the CPU or a GPU. A point's box has the half extent r / 2, a little enlarged, so that boxes of
neighbours overlap; the distance is then tested. `max_num_neighbors` keeps the nearest ones of each centre (PyTorch Geometric
keeps any).
"""

from typing import Any

import numpy as np

import pairsieve


def radius_graph(x: Any, r: float, batch: Any = None, loop: bool = False, max_num_neighbors: int | None = None,
                 flow: str = "source_to_target") -> Any:
    if flow not in ("source_to_target", "target_to_source"):
        raise ValueError(f"flow is {flow!r}; 'source_to_target' or 'target_to_source' is wanted")
    arrays: Any = np
    as_index: Any
    order_of: Any
    if type(x).__module__.startswith("torch"):
        import torch

        arrays = torch
        stack, as_index = arrays.stack, lambda a: a.long()
        order_of = lambda *keys: _stable_order(arrays, keys)  # noqa: E731
        numbers = arrays.arange(len(x), device=x.device)
    else:
        stack, as_index = np.stack, lambda a: a.astype(np.int64)
        order_of = lambda *keys: np.lexsort(keys)  # noqa: E731
        numbers = np.arange(len(x))
    half = r / 2 * (1 + 1e-6) + 1e-6 * float(abs(x).max() if len(x) else 0)
    worlds = None if batch is None else (batch.int() if arrays is not np else batch.astype(np.int32))
    pairs = as_index(pairsieve.find_pairs((x - half, x + half), worlds=worlds))
    a, b = pairs[:, 0], pairs[:, 1]
    squared = ((x[a] - x[b]) ** 2).sum(1)
    near = squared <= r * r
    a, b, squared = a[near], b[near], squared[near]
    join = arrays.cat if arrays is not np else np.concatenate
    neighbour, centre, squared = join([a, b]), join([b, a]), join([squared, squared])
    if loop:
        neighbour, centre = join([neighbour, numbers]), join([centre, numbers])
        squared = join([squared, 0 * x[:, 0]])
    order = order_of(neighbour, squared, centre) if max_num_neighbors is not None else order_of(neighbour, centre)
    neighbour, centre = neighbour[order], centre[order]
    if max_num_neighbors is not None:
        first = arrays.searchsorted(centre, numbers)  # of each centre
        place = (arrays.arange(len(centre), device=x.device) if arrays is not np else np.arange(len(centre))) - first[centre]
        kept = place < max_num_neighbors
        neighbour, centre = neighbour[kept], centre[kept]
    return stack([neighbour, centre] if flow == "source_to_target" else [centre, neighbour])


def _stable_order(torch: Any, keys: Any) -> Any:
    """As numpy.lexsort: the last key decides first."""
    order = torch.argsort(keys[0], stable=True)
    for key in keys[1:]:
        order = order[torch.argsort(key[order], stable=True)]
    return order


if __name__ == "__main__":
    points = np.random.default_rng(1).random((20_000, 3), np.float32)
    edges = radius_graph(points, 0.04)
    print(f"{edges.shape[1]:,} edges, {edges.shape[1] / len(points):.1f} neighbours a point")
