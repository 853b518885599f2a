"""pairsieve.jax under jit, vmap and grad, against brute force and JAX's own sorts."""

import importlib
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import pairsieve  # noqa: E402
from pairsieve.jax import argsort, clear_cache, find_pairs, neighbour_edges, neighbours, sort  # noqa: E402


def boxes_of(count, seed, size=1.0):
    low = np.random.default_rng(seed).random((count, 3), np.float32) * 6
    return np.concatenate([low, low + np.float32(size)], axis=1)


def overlapping(boxes):
    """(a, b) ascending, by a comparison of all boxes with all."""
    low, high = boxes[:, :3], boxes[:, 3:]
    touch = ((low[:, None] <= high[None]) & (low[None] <= high[:, None])).all(2)
    return np.argwhere(np.triu(touch, 1))


def near(points, radius):
    """(neighbour, query), ascending by query."""
    wide = points.astype(np.float64)
    close = ((wide[:, None] - wide[None]) ** 2).sum(2) <= radius * radius
    np.fill_diagonal(close, False)
    return np.argwhere(close)[:, ::-1]


def test_pairs_within_jit():
    boxes = boxes_of(300, 1)
    expected = overlapping(boxes)
    step = jax.jit(lambda x, shift: find_pairs(x + shift, capacity=len(expected) + 5))
    found = step(boxes, 0.0)
    assert len(expected) > 400 and found.pairs.dtype == jnp.int32 and found.pairs.shape == (len(expected) + 5, 2)
    assert int(found.count) == len(expected) and not found.overflow
    np.testing.assert_array_equal(found.pairs[: len(expected)], expected)
    assert (np.asarray(found.pairs[len(expected):]) == -1).all()
    halves = jax.jit(lambda low, high: find_pairs((low, high), capacity=5000, fill=300))(boxes[:, :3], boxes[:, 3:])
    np.testing.assert_array_equal(halves.pairs[: len(expected)], expected)
    assert (np.asarray(halves.pairs[len(expected):]) == 300).all()


@pytest.mark.parametrize("missing", [1, 7, 10_000])
def test_nothing_is_lost_silently(missing):
    boxes = boxes_of(300, 2)
    expected = overlapping(boxes)
    room = max(len(expected) - missing, 0)
    found = jax.jit(lambda x: find_pairs(x, capacity=room))(boxes)
    assert found.overflow and int(found.count) == len(expected) and found.pairs.shape == (room, 2)
    np.testing.assert_array_equal(found.pairs, expected[:room])
    points = boxes[:, :3]
    edges = near(points, 1.0)
    room = max(len(edges) - missing, 0)
    lists = jax.jit(lambda x: neighbours(x, 1.0, capacity=room))(points)
    assert lists.overflow and int(lists.count) == len(edges)
    np.testing.assert_array_equal(lists.indices, edges[:room, 0])
    np.testing.assert_array_equal(lists.offsets, np.minimum(np.searchsorted(edges[:, 1], np.arange(301)), room))
    cut = neighbour_edges(points, 1.0, capacity=room)
    assert cut.overflow and int(cut.count) == len(edges)
    np.testing.assert_array_equal(cut.edge_index, edges[:room].T)


def test_marks_and_second_set():
    a, b = boxes_of(200, 3), boxes_of(150, 4)
    random = np.random.default_rng(5)
    worlds = random.integers(0, 3, 200).astype(np.int32), random.integers(0, 3, 150).astype(np.int32)
    flags = random.integers(0, 3, 200).astype(np.uint8)
    found = jax.jit(lambda x, y, w: find_pairs(x, y, capacity=4000, worlds=w))(a, b, worlds)
    expected = [(i, j) for i in range(200) for j in range(150) if worlds[0][i] == worlds[1][j] and (a[i, :3] <= b[j, 3:]).all()
                and (b[j, :3] <= a[i, 3:]).all()]
    assert len(expected) > 100
    np.testing.assert_array_equal(found.pairs[: int(found.count)], expected)
    one = find_pairs(a, capacity=4000, flags=flags, owners=worlds[0])
    kept = [(i, j) for i, j in overlapping(a) if not (flags[i] | flags[j]) & 2 and not flags[i] & flags[j] & 1 and worlds[0][i] != worlds[0][j]]
    np.testing.assert_array_equal(one.pairs[: int(one.count)], kept)


