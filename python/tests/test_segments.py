import numpy as np
import pytest

import pairsieve

from test_sorting import DTYPES, keys_of, skip_where_missing


def sorted_by_segment(keys, offsets):
    made, order = keys.copy(), np.arange(len(keys))
    for begin, end in zip(offsets[:-1], offsets[1:]):
        order[begin:end] = begin + np.argsort(keys[begin:end], kind="stable")
    return made[order], order


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_segments(library, dtype):
    skip_where_missing(library, dtype)
    keys = keys_of(dtype, 70_000)
    lengths = np.random.default_rng(2).integers(0, 90, 1500)
    offsets = np.concatenate([[3], 3 + np.cumsum(lengths)]).astype(np.int32)
    due, order = sorted_by_segment(keys, offsets)
    values = np.arange(len(keys), dtype=np.int32)
    got = library.back(pairsieve.sort_segments(library.make(keys), library.make(offsets)))
    np.testing.assert_array_equal(got, due)
    both = pairsieve.sort_segments(library.make(keys), library.make(offsets), library.make(values))
    np.testing.assert_array_equal(library.back(both[0]), due)
    np.testing.assert_array_equal(library.back(both[1]), order)


def test_argsort_by_segment():
    keys, offsets = keys_of("float32", 1000), np.array([0, 10, 10, 500, 1000], np.uint32)
    index = np.empty(1000, np.int32)
    sorter = pairsieve.SegmentSorter(1000, 4, "float32")
    sorter.argsort(keys, offsets, index, keys_after="kept")
    for begin, end in zip(offsets[:-1], offsets[1:]):
        np.testing.assert_array_equal(index[begin:end], np.argsort(keys[begin:end], kind="stable"))
    np.testing.assert_array_equal(keys, keys_of("float32", 1000))


def test_wrong_offsets():
    keys = keys_of("uint32", 100)
    for offsets in ([0, 50, 40], [0, 101]):
        with pytest.raises(pairsieve.ArgumentError, match="segment"):
            pairsieve.sort_segments(keys, np.array(offsets, np.uint32))
    with pytest.raises(pairsieve.ArgumentError, match="offsets"):
        pairsieve.sort_segments(keys, np.array([0.0, 1.0]))
