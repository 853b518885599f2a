"""pairsieve: every overlapping pair of boxes among thousands to a hundred million, on a GPU or a CPU.

>>> import numpy as np, pairsieve
>>> low = np.random.default_rng(1).random((100_000, 3), np.float32) * 46
>>> pairs = pairsieve.find_pairs((low, low + 1))

Arrays of NumPy, PyTorch, CuPy, JAX, Warp and Numba are taken where they are, on the CPU or the GPU, and results come as arrays of the
same library on the same device. ``PairFinder``, ``Sorter`` and ``Tree`` (rays, overlaps, nearest) keep their memory from frame to frame;
``World`` simulates rigid bodies.
"""

from ._native import (ArgumentError, CapacityError, CastWarning, DeviceError, Error, FileError, FormatError, OutOfMemoryError,
                      UnsupportedError, lib, text)
from .elements import edges_of, element_pairs
from .pairs import PairFinder, clear_cache, find_pairs, methods
from .pictures import Picture
from .radius import Edges, Neighbours, neighbour_edges, neighbours, query_ball_point, query_pairs
from .segments import SegmentSorter, sort_segments
from .sorting import Sorter, argsort, sort, sort_pairs
from .sorting import methods as sort_methods
from .tree import Tree
from .world import World, load_mesh, scenes

__version__ = text(lib.psv_version_name()) or "?"


def cuda_available() -> bool:
    """True where this build has CUDA code and the machine a device for it."""
    return bool(lib.psv_backend_available(lib.PSV_BACKEND_CUDA))


__all__ = ["ArgumentError", "CapacityError", "CastWarning", "DeviceError", "Edges", "Error", "FileError", "FormatError", "Neighbours",
           "OutOfMemoryError", "PairFinder", "Picture", "SegmentSorter", "Sorter", "Tree", "UnsupportedError", "World", "argsort",
           "clear_cache", "cuda_available", "edges_of", "element_pairs", "find_pairs", "load_mesh", "methods", "neighbour_edges",
           "neighbours", "query_ball_point", "query_pairs", "scenes", "sort", "sort_methods", "sort_pairs", "sort_segments"]
