import gc
import threading

import numpy as np
import oracle
import pytest
import tree_oracle as expect
from hypothesis import given, settings
from hypothesis import strategies as st

import pairsieve

SLACK = expect.SLACK


def some_rays(seed, count, side=8.0):
    random = np.random.default_rng(seed)
    origins = (random.random((count, 3)) * side).astype(np.float32)
    directions = random.standard_normal((count, 3)).astype(np.float32)
    directions[::5, random.integers(0, 3)] = 0
    t_min = np.where(random.random(count) < 0.3, random.random(count), 0).astype(np.float32)
    t_max = np.where(random.random(count) < 0.5, random.random(count) * 4 + 1, np.inf).astype(np.float32)
    return origins, directions, t_min, t_max


def packed(origins, directions, t_min, t_max):
    return np.concatenate([origins, t_min[:, None], directions, t_max[:, None]], axis=1).astype(np.float32)


def some_triangles(seed, count, side=8.0):
    random = np.random.default_rng(seed)
    corners = random.random((count, 1, 3)) * side + random.random((count, 3, 3)) * 2
    return corners.astype(np.float32)


def made_tree(library, kind, quality, seed=3, count=300):
    """A tree, and the functions that answer for it: ray distances and point distances."""
    if kind == "boxes":
        items = oracle.boxes(seed, count, side=8, size=1.5)
        tree = pairsieve.Tree(count, device=library.device, quality=quality).build(library.make(items))
        return tree, (lambda *ray: expect.ray_boxes(*ray[:4], items, ray[4])), lambda points: expect.box_distances(points, items)
    items = some_triangles(seed, count)
    corners = items.reshape(-1, 3)
    order = np.random.default_rng(seed).permutation(len(corners))  # corners lie anywhere, indices say where
    place = np.argsort(order).astype(np.int32)
    tree = pairsieve.Tree(count, device=library.device, triangles=True, quality=quality)
    tree.build_triangles(library.make(corners[order]), library.make(place.reshape(-1, 3)))
    return tree, (lambda *ray: expect.ray_triangles(*ray[:4], items, ray[4])), lambda points: expect.triangle_distances(points, items)


kinds = pytest.mark.parametrize("kind", ["boxes", "triangles"])
qualities = pytest.mark.parametrize("quality", ["linear", "fine"])


@kinds
@qualities
def test_rays(library, kind, quality):
    tree, distances, _ = made_tree(library, kind, quality)
    rays = some_rays(1, 200)
    grown, shrunk = distances(*rays, SLACK), distances(*rays, -SLACK)
    made = library.make(packed(*rays))
    t, item, uv = (library.back(part) for part in tree.trace_closest(made))
    assert t.shape == item.shape == (200,) and uv.shape == (200, 2) and 20 < (item >= 0).sum()
    hit = item >= 0
    assert (t[hit] >= grown.min(axis=1)[hit] - 1e-3).all() and (t <= np.minimum(shrunk.min(axis=1), rays[3]) + 1e-3).all()
    np.testing.assert_allclose(t[hit], grown[np.arange(200), item][hit], atol=2e-3)
    np.testing.assert_array_equal(t[~hit], rays[3][~hit])
    assert not np.isfinite(shrunk[~hit]).any()
    any_hit = library.back(tree.trace_any(made, sort_queries=True))
    np.testing.assert_array_equal(any_hit != 0, hit)
    offsets, hits = tree.trace_all(made, in_order=True)
    found = expect.lists(library.back(offsets), library.back(hits.item))
    expect.check_lists(found, np.isfinite(shrunk), np.isfinite(grown))
    all_t = library.back(hits.t)
    ends = library.back(offsets)
    for query in range(200):
        assert (np.diff(all_t[ends[query] : ends[query + 1]]) >= 0).all()
        assert (found[query][:1] or [-1])[0] == item[query]
    rows = tree.trace_all(made, each=2, in_order=True)
    np.testing.assert_array_equal(library.back(rows.counts), np.diff(ends))
    table = library.back(rows.items.item)
    for query in range(200):
        np.testing.assert_array_equal(table[query], (found[query] + [-1, -1])[:2])


