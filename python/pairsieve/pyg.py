"""radius_graph and radius with the arguments of PyTorch Geometric and torch_cluster, exact and in order.

    from pairsieve.pyg import radius_graph         # in place of torch_geometric.nn's or torch_cluster's
    edge_index = radius_graph(x, r=0.1, batch=batch)

or, for all modules of PyTorch Geometric that are loaded: ``pairsieve.pyg.install()``.

The same: shapes, int64, flow, loop, batches, the default of max_num_neighbors. Different:

- The edges ascend: by centre, then by neighbour, on every device, with every number of threads.
- Where a centre has more than max_num_neighbors, the nearest ones are kept, not any. None keeps all.
- Points at exactly the distance r are neighbours; distances are computed in double precision (:func:`pairsieve.neighbours`).
- Batches may come in any order.
"""

from __future__ import annotations

import sys
from typing import Any

from ._native import ArgumentError
from .radius import neighbour_edges

_FLOWS = ("source_to_target", "target_to_source")


def _plain(x: Any) -> Any:
    """The points of an array without gradients; float32 for smaller floats. Columns adjacent."""
    if type(x).__module__.partition(".")[0] != "torch":
        return x
    x = x.detach()
    if str(x.dtype) in ("torch.float16", "torch.bfloat16"):
        x = x.float()
    return x.contiguous()


def radius_graph(x: Any, r: float, batch: Any = None, loop: bool = False, max_num_neighbors: int | None = 32,
                 flow: str = "source_to_target", num_workers: int = 1, batch_size: int | None = None) -> Any:
    """Edges between all points of a batch within distance r.

    Parameters
    ----------
    x : (n, d) or (n,) float32, float64 (PyTorch also float16, bfloat16)
        Points, of PyTorch or NumPy.
    r : float
        Radius, in the unit of x.
    batch : (n,) int64 or int32, optional
        The graph of each point; points of different graphs share no edge.
    loop : bool
        Each point has an edge to itself, which counts for max_num_neighbors.
    max_num_neighbors : int or None
        Most neighbours of a point: the nearest.
    flow : str
        "source_to_target": row 0 the neighbour, row 1 the centre; "target_to_source": the other way.
    num_workers, batch_size
        For the callers of the other packages: threads are the library's own, and the number of graphs is not needed.

    Returns
    -------
    (2, edges) int64, of the library and on the device of x.

    Raises
    ------
    ArgumentError
        An array or number that is not accepted; the sentence names it.
    """
    if flow not in _FLOWS:
        raise ArgumentError(f"flow is {flow!r}; accepted: {', '.join(map(repr, _FLOWS))}")
    edges, _ = neighbour_edges(_plain(x), r, batch=batch, loop=loop, max_neighbours=max_num_neighbors)
    return edges if flow == "source_to_target" else _swapped(edges)


def radius(x: Any, y: Any, r: float, batch_x: Any = None, batch_y: Any = None, max_num_neighbors: int | None = 32,
           num_workers: int = 1, batch_size: int | None = None) -> Any:
    """For each point of y the points of x within distance r: (2, edges) int64, row 0 the number in y, row 1 that in x.

    The arguments are those of :func:`radius_graph`. A batch that is not given is all zeros where the other one is.
    """
    x, y = _plain(x), _plain(y)
    if batch_x is None and batch_y is not None:
        batch_x = _zeros(batch_y, len(x))
    if batch_y is None and batch_x is not None:
        batch_y = _zeros(batch_x, len(y))
    return _swapped(neighbour_edges(x, r, y, batch=batch_x, query_batch=batch_y, max_neighbours=max_num_neighbors).edge_index)


def _swapped(edges: Any) -> Any:
    return edges.flip(0) if hasattr(edges, "flip") else edges[::-1].copy()


def _zeros(like: Any, count: int) -> Any:
    if hasattr(like, "new_zeros"):
        return like.new_zeros(count)
    import numpy as np

    return np.zeros(count, np.int32)


def install() -> list[str]:
    """Puts these functions in place of radius_graph and radius in every module of PyTorch Geometric and torch_cluster that is loaded.

    Returns the names that were replaced, e.g. "torch_geometric.nn.radius_graph". Modules that are imported later take what their
    package has by then. Models that call these functions can be compiled by TorchScript.
    """
    ours = {"radius_graph": radius_graph, "radius": radius}
    if "torch" in sys.modules:
        from . import _torchscript

        ours = {"radius_graph": _torchscript.radius_graph, "radius": _torchscript.radius}
    replaced = []
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in ("torch_geometric", "torch_cluster") or module is None:
            continue
        for attribute, function in ours.items():
            theirs = vars(module).get(attribute)
            if callable(theirs) and theirs is not function:
                setattr(module, attribute, function)
                replaced.append(f"{name}.{attribute}")
    return sorted(replaced)
