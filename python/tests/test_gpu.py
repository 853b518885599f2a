"""Streams and graphs, where there is a GPU."""

import numpy as np
import oracle
import pytest

import pairsieve

if not pairsieve.cuda_available():
    pytest.skip("no CUDA device", allow_module_level=True)
torch = pytest.importorskip("torch")
torch.cuda.set_device(0)  # other libraries leave another one current where there are several


def test_capture_in_a_torch_graph():
    sets = [oracle.boxes(seed, 3000) for seed in range(4)]
    boxes = torch.from_numpy(sets[0]).cuda()
    finder = pairsieve.PairFinder(3000, device="cuda", sort=True)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            finder.find(boxes)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        finder.find(boxes)
    for one in sets:
        boxes.copy_(torch.from_numpy(one))
        graph.replay()
        torch.cuda.synchronize()
        np.testing.assert_array_equal(finder.pairs().cpu().numpy(), oracle.pairs(one))


def test_first_frame_is_captured():
    """A finder that has found nothing before, for each kind of scene that methods go different ways for."""
    sets = [oracle.boxes(seed, 3000) for seed in range(3)]
    worlds = np.repeat(np.arange(30, dtype=np.int32), 100)
    boxes, numbers = torch.from_numpy(sets[0]).cuda(), torch.from_numpy(worlds).cuda()
    for more, expected in (({}, {}), ({"worlds": numbers}, {"worlds": worlds})):
        finder = pairsieve.PairFinder(3000, device="cuda", sort=True, worlds=30, max_pairs=3000 * 50)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            finder.find(boxes, **more)
        for one in [*sets, *sets]:
            boxes.copy_(torch.from_numpy(one))
            graph.replay()
            torch.cuda.synchronize()
            np.testing.assert_array_equal(finder.pairs().cpu().numpy(), oracle.pairs(one, **expected))


def test_streams_in_turn_are_ordered():
    finder = pairsieve.PairFinder(200_000, device="cuda", sort=True)
    sets = [oracle.boxes(seed, 2000) for seed in range(3)]
    on_gpu = [torch.from_numpy(one).cuda() for one in sets]
    large = torch.from_numpy(oracle.boxes(9, 200_000)).cuda()
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(3)]
    for one, boxes, stream in zip(sets, on_gpu, streams):
        with torch.cuda.stream(stream):
            finder.find(large)  # still runs when the next stream begins
        with torch.cuda.stream(streams[0]):
            found = finder.find(boxes).pairs().cpu()  # on the same stream: PyTorch orders no other one after it
        np.testing.assert_array_equal(found.numpy(), oracle.pairs(one))


def test_results_stay_on_the_device():
    boxes = torch.from_numpy(oracle.boxes(1, 1000)).cuda()
    finder = pairsieve.PairFinder(1000, device="cuda")
    finder.find(boxes)
    count = int(finder.count_buffer.cpu()[0])
    assert finder.pair_buffer.is_cuda and count == len(oracle.pairs(oracle.boxes(1, 1000)))


def test_boxes_on_the_wrong_device():
    finder = pairsieve.PairFinder(10, device="cuda")
    with pytest.raises(pairsieve.ArgumentError, match="CPU.*CUDA"):
        finder.find(np.zeros((3, 6), np.float32))


def test_world_arrays_on_the_device():
    world = pairsieve.World.scene("drop", bodies=500, device="cuda")
    world.step(count=5)
    world.synchronize()
    assert world.positions.is_cuda
    other = pairsieve.World.scene("drop", bodies=500, device="cuda")
    other.step(count=5)
    other.synchronize()
    assert torch.equal(world.positions, other.positions)


