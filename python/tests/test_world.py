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


def test_keep_and_restore():
    world = pairsieve.World(max_bodies=64)
    box = world.box((0.5, 0.5, 0.5))
    world.add(world.plane())
    world.add(box, [[0.1 * i, 0.6 + 1.1 * i, 0] for i in range(8)])
    world.reserve_states(2)
    world.step(count=20)
    world.keep(1)
    at_keep, ahead = world.hash(), []
    for _turn in range(2):
        hashes = []
        new = world.add(box, [[5, 3, 0]])
        for _ in range(30):
            world.step()
            hashes.append(world.hash())
        ahead.append((new.tolist(), hashes))
        world.restore(1)
        assert world.hash() == at_keep and len(world) == 9
    assert ahead[0] == ahead[1]
    with pytest.raises(pairsieve.ArgumentError, match="nothing is kept"):
        world.restore()
    with pytest.raises(pairsieve.ArgumentError, match="state is 2"):
        world.keep(2)
    with pytest.raises(pairsieve.ArgumentError, match="negative"):
        world.keep(-1)


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
    (lambda w: w.step(count=-1), ["count", "-1"]),
    (lambda w: pairsieve.World(broad_phase=None), ["broad_phase", "None"]),
    (lambda w: pairsieve.World(colour=3), ["colour", "gravity"]),
    (lambda w: pairsieve.World.scene("nowhere"), ["nowhere"]),
    (lambda w: pairsieve.World.scene("drop", bodies=-5), ["bodies", "-5"]),
    (lambda w: pairsieve.World.scene("drop", seed=1 << 70), ["seed", "1180591620717411303424"]),
    (lambda w: w.cast_rays((np.zeros((1, 3), np.float32), np.ones((1, 3), np.float32)), t_max=[1, 2]), ["cast_rays", "(2,)"]),
    (lambda w: pairsieve.World.load("/nonexistent/file"), ["/nonexistent/file"]),
    (lambda w: pairsieve.load_mesh("/nonexistent.ply"), ["/nonexistent.ply"]),
    (lambda w: pairsieve.load_mesh(None), ["path is None", "a path is wanted"]),
    (lambda w: pairsieve.load_mesh("a.obj\0.ply"), ["path", "NUL"]),
    (lambda w: w.save("a\0b"), ["path", "NUL"]),
    (lambda w: pairsieve.World.load(b"a\0b"), ["path", "NUL"]),
    (lambda w: pairsieve.World.scene("drop\0.json"), ["name", "NUL"]),
    (lambda w: pairsieve.World.scene(7), ["name is 7"]),
    (lambda w: pairsieve.World(broad_phase="rows\0x"), ["broad_phase", "NUL"]),
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


def test_rays_points_and_overlaps_of_bodies():
    world = pairsieve.World(max_bodies=8, worlds=2)
    ids = world.add(world.sphere(1), [[0, 5, 0], [0, 9, 0], [0, 5, 0]], world=[0, 0, 1])
    slots = ids["index1"].astype(np.int32) - 1
    origins = np.array([[0, 0, 0], [0, 20, 0], [0, 0, 0], [3, 0, 0]], np.float32)
    directions = np.array([[0, 2, 0], [0, -1, 0], [0, 1, 0], [0, 1, 0]], np.float32)
    hits = world.cast_rays((origins, directions), worlds=np.array([0, 0, 1, 0], np.uint32), t_max=100.0)
    np.testing.assert_allclose(hits.t, [2, 10, 4, 100], rtol=1e-5)
    np.testing.assert_array_equal(hits.slot, [slots[0], slots[1], slots[2], -1])
    np.testing.assert_allclose(hits.normal[:3], [[0, -1, 0], [0, 1, 0], [0, -1, 0]], atol=1e-5)
    near = world.closest_bodies(np.array([[0, 2, 0], [0, 5, 0.5]], np.float32), 3.0)
    np.testing.assert_allclose(near.distance, [2, 0], atol=1e-5)
    np.testing.assert_allclose(near.point[0], [0, 4, 0], atol=1e-5)
    assert list(near.slot) == [slots[0], slots[0]]
    counts, found = world.overlap_bodies(np.array([[0, 7, 0], [50, 0, 0]], np.float32), 1.5, each=4)
    assert list(counts) == [2, 0] and set(found[0, :2]) == set(slots[:2]) and (found[0, 2:] == -1).all()
    with pytest.raises(TypeError, match="sort_queries"):
        world.cast_rays((origins, directions), sort_queries=True)


def test_kinematic_damped_and_weightless_bodies():
    world = pairsieve.World(max_bodies=8)
    ball = world.sphere(0.5)
    lift = world.add(world.box((1, 0.1, 1)), [[0, 0, 0]], kinematic=True)
    rider = world.add(ball, [[0, 0.6, 0]])
    floating = world.add(ball, [[10, 5, 0], [20, 5, 0]], velocities=[1, 0, 0], gravity_scale=0, linear_damping=[0, 1])
    for frame in range(60):
        world.set_targets(lift, [[0, (frame + 1) / 60, 0]])
        world.step()
    states = world.states(np.concatenate([lift, rider, floating]))
    np.testing.assert_allclose(states["pose"]["position"][0], [0, 1, 0], atol=1e-3)
    np.testing.assert_allclose(states["pose"]["position"][1], [0, 1.6, 0], atol=0.02)
    np.testing.assert_allclose(states["velocity"][2:, 0], [1, np.exp(-1)], rtol=1e-3)
    np.testing.assert_allclose(states["pose"]["position"][2:, 1], 5)
    world.set_damping(floating, linear=2)
    world.set_gravity_scale(floating, [0, 1])
    world.configure(gravity=(0, -1, 0), substeps=2)
    before = world.states(floating)["velocity"]
    world.step(count=60)
    after = world.states(floating)["velocity"]
    np.testing.assert_allclose(after[:, 0], before[:, 0] * np.exp(-2), rtol=1e-3)
    assert after[0, 1] == 0 and -1 < after[1, 1] < -0.3
    with pytest.raises(pairsieve.ArgumentError, match="substeps"):
        world.configure(substeps=65)
    with pytest.raises(pairsieve.ArgumentError, match="3 bodies"):
        world.set_damping(np.concatenate([lift, floating]), linear=[1, 2])


def test_contacts_events_and_sleep():
    world = pairsieve.World(max_bodies=8, contact_events=True, sleeping=True)
    ground = world.add(world.box((5, 0.5, 5)), [[0, -0.5, 0]], static=True, user_data=7)
    box = world.add(world.box((0.5, 0.5, 0.5), density=1000), [[0, 1.5, 0]], user_data=1 << 40)
    begins, ends, hits = [], [], []
    for _ in range(50):
        world.step()
        seen = world.events()
        begins.extend(seen.begins.copy()), ends.extend(seen.ends.copy()), hits.extend(seen.hits.copy())
    assert {(b["user_a"], b["user_b"]) for b in begins} == {(7, 1 << 40)} and len(hits) == 1
    assert abs(hits[0]["speed"] - np.sqrt(2 * 9.81)) < 0.3
    assert abs(hits[0]["impulse"] / (1000 * hits[0]["speed"]) - 1) < 0.1
    (contact,) = world.contacts()
    assert {contact["a"] + 1, contact["b"] + 1} == {ground["index1"][0], box["index1"][0]} and contact["points"] == 4
    assert abs(contact["normal_force"] / 9810 - 1) < 0.02
    world.step(count=60)
    assert world.counters()["asleep"] == 1 and len(world.contacts()) == 0
    with pytest.raises(pairsieve.ArgumentError, match="contact_events"):
        pairsieve.World().contacts()