def test_forms_of_rays(library):
    tree, _, _ = made_tree(library, "boxes", "linear")
    rays = some_rays(2, 100)
    expected = [library.back(part) for part in tree.trace_closest(library.make(packed(*rays)))]
    if library.name == "warp":
        with pytest.raises(pairsieve.ArgumentError, match="100, 8"):
            tree.trace_closest((library.make(rays[0]), library.make(rays[1])))
        return
    made = [library.make(part) for part in rays]
    found = tree.trace_closest((made[0], made[1]), t_min=made[2], t_max=made[3])
    for got, wanted in zip(found, expected):
        np.testing.assert_array_equal(library.back(got), wanted)
    unlimited = packed(rays[0], rays[1], np.zeros(100, np.float32), np.full(100, 3, np.float32))
    for got, wanted in zip(tree.trace_closest((made[0], made[1]), t_max=3), tree.trace_closest(library.make(unlimited))):
        np.testing.assert_array_equal(library.back(got), library.back(wanted))
    if library.name not in ("jax", "warp"):  # a strided view
        wide = library.make(np.concatenate([packed(*rays), packed(*rays)], axis=1))
        for got, wanted in zip(tree.trace_closest(wide[:, 8:]), expected):
            np.testing.assert_array_equal(library.back(got), wanted)


@qualities
def test_overlap_boxes(library, quality):
    tree, _, _ = made_tree(library, "boxes", quality)
    items, queries = oracle.boxes(3, 300, side=8, size=1.5), oracle.boxes(5, 120, side=8, size=2)
    expected = [np.nonzero(row)[0].tolist() for row in oracle.overlaps(queries, items)]
    made = library.make(queries)
    forms = [made, library.make(queries.reshape(-1, 2, 3))]
    if library.name != "warp":
        forms.append(tuple(library.make(np.ascontiguousarray(queries[:, at : at + 3])) for at in (0, 3)))
    for form in forms:
        offsets, found = tree.overlap_boxes(form, in_order=True)
        assert expect.lists(library.back(offsets), library.back(found)) == expected
    counts, none = tree.overlap_boxes(made, each=0)
    assert library.back(counts).tolist() == [len(row) for row in expected] and library.back(none).shape == (120, 0)
    counts, table = tree.overlap_boxes(made, each=3, in_order=True)
    assert library.back(table).tolist() == [(row + [-1] * 3)[:3] for row in expected]


@kinds
def test_overlap_spheres_and_points(library, kind):
    tree, _, distances = made_tree(library, kind, "linear")
    random = np.random.default_rng(8)
    points = (random.random((150, 3)) * 8).astype(np.float32)
    radius = (random.random(150) * 2).astype(np.float32)
    table = distances(points)
    spheres = library.make(np.concatenate([points, radius[:, None]], axis=1))
    offsets, found = tree.overlap_spheres(spheres, in_order=True)
    expect.check_lists(expect.lists(library.back(offsets), library.back(found)), table <= radius[:, None] - SLACK, table <= radius[:, None] + SLACK)
    k = 4
    distance, item = (library.back(part) for part in tree.find_nearest(spheres, k))
    nearest = np.sort(np.where(table <= radius[:, None], table, radius[:, None]), axis=1)[:, :k]
    clear = (np.abs(table - radius[:, None]) > SLACK).all(axis=1)
    assert clear.sum() > 100
    np.testing.assert_allclose(distance[clear], nearest[clear], atol=1e-4)
    there = item >= 0
    np.testing.assert_allclose(np.take_along_axis(table, np.maximum(item, 0), axis=1)[there], distance[there], atol=1e-4)
    np.testing.assert_array_equal(there.sum(axis=1)[clear], np.minimum((table <= radius[:, None]).sum(axis=1), k)[clear])
    point, distance, item, uv = (library.back(part) for part in tree.find_closest(spheres))
    within = item >= 0
    assert point.shape == (150, 3) and uv.shape == (150, 2) and within.any()
    np.testing.assert_array_equal(within[clear], (table <= radius[:, None]).any(axis=1)[clear])
    np.testing.assert_allclose(np.linalg.norm(point - points, axis=1)[within], distance[within], atol=1e-4)
    np.testing.assert_allclose(table.min(axis=1)[within], distance[within], atol=1e-4)
    np.testing.assert_array_equal(distance[~within], radius[~within])
    if library.name != "warp":
        far = tree.find_nearest(library.make(points))
        assert library.back(far.distance).shape == (150, 1)
        np.testing.assert_allclose(library.back(far.distance)[:, 0], table.min(axis=1), atol=1e-4)
        offsets, found = tree.overlap_spheres(library.make(points), 0.5)
        expect.check_lists(expect.lists(library.back(offsets), library.back(found)), table <= 0.5 - SLACK, table <= 0.5 + SLACK)


