"""Arrays of other types, layouts and dimensions, and checks that do not depend on what is cached."""

import warnings

import numpy as np
import oracle
import pytest

import pairsieve
from pairsieve import _casting

LARGE = 20_000  # boxes: more numbers than are converted without being asked


@pytest.fixture(autouse=True)
def _notes_anew():
    _casting._noted.clear()


def _wide(boxes):
    return np.concatenate([np.zeros_like(boxes), boxes], axis=1)


def test_layouts_and_types(library):
    boxes = np.round(oracle.boxes(3, 200, side=4) * 8).astype(np.float32)  # whole numbers, which all types have
    expected = oracle.pairs(boxes)
    forms = [boxes.astype(np.int32), boxes.astype(np.float16)]
    if library.name == "numpy":
        forms += [boxes.astype(np.int64), np.asfortranarray(boxes), np.flip(np.flip(boxes, 0).copy(), 0), boxes.tolist(),
                  _wide(boxes).reshape(-1, 4, 3)[:, 2:].transpose(0, 2, 1).copy().transpose(0, 2, 1)]
    if library.name != "jax":
        forms.append(boxes.astype(np.float64))
    for form in forms:
        given = form if isinstance(form, list) or library.name == "numpy" else library.make(form)
        found = pairsieve.find_pairs(given, sort=True, cast=True)
        assert library.name == "numpy" or not isinstance(found, np.ndarray) or library.name in ("jax", "warp")
        np.testing.assert_array_equal(library.back(found), expected)
        finder = pairsieve.PairFinder(200, device=library.device, sort=True)
        np.testing.assert_array_equal(library.back(finder.find(given, cast=True).pairs()), expected)


def test_no_pair_is_lost_by_rounding(library):
    if library.name == "jax":
        pytest.skip("JAX has 32 bits unless told")
    low = np.random.default_rng(1).random((400, 3)) * 6
    boxes = np.concatenate([low, low + 0.9], axis=1)
    touching = np.array([[0, 0, 0, 0.1, 1, 1], [0.1, 0, 0, 1, 1, 1], [-1e300, 50, 50, 1e300, 51, 51], [7, 51, 51, 8, 52, 52]])
    boxes = np.concatenate([boxes, touching])
    exact = {tuple(pair) for pair in oracle.pairs(boxes)}
    assert (402, 403) in exact and (400, 401) in exact
    finder = pairsieve.PairFinder(404, device=library.device)
    found = {tuple(pair) for pair in library.back(finder.find(library.make(boxes), cast=True).pairs()).tolist()}
    assert exact <= found
    # What is added touches within float32's steps.
    grown = boxes + np.array([-1, -1, -1, 1, 1, 1]) * np.maximum(np.abs(boxes), 1) * 3e-7
    assert found <= {tuple(pair) for pair in oracle.pairs(grown)}
    halves = (library.make(np.ascontiguousarray(boxes[:, :3])), library.make(np.ascontiguousarray(boxes[:, 3:])))
    assert {tuple(pair) for pair in library.back(finder.find(halves, cast=True).pairs()).tolist()} == found


def test_boxes_of_two_dimensions(library):
    if library.name == "warp":
        pytest.skip("of Warp boxes of three dimensions are wanted")
    random = np.random.default_rng(2)
    low = random.random((300, 2)).astype(np.float32) * 9
    flat = np.concatenate([low, low + 1], axis=1)
    expected = oracle.pairs(np.concatenate([low, np.zeros((300, 1)), low + 1, np.zeros((300, 1))], axis=1).astype(np.float32))
    assert 0 < len(expected) < 300 * 299 // 2
    for form in (library.make(flat), library.make(flat.reshape(-1, 2, 2)), (library.make(low), library.make(low + 1))):
        np.testing.assert_array_equal(library.back(pairsieve.find_pairs(form, sort=True, cast=True)), expected)
    tree = pairsieve.Tree(300, device=library.device).build(library.make(flat), cast=True)
    offsets, items = tree.overlap_boxes(library.make(flat), cast=True, in_order=True)
    offsets, items = library.back(offsets), library.back(items)
    both = {(int(min(i, other)), int(max(i, other))) for i in range(300) for other in items[offsets[i] : offsets[i + 1]] if other != i}
    assert both == {tuple(pair) for pair in expected.tolist()}


