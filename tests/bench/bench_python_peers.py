#!/usr/bin/env python3
"""pairsieve beside Warp's tree, newton's and mujoco_warp's broad phases on the same boxes: bench_python_peers.py [--device cpu] [--csv FILE]

Medians of calls and of CUDA graphs (wp.ScopedCapture), and how many times longer the other takes. All find the same pairs: counts
are checked. Peers that are not installed are left out. What is timed: boxes and worlds are on the device, pairs and their count end there.
newton and mujoco_warp are also timed with pairsieve in place of their broad phase, their own rules included (pairsieve.newton, pairsieve.mujoco_warp).
Of trees that are built: what each of as many boxes touches (how many), and the closest points of a wavy sheet, by Warp's trees of each kind.
"""
import argparse
import csv
import pathlib
import statistics
import sys
import time

import numpy as np
import warp as wp

import pairsieve

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "examples"))
rows = []


def times_of(call, device, runs):
    """Median ms of a call, and of its graph (nan on the CPU)."""
    for _ in range(3):
        call()
    wp.synchronize()
    spent = []
    for _ in range(runs):
        if device.is_cuda:
            begin, end = wp.Event(device, enable_timing=True), wp.Event(device, enable_timing=True)
            wp.record_event(begin)
            call()
            wp.record_event(end)
            spent.append(wp.get_event_elapsed_time(begin, end))
        else:
            begin = time.perf_counter()
            call()
            spent.append(1e3 * (time.perf_counter() - begin))
    plain = statistics.median(spent)
    if not device.is_cuda:
        return plain, float("nan")
    try:
        with wp.ScopedCapture(device) as capture:
            call()
    except Exception as error:  # of the peer: said, not hidden
        print(f"    cannot be captured: {error}")
        return plain, float("nan")
    spent = []
    for _ in range(runs):
        begin, end = wp.Event(device, enable_timing=True), wp.Event(device, enable_timing=True)
        wp.record_event(begin)
        wp.capture_launch(capture.graph)
        wp.record_event(end)
        spent.append(wp.get_event_elapsed_time(begin, end))
    return plain, statistics.median(spent)


def compare(scene, boxes, calls, device, runs=20):
    """calls: name -> (call, count after it); the first is ours."""
    ours = None
    for name, (call, count) in calls.items():
        try:
            plain, graph = times_of(call, device, runs)
            found = int(count())
        except Exception as error:
            print(f"{scene:14} {boxes:>10,} {name:34} failed: {error}", flush=True)
            continue
        ours = ours or (plain, graph, found)
        row = dict(scene=scene, boxes=boxes, who=name, ms=f"{plain:.4f}", graph_ms=f"{graph:.4f}", pairs=found,
                   ratio=f"{plain / ours[0]:.2f}", graph_ratio=f"{graph / ours[1]:.2f}")
        rows.append(row)
        wrong = "" if abs(found - ours[2]) <= 1e-5 * ours[2] else "  OTHER PAIRS"
        print(f"{scene:14} {boxes:>10,} {name:34} {plain:9.4f} ms, graph {graph:9.4f}  x{row['ratio']}, x{row['graph_ratio']}  {found} pairs{wrong}",
              flush=True)


@wp.kernel
def overlaps_by_bvh(tree: wp.uint64, lower: wp.array[wp.vec3], upper: wp.array[wp.vec3], pairs: wp.array[wp.vec2i], count: wp.array[int]):
    i = wp.tid()
    query = wp.bvh_query_aabb(tree, lower[i], upper[i])
    j = int(0)
    while wp.bvh_query_next(query, j):
        if j > i:
            place = wp.atomic_add(count, 0, 1)
            if place < pairs.shape[0]:
                pairs[place] = wp.vec2i(i, j)


def by_bvh(low, high, device, room):
    """Warp's own tree, rebuilt each frame, and one query a box."""
    lower, upper = wp.array(low, dtype=wp.vec3, device=device), wp.array(high, dtype=wp.vec3, device=device)
    pairs, count = wp.empty(room, dtype=wp.vec2i, device=device), wp.zeros(1, dtype=int, device=device)
    tree = wp.Bvh(lower, upper, constructor="lbvh" if device.is_cuda else "sah")

    def call():
        tree.rebuild()
        count.zero_()
        wp.launch(overlaps_by_bvh, dim=len(low), inputs=[tree.id, lower, upper, pairs, count], device=device)

    return call, lambda: count.numpy()[0]


def by_pairsieve(low, high, device, room, worlds=None):
    boxes = wp.array(np.concatenate([low, high], axis=1), dtype=float, device=device)
    world = None if worlds is None else wp.array(worlds, dtype=int, device=device)
    finder = pairsieve.PairFinder(len(low), device="cuda:0" if device.is_cuda else "cpu", max_pairs=room,
                                  worlds=1 if worlds is None else int(worlds.max()) + 1)
    return lambda: finder.find(boxes, worlds=world), finder.count


