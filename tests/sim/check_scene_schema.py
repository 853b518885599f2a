#!/usr/bin/env python3
"""The scenes fit scenes/scene.schema.json, and keys that the loader does not know do not.

usage: check_scene_schema.py SCENES_FOLDER     exit code 77: the module jsonschema is not there
"""
import copy
import json
import pathlib
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: the Python module jsonschema is not installed")
    sys.exit(77)


def spoiled(scene):
    """Copies of a scene with one key too many, in each of its objects."""
    def walk(value, path):
        if isinstance(value, dict):
            if path != ("shapes",):  # its keys are names
                yield path
            for key, inner in value.items():
                yield from walk(inner, path + (key,))
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                yield from walk(inner, path + (index,))
    for path in walk(scene, ()):
        bad = copy.deepcopy(scene)
        place = bad
        for key in path:
            place = place[key]
        place["spacin"] = 1
        yield path, bad


def main():
    folder = pathlib.Path(sys.argv[1])
    schema = json.loads((folder / "scene.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    failures = checked = 0
    for path in sorted(folder.rglob("*.json")):
        if path.name == "scene.schema.json":
            continue
        scene = json.loads(path.read_text())
        for error in validator.iter_errors(scene):
            print(f"{path.name}: {error.json_path}: {error.message}")
            failures += 1
        for place, bad in spoiled(scene):
            checked += 1
            if validator.is_valid(bad):
                print(f"{path.name}: an unknown key in {place} is accepted")
                failures += 1
    print(f"{checked} spoiled scenes")
    return 1 if failures or not checked else 0


sys.exit(main())