def test_marks_of_other_types(library):
    random = np.random.default_rng(5)
    boxes = oracle.boxes(5, 300, side=4)
    worlds, flags, filters = random.integers(0, 4, 300), random.integers(0, 3, 300), random.integers(0, 8, (300, 2))
    expected = oracle.pairs(boxes, worlds=worlds, flags=flags, groups=filters[:, 0], masks=filters[:, 1])
    kinds = (np.int32, np.int16) if library.name == "jax" else (np.int64, np.int16)
    for kind in kinds:
        marks = {"worlds": library.make(worlds.astype(kind)), "flags": library.make(flags.astype(kind)),
                 "filters": library.make(filters.astype(kind))}
        np.testing.assert_array_equal(library.back(pairsieve.find_pairs(library.make(boxes), sort=True, cast=True, **marks)), expected)
    if library.name == "numpy":
        found = pairsieve.find_pairs(boxes, worlds=worlds.tolist(), flags=flags.tolist(),
                                     filters=np.asfortranarray(filters), sort=True, cast=True)
        np.testing.assert_array_equal(found, expected)


def test_one_note_for_small_arrays():
    boxes = oracle.boxes(1, 50).astype(np.float64)
    finder = pairsieve.PairFinder(100)
    with pytest.warns(pairsieve.CastWarning, match="boxes was converted: float64 to float32, rounded outwards") as noted:
        for _ in range(3):
            finder.find(boxes)
    assert len(noted) == 1 and noted[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        finder.find(boxes)  # noted already
        _casting._noted.clear()
        finder.find(boxes, cast=True)
        finder.find(boxes.tolist())
        pairsieve.find_pairs(boxes)  # float64 is compared as such
        finder.find(boxes.astype(np.float32))


def test_large_arrays_are_refused_unless_asked():
    boxes = oracle.boxes(1, LARGE, side=60)
    finder = pairsieve.PairFinder(LARGE, sort=True)
    expected = finder.find(boxes).pairs()
    for form in (np.asfortranarray(boxes), np.asfortranarray(boxes).astype(np.float16).astype(np.float32, order="F")):
        with pytest.raises(pairsieve.ArgumentError, match="cast=True"):
            finder.find(form)
    np.testing.assert_array_equal(finder.find(np.asfortranarray(boxes), cast=True).pairs(), expected)
    with pytest.raises(pairsieve.ArgumentError) as error:
        finder.find(oracle.boxes(1, 3).astype(np.float64), cast=False)
    assert "cast=True" not in str(error.value)


@pytest.mark.parametrize("marks, words", [
    ({"worlds": np.array([0, 1, 1 << 40])}, ["worlds", str(1 << 40)]),
    ({"flags": np.array([0, 1, 256])}, ["flags", "256", "8 bits"]),
    ({"owners": np.array([0, 1, -(1 << 31) - 1])}, ["owners", "-2147483649"]),
    ({"worlds": np.array([0.0, 1, 2])}, ["worlds", "float64", "not rounded"]),
    ({"filters": np.zeros((2, 2))}, ["filters", "(2, 2)", "(3, 2)"]),
])
def test_what_does_not_fit_is_refused(marks, words):
    with pytest.raises(pairsieve.ArgumentError) as error:
        pairsieve.find_pairs(np.zeros((3, 6), np.float32), cast=True, **marks)
    for word in words:
        assert word in str(error.value)


def test_masks_without_sign():
    boxes = np.zeros((2, 6), np.float32)
    groups, masks = np.array([1, 1 << 31], np.int64), np.array([1 << 31, 1], np.int64)
    assert len(pairsieve.find_pairs(boxes, groups=groups, masks=masks, cast=True)) == 1
    assert len(pairsieve.find_pairs(boxes, groups=groups, masks=groups, cast=True)) == 0


def test_trees_and_worlds_take_lists():
    tree = pairsieve.Tree(2).build([[0, 0, 0, 1, 1, 1], [3, 0, 0, 4, 1, 1]])
    hits = tree.trace_closest(([[-1, 0.5, 0.5]], [[1, 0, 0]]))
    np.testing.assert_array_equal(hits.t, [1])
    np.testing.assert_array_equal(tree.find_nearest([[2.5, 0.5, 0.5]]).item, [[1]])
    np.testing.assert_array_equal(tree.find_nearest(np.array([[2.5, 0.5, 0.5]]), k=2).item, [[1, 0]])
    world = pairsieve.World(gravity=(0, 0, 0))
    world.add(world.sphere(1), [[0, 0, 0], [5, 0, 0]])
    np.testing.assert_array_equal(world.cast_rays(([[-3, 0, 0]], [[1, 0, 0]])).slot, [0])
    np.testing.assert_array_equal(world.closest_bodies([[4, 0, 0]], 10.0).slot, [1])


def test_sorts_take_any_stride():
    keys = np.random.default_rng(1).random((100, 3))
    for column in (keys[:, 1], keys[::-1, 1], keys[:, 1].tolist()):
        np.testing.assert_array_equal(pairsieve.sort(column), np.sort(column))
        np.testing.assert_array_equal(np.asarray(column)[pairsieve.argsort(column)], np.sort(column))


@pytest.mark.parametrize("wrong, words", [
    ({"max_pairs": -1}, ["max_pairs", "-1"]), ({"max_pairs": 1.5}, ["max_pairs", "1.5"]), ({"max_pairs": "8"}, ["max_pairs", "'8'"]),
    ({"method": "magic"}, ["magic", "rows"]), ({"stream": "s"}, ["stream"]), ({"worlds": np.zeros(3)}, ["worlds", "float64"]),
])
def test_the_same_checks_with_and_without_a_cached_finder(wrong, words):
    boxes = np.zeros((3, 6), np.float32)
    pairsieve.clear_cache()
    said = []
    for cached in (False, True):
        if cached:
            pairsieve.find_pairs(boxes)
        with pytest.raises(pairsieve.ArgumentError if "method" not in wrong else pairsieve.Error) as error:
            pairsieve.find_pairs(boxes, **wrong)
        for word in words:
            assert word in str(error.value)
        said.append(str(error.value))
    assert said[0] == said[1]


def test_margins():
    random = np.random.default_rng(7)
    low = random.random((3000, 3)).astype(np.float32) * 12
    finder = pairsieve.PairFinder(3000, sort=True, margins=True)
    margins = np.full(3000, 0.3, np.float32)
    for frame in range(6):
        boxes = np.concatenate([low, low + 0.8], axis=1)
        found = finder.find(boxes, margin=0.3 if frame < 3 else margins).pairs()
        np.testing.assert_array_equal(found, oracle.pairs(boxes))
        low += random.uniform(-0.04, 0.04, low.shape).astype(np.float32)
    with pytest.raises(pairsieve.ArgumentError, match="margin of boxes is -1"):
        finder.find(boxes, margin=-1.0)
    with pytest.raises(pairsieve.ArgumentError, match="margin of boxes is set, but margins is not"):
        pairsieve.PairFinder(10).find(boxes[:3], margin=0.3)


def test_methods_are_where_docstrings_say():
    assert pairsieve.methods()[0] == "auto" and "rows" in pairsieve.methods("cpu")
    assert pairsieve.sort_methods()[0] == "auto" and "radix" in pairsieve.sort_methods()
    for name in pairsieve.methods():
        assert len(pairsieve.find_pairs(np.zeros((2, 6), np.float32), method=name)) == 1
