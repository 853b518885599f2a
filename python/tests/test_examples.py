"""The examples, where what they need is installed."""

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "examples"))


@pytest.mark.parametrize("loop, most, batched", [(False, None, False), (True, None, True), (False, 4, True), (True, 3, False)])
def test_radius_graph(library, loop, most, batched):
    if library.name not in ("numpy", "torch"):
        pytest.skip("for NumPy and PyTorch")
    from radius_graph import radius_graph

    random = np.random.default_rng(5)
    x = random.random((400, 3), np.float32)
    batch = random.integers(0, 3, 400) if batched else None
    found = library.back(radius_graph(library.make(x), 0.15, None if batch is None else library.make(batch), loop, most))
    squared = ((x[:, None] - x[None]) ** 2).sum(2)
    near = squared <= np.float32(0.15) * np.float32(0.15)
    if not loop:
        near &= ~np.eye(400, dtype=bool)
    if batch is not None:
        near &= batch[:, None] == batch[None]
    expected = []
    for centre in range(400):
        others = np.nonzero(near[centre])[0]
        if most is not None:
            others = others[np.argsort(squared[centre, others], kind="stable")][:most]
        expected += [(other, centre) for other in others]
    assert sorted(map(tuple, found.T.tolist())) == sorted(expected)


def test_sort_cost(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    import sort_cost

    out = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", ["sort_cost.py", "--bodies", "300", "--frames", "10", "--device", "cpu", "--out", str(out)])
    sort_cost.main()
    assert out.stat().st_size > 5000


def test_newton_broad_phase():
    pytest.importorskip("newton")
    import unittest

    import newton.tests.test_broad_phase as theirs
    from newton_broad_phase import PairsieveBroadPhase

    theirs.BroadPhaseSAP = PairsieveBroadPhase
    wanted = [name for name in dir(theirs.TestBroadPhase)
              if name.startswith("test_sap_broadphase") or name.startswith("test_sap_edge") or "per_shape_gap" in name
              or "swept" in name or "displacement" in name or "positional" in name]
    assert len(wanted) > 10
    result = unittest.TextTestRunner().run(unittest.TestSuite(theirs.TestBroadPhase(name) for name in wanted))
    assert result.wasSuccessful()