def by_newton(low, high, device, room, worlds, names):
    try:
        from newton.geometry import BroadPhaseAllPairs, BroadPhaseSAP
        from pairsieve.newton import PairsieveBroadPhase
    except ImportError as error:
        print(f"newton: {error}")
        return {}
    kinds = {"newton by pairsieve": PairsieveBroadPhase, "newton SAP": BroadPhaseSAP, "newton all pairs": BroadPhaseAllPairs}
    with wp.ScopedDevice(device):
        lower, upper = wp.array(low, dtype=wp.vec3), wp.array(high, dtype=wp.vec3)
        world, group = wp.array(worlds, dtype=int), wp.ones(len(low), dtype=int)
        pairs, count = wp.empty(room, dtype=wp.vec2i), wp.zeros(1, dtype=int)

        def call_of(phase):
            return lambda: phase.launch(lower, upper, None, group, world, len(low), pairs, count, device=device)

        return {name: (call_of(kinds[name](world, device=device)), lambda: count.numpy()[0]) for name in names}


def by_mujoco_warp(centres, half, device, room):
    """Worlds (w, n, 3) of n boxes with the half sizes (n, 3), the same in each world."""
    try:
        import mujoco
        import mujoco_warp as mjw
        import pairsieve.mujoco_warp as adapter
        from mujoco_warp._src import collision_driver
    except ImportError as error:
        print(f"mujoco_warp: {error}")
        return {}
    bodies = "".join(f'<body><joint type="slide"/><geom type="box" size="{h[0]:.6f} {h[1]:.6f} {h[2]:.6f}"/></body>' for h in half)
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    worlds = len(centres)
    with wp.ScopedDevice(device):
        m = mjw.put_model(model)
        d = mjw.make_data(model, nworld=worlds, naconmax=room, njmax=1)
        d.geom_xpos = wp.array(centres, dtype=wp.vec3)
        d.geom_xmat = wp.array(np.tile(np.eye(3, dtype=np.float32), (worlds, len(half), 1, 1)), dtype=wp.mat33)
        m.opt.broadphase_filter = mjw.BroadphaseFilter.PLANE | mjw.BroadphaseFilter.AABB
        m.opt.broadphase = mjw.BroadphaseType.SAP_TILE if device.is_cuda else mjw.BroadphaseType.SAP_SEGMENTED
        context = collision_driver.create_collision_context(room)

        def call_of(phase):
            def call():
                with wp.ScopedDevice(device):
                    d.ncollision.zero_()
                    phase(m, d, context)

            return call

        phases = {"mujoco_warp by pairsieve": adapter.PairsieveBroadPhase(m, worlds), "mujoco_warp nxn": collision_driver.nxn_broadphase,
                  "mujoco_warp sap": collision_driver.sap_broadphase}
        return {name: (call_of(phase), lambda: d.ncollision.numpy()[0]) for name, phase in phases.items()}


def cube(count, device, seed):
    random = np.random.default_rng(seed)
    low = random.random((count, 3), np.float32) * np.float32(count ** (1 / 3))
    high = low + random.uniform(0.4, 0.9, (count, 3)).astype(np.float32)
    room = 8 * count
    calls = {"pairsieve": by_pairsieve(low, high, device, room), "Warp Bvh, rebuilt, queries": by_bvh(low, high, device, room)}
    if count <= 100_000:
        calls.update(by_newton(low, high, device, room, np.zeros(count, np.int32), ["newton by pairsieve", "newton SAP"]))
    compare("cube", count, calls, device)


def environments(worlds, bodies, device, seed):
    random = np.random.default_rng(seed)
    half = np.round(random.uniform(0.2, 0.45, (bodies, 3)), 6).astype(np.float32)
    centres = (random.random((worlds, bodies, 3), np.float32) * np.float32(bodies ** (1 / 3)))
    low, high = (centres - half).reshape(-1, 3), (centres + half).reshape(-1, 3)
    number = np.repeat(np.arange(worlds, dtype=np.int32), bodies)
    room = 8 * worlds * bodies
    calls = {"pairsieve": by_pairsieve(low, high, device, room, number)}
    calls.update(by_newton(low, high, device, room, number, ["newton by pairsieve", "newton all pairs", "newton SAP"]))
    calls.update(by_mujoco_warp(centres, half, device, room))
    compare(f"{worlds} worlds", worlds * bodies, calls, device)


@wp.kernel
def count_by_bvh(tree: wp.uint64, lower: wp.array[wp.vec3], upper: wp.array[wp.vec3], counts: wp.array[int]):
    i = wp.tid()
    query = wp.bvh_query_aabb(tree, lower[i], upper[i])
    found, j = int(0), int(0)
    while wp.bvh_query_next(query, j):
        found += 1
    counts[i] = found


@wp.kernel
def closest_by_mesh(mesh: wp.uint64, points: wp.array[wp.vec3], faces: wp.array[int]):
    i = wp.tid()
    faces[i] = wp.mesh_query_point_no_sign(mesh, points[i], 1.0e30).face


