"""Neighbours within a radius against all pairs, of every library; SciPy's and PyTorch Geometric's forms."""

import numpy as np
import pytest

import pairsieve
from pairsieve import _radius_pairs, radius

DISTANCES = [(0.15, 1), (0.25, 4), (3000.0, 1e4)]  # radius and scale; 0.25 on a lattice: many distances are the radius


def squares(points, queries):
    total = np.zeros((len(queries), len(points)))
    for axis in range(points.shape[1]):
        difference = points[None, :, axis].astype(float) - queries[:, None, axis].astype(float)
        total = total + difference * difference
    return total


def oracle(points, r, queries=None, batch=None, query_batch=None, loop=False, most=None):
    """Lists of (neighbour, distance) for each query."""
    own = queries is None
    queries, query_batch = (points, batch) if own else (queries, query_batch)
    square = squares(points, queries)
    near = square <= r * r
    if own and not loop:
        near &= ~np.eye(len(points), dtype=bool)
    if batch is not None:
        near &= batch[None] == query_batch[:, None]
    rows = []
    for query in range(len(queries)):
        found = np.nonzero(near[query])[0]
        if most is not None:
            found = np.sort(found[np.lexsort((found, square[query, found]))[:most]])
        rows.append((found, np.sqrt(square[query, found]).astype(points.dtype)))
    return rows


def points_of(random, count, dimensions, kind, scale):
    made = random.random((count, dimensions))
    return ((np.round(made * 4) / 4 if scale == 4 else made * scale) if count else made).astype(kind)


def cases():
    for seed in range(12):
        random = np.random.default_rng(seed)
        r, scale = DISTANCES[seed % 3]
        kind, dimensions = (np.float32, np.float64)[seed % 2], (3, 3, 2, 1, 5)[seed % 5]
        x = points_of(random, 300, dimensions, kind, scale)
        queries = points_of(random, 40, dimensions, kind, scale) if seed % 4 == 3 else None
        batch = random.integers(0, 3, 300).astype(np.int32) if seed % 2 else None
        query_batch = random.integers(0, 3, 40).astype(np.int32) if batch is not None and queries is not None else None
        yield x, r, queries, batch, query_batch, bool(seed % 5 == 1), (None, 4)[seed % 3 == 2]


def compare(found, edges, expected, back, rounding=0):
    offsets, indices, distances = (back(part) for part in found)
    assert offsets.tolist() == np.cumsum([0] + [len(row) for row, _ in expected]).tolist()
    assert indices.tolist() == [int(i) for row, _ in expected for i in row]
    expected_distances = np.array([d for _, row in expected for d in row], distances.dtype)
    assert np.all(abs(distances - expected_distances) <= rounding * expected_distances)
    pairs = [[int(i), query] for query, (row, _) in enumerate(expected) for i in row]
    assert back(edges[0]).T.tolist() == pairs and back(edges[1]).tolist() == distances.tolist()


@pytest.mark.parametrize("case", list(cases()), ids=range(12))
def test_neighbours(library, case):
    x, r, queries, batch, query_batch, loop, most = case
    if library.name == "jax" and x.dtype == np.float64:
        pytest.skip("JAX makes float32 of it")
    if library.device == "cuda" and library.name not in ("torch", "cupy"):
        pytest.skip("on a GPU for PyTorch and CuPy")
    make = lambda a: None if a is None else library.make(a)  # noqa: E731
    options = dict(batch=make(batch), query_batch=make(query_batch), loop=loop, max_neighbours=most, distances=True)
    found = pairsieve.neighbours(make(x), r, make(queries), **options)
    edges = pairsieve.neighbour_edges(make(x), r, make(queries), **options)
    compare(found, edges, oracle(x, r, queries, batch, query_batch, loop, most), library.back)


@pytest.mark.parametrize("case", list(cases()), ids=range(12))
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_by_pairs(name, case):
    """What runs on a GPU, on the CPU."""
    make, back = (lambda a: a), np.asarray
    if name == "torch":
        torch = pytest.importorskip("torch")
        make, back = torch.from_numpy, lambda a: a.numpy()
    x, r, queries, batch, query_batch, loop, most = (make(part) if isinstance(part, np.ndarray) else part for part in case)
    search = radius._Search(x, r, queries, batch, query_batch, loop, most)
    found, edges = (_radius_pairs.find_by_pairs(search, as_edges, True, "int64") for as_edges in (False, True))
    # PyTorch's square root on the CPU is not always the nearest number.
    compare(found, edges[1:], oracle(*case), back, 3e-16 if name == "torch" and x.dtype == torch.float64 else 0)


def test_sizes_and_types():
    assert pairsieve.neighbours(np.empty((0, 3), np.float32), 1).offsets.tolist() == [0]
    assert pairsieve.neighbours([[0.0, 0], [0, 1], [0, 3]], 1.0).indices.tolist() == [1, 0]
    line = pairsieve.neighbours(np.arange(5, dtype=np.float32), 1, index="int64")
    assert line.indices.dtype == np.int64 and line.indices.tolist() == [1, 0, 2, 1, 3, 2, 4, 3] and line.distances is None
    wide = np.zeros((4, 8), np.float32)
    wide[:, 2] = np.arange(4)
    assert pairsieve.neighbours(wide[:, :3], 1).indices.tolist() == [1, 0, 2, 1, 3, 2]
    bad = np.array([[0, 0, 0], [np.nan, 0, 0], [0, 0, 0], [np.inf, 0, 0]], np.float32)
    assert pairsieve.neighbours(bad, 1, loop=True).offsets.tolist() == [0, 2, 2, 4, 4]
    several = np.array([7, 1 << 30, 7, 0])  # int64
    assert pairsieve.neighbours(wide[:, :3], 5, batch=several).indices.tolist() == [2, 0]


