"""radius_graph and radius of pairsieve.pyg for models that TorchScript compiles: typed, around a call that it leaves to Python.

pairsieve.pyg.install() puts them in place where PyTorch is loaded.
"""

import torch

from . import pyg


def _find_edges(x: torch.Tensor, r: float, batch: torch.Tensor | None, loop: bool, max_num_neighbors: int | None,
                flow: str) -> torch.Tensor:
    edges: torch.Tensor = pyg.radius_graph(x, r, batch, loop, max_num_neighbors, flow)
    return edges


def _find_between(x: torch.Tensor, y: torch.Tensor, r: float, batch_x: torch.Tensor | None, batch_y: torch.Tensor | None,
                  max_num_neighbors: int | None) -> torch.Tensor:
    edges: torch.Tensor = pyg.radius(x, y, r, batch_x, batch_y, max_num_neighbors)
    return edges


torch.jit.ignore(_find_edges)
torch.jit.ignore(_find_between)


def radius_graph(x: torch.Tensor, r: float, batch: torch.Tensor | None = None, loop: bool = False,
                 max_num_neighbors: int | None = 32, flow: str = "source_to_target", num_workers: int = 1,
                 batch_size: int | None = None) -> torch.Tensor:
    """As pairsieve.pyg.radius_graph."""
    return _find_edges(x, r, batch, loop, max_num_neighbors, flow)


def radius(x: torch.Tensor, y: torch.Tensor, r: float, batch_x: torch.Tensor | None = None, batch_y: torch.Tensor | None = None,
           max_num_neighbors: int | None = 32, num_workers: int = 1, batch_size: int | None = None) -> torch.Tensor:
    """As pairsieve.pyg.radius."""
    return _find_between(x, y, r, batch_x, batch_y, max_num_neighbors)