def by_kinds_of_warp(name, make, device):
    """Calls by name; kinds of tree that this Warp does not have are left out."""
    calls = {}
    for kind in ("lbvh", "sah", "cubql") if device.is_cuda else ("sah",):
        try:
            calls[f"{name} {kind}"] = make(kind)
        except Exception as error:
            print(f"{name} {kind}: {error}")
    return calls


def box_queries(count, device, seed):
    """Boxes of a cube and as many other ones that ask."""
    random = np.random.default_rng(seed)
    low, asking = (random.random((count, 3), np.float32) * np.float32(count ** (1 / 3)) for _ in range(2))
    high, asking_high = low + np.float32(0.7), asking + np.float32(1.5)
    name = "cuda:0" if device.is_cuda else "cpu"
    boxes, asked = (wp.array(np.concatenate(pair, axis=1), dtype=float, device=device) for pair in ((low, high), (asking, asking_high)))
    calls = {}

    def ours(quality):
        tree, last = pairsieve.Tree(count, device=name, quality=quality).build(boxes), {}

        def call():
            last["counts"] = tree.overlap_boxes(asked, each=0).counts

        return call, lambda: last["counts"].numpy().sum()

    def theirs(kind):
        tree = wp.Bvh(*(wp.array(corner, dtype=wp.vec3, device=device) for corner in (low, high)), constructor=kind)
        lower, upper = (wp.array(corner, dtype=wp.vec3, device=device) for corner in (asking, asking_high))
        counts = wp.zeros(count, dtype=int, device=device)
        return lambda: wp.launch(count_by_bvh, count, [tree.id, lower, upper, counts], device=device), lambda: counts.numpy().sum()

    for quality in ("linear", "fine"):
        calls[f"Tree {quality}"] = ours(quality)
    calls.update(by_kinds_of_warp("Warp Bvh", theirs, device))
    compare("box queries", count, calls, device)


def closest_points(count, device, seed):
    """A wavy sheet of `count` triangles; 2^21 points in its box, and as many within a thousandth of it."""
    side = int((count / 2) ** 0.5)
    x, z = np.meshgrid(np.arange(side + 1), np.arange(side + 1), indexing="ij")
    y = 0.05 * side * np.sin(x * 0.07) * np.cos(z * 0.05) + 0.3 * np.sin(x * 1.3 + z)
    vertices = np.stack([x, y, z], -1).reshape(-1, 3).astype(np.float32)
    corner = (np.arange(side)[:, None] * (side + 1) + np.arange(side)).reshape(-1)
    faces = np.concatenate([np.stack([corner, corner + 1, corner + side + 1], 1),
                            np.stack([corner + 1, corner + side + 2, corner + side + 1], 1)]).astype(np.int32)
    low, high, random = vertices.min(0), vertices.max(0), np.random.default_rng(seed)
    spread = low + random.random((1 << 21, 3), np.float32) * (high - low)
    near = vertices[random.integers(0, len(vertices), 1 << 21)] + random.normal(size=(1 << 21, 3)).astype(np.float32) * side * 1e-3
    name = "cuda:0" if device.is_cuda else "cpu"
    corners, indices = wp.array(vertices, dtype=float, device=device), wp.array(faces, dtype=int, device=device)

    def ours(quality, points):
        spheres = wp.array(np.concatenate([points, np.full((len(points), 1), np.inf, np.float32)], axis=1), dtype=float, device=device)
        tree, last = pairsieve.Tree(len(faces), triangles=True, device=name, quality=quality).build_triangles(corners, indices), {}

        def call():
            last["found"] = tree.find_closest(spheres)

        return call, lambda: (last["found"].item.numpy() >= 0).sum()

    def theirs(kind, points):
        mesh = wp.Mesh(wp.array(vertices, dtype=wp.vec3, device=device), wp.array(faces.reshape(-1), dtype=int, device=device),
                       bvh_constructor=kind)
        asked, found = wp.array(points, dtype=wp.vec3, device=device), wp.zeros(len(points), dtype=int, device=device)

        def call(mesh=mesh):
            wp.launch(closest_by_mesh, len(points), [mesh.id, asked, found], device=device)

        return call, lambda: (found.numpy() >= 0).sum()

    for scene, points in (("closest, box", spread), ("closest, near", near.astype(np.float32))):
        calls = {f"Tree {quality}": ours(quality, points) for quality in ("fine", "linear")}
        calls.update(by_kinds_of_warp("Warp Mesh", lambda kind, points=points: theirs(kind, points), device))
        compare(scene, len(faces), calls, device, runs=10)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--counts", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--worlds", type=int, nargs="*", default=[8192])
    parser.add_argument("--bodies", type=int, default=32)
    parser.add_argument("--queries", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv")
    options = parser.parse_args()
    device = wp.get_device(options.device)
    for count in options.worlds:
        environments(count, options.bodies, device, options.seed)
    for count in options.counts:
        cube(count, device, options.seed + count)
    for count in options.queries:
        box_queries(count, device, options.seed + count)
        closest_points(count, device, options.seed + count)
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
