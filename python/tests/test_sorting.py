import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairsieve

DTYPES = ["uint32", "int32", "float32", "uint64", "int64", "float64", "uint8", "int8", "uint16", "int16", "float16"]


def keys_of(dtype, count, seed=1):
    random = np.random.default_rng(seed)
    if dtype.startswith("f"):
        made = random.standard_normal(count).astype(dtype)
        made[::7] = np.nan
        made[::11] = -0.0
        made[::13] = 0.0
        return made
    if dtype.endswith("8"):
        return random.integers(0, 256, count).astype(dtype)
    return random.integers(0, 1000, count).astype(dtype) - np.dtype(dtype).type(0 if dtype[0] == "u" else 500)


def skip_where_missing(library, dtype):
    if library.name == "torch" and dtype in ("uint16", "uint32", "uint64"):
        pytest.skip("PyTorch's unsigned types")
    if library.name == "jax" and dtype.endswith("64"):
        pytest.skip("JAX has 32 bits unless told")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [0, 1, 2, 1000, 70_000])
def test_argsort_and_sort(library, dtype, count):
    skip_where_missing(library, dtype)
    keys = keys_of(dtype, count)
    made = library.make(keys)
    order = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(library.back(pairsieve.argsort(made)), order)
    np.testing.assert_array_equal(library.back(pairsieve.sort(made)), keys[order])
    np.testing.assert_array_equal(library.back(made), keys)  # what was given is as it was


@pytest.mark.parametrize("bits", ["int32", "int64"])
def test_sort_pairs(library, bits):
    skip_where_missing(library, bits)
    keys, values = keys_of("float32", 5000), np.arange(5000).astype(bits)
    sorted_keys, sorted_values = pairsieve.sort_pairs(library.make(keys), library.make(values))
    order = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(library.back(sorted_keys), keys[order])
    np.testing.assert_array_equal(library.back(sorted_values), values[order])


def test_descending_is_stable(library):
    keys = keys_of("int32", 3000)
    order = np.argsort(-keys.astype(np.int64), kind="stable")
    np.testing.assert_array_equal(library.back(pairsieve.argsort(library.make(keys), descending=True)), order)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=True), max_size=300), st.sampled_from(["radix", "merge", "qsort", "auto"]))
def test_floats(values, method):
    keys = np.array(values, np.float32)
    np.testing.assert_array_equal(pairsieve.argsort(keys, method=method), np.argsort(keys, kind="stable"))


def test_sorter_bits():
    sorter = pairsieve.Sorter(1000, "uint32", begin_bit=4, end_bit=8)
    keys = np.random.default_rng(1).integers(0, 1 << 32, 1000, dtype=np.uint32)
    index = np.empty(1000, np.int32)
    order = np.argsort((keys >> 4) & 15, kind="stable")
    sorter.argsort(keys.copy(), index)
    np.testing.assert_array_equal(index, order)
    assert sorter.statistics()["passes_run"] >= 0


@pytest.mark.parametrize("descending", [False, True])
def test_strings(descending):
    words = np.array([f"{number * 7919 % 500}".encode() * 2 for number in range(3000)], "S16")
    order = np.array(sorted(range(3000), key=lambda i: words[i], reverse=descending))  # stable: reverse keeps equal ones in order
    np.testing.assert_array_equal(pairsieve.sort(words, descending=descending), words[order])
    np.testing.assert_array_equal(pairsieve.argsort(words, descending=descending), order)
    values = np.arange(3000, dtype=np.int64)
    np.testing.assert_array_equal(pairsieve.sort_pairs(words, values, descending=descending)[1], order)


@pytest.mark.parametrize("call, words", [
    (lambda: pairsieve.sort(np.zeros((2, 2), np.float32)), ["keys", "(2, 2)"]),
    (lambda: pairsieve.sort(np.zeros(2, bool)), ["bool", "float16"]),
    (lambda: pairsieve.sort(np.zeros(2, "S5")), ["S5"]),
    (lambda: pairsieve.Sorter(10, "uint16", end_bit=17), ["17", "16 bits"]),
    (lambda: pairsieve.Sorter(4, "float32").sort(np.zeros(4, np.float32)[::2]), ["keys", "contiguous"]),
    (lambda: pairsieve.Sorter(10, "uint12"), ["uint12", "float32"]),
    (lambda: pairsieve.Sorter(10).sort(np.zeros(11, np.uint32)), ["11", "10"]),
    (lambda: pairsieve.Sorter(10).sort(np.zeros(5, np.int32)), ["int32", "uint32"]),
    (lambda: pairsieve.Sorter(10).sort(np.zeros(5, np.uint32), np.zeros(5, np.int64)), ["8 bytes", "4"]),
    (lambda: pairsieve.Sorter(10).sort(np.zeros(5, np.uint32), np.zeros(4, np.int32)), ["5", "4"]),
    (lambda: pairsieve.Sorter(10, method="magic"), ["magic", "radix"]),
    (lambda: pairsieve.Sorter(10, method=3), ["method", "3"]),
])
def test_errors(call, words):
    with pytest.raises(pairsieve.Error) as error:
        call()
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("kind, bits", [("float16", "uint16"), ("float32", "uint32"), ("float64", "uint64")])
def test_nan_by_bits(kind, bits):
    """Negative NaN below and positive NaN above every number, by their bits; equal numbers keep their order."""
    width = np.dtype(bits).itemsize * 8
    keys = np.random.default_rng(width).integers(0, 1 << (width - 1), 3000, dtype=bits)  # all of 16 bits, mostly numbers of more
    keys[::3] |= np.array(0x7F8 << (width - 12) if width > 16 else 0x7C00, bits)  # infinities and NaN
    keys[::2] |= np.array(1 << (width - 1), bits)
    keys[:20] = np.array([0, 1 << (width - 1)] * 10, bits)  # zeros of both signs are equal
    sign = keys >> np.array(width - 1, bits) == 1
    rank = np.where(sign, np.array(1 << (width - 1), bits) - (keys & np.array((1 << (width - 1)) - 1, bits)),
                    keys | np.array(1 << (width - 1), bits))
    for descending in (False, True):
        expected = np.argsort(rank.max() - rank if descending else rank, kind="stable")
        for sorter in (pairsieve.Sorter(3000, kind, descending=descending, nan="bits"),
                       pairsieve.SegmentSorter(3000, 1, kind, descending=descending, nan="bits")):
            index = np.empty(3000, np.int32)
            parts = [] if isinstance(sorter, pairsieve.Sorter) else [np.array([0, 3000], np.int32)]
            sorter.argsort(keys.view(kind), *parts, index, keys_after="kept")
            np.testing.assert_array_equal(index, expected)
    with pytest.raises(pairsieve.ArgumentError, match="nan is 'first'; accepted: 'last', 'bits'"):
        pairsieve.Sorter(10, kind, nan="first")
