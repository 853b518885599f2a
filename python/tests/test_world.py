import gc

import numpy as np
import pytest

import pairsieve


def test_free_fall():
    world = pairsieve.World(max_bodies=8)
    ids = world.add(world.sphere(0.5), [[0, 100, 0], [5, 50, 0]], velocities=[[1, 0, 0], [0, 2, 0]])
    world.step(count=60)
    states = world.states(ids)
    np.testing.assert_allclose(states["velocity"][:, 1], [-9.81, 2 - 9.81], rtol=1e-3)
    np.testing.assert_allclose(states["pose"]["position"][:, 0], [1, 5], rtol=1e-3)
    assert len(world) == 2 and world.counters()["bodies"] == 2


def test_rest_on_a_plane_and_arrays_in_place():
    world = pairsieve.World(max_bodies=8)
    world.add(world.plane())
    ids = world.add(world.box((0.5, 0.5, 0.5)), [[0, 0.6, 0]])
    positions = world.positions
    world.step(count=120)
    assert abs(positions[ids["index1"][0] - 1, 1] - 0.5) < 0.01
    assert abs(world.velocities[ids["index1"][0] - 1, 1]) < 0.01


def test_states_and_impulses():
    world = pairsieve.World(max_bodies=8, gravity=(0, 0, 0))
    ids = world.add(world.sphere(0.5, density=1000), np.zeros((2, 3)) + [[0], [5]])
    states = world.states(ids)
    states["velocity"][0] = (1, 2, 3)
    world.set_states(ids, states)
    mass = 1000 * 4 / 3 * np.pi * 0.125
    world.apply_impulses(ids[1:], [[mass, 0, 0]], world.states(ids[1:])["pose"]["position"])
    np.testing.assert_allclose(world.states(ids)["velocity"], [[1, 2, 3], [1, 0, 0]], rtol=1e-4, atol=1e-6)
    world.remove(ids[:1])
    assert len(world) == 1
    with pytest.raises(pairsieve.ArgumentError):
        world.states(ids)


def test_ray():
    world = pairsieve.World(max_bodies=8)
    ids = world.add(world.sphere(1), [[0, 5, 0]])
    hit, distance = world.cast_ray((0, 0, 0), (0, 1, 0))
    assert hit == ids[0] and abs(distance - 4) < 1e-5
    assert world.cast_ray((0, 0, 0), (1, 0, 0)) is None


def test_scene_snapshot(tmp_path):
    world = pairsieve.World.scene("drop", bodies=200, seed=3)
    world.step(count=10)
    world.save(tmp_path / "a.snap")
    other = pairsieve.World.load(tmp_path / "a.snap")
    for one in (world, other):
        one.step(count=10) if one is world else [other.step(1 / 60) for _ in range(10)]
    np.testing.assert_array_equal(world.positions, other.positions)
    assert "drop" in pairsieve.scenes()


def test_shapes():
    world = pairsieve.World(max_bodies=16)
    parts = [dict(type="box", size=(1, 0.1, 1)), dict(type="sphere", size=(0.3,), position=(0, 0.4, 0))]
    numbers = [world.particle(0.1), world.capsule(0.2, 0.5), world.compound(parts),
               world.mesh([[0, 0, 0], [1, 0, 0], [0, 0, 1]], [[0, 1, 2]]), world.height_field(np.zeros((4, 5)), 10, 8)]
    assert numbers == sorted(set(numbers))
    for number in numbers:
        world.add(number, [[0, 3 * number, 0]])
    world.step(count=3)


@pytest.mark.parametrize("call, words", [
    (lambda w: w.sphere(-1), ["size", "-1"]),
    (lambda w: w.box((1, 2)), ["half_extents", "3"]),
    (lambda w: w.add(99), ["shape", "99"]),
    (lambda w: w.add(0, np.zeros((3, 3)), velocities=np.zeros((2, 3))), ["3 bodies"]),
    (lambda w: w.step(-1), ["seconds", "-1"]),
    (lambda w: pairsieve.World(colour=3), ["colour", "gravity"]),
    (lambda w: pairsieve.World.scene("nowhere"), ["nowhere"]),
    (lambda w: pairsieve.World.load("/nonexistent/file"), ["/nonexistent/file"]),
    (lambda w: pairsieve.load_mesh("/nonexistent.ply"), ["/nonexistent.ply"]),
])
def test_errors(call, words):
    world = pairsieve.World(max_bodies=4)
    with pytest.raises(pairsieve.Error) as error:
        call(world)
    for word in words:
        assert word in str(error.value)


def test_mesh(tmp_path):
    path = tmp_path / "a.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    points, faces = pairsieve.load_mesh(path)
    assert points.shape == (3, 3) and faces.tolist() == [[0, 1, 2]]


def test_arrays_outlive_the_world():
    positions = pairsieve.World.scene("drop", bodies=100).positions
    gc.collect()
    assert np.isfinite(positions).all()
