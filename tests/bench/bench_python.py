#!/usr/bin/env python3
"""The Python package beside other libraries, in one run: bench_python.py [--gpu] [--csv FILE]

Prints medians and the ratio of the other's time to ours. CPU: scipy's cKDTree.query_pairs (maximum norm, boxes of equal size, so that
its pairs are ours) and rtree's intersection per box, where they are installed. --gpu: what PairFinder.find costs over the C call
on a PyTorch array, and torch.sort and cupy.argsort on the same keys.
"""
import argparse
import csv
import statistics
import time

import numpy as np

import pairsieve
from pairsieve._native import lib

rows = []


def report(case, count, ours_ms, other, other_ms, note=""):
    ratio = other_ms / ours_ms if other_ms else float("nan")
    rows.append(dict(case=case, count=count, ms=f"{ours_ms:.4f}", other=other, other_ms=f"{other_ms:.4f}", ratio=f"{ratio:.2f}", note=note))
    print(f"{case:34} {count:>10,} {ours_ms:10.4f} ms   {other:26} {other_ms:10.4f} ms   x{ratio:.2f}  {note}", flush=True)


def median_ms(call, runs):
    call()
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def cubes(count, seed):
    low = np.random.default_rng(seed).random((count, 3), np.float32) * np.float32(count ** (1 / 3))
    return low, low + np.float32(0.7)


def on_cpu():
    for count in (10_000, 100_000, 1_000_000):
        low, high = cubes(count, count + 1)
        found = pairsieve.find_pairs((low, high))
        ours = median_ms(lambda: pairsieve.find_pairs((low, high)), 5)
        try:
            from scipy.spatial import cKDTree

            pairs = None

            def scipy_pairs():
                nonlocal pairs
                pairs = cKDTree(low).query_pairs(0.7, p=np.inf, output_type="ndarray")

            other = median_ms(scipy_pairs, 1 if count > 200_000 else 3)
            # Boxes and distances round differently where boxes only touch.
            report("find_pairs, cubes", count, ours, "scipy cKDTree.query_pairs", other, f"{len(found)} and {len(pairs)} pairs")
        except ImportError:
            print("scipy is not installed")
        if count <= 10_000:
            try:
                from rtree import index

                boxes = np.concatenate([low, high], axis=1)

                def rtree_pairs():
                    tree = index.Index(((i, tuple(map(float, b)), None) for i, b in enumerate(boxes)),
                                       properties=index.Property(dimension=3))
                    return sum(1 for i, b in enumerate(boxes) for j in tree.intersection(tuple(map(float, b))) if j > i)

                report("find_pairs, cubes", count, ours, "rtree", median_ms(rtree_pairs, 1))
            except ImportError:
                print("rtree is not installed")
    for count in (100_000, 1_000_000, 10_000_000):
        keys = np.random.default_rng(count).integers(0, 1 << 32, count, dtype=np.uint32)
        report("argsort u32", count, median_ms(lambda: pairsieve.argsort(keys), 5), "numpy.argsort(stable)",
               median_ms(lambda: np.argsort(keys, kind="stable"), 3))


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
    parser.add_argument("--csv")
    options = parser.parse_args()
    on_gpu() if options.gpu else on_cpu()
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
