#!/usr/bin/env python3
"""The Python package beside other libraries, in one run: bench_python.py [--gpu] [--rounds N] [--csv FILE]

CPU: calls run in turns; the least wall time of each, the least processor time of all its threads, and the other's over ours.
Only what does the same work, building of trees included where they are rebuilt each frame: SciPy's cKDTree (maximum norm and boxes of
equal size, so that its pairs are ours; neighbours), rtree, FCL's dynamic tree (through trimesh), Embree (through embreex), NumPy.
What is not installed is left out.

--gpu: medians of calls, what PairFinder.find costs over the C call on a PyTorch array; torch.sort and cupy.argsort on the same keys; the
worlds and the cube of pairs with PairFinder and inside a CUDA graph.
"""
import argparse
import csv
import importlib
import statistics
import time

import numpy as np

import pairsieve
from pairsieve._native import lib

rows = []


def report(case, count, ours_ms, other, other_ms, note="", cpu=None):
    row = dict(case=case, count=count, ms=f"{ours_ms:.4f}", other=other, other_ms=f"{other_ms:.4f}", ratio=f"{other_ms / ours_ms:.2f}")
    if cpu is not None:
        row.update(cpu_ms=f"{cpu[0]:.4f}", other_cpu_ms=f"{cpu[1]:.4f}", cpu_ratio=f"{cpu[1] / cpu[0]:.2f}")
    rows.append(dict(row, note=note))
    print(f"{case:34} {count:>10,} {ours_ms:10.4f} ms   {other:28} {other_ms:11.4f} ms   x{other_ms / ours_ms:.2f}"
          + (f" (processor x{cpu[1] / cpu[0]:.2f})" if cpu else "") + f"  {note}", flush=True)


def in_turns(case, count, ours, other_name, other, rounds, note=""):
    """Ours and the other in turns; `other` may be slow: it runs in at most 20 s of the rounds."""
    ours()
    best = {ours: (float("inf"), float("inf")), other: (float("inf"), float("inf"))}
    other_spent = 0.0
    for _ in range(rounds):
        for call in (ours, other):
            if call is other and other_spent > 20:
                continue
            wall, processor = time.perf_counter(), time.process_time()
            call()
            spent = time.perf_counter() - wall, time.process_time() - processor
            best[call] = tuple(min(old, 1e3 * new) for old, new in zip(best[call], spent))
            other_spent += spent[0] if call is other else 0
    report(case, count, best[ours][0], other_name, best[other][0], note, (best[ours][1], best[other][1]))


def installed(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed")
        return None


def cubes(count, seed):
    low = np.random.default_rng(seed).random((count, 3), np.float32) * np.float32(count ** (1 / 3))
    return low, low + np.float32(0.7)


def pairs_on_cpu(rounds):
    scipy, rtree, fcl = installed("scipy.spatial"), installed("rtree.index"), installed("fcl")
    for count in (10_000, 100_000, 1_000_000):
        low, high = cubes(count, count + 1)
        finder = pairsieve.PairFinder(count)
        found = pairsieve.find_pairs((low, high))

        def ours():
            return finder.find((low, high)).count()

        if scipy:
            pairs = scipy.cKDTree(low).query_pairs(0.7, p=np.inf, output_type="ndarray")
            # Boxes and distances round differently where boxes only touch.
            note = f"{len(found)} and {len(pairs)} pairs; SciPy has one thread here"
            in_turns("pairs of equal boxes", count, ours, "scipy cKDTree.query_pairs",
                     lambda: scipy.cKDTree(low).query_pairs(0.7, p=np.inf, output_type="ndarray"), rounds, note)
        if count > 10_000:
            continue
        boxes = np.concatenate([low, high], axis=1).astype(np.float64)
        if rtree:
            def rtree_pairs():
                tree = rtree.Index(((i, tuple(box), None) for i, box in enumerate(boxes.tolist())),
                                   properties=rtree.Property(dimension=3))
                return sum(1 for i, box in enumerate(boxes.tolist()) for j in tree.intersection(tuple(box)) if j > i)

            assert rtree_pairs() == len(found)
            in_turns("pairs", count, ours, "rtree, a query a box", rtree_pairs, rounds)
        if fcl:
            objects = [fcl.CollisionObject(fcl.Box(*(box[3:] - box[:3])), fcl.Transform((box[:3] + box[3:]) / 2)) for box in boxes]

            def fcl_pairs():
                manager, count_of = fcl.DynamicAABBTreeCollisionManager(), [0]
                manager.registerObjects(objects)
                manager.setup()

                def met(_a, _b, _data):
                    count_of[0] += 1
                    return False

                manager.collide(None, met)
                return count_of[0]

            in_turns("pairs", count, ours, "FCL DynamicAABBTree", fcl_pairs, rounds, f"{fcl_pairs()} pairs; a Python callback a pair")


def queries_on_cpu(rounds):
    scipy, embree, open3d = installed("scipy.spatial"), installed("embreex.rtcore_scene"), installed("open3d")
    random = np.random.default_rng(12)
    for count in (10_000, 100_000, 1_000_000):
        cloud = random.random((count, 3), np.float32) * np.float32(count ** (1 / 3))
        spheres = np.concatenate([cloud, np.full((count, 1), np.inf, np.float32)], axis=1)
        near = np.concatenate([cloud, np.full((count, 1), 1.0, np.float32)], axis=1)
        tree = pairsieve.Tree(count)
        if scipy:
            in_turns("8 nearest, tree included", count, lambda: tree.build((cloud, cloud)).find_nearest(spheres, 8, sort_queries=True),
                     "scipy cKDTree.query, 2 workers", lambda: scipy.cKDTree(cloud).query(cloud, 8, workers=2), rounds)
            in_turns("within a radius, tree included", count, lambda: tree.build((cloud, cloud)).overlap_spheres(near, sort_queries=True),
                     "cKDTree.query_ball_point, 2 w.", lambda: scipy.cKDTree(cloud).query_ball_point(cloud, 1.0, workers=2),
                     1 if count > 200_000 else rounds, "SciPy makes a Python list a query")
        if open3d:
            points = open3d.core.Tensor(cloud)

            def open3d_within():
                search = open3d.core.nns.NearestNeighborSearch(points, open3d.core.int32)
                search.fixed_radius_index(1.0)
                return search.fixed_radius_search(points, 1.0, sort=False)

            def ours_within():
                return tree.build((cloud, cloud)).overlap_spheres(near, sort_queries=True)

            assert len(ours_within()[1]) == len(open3d_within()[0].numpy())
            in_turns("within a radius, tree included", count, ours_within, "Open3D fixed_radius_search", open3d_within,
                     1 if count > 200_000 else rounds)
    if embree:
        from embreex.mesh_construction import TriangleMesh

        side = 500
        x, y = np.meshgrid(np.arange(side, dtype=np.float32), np.arange(side, dtype=np.float32))
        points = np.stack([x, y, 3 * np.sin(x / 9) * np.cos(y / 7)], axis=2).reshape(-1, 3).astype(np.float32)
        a = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)[None]).reshape(-1)
        faces = np.concatenate([np.stack([a, a + 1, a + side], axis=1), np.stack([a + 1, a + side + 1, a + side], axis=1)]).astype(np.int32)
        count = 500_000
        origins = (random.random((count, 3), np.float32) * np.float32(side)).astype(np.float32)
        origins[:, 2] = 20
        directions = random.standard_normal((count, 3)).astype(np.float32) + np.array([0, 0, -2], np.float32)
        rays = np.concatenate([origins, np.zeros((count, 1), np.float32), directions, np.full((count, 1), np.inf, np.float32)], axis=1)
        scene = embree.EmbreeScene()
        TriangleMesh(scene, points[faces])
        scene.run(origins[:1], directions[:1])  # builds
        for quality in ("linear", "fine"):
            tree = pairsieve.Tree(len(faces), triangles=True, quality=quality).build_triangles(points, faces)
            same = (tree.trace_closest(rays).item == scene.run(origins, directions)).mean()
            in_turns(f"first hits, {len(faces):,} triangles, {quality}", count, lambda: tree.trace_closest(rays), "Embree by embreex",
                     lambda: scene.run(origins, directions), rounds, f"{100 * same:.3f}% the same triangle; embreex traces a ray at a time")