def test_tree_in_a_torch_graph():
    """Build and queries are captured; replays see boxes and rays that have changed."""
    sets, queries = [oracle.boxes(seed, 2000) for seed in range(3)], [oracle.boxes(seed + 50, 300) for seed in range(3)]
    boxes, asked = torch.from_numpy(sets[0]).cuda(), torch.from_numpy(queries[0]).cuda()
    spheres = torch.cat([(asked[:, :3] + asked[:, 3:]) / 2, torch.full((300, 1), 4.0, device="cuda")], dim=1)
    tree = pairsieve.Tree(2000, device="cuda")

    def frame():
        rows = tree.build(boxes).overlap_boxes(asked, each=32, in_order=True)
        return rows.counts, rows.items, tree.find_nearest(spheres, 3).item

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        frame()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        counts, items, nearest = frame()
    for one, other in zip(sets, queries):
        boxes.copy_(torch.from_numpy(one))
        asked.copy_(torch.from_numpy(other))
        spheres[:, :3] = (asked[:, :3] + asked[:, 3:]) / 2
        graph.replay()
        torch.cuda.synchronize()
        expected = oracle.overlaps(other, one)
        np.testing.assert_array_equal(counts.cpu().numpy(), expected.sum(axis=1))
        found = items.cpu().numpy()
        assert [row[row >= 0].tolist() for row in found] == [np.nonzero(row)[0][:32].tolist() for row in expected]
        fresh = pairsieve.Tree(2000).build(one).find_nearest(spheres.cpu().numpy(), 3)
        np.testing.assert_array_equal(nearest.cpu().numpy(), fresh.item)


def test_rules_in_a_torch_graph():
    """Excluded pairs that are read within the graph, counts of worlds, and float64 boxes."""
    random = np.random.default_rng(5)
    low = random.random((1500, 3)) * 8 + 1e8
    boxes = torch.from_numpy(np.concatenate([low, low + 1], axis=1)).cuda()
    worlds = random.integers(0, 3, 1500).astype(np.int32)
    excluded = torch.zeros((400, 2), dtype=torch.int32, device="cuda")
    finder = pairsieve.PairFinder(1500, device="cuda", doubles=True, worlds=3, count_worlds=True, max_excluded=400, sort=True,
                                  max_pairs=200_000)
    on_gpu = torch.from_numpy(worlds).cuda()

    def frame():
        finder.set_rules(excluded=excluded)
        finder.find(boxes, worlds=on_gpu, origin=(1e8, 1e8, 1e8))

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        frame()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        frame()
    for seed in range(3):
        some = np.sort(np.random.default_rng(seed).integers(0, 1500, (400, 2)), axis=1).astype(np.int32)
        excluded.copy_(torch.from_numpy(some))
        graph.replay()
        torch.cuda.synchronize()
        expected = oracle.pairs(boxes.cpu().numpy(), worlds=worlds, excluded=some)
        np.testing.assert_array_equal(finder.pairs().cpu().numpy(), expected)
        counts = np.bincount(worlds[expected[:, 0]], minlength=3)
        np.testing.assert_array_equal(finder.world_count_buffer.cpu().numpy(), counts)


def test_capture_by_warp():
    """A finder and a tree inside wp.ScopedCapture."""
    wp = pytest.importorskip("warp")
    sets = [oracle.boxes(seed, 3000) for seed in range(4)]
    boxes = wp.array(sets[0], dtype=float, device="cuda:0")
    finder, tree = pairsieve.PairFinder(3000, device="cuda", sort=True), pairsieve.Tree(3000, device="cuda")

    def frame():
        finder.find(boxes)
        return tree.build(boxes).overlap_boxes(boxes, each=64, in_order=True)

    frame()
    with wp.ScopedCapture("cuda:0") as capture:
        counts, items = frame()
    for one in sets:
        boxes.assign(one)
        wp.capture_launch(capture.graph)
        wp.synchronize()
        np.testing.assert_array_equal(finder.pairs().numpy(), oracle.pairs(one))
        expected = oracle.overlaps(one, one)
        np.testing.assert_array_equal(counts.numpy(), expected.sum(axis=1))
        assert [row[row >= 0].tolist() for row in items.numpy()] == [np.nonzero(row)[0][:64].tolist() for row in expected]


