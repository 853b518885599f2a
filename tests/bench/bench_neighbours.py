#!/usr/bin/env python3
"""Neighbours within a radius beside other libraries on the CPU.

usage: bench_neighbours.py [--counts N...] [--rounds N] [--only WORD] [--csv FILE] [--commit C]

Points are uniform in a cube, float32, with about `neighbours` of each within the radius. Every library gets points and radius anew in
each call, builds what it needs, and gives all neighbours as arrays. Calls run in turns: ours, theirs, ours again. A row has the medians
of wall and processor time, and the median of the ratios of neighbouring calls. Counts of neighbours are compared; where float32
decides at the surface, they may differ by a few, which the note says. What is not installed, or takes too long, is left out.
"""
import argparse
import csv
import importlib.util
import os
import statistics
import time

import numpy as np

import pairsieve

LONGEST = 15.0  # seconds of a library's warm-up call, above which its further counts are left out


def ours(points, radius):
    return pairsieve.neighbours(points, radius).indices.size


def scipy_pairs(points, radius):
    from scipy.spatial import cKDTree

    return 2 * len(cKDTree(points).query_pairs(radius, output_type="ndarray"))


def scipy_matrix(points, radius):
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    return tree.sparse_distance_matrix(tree, radius, output_type="coo_matrix").nnz - len(points)


def torch_cluster(points, radius):
    import torch
    import torch_cluster

    return torch_cluster.radius_graph(torch.from_numpy(points), radius, max_num_neighbors=len(points), num_workers=os.cpu_count()).shape[1]


def open3d(points, radius):
    import open3d

    tensor = open3d.core.Tensor(points)
    search = open3d.core.nns.NearestNeighborSearch(tensor)
    search.fixed_radius_index(radius)
    return search.fixed_radius_search(tensor, radius)[0].shape[0] - len(points)


_warp = {}


def warp(points, radius):
    import warp as wp

    if not _warp:
        wp.config.quiet = True
        wp.init()

        @wp.kernel
        def count(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, found: wp.array(dtype=int)):
            i = wp.tid()
            n = int(0)
            for j in wp.hash_grid_query(grid, points[i], radius):
                if j != i and wp.length_sq(points[i] - points[j]) <= radius * radius:
                    n += 1
            found[i] = n

        @wp.kernel
        def write(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, begins: wp.array(dtype=int), out: wp.array(dtype=int)):
            i = wp.tid()
            n = begins[i]
            for j in wp.hash_grid_query(grid, points[i], radius):
                if j != i and wp.length_sq(points[i] - points[j]) <= radius * radius:
                    out[n] = j
                    n += 1

        _warp.update(count=count, write=write)
    size = 1 << max(4, round(np.log2(max(len(points), 1)) / 3))
    grid = wp.HashGrid(size, size, size, device="cpu")
    array = wp.array(points, dtype=wp.vec3, device="cpu")
    grid.build(array, radius)
    found = wp.zeros(len(points), dtype=int, device="cpu")
    wp.launch(_warp["count"], dim=len(points), inputs=[grid.id, array, radius, found], device="cpu")
    begins = wp.zeros(len(points), dtype=int, device="cpu")
    wp.utils.array_scan(found, begins, inclusive=False)
    total = int(begins.numpy()[-1] + found.numpy()[-1])
    out = wp.empty(total, dtype=int, device="cpu")
    wp.launch(_warp["write"], dim=len(points), inputs=[grid.id, array, radius, begins, out], device="cpu")
    return total


OTHERS = {"scipy cKDTree.query_pairs": ("scipy", scipy_pairs), "scipy sparse_distance_matrix": ("scipy", scipy_matrix),
          "torch_cluster radius_graph": ("torch_cluster", torch_cluster), "Warp HashGrid, two passes": ("warp", warp),
          "Open3D fixed_radius_search": ("open3d", open3d)}


def timed(call, points, radius):
    """(found, wall ms, processor ms)"""
    wall, processor = time.perf_counter(), time.process_time()
    found = call(points, radius)
    return found, (time.perf_counter() - wall) * 1e3, (time.process_time() - processor) * 1e3


def compare(name, other, points, radius, rounds):
    """A row; None where the other took too long."""
    expected = ours(points, radius)
    found, first, _ = timed(other, points, radius)
    mine, theirs, ratios, cpu_ratios = [], [], [], []
    for _ in range(rounds if first < 30e3 else 1):
        before, them, after = timed(ours, points, radius), timed(other, points, radius), timed(ours, points, radius)
        mine += [before[1:], after[1:]]
        theirs.append(them[1:])
        ratios.append(2 * them[1] / (before[1] + after[1]))
        cpu_ratios.append(2 * them[2] / (before[2] + after[2]))
    medians = [f"{statistics.median(values):.3f}" for values in (*zip(*mine), *zip(*theirs))]
    note = "" if found == expected else f"{found - expected:+} of {expected} neighbours"
    row = dict(points=len(points), neighbours=expected, ms=medians[0], cpu_ms=medians[1], other=name, other_ms=medians[2],
               other_cpu_ms=medians[3], ratio=f"{statistics.median(ratios):.2f}",
               cpu_ratio=f"{statistics.median(cpu_ratios):.2f}", rounds=len(ratios), note=note)
    print("  ".join(str(value) for value in row.values()), flush=True)
    return row, first < LONGEST * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", default=[50_000, 1_000_000, 10_000_000])
    parser.add_argument("--neighbours", type=float, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="libraries whose name has this word")
    parser.add_argument("--csv")
    parser.add_argument("--commit", default="?")
    options = parser.parse_args()
    rows, slow = [], set()
    for count in options.counts:
        points = np.random.default_rng(1).random((count, 3), np.float32)
        radius = float((options.neighbours / count * 3 / (4 * np.pi)) ** (1 / 3))
        for name, (module, other) in OTHERS.items():
            if options.only not in name:
                continue
            if importlib.util.find_spec(module) is None:
                print(f"{name}: {module} is not installed")
            elif name in slow:
                print(f"{name}: {count} points left out, the last count took too long")
            else:
                row, quick = compare(name, other, points, radius, options.rounds)
                rows.append(dict(commit=options.commit, date=time.strftime("%Y-%m-%d"), **row))
                if not quick:
                    slow.add(name)
    if options.csv and rows:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