def on_cpu(rounds):
    pairs_on_cpu(rounds)
    queries_on_cpu(rounds)
    for count in (100_000, 1_000_000, 10_000_000):
        keys = np.random.default_rng(count).integers(0, 1 << 32, count, dtype=np.uint32)
        in_turns("argsort u32", count, lambda: pairsieve.argsort(keys), "numpy.argsort(stable)",
                 lambda: np.argsort(keys, kind="stable"), rounds)


def gpu_ms(call, runs, torch):
    call()
    times = []
    for _ in range(runs):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def on_gpu():
    import torch

    def host_us(call):
        times = []
        for _ in range(400):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            call()
            times.append(1e6 * (time.perf_counter() - begin))
        return statistics.median(times)

    for count in (10_000, 1_000_000):
        low, high = cubes(count, count + 1)
        boxes = torch.from_numpy(np.concatenate([low, high], axis=1)).cuda()
        finder = pairsieve.PairFinder(count, device="cuda")
        finder.find(boxes)
        box_set = finder._held[0].set
        through_python, through_c = host_us(lambda: finder.find(boxes)), host_us(lambda: lib.psv_find_pairs(finder.handle, box_set))
        report("PairFinder.find, host us", count, through_python, "C call", through_c, f"overhead {through_python - through_c:.1f} us")
        ours, c_call = (gpu_ms(call, 50, torch) for call in (lambda: finder.find(boxes), lambda: lib.psv_find_pairs(finder.handle, box_set)))
        report("PairFinder.find, device ms", count, ours, "C call", c_call)
    for count in (100_000, 1_000_000, 4_000_000, 16_000_000, 64_000_000):
        keys = torch.randint(-(1 << 31), 1 << 31, (count,), dtype=torch.int64, device="cuda").to(torch.int32)
        sorter = pairsieve.Sorter(count, "int32", device="cuda")
        index = torch.empty_like(keys)
        expected = torch.sort(keys, stable=True)
        sorter.argsort(keys, index, keys_after="kept")
        assert torch.equal(index.long(), expected.indices)
        ours = gpu_ms(lambda: sorter.argsort(keys, index, keys_after="kept"), 20, torch)
        report("Sorter.argsort i32", count, ours, "torch.sort(stable)", gpu_ms(lambda: torch.sort(keys, stable=True), 20, torch))
        report("argsort i32", count, gpu_ms(lambda: pairsieve.argsort(keys), 20, torch), "torch.argsort(stable)",
               gpu_ms(lambda: torch.argsort(keys, stable=True), 20, torch))
        try:
            import cupy

            same = cupy.asarray(keys)
            report("Sorter.argsort i32", count, ours, "cupy.argsort", gpu_ms(lambda: cupy.argsort(same), 20, torch))
        except ImportError:
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--csv")
    options = parser.parse_args()
    on_gpu() if options.gpu else on_cpu(options.rounds)
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