def test_nearest_points(library):
    random = np.random.default_rng(9)
    cloud, points = random.random((2000, 3), np.float32), random.random((64, 3), np.float32)
    made = library.make(cloud)
    tree = pairsieve.Tree(2000, device=library.device).build((made, made))
    spheres = np.concatenate([points, np.full((64, 1), np.inf, np.float32)], axis=1)
    found = tree.find_nearest(library.make(spheres), 10)
    squared = ((points[:, None].astype(np.float64) - cloud[None]) ** 2).sum(2)
    np.testing.assert_array_equal(library.back(found.item), np.argsort(squared, axis=1)[:, :10])


def test_worlds_filters_and_flags(library):
    random = np.random.default_rng(6)
    items, queries = oracle.boxes(1, 400, side=4), oracle.boxes(2, 100, side=4)
    worlds, asked = random.integers(0, 3, 400).astype(np.int32), random.integers(0, 3, 100).astype(np.int32)
    filters, wanted = random.integers(0, 8, (400, 2)).astype(np.int32), random.integers(0, 8, (100, 2)).astype(np.int32)
    flags = (random.random(400) < 0.2).astype(np.uint8) * 2
    tree = pairsieve.Tree(400, device=library.device, worlds=3)
    tree.build(library.make(items), worlds=library.make(worlds), filters=library.make(filters), flags=library.make(flags))
    table = oracle.overlaps(queries, items) & (asked[:, None] == worlds[None]) & (flags[None] == 0)
    table &= ((wanted[:, None, 0] & filters[None, :, 1]) != 0) & ((filters[None, :, 0] & wanted[:, None, 1]) != 0)
    gc.collect()  # the tree holds the filters itself
    found = tree.overlap_boxes(library.make(queries), in_order=True, worlds=library.make(asked), filters=library.make(wanted))
    assert expect.lists(library.back(found.offsets), library.back(found.items)) == [np.nonzero(row)[0].tolist() for row in table]
    assert table.any()


def test_refit(library):
    items, moved = oracle.boxes(1, 500, side=6), oracle.boxes(2, 500, side=6)
    worlds = (np.arange(500) % 2).astype(np.int32)
    tree = pairsieve.Tree(500, device=library.device, worlds=2).build(library.make(items), worlds=library.make(worlds))
    tree.refit(library.make(moved))
    found = tree.overlap_boxes(library.make(moved), in_order=True)  # of world 0
    expected = oracle.overlaps(moved, moved) & (worlds == 0)[None]
    assert expect.lists(library.back(found.offsets), library.back(found.items)) == [np.nonzero(row)[0].tolist() for row in expected]
    triangles = [some_triangles(seed, 200).reshape(-1, 3) for seed in (1, 2)]
    tree = pairsieve.Tree(200, device=library.device, triangles=True).build_triangles(library.make(triangles[0]))
    tree.refit_triangles(library.make(triangles[1]))
    points = np.concatenate([np.random.default_rng(1).random((50, 3)) * 8, np.full((50, 1), np.inf)], axis=1).astype(np.float32)
    distance = library.back(tree.find_closest(library.make(points)).distance)
    table = expect.triangle_distances(points[:, :3], triangles[1].reshape(-1, 3, 3))
    np.testing.assert_allclose(distance, table.min(axis=1), atol=1e-4)