def test_first_step_of_mujoco_warp_is_captured():
    """As mjwarp-testspeed does: nothing runs before the capture. Contacts are those of steps that are not captured."""
    wp, mujoco, mjw = (pytest.importorskip(name) for name in ("warp", "mujoco", "mujoco_warp"))
    import pairsieve.mujoco_warp
    from mujoco_warp._src import collision_driver
    from test_adapters import random_model

    own = collision_driver.nxn_broadphase, collision_driver.sap_broadphase
    pairsieve.mujoco_warp.install()
    try:
        for sleep in (False, True):
            model = mujoco.MjModel.from_xml_string(random_model(5).replace(
                "<mujoco>", f'<mujoco><option><flag sleep="{"enable" if sleep else "disable"}"/></option>'))
            contacts = []
            with wp.ScopedDevice("cuda:0"):
                for captured in (True, False):
                    m = mjw.put_model(model)
                    d = mjw.make_data(model, nworld=3, nconmax=1000, njmax=3000)
                    if captured:
                        with wp.ScopedCapture() as capture:
                            mjw.fwd_position(m, d)
                        wp.capture_launch(capture.graph)
                    else:
                        collision_driver.nxn_broadphase, collision_driver.sap_broadphase = own
                        mjw.fwd_position(m, d)
                        pairsieve.mujoco_warp.install()
                    count = int(d.nacon.numpy()[0])
                    assert count > 100
                    geoms, worlds = d.contact.geom.numpy()[:count], d.contact.worldid.numpy()[:count]
                    contacts.append(sorted(map(tuple, np.column_stack([worlds, geoms]).tolist())))
            assert contacts[0] == contacts[1]
    finally:
        collision_driver.nxn_broadphase, collision_driver.sap_broadphase = own


def test_first_launch_of_newtons_broad_phase_is_captured():
    wp = pytest.importorskip("warp")
    pytest.importorskip("newton")
    from pairsieve.newton import PairsieveBroadPhase

    boxes = oracle.boxes(3, 2000)
    low, high = (wp.array(boxes[:, part], dtype=wp.vec3, device="cuda:0") for part in (slice(0, 3), slice(3, 6)))
    group, world = (wp.full(2000, number, dtype=wp.int32, device="cuda:0") for number in (1, 0))
    pairs, count = wp.zeros(200_000, dtype=wp.vec2i, device="cuda:0"), wp.zeros(1, dtype=wp.int32, device="cuda:0")
    phase = PairsieveBroadPhase(world, device="cuda:0")
    with wp.ScopedCapture("cuda:0") as capture:
        phase.launch(low, high, None, group, world, 2000, pairs, count)
    for _ in range(2):
        wp.capture_launch(capture.graph)
        found = pairs.numpy()[: count.numpy()[0]]
        np.testing.assert_array_equal(found[np.lexsort(found.T[::-1])], oracle.pairs(boxes))


def test_rays_and_events_of_a_world_on_the_device():
    """As on the CPU; rays of torch, captured after the first call."""
    shots = []
    for device in ("cpu", "cuda"):
        world = pairsieve.World(max_bodies=64, contact_events=True, device=device)
        world.add(world.plane())
        world.add(world.box((0.5, 0.5, 0.5)), [[1.5 * i, 1.0, 0] for i in range(20)], user_data=np.arange(20))
        world.step(count=40)
        rays = np.zeros((64, 8), np.float32)
        rays[:, 0], rays[:, 1], rays[:, 5], rays[:, 7] = np.linspace(-1, 30, 64), 9, -1, 100
        given = torch.from_numpy(rays).to(device)
        hits = world.cast_rays(given)
        assert hits.t.device.type == device
        if device == "cuda":
            graph = torch.cuda.CUDAGraph()
            given.zero_()
            torch.cuda.synchronize()
            with torch.cuda.graph(graph):
                captured = world.cast_rays(given)
            given.copy_(torch.from_numpy(rays))
            graph.replay()
            torch.cuda.synchronize()
            assert torch.equal(captured.slot, hits.slot) and torch.equal(captured.t, hits.t)
        contacts = world.contacts()
        shots.append((hits.slot.cpu().numpy(), hits.t.cpu().numpy(), np.sort(contacts["user_b"] + contacts["user_a"])))
    np.testing.assert_array_equal(shots[0][0], shots[1][0])
    np.testing.assert_allclose(shots[0][1], shots[1][1], atol=2e-3)
    np.testing.assert_array_equal(shots[0][2], shots[1][2])
