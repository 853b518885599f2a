"""Broad phases of other simulators by pairsieve, with their own tests, where they are installed; what is said where they are not."""

import builtins
import importlib
import sys

import numpy as np
import pytest


@pytest.mark.parametrize("adapter, package, extra", [("newton", "newton", "newton"), ("mujoco_warp", "mujoco_warp", "mujoco-warp"),
                                                     ("torch", "torch", "torch"), ("jax", "jax", "jax"), ("rerun", "rerun", "rerun")])
def test_peer_is_missing(monkeypatch, adapter, package, extra):
    real = builtins.__import__

    def without(name, *rest, **named):
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named '{package}'", name=package)
        return real(name, *rest, **named)

    for name in [name for name in sys.modules if name == f"pairsieve.{adapter}" or name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(builtins, "__import__", without)
    if adapter in ("newton", "mujoco_warp") and importlib.util.find_spec("warp") is None:
        package = "warp"  # which both need first
    with pytest.raises(ImportError, match=rf"pairsieve.{adapter}.* needs {package}: pip install 'pairsieve\[{extra}\]'"):
        importlib.import_module(f"pairsieve.{adapter}")


# What newton's own tests look at in its class, and no other class has: which of its sorts it chose and the room that this takes; that it
# calls wp.utils.radix_sort_pairs once, with its own arrays.
OF_NEWTONS_SORT = ("test_sap_auto_sort_selection", "test_sap_single_segment_uses_radix_sort")


def test_newton_broad_phase(monkeypatch):
    pytest.importorskip("newton")
    import unittest

    import newton.tests.test_broad_phase as theirs
    import warp as wp
    from pairsieve.newton import PairsieveBroadPhase

    monkeypatch.setattr(theirs, "BroadPhaseSAP", PairsieveBroadPhase)
    wanted = [name for name in unittest.defaultTestLoader.getTestCaseNames(theirs.TestBroadPhase) if name not in OF_NEWTONS_SORT]
    assert len(wanted) > 20
    result = unittest.TextTestRunner().run(unittest.TestSuite(theirs.TestBroadPhase(name) for name in wanted))
    assert result.wasSuccessful()
    # The scene of the second: four boxes in one place, of groups 0, 1, 1 and -1.
    low, high = (wp.full(4, wp.vec3(x), dtype=wp.vec3, device="cpu") for x in (-1.0, 1.0))
    group, world = (wp.array(values, dtype=wp.int32, device="cpu") for values in ([0, 1, 1, -1], [-1] * 4))
    pairs, count = wp.zeros(6, dtype=wp.vec2i, device="cpu"), wp.zeros(1, dtype=wp.int32, device="cpu")
    PairsieveBroadPhase(world, device="cpu").launch(low, high, None, group, world, 4, pairs, count)
    assert sorted(map(tuple, pairs.numpy()[: count.numpy()[0]].tolist())) == [(1, 2), (1, 3), (2, 3)]


def random_model(seed):
    """Bodies of every kind of geom, thrown together; with margins, gaps, explicit and excluded pairs, a plane, scenery and a sensor."""
    random = np.random.default_rng(seed)
    kinds = {"sphere": 1, "capsule": 2, "box": 3, "ellipsoid": 3, "cylinder": 2}
    geoms, bodies = [], []

    def geom(name):
        kind = random.choice(list(kinds))
        size = " ".join(f"{x:.3f}" for x in random.uniform(0.05, 0.25, kinds[kind]))
        place = " ".join(f"{x:.3f}" for x in random.uniform(-0.1, 0.1, 3))
        turn = " ".join(f"{x:.3f}" for x in random.uniform(-180, 180, 3))
        margin = f'margin="{random.choice([0, 0.05]):.3f}" gap="{random.choice([0, 0.02]):.3f}"'
        layers = f'contype="{random.integers(0, 4)}" conaffinity="{random.integers(0, 4)}"'
        geoms.append(name)
        return f'<geom name="{name}" type="{kind}" size="{size}" pos="{place}" euler="{turn}" {margin} {layers}/>'

    for i in range(30):
        place = " ".join(f"{x:.3f}" for x in random.uniform(0, 1.2, 3))
        child = f'<body name="c{i}" pos="0.1 0 0"><joint type="hinge"/>{geom(f"c{i}")}</body>' if i % 3 == 0 else ""
        joint = "" if i % 7 == 0 else "<freejoint/>"
        bodies.append(f'<body name="b{i}" pos="{place}">{joint}{geom(f"g{i}")}{geom(f"h{i}") if i % 4 == 0 else ""}{child}</body>')
    named = random.permutation(geoms)
    pairs = "".join(f'<pair geom1="{a}" geom2="{b}" margin="{random.choice([0, 0.1, 0.6]):.2f}"/>' for a, b in named[:20].reshape(-1, 2))
    excluded = "".join(f'<exclude body1="b{i}" body2="b{i + 1}"/>' for i in range(0, 12, 2))
    sensors = "".join(f'<distance geom1="{a}" geom2="{b}" cutoff="1"/>' for a, b in named[20:26].reshape(-1, 2))
    return (f'<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1"/><geom name="wall" type="box" size=".1 2 2"/>{"".join(bodies)}'
            f"</worldbody><contact>{pairs}{excluded}</contact><sensor>{sensors}</sensor></mujoco>")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_mujoco_warp_broad_phase(seed):
    """The same pairs as mujoco_warp's own test of all pairs, for every filter."""
    mujoco, mjw = pytest.importorskip("mujoco"), pytest.importorskip("mujoco_warp")
    import pairsieve.mujoco_warp as ours
    import warp as wp
    from mujoco_warp._src import collision_driver as theirs

    model = mujoco.MjModel.from_xml_string(random_model(seed))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    worlds = 3
    m, d = mjw.put_model(model), mjw.put_data(model, data, nworld=worlds, nconmax=2000, njmax=4000)
    random = np.random.default_rng(seed)
    moved = d.geom_xpos.numpy() + random.uniform(-0.1, 0.1, (worlds, model.ngeom, 3)).astype(np.float32)
    d.geom_xpos = wp.array(moved.astype(np.float32), dtype=wp.vec3)

    def found(broad_phase, *awake_before):
        context = theirs.create_collision_context(d.naconmax)
        d.ncollision.zero_()
        broad_phase(m, d, context, *awake_before)
        count = int(d.ncollision.numpy()[0])
        assert count <= d.naconmax and not d.overflow.numpy().any()
        columns = [array.numpy()[:count].reshape(count, -1)
                   for array in (context.collision_worldid, context.collision_pair, context.collision_pairid)]
        return sorted(map(tuple, np.concatenate(columns, axis=1).tolist()))

    sizes = set()
    for filters in (1, 2, 3, 5, 9, 7, 13, 15, 0):
        m.opt.broadphase_filter = filters
        expected = found(theirs.nxn_broadphase)
        assert found(ours.broad_phase) == expected
        sizes.add(len(expected))
    assert len(sizes) > 4 and min(sizes) > 50
    assert any(pairid[-1] >= 0 for pairid in expected) and any(pairid[-2] >= 0 for pairid in expected)
    m.opt.enableflags |= int(mjw.EnableBit.SLEEP)
    states = np.array([int(state) for state in theirs.SleepState])
    awake, before = (wp.array(random.choice(states, (worlds, model.nbody)), dtype=int) for _ in range(2))
    d.body_awake = awake
    for arguments in ((), (before,)):
        asleep = found(theirs.nxn_broadphase, *arguments)
        assert found(ours.broad_phase, *arguments) == asleep
        assert 0 < len(asleep) < len(expected)
    small = ours.PairsieveBroadPhase(m, worlds, max_pairs=10)
    small(m, d, theirs.create_collision_context(d.naconmax))
    assert (d.overflow.numpy() == int(mjw.OverflowType.BROADPHASE)).all()
