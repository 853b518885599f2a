import numpy as np
import pytest

import pairsieve


def sheet(side, seed=1):
    random = np.random.default_rng(seed)
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    points = np.stack([abs(x - side / 2), y, 0 * x], -1).reshape(-1, 3) + random.random((side * side, 3)) * 0.4
    v = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).reshape(-1)
    return points, np.concatenate([np.stack([v, v + 1, v + side], 1), np.stack([v + 1, v + side + 1, v + side], 1)]).astype(np.int32)


def brute(points, a, b, same):
    low_a, high_a, low_b, high_b = points[a].min(1), points[a].max(1), points[b].min(1), points[b].max(1)
    hit = ((low_a[:, None] <= high_b[None]) & (low_b[None] <= high_a[:, None])).all(-1)
    shared = (a[:, None, :, None] == b[None, :, None, :]).any((-1, -2))
    pairs = np.argwhere(hit & ~shared)
    return pairs[pairs[:, 0] < pairs[:, 1]] if same else pairs


def test_kinds(library):
    points, faces = sheet(14)
    points = points.astype(np.float32)
    edges, vertices = pairsieve.edges_of(faces), np.arange(len(points))[:, None]
    got = pairsieve.element_pairs(library.make(points), library.make(faces), library.make(edges),
                                  kinds=("edge-edge", "vertex-face", "face-face", "edge-face"))
    for kind, a, b in (("edge-edge", edges, edges), ("vertex-face", vertices, faces), ("face-face", faces, faces), ("edge-face", edges, faces)):
        np.testing.assert_array_equal(library.back(got[kind]), brute(points, a, b, a is b), err_msg=kind)


def test_doubles_lose_no_pair():
    points, faces = sheet(12, 5)
    due = brute(points, faces, faces, True)
    got = {tuple(pair) for pair in pairsieve.element_pairs(points, faces, kinds="face-face")["face-face"]}
    assert got >= {tuple(pair) for pair in due}


def test_bodies_and_refusals():
    points, faces = sheet(10)
    bodies = np.zeros(len(points), np.int32)
    assert len(pairsieve.element_pairs(points, faces, bodies=bodies, apart=True)["vertex-face"]) == 0
    with pytest.raises(pairsieve.ArgumentError, match="kind"):
        pairsieve.element_pairs(points, faces, kinds="edge-vertex")
    with pytest.raises(pairsieve.ArgumentError, match="names a vertex"):
        pairsieve.element_pairs(points, faces + 1)