def test_counts_on_the_device(library):
    if library.name == "jax":
        pytest.skip("JAX has 32 bits unless told")
    items, queries = oracle.boxes(1, 300, side=5), oracle.boxes(2, 80, side=5)
    tree = pairsieve.Tree(300, device=library.device).build(library.make(items), count=library.make(np.array([200], np.int64)))
    found = tree.overlap_boxes(library.make(queries), in_order=True, count=library.make(np.array([30], np.int64)))
    expected = oracle.overlaps(queries[:30], items[:200])
    offsets = library.back(found.offsets)[:31]
    assert expect.lists(offsets, library.back(found.items)) == [np.nonzero(row)[0].tolist() for row in expected]


number = st.one_of(st.integers(-4, 4).map(float), st.sampled_from([float("nan"), float("inf"), float("-inf"), 1e-40, 3e38]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(number, min_size=6, max_size=6), max_size=60), st.lists(st.lists(number, min_size=6, max_size=6), max_size=20),
       st.sampled_from(["linear", "fine"]), st.booleans())
def test_overlaps_property(items, queries, quality, ordered):
    items, queries = (np.array(rows, np.float32).reshape(-1, 6) for rows in (items, queries))
    if ordered:
        items = np.concatenate([np.fmin(items[:, :3], items[:, 3:]), np.fmax(items[:, :3], items[:, 3:])], axis=1)
    tree = pairsieve.Tree(60, quality=quality).build(items)
    offsets, found = tree.overlap_boxes(queries, in_order=True)
    with np.errstate(invalid="ignore"):
        good = (items[:, :3] <= items[:, 3:]).all(axis=1)
        queries = expect.limited(queries)  # so a query from infinity to 3e38 is one place
        fair = (queries[:, :3] <= queries[:, 3:]).all(axis=1)
        table = oracle.overlaps(queries, expect.limited(items)) & good[None] & fair[:, None]
    assert expect.lists(offsets, found) == [np.nonzero(row)[0].tolist() for row in table]
    assert tree.statistics()["bad_items"] == (~good).sum()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32), st.integers(1, 200), st.sampled_from(["boxes", "triangles"]), st.sampled_from(["linear", "fine"]))
def test_rays_property(seed, count, kind, quality):
    class Plain:
        device = "cpu"
        make = staticmethod(lambda array: array)

    tree, distances, _ = made_tree(Plain, kind, quality, seed, count)
    rays = some_rays(seed + 1, 40)
    offsets, hits = tree.trace_all(packed(*rays))
    expect.check_lists(expect.lists(offsets, hits.item), np.isfinite(distances(*rays, -SLACK)), np.isfinite(distances(*rays, SLACK)))


def test_many_results_make_room():
    """Lists far longer than the room that is tried first."""
    items = np.tile(np.array([[0, 0, 0, 1, 1, 1]], np.float32), (3000, 1))
    tree = pairsieve.Tree(3000).build(items)
    offsets, found = tree.overlap_boxes(items[:50], in_order=True)
    assert offsets.tolist() == list(range(0, 150_001, 3000))
    np.testing.assert_array_equal(found.reshape(50, 3000), np.tile(np.arange(3000), (50, 1)))


def test_empty_trees_and_queries(library):
    none = library.make(np.zeros((0, 6), np.float32))
    tree = pairsieve.Tree(4, device=library.device).build(none)
    assert library.back(tree.overlap_boxes(none).offsets).tolist() == [0]
    one = library.make(np.array([[0, 0, 0, 9]], np.float32))
    assert library.back(tree.find_nearest(one, 2).item).tolist() == [[-1, -1]]
    assert library.back(tree.find_nearest(library.make(np.zeros((0, 4), np.float32)), 2).item).shape == (0, 2)


