"""A graph of neighbours with the arguments of PyTorch Geometric's radius_graph, and how its size grows with the radius.

usage: radius_graph.py [POINTS]
"""

import sys
from typing import Any

import numpy as np

from pairsieve.pyg import radius_graph


def main(count: int) -> Any:
    points = np.random.default_rng(1).random((count, 3), np.float32)
    for neighbours in (1, 8, 64):
        r = (neighbours * 0.75 / np.pi / count) ** (1 / 3)  # of a ball with so many points
        edges = radius_graph(points, r, max_num_neighbors=None)
        nearest = radius_graph(points, r, max_num_neighbors=8)
        print(f"r {r:.4f}: {edges.shape[1]:,} edges, {edges.shape[1] / count:.1f} a point; with at most 8: {nearest.shape[1]:,}")
    return edges


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
