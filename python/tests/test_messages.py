"""Sentences of the library in Python's names."""

import pathlib
import re

import pytest

from pairsieve._messages import in_python

ROOT = pathlib.Path(__file__).parent.parent.parent
SOURCES = [path for folder in ("core", "sort/src", "sort/cpu", "collision/src", "collision/cpu", "sim")
           for path in sorted((ROOT / folder).rglob("*.c")) if not {"tool", "gl", "vulkan"} & set(path.parts)]
# What a program in Python cannot come to: it makes no definitions of its own, and has no groups of ranks.
NOT_SAID = re.compile(r"made by psv_default|from psv_default|def is NULL|_digit_bits|psv_world_find_pairs_on|psv_renderer|def\.gl_load|psv_world_keep|psv_world_reserve_states|radix4|hybrid")


def sentences():
    for path in SOURCES:
        for call in re.findall(r"psvi_fail\w*\((.*?)\);", path.read_text(encoding="utf-8"), re.S):
            yield path.name, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', call))


def test_no_name_of_c_is_left():
    said = [(name, sentence) for name, sentence in sentences() if sentence and not NOT_SAID.search(sentence)]
    if not said:
        pytest.skip("the sources are not here")
    assert len(said) > 200
    left = [(name, sentence) for name, sentence in said if re.search(r"\bpsvi?_|\bPSV_|\bdef\.|\bdefs\[", in_python(sentence.replace("%s", "name")))]
    assert not left, left


@pytest.mark.parametrize("sentence, expected", [
    ("def.max_boxes is 0; it must be 1 to 2147483648", "max_boxes is 0; it must be 1 to 2147483648"),
    ("the pair buffer holds 3 pairs; 9 are needed (def.max_pairs, or def.grow_pairs)",
     "the pair buffer holds 3 pairs; 9 are needed (max_pairs, or grow)"),
    ("a.count + b.count is 7; def.max_boxes is 5", "len(boxes) + len(other) is 7; max_boxes is 5"),
    ("boxes.ids is given, but def.ids is not set", "ids of boxes is given, but ids is not set"),
    ("defs[3].sub_world is 9; the world has 2", "world of body 3 is 9; the world has 2"),
    ("finder has no frame yet; call psv_find_pairs first", "finder has no frame yet; call find() first"),
    ("'a.count.ply' cannot be opened", "'a.count.ply' cannot be opened"),
    ("/data/def.max/x cannot be opened", "/data/def.max/x cannot be opened"),
])
def test_sentences(sentence, expected):
    assert in_python(sentence) == expected
