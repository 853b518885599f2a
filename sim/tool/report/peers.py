"""Other libraries on the same work, for `pairsieve report --peers`: peers.py FOLDER SECONDS

Reads FOLDER/keys.bin (u32 below 2^31) and FOLDER/boxes.bin (six f32 each: least and greatest corner of unit cubes).
Prints a JSON list with an object for each library that is installed and each work that it does:
    work, peer, version, device, count, times (ms, the first call left out), result, note (why it failed, else "")
result: of "sort" the sum of key x place, of "argsort, stable" the sum of index x (place + 1), both modulo 2^64; of
"pairs" their number. The program compares them with its own.
"""
import json
import sys
import time

rows = []


def measure(work, peer, version, device, count, seconds, prepare):
    """prepare() gives (call, result): call() does the work and waits for it, result() is computed after the last one."""
    row = {"work": work, "peer": peer, "version": version, "device": device, "count": count, "times": [], "result": "", "note": ""}
    try:
        call, result = prepare()
        call()
        begun = time.perf_counter()
        while len(row["times"]) < 3 or (time.perf_counter() - begun < seconds and len(row["times"]) < 101):
            before = time.perf_counter()
            call()
            row["times"].append(1e3 * (time.perf_counter() - before))
        row["result"] = str(int(result()))
    except Exception as error:  # of the peer: told, and the others go on
        row["note"] = f"{type(error).__name__}: {error}"[:200]
    rows.append(row)


def chain(np, numbers, first):
    numbers = np.ascontiguousarray(numbers).astype(np.uint64)
    return int((numbers * np.arange(first, first + len(numbers), dtype=np.uint64)).sum(dtype=np.uint64))


def kept(call):
    """call with its last result kept: (call, the list that holds it)."""
    held = [None]

    def again():
        held[0] = call()

    return again, held


def with_numpy(np, keys, boxes, seconds):
    def sort():
        call, held = kept(lambda: np.sort(keys))
        return call, lambda: chain(np, held[0], 0)

    def argsort():
        call, held = kept(lambda: np.argsort(keys, kind="stable"))
        return call, lambda: chain(np, held[0], 1)

    measure("sort", "numpy.sort", np.__version__, "cpu", len(keys), seconds, sort)
    measure("argsort, stable", "numpy.argsort", np.__version__, "cpu", len(keys), seconds, argsort)


def with_scipy(np, keys, boxes, seconds):
    import scipy
    from scipy.spatial import cKDTree

    centres = 0.5 * (boxes[:, :3].astype(np.float64) + boxes[:, 3:])

    def pairs():  # unit cubes touch where their centres are at most 1 apart on each axis
        call, held = kept(lambda: cKDTree(centres).query_pairs(1.0, p=np.inf, output_type="ndarray"))
        return call, lambda: len(held[0])

    measure("pairs", "scipy cKDTree.query_pairs", scipy.__version__, "cpu", len(boxes), seconds, pairs)


def with_torch(np, keys, boxes, seconds):
    import torch

    for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
        there = torch.from_numpy(keys.astype(np.int32)).to(device)

        def wait(device=device):
            if device == "cuda":
                torch.cuda.synchronize()

        def sort(there=there, wait=wait):
            call, held = kept(lambda: (torch.sort(there), wait())[0])
            return call, lambda: chain(np, held[0].values.cpu().numpy(), 0)

        def argsort(there=there, wait=wait):
            call, held = kept(lambda: (torch.sort(there, stable=True), wait())[0])
            return call, lambda: chain(np, held[0].indices.cpu().numpy(), 1)

        measure("sort", "torch.sort", torch.__version__, device, len(keys), seconds, sort)
        measure("argsort, stable", "torch.sort, stable", torch.__version__, device, len(keys), seconds, argsort)


def with_cupy(np, keys, boxes, seconds):
    import cupy

    there = cupy.asarray(keys)

    def sort():
        call, held = kept(lambda: (cupy.sort(there), cupy.cuda.Device().synchronize())[0])
        return call, lambda: chain(np, cupy.asnumpy(held[0]), 0)

    measure("sort", "cupy.sort", cupy.__version__, "cuda", len(keys), seconds, sort)