def test_vmap_runs_each():
    scenes = np.stack([boxes_of(100, seed, size) for seed, size in ((6, 0.5), (7, 1.0), (8, 2.0))])
    found = jax.jit(jax.vmap(lambda x: find_pairs(x, capacity=800)))(scenes)
    radii = jnp.array([0.5, 1.0, 2.0])
    edges = jax.vmap(lambda x, r: neighbour_edges(x[:, :3], r, capacity=2000))(scenes, radii)
    for i, scene in enumerate(scenes):
        expected = overlapping(scene)
        assert int(found.count[i]) == len(expected) and bool(found.overflow[i]) == (len(expected) > 800)
        np.testing.assert_array_equal(found.pairs[i, : len(expected)], expected[:800])
        expected = near(scene[:, :3], float(radii[i]))
        assert int(edges.count[i]) == len(expected) and bool(edges.overflow[i]) == (len(expected) > 2000)
        np.testing.assert_array_equal(edges.edge_index[i, :, : len(expected)], expected[:2000].T)
    assert np.asarray(found.overflow).any() and not np.asarray(found.overflow).all()


def test_lists_of_queries_and_batches():
    points, queries = (np.random.default_rng(seed).random((400, 2)).astype(np.float32) for seed in (9, 10))
    batch, of_queries = (np.random.default_rng(seed).integers(0, 4, 400).astype(np.int32) for seed in (11, 12))
    eager = pairsieve.neighbours(points, 0.1, queries, batch=batch, query_batch=of_queries, max_neighbours=3)
    traced = jax.jit(lambda p, q, b, c: neighbours(p, 0.1, q, capacity=2000, batch=b, query_batch=c, max_neighbours=3))
    found = traced(points, queries, batch, of_queries)
    assert not found.overflow and int(found.count) == len(eager.indices) > 400
    np.testing.assert_array_equal(found.offsets, eager.offsets)
    np.testing.assert_array_equal(found.indices[: int(found.count)], eager.indices)


def test_a_number_of_python_keeps_its_precision():
    line = jnp.array([0.0, 0.1], jnp.float32)  # 0.1 in float32 is a little more than 0.1
    assert int(neighbours(line, 0.1, capacity=4).count) == 0
    assert int(neighbours(line, jnp.float32(0.1), capacity=4).count) == 2


def test_gradients_by_way_of_indices():
    points = np.random.default_rng(13).random((60, 3)).astype(np.float32)

    def energy(x):
        (i, j), _, _ = neighbour_edges(x, 0.4, capacity=3000, fill=60)
        squares = ((x[i] - x[j]) ** 2).sum(1)  # fill is out of range: such rows are left out below
        return jnp.where(i < 60, squares, 0).sum() + sort(x[:, 0])[:10].sum()

    gradient = jax.jit(jax.grad(energy))(points)
    close = near(points, 0.4)
    expected = np.zeros((60, 3))
    for i, j in close:
        expected[i] += 2 * (points[i] - points[j])
        expected[j] -= 2 * (points[i] - points[j])
    expected[np.argsort(points[:, 0], kind="stable")[:10], 0] += 1
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "bfloat16", "float32", "bool"])
def test_sorts_as_jax(kind, descending):
    for seed, (shape, axis) in enumerate([((0,), 0), ((1,), 0), ((5000,), -1), ((3, 40), 1), ((40, 3), 0), ((2, 30, 4), 1), ((0, 4), 1)]):
        random = np.random.default_rng(seed)
        keys = jnp.asarray(random.integers(-40, 40, shape)).astype(kind)
        if jnp.issubdtype(keys.dtype, jnp.floating):
            special = jnp.asarray(random.choice([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf], shape)).astype(kind)
            keys = jnp.where(random.random(shape) < 0.3, special, keys)
        expected = jnp.argsort(keys, axis, stable=True, descending=descending)
        found = jax.jit(argsort, static_argnums=(1, 2))(keys, axis, descending)
        assert found.dtype == jnp.int32 and found.shape == keys.shape
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(jnp.isnan(sort(keys, axis, descending).astype(jnp.float32)),
                                      jnp.isnan(jnp.take_along_axis(keys, expected, axis).astype(jnp.float32)))
    rows = jnp.asarray(np.random.default_rng(99).integers(-40, 40, (5, 4, 30))).astype(kind)
    mapped = jax.jit(jax.vmap(jax.vmap(lambda row: argsort(row, 0, descending))))(rows)
    np.testing.assert_array_equal(mapped, jnp.argsort(rows, -1, stable=True, descending=descending))


