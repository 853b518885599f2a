import gc
import threading

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairsieve


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100, 1000])
def test_find_pairs(library, count):
    boxes = oracle.boxes(count, count)
    found = pairsieve.find_pairs(library.make(boxes), sort=True)
    assert type(found).__module__.partition(".")[0].startswith(library.name) or library.name in ("jax",)
    np.testing.assert_array_equal(library.back(found), oracle.pairs(boxes))


def test_forms_of_boxes(library):
    boxes = oracle.boxes(7, 300)
    expected = oracle.pairs(boxes)
    low, high = np.ascontiguousarray(boxes[:, :3]), np.ascontiguousarray(boxes[:, 3:])
    forms = [library.make(boxes), library.make(boxes.reshape(-1, 2, 3)), (library.make(low), library.make(high))]
    if library.name not in ("jax", "warp"):  # strided views
        wide = library.make(np.concatenate([boxes, boxes], axis=1))
        forms += [wide[:, :6], (wide[:, 6:9], wide[:, 3:6])]
        half = library.make(np.repeat(boxes, 2, axis=0))
        forms.append(half[::2])
    for form in forms:
        np.testing.assert_array_equal(library.back(pairsieve.find_pairs(form, sort=True)), expected)


def test_between(library):
    a, b = oracle.boxes(1, 400), oracle.boxes(2, 300)
    found = pairsieve.find_pairs(library.make(a), library.make(b), sort=True)
    np.testing.assert_array_equal(library.back(found), oracle.pairs_between(a, b))


def test_filters(library):
    count = 500
    random = np.random.default_rng(3)
    boxes = oracle.boxes(3, count, side=5)
    parts = dict(worlds=random.integers(0, 3, count).astype(np.int32), flags=random.integers(0, 4, count).astype(np.uint8))
    filters = random.integers(0, 8, (count, 2)).astype(np.int32)
    given_parts = {name: library.make(array) for name, array in parts.items()}
    found = pairsieve.find_pairs(library.make(boxes), filters=library.make(filters), sort=True, **given_parts)
    expected = oracle.pairs(boxes, groups=filters[:, 0], masks=filters[:, 1], **parts)
    assert 0 < len(expected) < len(oracle.pairs(boxes))
    np.testing.assert_array_equal(library.back(found), expected)
    if library.name in ("jax", "warp"):
        return
    found = pairsieve.find_pairs(library.make(boxes), groups=library.make(np.ascontiguousarray(filters[:, 0])),
                                 masks=library.make(np.ascontiguousarray(filters[:, 1])), sort=True, **given_parts)
    np.testing.assert_array_equal(library.back(found), expected)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_properties(data):
    count = data.draw(st.integers(0, 60))
    number = st.one_of(st.integers(-4, 4).map(float), st.sampled_from([float("nan"), float("inf"), float("-inf"), 1e-40, -0.0, 3e38]))
    boxes = np.array(data.draw(st.lists(st.lists(number, min_size=6, max_size=6), min_size=count, max_size=count)), np.float32).reshape(-1, 6)
    if data.draw(st.booleans()):
        boxes = np.concatenate([np.fmin(boxes[:, :3], boxes[:, 3:]), np.fmax(boxes[:, :3], boxes[:, 3:])], axis=1)
    worlds = np.array(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)), np.uint32)
    flags = np.array(data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)), np.uint8)
    method = data.draw(st.sampled_from(["auto", "rows", "lbvh", "sweep", "sap3", "brute"]))
    found = pairsieve.find_pairs(boxes, worlds=worlds, flags=flags, sort=True, method=method)
    np.testing.assert_array_equal(found, oracle.pairs(boxes, worlds=worlds, flags=flags))


def test_finder_frames(library):
    finder = pairsieve.PairFinder(2000, device=library.device, sort=True, events=True)
    before = np.zeros((0, 2), np.int32)
    for seed in range(5):
        boxes = oracle.boxes(seed, 500 + 300 * seed)
        now = oracle.pairs(boxes)
        made = library.make(boxes)
        assert finder.find(made).count() == len(now)
        np.testing.assert_array_equal(library.back(finder.pairs()), now)
        np.testing.assert_array_equal(library.back(finder.pairs(copy=False)), now)
        begun, ended = finder.events()
        known, new = {tuple(p) for p in before}, {tuple(p) for p in now}
        assert [tuple(p) for p in library.back(begun).tolist()] == sorted(new - known)
        assert [tuple(p) for p in library.back(ended).tolist()] == sorted(known - new)
        before = now
        assert finder.statistics()["pairs"] == len(now)
        assert f"pairs: {len(now)}, room for" in finder.explain()


