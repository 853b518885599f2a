"""Broad phases of other simulators by pairsieve, with their own tests, where they are installed; what is said where they are not."""

import builtins
import importlib
import sys

import numpy as np
import pytest

import pairsieve


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
    overflow = d.overflow.numpy()
    count = int(d.ncollision.numpy()[0])
    ours.reserve(m, d).warm_up(m, d, d.geom_xpos, d.geom_xmat)  # a first frame that leaves the data alone
    assert (d.overflow.numpy() == overflow).all() and d.ncollision.numpy()[0] == count
    small = ours.PairsieveBroadPhase(m, worlds, max_pairs=10)
    small(m, d, theirs.create_collision_context(d.naconmax))
    assert (d.overflow.numpy() == int(mjw.OverflowType.BROADPHASE)).all()


@pytest.fixture
def installed(monkeypatch):
    """pairsieve.mujoco_warp, installed for one test."""
    pytest.importorskip("mujoco")
    mjw = pytest.importorskip("mujoco_warp")
    import pairsieve.mujoco_warp as ours
    from mujoco_warp._src import collision_driver, io

    for module in (mjw, io):
        for name in ("put_model", "put_data", "make_data"):
            monkeypatch.setattr(module, name, getattr(io, name))
    for name in ("nxn_broadphase", "sap_broadphase"):
        monkeypatch.setattr(collision_driver, name, getattr(collision_driver, name))
    monkeypatch.setattr(ours, "its_own", {})
    monkeypatch.setattr(ours, "models", [])
    ours.install()
    ours.install()  # changes nothing
    return ours


BALLS = "<mujoco><worldbody>{}</worldbody></mujoco>"
BALL = '<body pos="{} 0 0"><freejoint/><geom size=".1"/></body>'


def test_mujoco_warp_memory_is_taken_before_the_first_step(installed, monkeypatch):
    """Data gets its broad phase when it is made, whether the model comes before it or data of another model does."""
    import mujoco
    import mujoco_warp as mjw
    import warp as wp

    two, three = (mujoco.MjModel.from_xml_string(BALLS.format("".join(BALL.format(0.15 * i) for i in range(n)))) for n in (2, 3))
    m2, m3 = mjw.put_model(two), mjw.put_model(three)
    data = [mjw.put_data(two, mujoco.MjData(two), nworld=2), mjw.make_data(three, nworld=4), mjw.make_data(two, nworld=1)]
    kept = [d.pairsieve_broad_phases for d in data]
    assert [[model for model, _ in one] for one in kept] == [[m2], [m3], [m2]]
    assert [one[0][1].worlds for one in kept] == [2, 4, 1]

    made = []
    real = installed.PairFinder
    monkeypatch.setattr(installed, "PairFinder", lambda *sizes, **named: made.append(sizes) or real(*sizes, **named))
    for m, d, pairs in ((m2, data[0], 2), (m3, data[1], 8)):
        mjw.kinematics(m, d)
        mjw.collision(m, d)
        assert d.nacon.numpy()[0] == pairs
    assert not made and [len(one) for one in kept] == [1, 1, 1]
    # Another model of the same data has none yet: outside a capture it is made, in a capture the sentence says what to call.
    other = mjw.put_model(two)
    with monkeypatch.context() as capturing:
        capturing.setattr(installed, "captures_on_the_gpu", lambda device: True)
        mjw.collision(m2, data[0])
        with pytest.raises(pairsieve.UnsupportedError, match=r"call pairsieve.mujoco_warp.reserve\(model, data\) before the capture"):
            mjw.collision(other, data[0])
    assert not made
    installed.reserve(other, data[0])
    mjw.collision(other, data[0])
    assert len(made) == 1 and data[0].nacon.numpy()[0] == 2

    # Margins of explicit pairs that get a row for each world after the memory was taken.
    pair = '<contact><pair geom1="a" geom2="b"/></contact>'
    apart = BALLS.replace("</mujoco>", pair + "</mujoco>").format("".join(
        BALL.format(x).replace("<geom", f'<geom name="{name}"') for name, x in (("a", 0), ("b", 0.5))))
    model = mujoco.MjModel.from_xml_string(apart)
    m, d = mjw.put_model(model), mjw.make_data(model, nworld=3)
    m.pair_margin = wp.array([[0.0], [0.4], [0.0]], dtype=float)
    mjw.kinematics(m, d)
    mjw.collision(m, d)
    assert d.nacon.numpy()[0] == 1 and d.contact.worldid.numpy()[0] == 1


def test_mujoco_warp_first_frame_at_places(installed, monkeypatch):
    """What CUDA's first frame gets: geoms where MuJoCo puts them, in every world."""
    import mujoco
    import mujoco_warp as mjw

    model = mujoco.MjModel.from_xml_string(random_model(4))
    m, d = mjw.put_model(model), mjw.make_data(model, nworld=2)
    mjw.kinematics(m, d)
    seen = []
    phase = installed.reserve(m, d)
    monkeypatch.setattr(phase, "warm_up", lambda *arguments: seen.append([array.numpy() for array in arguments[2:]]))
    installed.warm_up_at(phase, m, d, model, model.qpos0)
    for array, expected in zip(seen[0], (d.geom_xpos.numpy(), d.geom_xmat.numpy())):
        assert array.shape == expected.shape
        np.testing.assert_allclose(array, expected, atol=1e-5)