@pytest.mark.parametrize("options, sentence", [
    (dict(radius=-1), "radius is -1"), (dict(radius=float("nan")), "radius is nan"), (dict(max_neighbours=0), "max_neighbours is 0"),
    (dict(index="int16"), "index is 'int16'"), (dict(batch=np.zeros(2, np.int32)), "batch is int32"),
    (dict(batch=np.array([0, 1, -1])), "batch holds -1 to 1"), (dict(query_batch=np.zeros(3, np.int32)), "query_batch is for"),
    (dict(queries=np.zeros((2, 2), np.float32)), "the same type and number of columns"),
    (dict(points=np.zeros((3, 3), np.int32)), "points is int32"), (dict(points=np.zeros((3, 3), np.float32).T[::-1].T), "points has strides"),
])
def test_misuse(options, sentence):
    given = dict(points=np.zeros((3, 3), np.float32), radius=1.0) | options
    with pytest.raises(pairsieve.ArgumentError, match=sentence):
        pairsieve.neighbours(**given)


def test_scipy_forms():
    x = np.random.default_rng(4).random((400, 3))
    expected = sorted((int(j), i) for i, (row, _) in enumerate(oracle(x, 0.2)) for j in row if j < i)
    assert sorted(map(tuple, pairsieve.query_pairs(x, 0.2).tolist())) == expected
    assert pairsieve.query_pairs(x, 0.2).tolist() == [list(pair) for pair in expected]
    lists = pairsieve.query_ball_point(x, x[:5] + 0.01, 0.3)
    assert lists.dtype == object and list(lists) == [row.tolist() for row, _ in oracle(x, 0.3, x[:5] + 0.01)]
    assert pairsieve.query_ball_point(x, x[7], 0.3) == oracle(x, 0.3, x[7:8])[0][0].tolist()
    assert pairsieve.query_ball_point(x, x[:5], 0.3, return_length=True).tolist() == [len(row) for row, _ in oracle(x, 0.3, x[:5])]
    spatial = pytest.importorskip("scipy.spatial")
    tree = spatial.cKDTree(x)
    assert set(map(tuple, tree.query_pairs(0.2, output_type="ndarray").tolist())) == set(expected)
    theirs = tree.query_ball_point(x[:50] * 1.1, 0.25, return_sorted=True)
    assert list(pairsieve.query_ball_point(x, x[:50] * 1.1, 0.25)) == [list(row) for row in theirs]


@pytest.mark.parametrize("loop, most, batched, flow", [
    (False, 32, False, "source_to_target"), (True, None, True, "target_to_source"), (False, 4, True, "source_to_target"),
    (True, 3, False, "target_to_source")])
def test_radius_graph(library, loop, most, batched, flow):
    if library.name not in ("numpy", "torch"):
        pytest.skip("for NumPy and PyTorch")
    from pairsieve.pyg import radius as between
    from pairsieve.pyg import radius_graph

    random = np.random.default_rng(5)
    x, y = random.random((400, 3), np.float32), random.random((30, 3), np.float32)
    batch, batch_y = (random.integers(0, 3, count) if batched else None for count in (400, 30))
    make = lambda a: None if a is None else library.make(a)  # noqa: E731
    found = library.back(radius_graph(make(x), 0.15, make(batch), loop, most, flow))
    expected = [(int(i), centre) for centre, (row, _) in enumerate(oracle(x, 0.15, batch=batch, loop=loop, most=most)) for i in row]
    assert found.dtype == np.int64
    assert list(map(tuple, found.T.tolist())) == [pair if flow == "source_to_target" else pair[::-1] for pair in expected]
    rows = oracle(x, 0.15, y, batch, batch_y, most=most)
    found = library.back(between(make(x), make(y), 0.15, make(batch), make(batch_y), most))
    assert found.T.tolist() == [[query, int(i)] for query, (row, _) in enumerate(rows) for i in row]
    with pytest.raises(pairsieve.ArgumentError, match="flow is 'up'"):
        radius_graph(make(x), 1, flow="up")


def test_pyg_install():
    nn = pytest.importorskip("torch_geometric.nn")
    import torch

    from pairsieve import pyg

    before = nn.radius_graph
    try:
        assert "torch_geometric.nn.radius_graph" in pyg.install() and pyg.install() == []
        edges = nn.radius_graph(torch.tensor([[0.0], [1.0], [3.0]]), r=1.0)
        assert edges.tolist() == [[1, 0], [0, 1]]
    finally:
        nn.radius_graph = before


def test_pyg_in_torchscript():
    """A compiled model finds the same edges; what a call leaves out has its default."""
    torch = pytest.importorskip("torch")
    from pairsieve import _torchscript, pyg

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor, batch: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
            return _torchscript.radius_graph(x, r=0.3, batch=batch, loop=True), _torchscript.radius(x, x, 0.3, batch, batch, 3)

    points, batch = torch.rand(200, 3, generator=torch.Generator().manual_seed(1)), torch.arange(200) % 3
    compiled = torch.jit.script(Model())
    for groups in (batch, None):
        edges, between = compiled(points, groups)
        assert len(edges[0]) > 200 and torch.equal(edges, pyg.radius_graph(points, 0.3, groups, loop=True))
        assert torch.equal(between, pyg.radius(points, points, 0.3, groups, groups, 3))
