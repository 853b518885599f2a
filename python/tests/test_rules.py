"""Ids, owners, layers, excluded pairs, double precision, kept boxes and counts of worlds."""

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairsieve


def test_all_rules(library):
    count = 700
    random = np.random.default_rng(11)
    boxes = oracle.boxes(11, count, side=5)
    parts = dict(owners=random.integers(-1, 20, count).astype(np.int32), layers=random.integers(0, 6, count).astype(np.uint8))
    rules = dict(layer_matrix=random.integers(0, 64, 32).astype(np.int32), excluded=np.sort(random.integers(0, count, (5000, 2)), axis=1).astype(np.int32))
    expected = oracle.pairs(boxes, **parts, **rules)
    assert 0 < len(expected) < len(oracle.pairs(boxes, **parts)) < len(oracle.pairs(boxes))
    given_parts, given_rules = ({name: library.make(array) for name, array in some.items()} for some in (parts, rules))
    found = pairsieve.find_pairs(library.make(boxes), sort=True, **given_parts, **given_rules)
    np.testing.assert_array_equal(library.back(found), expected)
    found = pairsieve.find_pairs(library.make(boxes), sort=True, **given_parts)  # the rules are gone
    np.testing.assert_array_equal(library.back(found), oracle.pairs(boxes, **parts))


def test_ids(library):
    random = np.random.default_rng(2)
    boxes = oracle.boxes(2, 400, side=4)
    ids = (random.permutation(1 << 20)[:400] + 7).astype(np.int32)
    expected = oracle.pairs(boxes)
    excluded, rest = expected[::3], np.delete(expected, slice(None, None, 3), axis=0)
    found = pairsieve.find_pairs(library.make(boxes), ids=library.make(ids), excluded=library.make(np.sort(ids[excluded], axis=1)), sort=True)
    np.testing.assert_array_equal(library.back(found), oracle.in_order(np.sort(ids[rest], axis=1)))
    finder = pairsieve.PairFinder(400, device=library.device, ids=True, events=True)
    finder.find(library.make(boxes), ids=library.make(ids)).events()
    reused = ids.copy()
    reused[17] = 3  # the slot has a new box in the same place
    begun, ended = finder.find(library.make(boxes), ids=library.make(reused)).events()
    of_17 = expected[(expected == 17).any(axis=1)]
    assert len(of_17) > 0
    np.testing.assert_array_equal(library.back(begun), oracle.in_order(np.sort(reused[of_17], axis=1)))
    np.testing.assert_array_equal(library.back(ended), oracle.in_order(np.sort(ids[of_17], axis=1)))


def test_doubles(library):
    if library.name == "jax":
        pytest.skip("JAX has 32 bits unless told")
    random = np.random.default_rng(3)
    low = random.random((600, 3)) * 8 + 1e9  # floats have steps of 64 there
    boxes = np.concatenate([low, low + random.random((600, 3))], axis=1)
    expected = oracle.pairs(boxes)
    assert 0 < len(expected) < len(oracle.pairs(boxes.astype(np.float32)))
    for form in (library.make(boxes), library.make(boxes.reshape(-1, 2, 3)),
                 (library.make(np.ascontiguousarray(boxes[:, :3])), library.make(np.ascontiguousarray(boxes[:, 3:])))):
        found = pairsieve.find_pairs(form, origin=(1e9, 1e9, 1e9), sort=True)
        np.testing.assert_array_equal(library.back(found), expected)
    a, b = boxes[:300], boxes[300:]
    found = pairsieve.find_pairs(library.make(a), library.make(b), sort=True)
    np.testing.assert_array_equal(library.back(found), oracle.pairs_between(a, b))
    rough = b.astype(np.float32)
    found = pairsieve.find_pairs(library.make(a), library.make(rough), sort=True)
    np.testing.assert_array_equal(library.back(found), oracle.pairs_between(a, rough.astype(np.float64)))


def keeping_finder(library, most, **more):
    try:
        return pairsieve.PairFinder(most, device=library.device, max_kept=most, sort=True, **more)
    except pairsieve.UnsupportedError:
        pytest.skip(f"{library.device} keeps no boxes")