def test_threads():
    """Threads that share a tree take turns; each has its own answers."""
    items = oracle.boxes(1, 2000)
    tree = pairsieve.Tree(2000).build(items)
    queries = [oracle.boxes(seed, 200 + 50 * seed) for seed in range(4)]
    expected = [[np.nonzero(row)[0].tolist() for row in oracle.overlaps(one, items)] for one in queries]
    wrong = []

    def work(i):
        for _ in range(20):
            found = tree.overlap_boxes(queries[i], in_order=True)
            if expect.lists(found.offsets, found.items) != expected[i]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_nothing_leaks():
    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    boxes = oracle.boxes(1, 3000)
    for round_ in range(24):
        tree = pairsieve.Tree(20_000).build(boxes)
        tree.overlap_boxes(boxes)
        del tree
        gc.collect()
        if round_ == 8:
            before = resident()
    assert resident() - before < 8 << 20


built = pairsieve.Tree(4, max_queries=3).build(np.zeros((2, 6), np.float32))


@pytest.mark.parametrize("call, words", [
    (lambda: pairsieve.Tree(0), ["max_items", "0"]),
    (lambda: pairsieve.Tree(-1), ["max_items", "-1"]),
    (lambda: pairsieve.Tree(4, quality="best"), ["best", "linear", "fine"]),
    (lambda: pairsieve.Tree(4, sort_method="magic"), ["magic", "radix"]),
    (lambda: pairsieve.Tree(4).find_nearest(np.zeros((1, 3), np.float32)), ["no build"]),
    (lambda: pairsieve.Tree(4).build(np.zeros((5, 6), np.float32)), ["5", "4"]),
    (lambda: pairsieve.Tree(4).build(np.zeros((4, 6)), cast=False), ["float64", "float32"]),
    (lambda: pairsieve.Tree(4).build_triangles(np.zeros((6, 3), np.float32)), ["triangles"]),
    (lambda: pairsieve.Tree(4, triangles=True).build_triangles(np.zeros((6, 3), np.float32), np.zeros((2, 2), np.int32)),
     ["indices", "(2, 2)"]),
    (lambda: built.refit(np.zeros((3, 6), np.float32)), ["3", "2 boxes"]),
    (lambda: built.refit_triangles(np.zeros((6, 3), np.float32)), ["2 boxes"]),
    (lambda: built.trace_closest(np.zeros((3, 7), np.float32)), ["rays", "(3, 7)", "(n, 8)"]),
    (lambda: built.trace_closest(np.zeros((3, 8), np.float32), t_max=1), ["t_max"]),
    (lambda: built.trace_closest((np.zeros((3, 3), np.float32), np.zeros((2, 3), np.float32))), ["(2, 3)", "(3, 3)"]),
    (lambda: built.overlap_boxes(np.zeros((3, 6)), cast=False), ["float64"]),
    (lambda: built.overlap_boxes(np.zeros((4, 6), np.float32)), ["4", "max_queries 3"]),
    (lambda: built.trace_any(np.zeros((4, 8), np.float32), sort_queries=True), ["4", "max_queries 3"]),
    (lambda: built.overlap_boxes(np.zeros((3, 6), np.float32), each=-1), ["each", "-1"]),
    (lambda: built.find_nearest(np.zeros((3, 3), np.float32), 0), ["k", "0"]),
    (lambda: built.overlap_spheres(np.zeros((3, 3), np.float32)), ["radius"]),
    (lambda: built.find_closest(np.zeros((3, 4), np.float32), worlds=np.zeros(2, np.int32)), ["worlds", "(2,)", "(3,)"]),
])
def test_errors(call, words):
    with pytest.raises(pairsieve.Error) as error:
        call()
    for word in words:
        assert word in str(error.value)


def test_unknown_argument():
    with pytest.raises(TypeError, match="colour.*worlds"):
        built.trace_any(np.zeros((1, 8), np.float32), colour=1)
