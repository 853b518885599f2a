"""The library's sentences in the names of this package: its errors name C's functions and fields of structs."""

from __future__ import annotations

import re

# The names of C, and what a program in Python calls them.
_CALLS = {"psv_find_pairs": "find()", "psv_sort_index": "argsort()", "psv_sort_segments_index": "argsort()",
          "psv_set_elements": "element_pairs()"}
_FIELDS = {
    "grow_pairs": "grow", "sort_output": "sort", "world_count": "worlds", "sub_world_count": "worlds", "sub_world": "world",
    "is_static": "static", "is_kinematic": "kinematic", "count_buffer": "count", "excluded_count": "excluded",
    "worker_count": "workers", "min_stride": "stride", "max_stride": "stride", "vertex_count": "vertices",
    "triangle_count": "triangles", "child_count": "children", "indices": "triangles", "face_vertices": "faces",
    "edge_vertices": "edges", "index_stride": "stride", "vertex_stride": "stride",
}
# A struct's name says nothing in Python, where its fields are arguments.
_STRUCTS = "def.local|def|rules|picture|elements|positions|queries|segments|lists|hint|options|input|camera"
_SETS = {"a": "boxes", "b": "other", "boxes": "boxes", "rays": "rays", "spheres": "spheres", "points": "points", "set": "boxes"}
_FIELD = re.compile(rf"(?<![\w/.'])(?:{_STRUCTS.replace('.', chr(92) + '.')})\.(?:camera\.)?([a-z][a-z_0-9]*)")
_OF_SET = re.compile(rf"(?<![\w/.'])({'|'.join(_SETS)})\.(count_buffer|count|kept_version|kept|ids|doubles|margins|margin|origin|"
                     r"min_stride|max_stride|min|max|filters|worlds|flags|owners|layers|data|stride)\b")
_BODY = re.compile(r"\bdefs\[(\d+|%[^\]]*)\](?:\.(?:pose\.)?(\w+))?")
_CONSTANT = re.compile(r"\bPSV_(?:ERROR|BACKEND|KEY|TREE|SKY|SHAPE|NAN|INDEX)_([A-Z0-9_]+)\b")


def _of_set(match: re.Match[str]) -> str:
    owner, field = _SETS[match[1]], match[2]
    if field in ("min", "max"):
        return f"{owner}[{int(field == 'max')}]"
    if field == "count":
        return f"len({owner})"
    return f"{_FIELDS.get(field, field)} of {owner}"


def _of_body(match: re.Match[str]) -> str:
    body = f"body {match[1]}"
    return body if match[2] is None else f"{_FIELDS.get(match[2], match[2])} of {body}"


def in_python(sentence: str) -> str:
    """A sentence of the library with Python's names."""
    for name, call in _CALLS.items():
        sentence = re.sub(rf"\b{name}\b", call, sentence)
    sentence = _FIELD.sub(lambda match: _FIELDS.get(match[1], match[1]), sentence)
    sentence = _BODY.sub(_of_body, _OF_SET.sub(_of_set, sentence))
    return _CONSTANT.sub(lambda match: match[1].lower().replace("_", " "), sentence)