def test_kept_boxes(library):
    finder = keeping_finder(library, 900, events=True)
    kept, before = oracle.boxes(1, 500, side=6), np.zeros((0, 2), np.int32)
    for frame in range(6):
        if frame == 4:
            kept = oracle.boxes(99, 500, side=6)  # which a new version says
        boxes = np.concatenate([kept, oracle.boxes(20 + frame, 50 * frame, side=6)])
        expected = oracle.pairs(boxes)
        finder.find(library.make(boxes), kept=500, kept_version=1 + frame // 4)
        np.testing.assert_array_equal(library.back(finder.pairs()), expected)
        begun, ended = finder.events()
        known, now = {tuple(pair) for pair in before}, {tuple(pair) for pair in expected}
        assert [tuple(pair) for pair in library.back(begun).tolist()] == sorted(now - known)
        assert [tuple(pair) for pair in library.back(ended).tolist()] == sorted(known - now)
        before = expected


def test_kept_boxes_are_not_read_again(library):
    if library.name != "numpy":
        pytest.skip("one library shows it")
    finder = keeping_finder(library, 300)  # of which few move: where many do, all are read
    boxes = oracle.boxes(5, 300, side=4)
    expected = oracle.pairs(boxes)
    for _ in range(2):  # the second call puts them in order
        finder.find(boxes, kept=280, kept_version=1)
    changed = boxes.copy()
    changed[:280] += 100  # without a new version: the caller's error, which shows that they are kept
    np.testing.assert_array_equal(finder.find(changed, kept=280, kept_version=1).pairs(), expected)
    assert len(finder.find(changed, kept=280, kept_version=2).pairs()) < len(expected)


def test_kept_boxes_of_two_sets(library):
    finder = keeping_finder(library, 600)
    b = oracle.boxes(1, 400, side=5)
    for seed in range(3):
        a = oracle.boxes(seed + 7, 100, side=5)
        found = finder.find(library.make(a), library.make(b), kept=(0, 400), kept_version=(0, 1)).pairs()
        np.testing.assert_array_equal(library.back(found), oracle.pairs_between(a, b))


def test_counts_of_worlds(library):
    random = np.random.default_rng(4)
    boxes, worlds = oracle.boxes(4, 800, side=4), random.integers(0, 5, 800).astype(np.int32)
    expected = oracle.pairs(boxes, worlds=worlds)
    counts = np.bincount(worlds[expected[:, 0]], minlength=5)
    finder = pairsieve.PairFinder(800, device=library.device, worlds=5, count_worlds=True)
    finder.find(library.make(boxes), worlds=library.make(worlds))
    assert finder.count() == len(expected)
    np.testing.assert_array_equal(library.back(finder.world_count_buffer), counts)
    room = int(np.sort(counts)[-2])
    crowded = pairsieve.PairFinder(800, device=library.device, worlds=5, world_pairs=room, sort=True)
    crowded.find(library.make(boxes), worlds=library.make(worlds))
    for ask in (crowded.count, crowded.pairs):
        with pytest.raises(pairsieve.CapacityError) as error:
            ask()
        assert error.value.needed == counts.max()
    np.testing.assert_array_equal(library.back(crowded.world_count_buffer), counts)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_properties_of_rules(data):
    count = data.draw(st.integers(0, 50))
    corner = st.lists(st.lists(st.integers(-3, 3), min_size=6, max_size=6), min_size=count, max_size=count)
    boxes = np.array(data.draw(corner), data.draw(st.sampled_from([np.float32, np.float64]))).reshape(-1, 6)
    boxes = np.concatenate([np.fmin(boxes[:, :3], boxes[:, 3:]), np.fmax(boxes[:, :3], boxes[:, 3:])], axis=1)
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    parts = dict(owners=random.integers(-1, 6, count).astype(np.int32), layers=random.integers(0, 34, count).astype(np.uint8),
                 flags=random.integers(0, 3, count).astype(np.uint8))
    rules = dict(layer_matrix=random.integers(0, 1 << 32, 32, dtype=np.uint32),
                 excluded=random.integers(0, max(count, 1), (data.draw(st.integers(0, 40)) if count else 0, 2)).astype(np.uint32))
    rules["excluded"].sort(axis=1)
    found = pairsieve.find_pairs(boxes, sort=True, **parts, **rules)
    np.testing.assert_array_equal(found, oracle.pairs(boxes, **parts, **rules))


@pytest.mark.parametrize("call, words", [
    (lambda: pairsieve.PairFinder(5).find(np.zeros((5, 6), np.float32), ids=np.arange(5, dtype=np.int32)), ["ids"]),
    (lambda: pairsieve.PairFinder(5).find(np.zeros((5, 6), np.float64), cast=False), ["float64", "float32"]),
    (lambda: pairsieve.PairFinder(5).set_rules(excluded=np.zeros((3, 2), np.int32)), ["3", "max_excluded"]),
    (lambda: pairsieve.PairFinder(5).set_rules(layer_matrix=np.zeros(31, np.int32)), ["layer_matrix", "(31,)", "(32,)"]),
    (lambda: pairsieve.PairFinder(5).set_rules(excluded=np.zeros((3, 3), np.int32)), ["excluded", "(3, 3)"]),
    (lambda: pairsieve.PairFinder(5, max_kept=3).find(np.zeros((5, 6), np.float32), kept=4), ["4", "3"]),
    (lambda: pairsieve.PairFinder(5, max_kept=5).find(np.zeros((3, 6), np.float32), kept=4), ["kept", "4", "3"]),
    (lambda: pairsieve.PairFinder(5).find(np.zeros((5, 6), np.float32), kept=-1), ["kept", "-1"]),
    (lambda: pairsieve.PairFinder(5, doubles=True).find(np.zeros((5, 6), np.float64), origin=(1, 2)), ["origin"]),
    (lambda: pairsieve.PairFinder(5).find(np.zeros((5, 6), np.float32)).world_count_buffer, ["count_worlds"]),
    (lambda: pairsieve.PairFinder(5).find(np.zeros((5, 6), np.float32), owners=np.zeros(4, np.int32)), ["owners", "(4,)", "(5,)"]),
])
def test_errors_of_rules(call, words):
    with pytest.raises(pairsieve.Error) as error:
        call()
    for word in words:
        assert word in str(error.value)