def with_warp(np, keys, boxes, seconds):
    import warp as wp

    wp.config.quiet = True
    wp.init()

    @wp.kernel
    def overlaps(tree: wp.uint64, low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3), pairs: wp.array(dtype=wp.vec2i),
                 count: wp.array(dtype=int)):
        i = wp.tid()
        query = wp.bvh_query_aabb(tree, low[i], high[i])
        j = int(0)
        while wp.bvh_query_next(query, j):
            if j > i:
                place = wp.atomic_add(count, 0, 1)
                if place < pairs.shape[0]:
                    pairs[place] = wp.vec2i(i, j)

    for device in wp.get_devices():
        name = "cuda" if device.is_cuda else "cpu"

        def pairs(device=device):
            low = wp.array(np.ascontiguousarray(boxes[:, :3]), dtype=wp.vec3, device=device)
            high = wp.array(np.ascontiguousarray(boxes[:, 3:]), dtype=wp.vec3, device=device)
            room, count = wp.empty(16 * len(boxes), dtype=wp.vec2i, device=device), wp.zeros(1, dtype=int, device=device)
            tree = wp.Bvh(low, high, constructor="lbvh" if device.is_cuda else "sah")

            def call():
                tree.rebuild()
                count.zero_()
                wp.launch(overlaps, dim=len(boxes), inputs=[tree.id, low, high, room, count], device=device)
                wp.synchronize_device(device)

            return call, lambda: count.numpy()[0]

        def argsort(device=device):
            fresh = wp.array(keys.astype(np.int32), dtype=int, device=device)
            places = wp.array(np.arange(len(keys), dtype=np.int32), dtype=int, device=device)
            both = [wp.zeros(2 * len(keys), dtype=int, device=device) for _ in range(2)]

            def call():
                wp.copy(both[0], fresh)
                wp.copy(both[1], places)
                wp.utils.radix_sort_pairs(both[0], both[1], len(keys))
                wp.synchronize_device(device)

            return call, lambda: chain(np, both[1].numpy()[:len(keys)], 1)

        measure("pairs", "warp Bvh, rebuilt, and a query a box", wp.__version__, name, len(boxes), seconds, pairs)
        measure("argsort, stable", "warp radix_sort_pairs", wp.__version__, name, len(keys), seconds, argsort)


def with_newton(np, keys, boxes, seconds):
    import newton
    import warp as wp
    from newton.geometry import BroadPhaseSAP

    for device in wp.get_devices():
        def pairs(device=device):
            with wp.ScopedDevice(device):
                low = wp.array(np.ascontiguousarray(boxes[:, :3]), dtype=wp.vec3)
                high = wp.array(np.ascontiguousarray(boxes[:, 3:]), dtype=wp.vec3)
                world, group = wp.zeros(len(boxes), dtype=int), wp.ones(len(boxes), dtype=int)
                room, count = wp.empty(16 * len(boxes), dtype=wp.vec2i), wp.zeros(1, dtype=int)
                phase = BroadPhaseSAP(world, device=device)

            def call():
                phase.launch(low, high, None, group, world, len(boxes), room, count, device=device)
                wp.synchronize_device(device)

            return call, lambda: count.numpy()[0]

        measure("pairs", "newton BroadPhaseSAP", newton.__version__, "cuda" if device.is_cuda else "cpu", len(boxes), seconds, pairs)


def main(folder, seconds):
    import numpy as np

    keys = np.fromfile(f"{folder}/keys.bin", np.uint32)
    boxes = np.fromfile(f"{folder}/boxes.bin", np.float32).reshape(-1, 6)
    for peer in (with_numpy, with_scipy, with_torch, with_cupy, with_warp, with_newton):
        try:
            peer(np, keys, boxes, seconds)
        except ImportError:
            pass  # not installed
        except Exception as error:
            rows.append({"work": "all", "peer": peer.__name__[5:], "version": "", "device": "", "count": 0, "times": [], "result": "",
                         "note": f"{type(error).__name__}: {error}"[:200]})


try:
    main(sys.argv[1], float(sys.argv[2]))
except ImportError as error:
    print(f"{error}", file=sys.stderr)
with open(f"{sys.argv[1]}/rows.json", "w", encoding="utf-8") as file:
    json.dump(rows, file)