def test_overflow_says_what_is_needed(library):
    boxes = oracle.boxes(5, 1000)
    expected = oracle.pairs(boxes)
    finder = pairsieve.PairFinder(1000, device=library.device, max_pairs=10)
    finder.find(library.make(boxes))
    with pytest.raises(pairsieve.CapacityError) as error:
        finder.pairs()
    assert error.value.needed == len(expected)
    assert str(len(expected)) in str(error.value)
    grown = pairsieve.PairFinder(1000, device=library.device, max_pairs=10, grow=True, sort=True)
    np.testing.assert_array_equal(library.back(grown.find(library.make(boxes)).pairs()), expected)


def test_moved(library):
    rng = np.random.default_rng(9)
    boxes = oracle.boxes(9, 600)
    finder = pairsieve.PairFinder(600, device=library.device, max_kept=600, events=True, sort=True)
    before: set = set()
    for frame in range(12):
        moved = rng.choice(600, 0 if frame == 0 else frame, replace=False).astype(np.int32)
        boxes[moved] += np.float32(0.25)
        finder.find(library.make(boxes), kept=600, moved=library.make(moved))
        now = oracle.pairs(boxes)
        np.testing.assert_array_equal(library.back(finder.pairs()), now)
        begun, ended = (set(map(tuple, library.back(part).tolist())) for part in finder.events())
        after = set(map(tuple, now.tolist()))
        assert (begun, ended) == (after - before, before - after)
        before = after
    if library.device == "cpu":
        assert finder.statistics()["candidates"] < 600 * 100
        with pytest.raises(pairsieve.ArgumentError, match=r"boxes.moved\[0\] is 600"):
            finder.find(library.make(boxes), kept=600, moved=library.make(np.array([600], np.int32)))


def test_check(library):
    rng = np.random.default_rng(5)
    low = rng.random((150, 3), dtype=np.float32)
    boxes = np.concatenate([low, low + np.float32(0.2)], 1)
    finder = pairsieve.PairFinder(300, device=library.device, max_kept=150)
    with pytest.raises(pairsieve.ArgumentError, match="no frame yet"):
        finder.check()
    there = library.make(boxes)
    finder.find(there)
    found = finder.check(samples=200)
    touch = np.all((boxes[:, None, :3] <= boxes[None, :, 3:]) & (boxes[None, :, :3] <= boxes[:, None, 3:]), 2)
    assert found["boxes"] == 200 and found["pairs"] >= touch.sum() - 150
    assert (found["missing"], found["extra"], found["first_missing"], found["first_extra"]) == (0, 0, None, None)
    finder.find(there, library.make(boxes[:50].copy()))
    assert finder.check()["missing"] == finder.check()["extra"] == 0
    with pytest.raises(pairsieve.ArgumentError, match="samples is 257"):
        finder.check(samples=257)
    if library.name != "numpy":
        return
    for _ in range(3):
        finder.find(boxes, kept=150)
    boxes[7] = [50, 50, 50, 51, 51, 51]  # is not named: its pairs stay
    finder.find(boxes, kept=150)
    found = finder.check(samples=150)
    gone = [tuple(sorted((7, other))) for other in np.flatnonzero(touch[7]) if other != 7]
    assert (found["missing"], found["extra"]) == (0, len(gone)) and found["first_extra"] == min(gone)


def test_bad_boxes(device):
    boxes = oracle.boxes(1, 200)
    boxes[[3, 50, 199], 1] = [np.nan, 1e9, np.inf]
    finder = pairsieve.PairFinder(200, device="cpu")
    finder.find(boxes)
    np.testing.assert_array_equal(finder.bad_boxes(), [3, 50, 199])


def test_profile():
    finder = pairsieve.PairFinder(1000)
    finder.enable_profile()
    finder.find(oracle.boxes(1, 1000))
    assert finder.profile()["frame"] > 0