def test_doubles():
    with jax.enable_x64(True):
        points = np.random.default_rng(14).random((200, 3))
        found = jax.jit(lambda x: neighbour_edges(x, 0.25, capacity=5000))(jnp.asarray(points))
        expected = near(points, 0.25)
        assert int(found.count) == len(expected) > 100
        np.testing.assert_array_equal(found.edge_index[:, : len(expected)], expected.T)
        keys = jnp.asarray(np.random.default_rng(15).integers(-(1 << 60), 1 << 60, 1000))
        assert keys.dtype == jnp.int64
        np.testing.assert_array_equal(argsort(keys), jnp.argsort(keys, stable=True))


def test_in_scan_and_many_at_once():
    """A loop of steps, and independent calls of one program, which XLA may run at the same time."""
    boxes = boxes_of(300, 16)

    @jax.jit
    def steps(x):
        return jax.lax.scan(lambda x, _: (x + jnp.float32(0.5), find_pairs(x, capacity=2000).count), x, None, length=5)[1]

    @jax.jit
    def several(x):
        return jnp.stack([find_pairs(x * scale, capacity=3000).count for scale in (1.0, 2.0, 3.0, 4.0)])

    assert steps(boxes).tolist() == [len(overlapping(boxes))] * 5
    assert several(boxes).tolist() == [len(overlapping(boxes))] * 4
    clear_cache()
    assert several(boxes).tolist() == [len(overlapping(boxes))] * 4


def test_misuse():
    boxes = boxes_of(10, 17)
    for call, sentence in [
        (lambda: find_pairs(boxes[:, :5], capacity=4), r"boxes is float32 \(10, 5\); float32 or float64 \(n, 6\) or \(n, 2, 3\) is wanted"),
        (lambda: find_pairs(boxes.astype(np.int32), capacity=4), "boxes is int32"),
        (lambda: find_pairs((boxes[:, :3], boxes[:5, 3:]), capacity=4), r"boxes\[1\] is float32 \(5, 3\); float32 \(10, 3\) is wanted"),
        (lambda: find_pairs(boxes, capacity=-1), "capacity is -1; 0 to 2147483647 is wanted"),
        (lambda: find_pairs(boxes, capacity=1 << 31), "capacity is 2147483648"),
        (lambda: find_pairs(boxes, capacity=2.5), "capacity is 2.5; an integer is wanted"),
        (lambda: find_pairs(boxes, capacity=4, worlds=np.zeros(9, np.int32)), r"worlds is int32 \(9,\)"),
        (lambda: find_pairs(boxes, capacity=4, flags=(np.zeros(10, np.uint8),) * 2), "flags is a tuple of 2"),
        (lambda: find_pairs(boxes, capacity=4, fill=1 << 40), "fill is 1099511627776"),
        (lambda: neighbours(boxes[:, :3], -1.0, capacity=4), "radius is -1.0; a finite number"),
        (lambda: neighbours(boxes[:, :3], boxes[0], capacity=4), r"radius is float32 \(6,\)"),
        (lambda: neighbours(boxes[:, :3], 1.0, boxes, capacity=4), r"queries is float32 \(10, 6\); float32 \(n, 3\) is wanted"),
        (lambda: neighbours(boxes[:, :3], 1.0, capacity=4, max_neighbours=0), "max_neighbours is 0"),
        (lambda: argsort(jnp.zeros(3, jnp.complex64)), "keys holds complex64"),
        (lambda: argsort(jnp.zeros((3, 2)), axis=2), "axis is 2"),
        (lambda: argsort(jnp.float32(3)), "axis is -1"),
    ]:
        with pytest.raises(pairsieve.ArgumentError, match=sentence):
            call()
    with pytest.raises(Exception, match="radius is -1.0; a finite number, 0 or more, is wanted"):  # known only when the program runs
        jax.block_until_ready(jax.jit(lambda x, r: neighbours(x, r, capacity=4))(boxes[:, :3], -1.0))


def test_older_versions_are_refused(monkeypatch):
    for name in ("pairsieve.jax", "pairsieve._jax_calls"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(jax, "__version_info__", (0, 7, 2))
    with pytest.raises(ImportError, match="needs JAX 0.8 or newer"):
        importlib.import_module("pairsieve.jax")


def test_other_calls_say_where_to_go():
    boxes = boxes_of(10, 18)
    for call in (pairsieve.find_pairs, pairsieve.argsort, lambda x: pairsieve.neighbours(x, 1.0)):
        with pytest.raises(pairsieve.UnsupportedError, match="traced by JAX.*pairsieve.jax"):
            jax.jit(call)(boxes)
    np.testing.assert_array_equal(pairsieve.find_pairs(jnp.asarray(boxes), sort=True), overlapping(boxes))