@pytest.mark.parametrize("call, words", [
    (lambda: pairsieve.find_pairs(np.zeros((3, 5), np.float32)), ["boxes", "(3, 5)", "(n, 6)"]),
    (lambda: pairsieve.find_pairs(np.zeros((3, 6), np.float16), cast=False), ["boxes", "float16", "float32"]),
    (lambda: pairsieve.find_pairs((np.zeros((3, 3), np.float32), np.zeros((2, 3), np.float32))), ["3", "2"]),
    (lambda: pairsieve.find_pairs(np.zeros((3, 6), np.float32), flags=np.zeros(2, np.uint8)), ["flags", "(2,)", "(3,)"]),
    (lambda: pairsieve.find_pairs(np.zeros((3, 6), np.float32), method="magic"), ["magic", "rows"]),
    (lambda: pairsieve.PairFinder(0), ["max_boxes", "0"]),
    (lambda: pairsieve.PairFinder(-1), ["max_boxes", "-1"]),
    (lambda: pairsieve.PairFinder(10, device=1 << 70), ["PairFinder", "big"]),
    (lambda: pairsieve.find_pairs(np.zeros((3, 6), np.float32), worlds=[0.5, 1, 2]), ["worlds", "float64"]),
    (lambda: pairsieve.PairFinder(10, device="tpu"), ["tpu", "cuda"]),
    (lambda: pairsieve.PairFinder(10, method=None), ["method", "None"]),
    (lambda: pairsieve.PairFinder(10).find(np.zeros((11, 6), np.float32)), ["11", "10"]),
    (lambda: pairsieve.PairFinder(10).pairs(), ["find()"]),
    (lambda: pairsieve.find_pairs(np.zeros((6, 4), np.float32)[:, ::2]), ["boxes"]),
    (lambda: pairsieve.find_pairs(np.zeros((6, 6), np.float32)[::-1], cast=False), ["boxes", "ascending"]),
])
def test_errors(call, words):
    with pytest.raises(pairsieve.Error) as error:
        call()
    for word in words:
        assert word in str(error.value)


def test_read_only_boxes():
    boxes = oracle.boxes(1, 50)
    boxes.flags.writeable = False
    np.testing.assert_array_equal(pairsieve.find_pairs(boxes, sort=True), oracle.pairs(boxes))


def test_threads():
    boxes = [oracle.boxes(seed, 800) for seed in range(4)]
    expected = [oracle.pairs(one) for one in boxes]
    shared = pairsieve.PairFinder(800, sort=True)
    wrong = []

    def work(i):
        for _ in range(20):
            if not np.array_equal(pairsieve.find_pairs(boxes[i], sort=True), expected[i]):
                wrong.append(i)
            with shared._lock:  # one frame of a shared finder: find and pairs together
                if not np.array_equal(shared.find(boxes[i]).pairs(), expected[i]):
                    wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def test_nothing_leaks():
    boxes = oracle.boxes(1, 2000)
    for round_ in range(24):
        finder = pairsieve.PairFinder(20_000, events=True)
        finder.find(boxes).pairs(copy=False)
        del finder
        gc.collect()
        if round_ == 8:
            before = _resident()
    assert _resident() - before < 8 << 20


def test_result_outlives_its_finder():
    boxes = oracle.boxes(1, 2000)
    view = pairsieve.PairFinder(2000, sort=True).find(boxes).pairs(copy=False)
    gc.collect()
    np.testing.assert_array_equal(view, oracle.pairs(boxes))


def test_capture_by_warp_on_the_cpu_is_refused():
    wp = pytest.importorskip("warp")
    boxes = wp.array(oracle.boxes(1, 20), dtype=float, device="cpu")
    finder = pairsieve.PairFinder(20)
    try:
        with pytest.raises(pairsieve.UnsupportedError, match="capture"), wp.ScopedCapture("cpu"):
            finder.find(boxes)
    finally:
        np.testing.assert_array_equal(finder.find(boxes).pairs().numpy(), pairsieve.find_pairs(oracle.boxes(1, 20)))


def test_results_are_read_only():
    finder = pairsieve.PairFinder(10, max_pairs=20)
    finder.find(np.zeros((3, 6), np.float32))
    assert len(finder.pairs()) == 3
    with pytest.raises(ValueError, match="read-only"):
        finder.pair_buffer[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        finder.count_buffer[0] = 1
    finder.pairs()[0] = 1
