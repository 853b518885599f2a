"""Files of `pairsieve replay --gltf`: the rules of glTF 2.0 that a reader relies on, and poses that are the replay's.

usage: check_gltf.py PROGRAM PRINT_SUMS FOLDER
Where the modules trimesh and pygltflib are installed they load the files too. Where gltfpack is installed (Debian:
gltfpack) its validator, that of cgltf, takes them, and refuses one whose accessor reads beyond its buffer view.
"""
import array
import bisect
import json
import math
import os
import shutil
import struct
import subprocess
import sys

WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}
SCENES = (("drop", 120, 150), ("chairs", 30, 100), ("gravity", 60, 80), ("dice", 60, 60), ("landscape", 40, 20), ("galaxy", 50, 20))


class Glb:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        magic, version, length, json_length, kind = struct.unpack("<4sIII4s", data[:20])
        assert magic == b"glTF" and version == 2 and length == len(data) and length % 4 == 0 and kind == b"JSON"
        self.json = json.loads(data[20:20 + json_length])
        binary_length, kind = struct.unpack("<I4s", data[20 + json_length:28 + json_length])
        assert kind == b"BIN\0" and 28 + json_length + binary_length == length
        self.binary = data[28 + json_length:]
        assert self.json["buffers"] == [{"byteLength": binary_length}]
        self.values = [self.read(accessor) for accessor in self.json["accessors"]]

    def read(self, accessor):
        view, width = self.json["bufferViews"][accessor["bufferView"]], WIDTHS[accessor["type"]]
        start, size = accessor["byteOffset"], 4 * width * accessor["count"]
        assert accessor["count"] > 0 and start % 4 == 0 and start + size <= view["byteLength"], accessor
        assert view["byteOffset"] + view["byteLength"] <= len(self.binary)
        values = array.array("I" if accessor["componentType"] == 5125 else "f")
        values.frombytes(self.binary[view["byteOffset"] + start:view["byteOffset"] + start + size])
        rows = [tuple(values[i:i + width]) for i in range(0, len(values), width)]
        if "min" in accessor:
            for axis in range(width):
                column = [row[axis] for row in rows]
                assert math.isclose(min(column), accessor["min"][axis], rel_tol=1e-6, abs_tol=1e-9)
                assert math.isclose(max(column), accessor["max"][axis], rel_tol=1e-6, abs_tol=1e-9)
        return rows


def check_meshes(glb):
    for mesh in glb.json["meshes"]:
        for primitive in mesh["primitives"]:
            points, normals = (glb.values[primitive["attributes"][name]] for name in ("POSITION", "NORMAL"))
            indices = [row[0] for row in glb.values[primitive["indices"]]]
            assert "min" in glb.json["accessors"][primitive["attributes"]["POSITION"]]
            assert len(points) == len(normals) and len(indices) % 3 == 0 and max(indices) < len(points)
            assert primitive["material"] < len(glb.json["materials"])
            for n in normals:
                assert abs(math.hypot(*n) - 1) < 1e-4
            for t in range(0, len(indices), 3):
                a, b, c = (points[i] for i in indices[t:t + 3])
                u, v = [b[i] - a[i] for i in range(3)], [c[i] - a[i] for i in range(3)]
                face = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
                assert math.hypot(*face) > 0, "a triangle without an area"
                assert sum(f * n for f, n in zip(face, normals[indices[t]])) > 0, "a triangle that is inside out"


def check_colours(glb):
    """Of dice: the scene's colours, some of them clear."""
    with open(os.path.join(os.path.dirname(__file__), "../../scenes/dice.json"), encoding="utf-8") as file:
        wanted = {shape["colour"] for shape in json.load(file)["shapes"].values()}
    found = set()
    for material in glb.json["materials"][10:]:
        *linear, opacity = material["pbrMetallicRoughness"]["baseColorFactor"]
        assert (material.get("alphaMode") == "BLEND") == (opacity < 1)
        text = "#" + "".join(f"{round(255 * x ** (1 / 2.2)):02x}" for x in linear)
        found.add(text if opacity == 1 else text + f"{round(255 * opacity):02x}")
    assert found == wanted, f"{sorted(found)} for {sorted(wanted)}"


def slerp(a, b, share):
    dot = sum(p * q for p, q in zip(a, b))
    if dot < 0:
        b, dot = [-q for q in b], -dot
    angle = math.acos(min(dot, 1))
    if angle < 1e-6:
        return a
    return [(math.sin((1 - share) * angle) * p + math.sin(share * angle) * q) / math.sin(angle) for p, q in zip(a, b)]


def sample(keys, time, kind):
    """Of (times, values, interpolation), as a viewer does it."""
    times, values, steps = keys
    k = max(bisect.bisect_right(times, time + 1e-7) - 1, 0)
    if k + 1 >= len(times) or steps or time <= times[0]:
        return values[k]
    share = (time - times[k]) / (times[k + 1] - times[k])
    if kind == "rotation":
        return slerp(values[k], values[k + 1], share)
    return [(1 - share) * p + share * q for p, q in zip(values[k], values[k + 1])]


def channels_of(glb):
    found = {}
    for animation in glb.json.get("animations", []):
        for channel in animation["channels"]:
            sampler = animation["samplers"][channel["sampler"]]
            times = [row[0] for row in glb.values[sampler["input"]]]
            values = glb.values[sampler["output"]]
            assert times == sorted(set(times)) and len(times) == len(values) and "min" in glb.json["accessors"][sampler["input"]]
            key = (channel["target"]["node"], channel["target"]["path"])
            assert key not in found
            found[key] = (times, values, sampler.get("interpolation") == "STEP")
    return found


def true_poses(print_sums, replay, frame):
    """By body: radius, position and rotation in the frame."""
    lines = subprocess.run([print_sums, replay, str(frame)], check=True, capture_output=True, text=True).stdout.splitlines()
    return [tuple(float(word) for word in line.split()) for line in lines]


def same_pose(place, turn, pose):
    radius, position, rotation = pose[0], pose[1:4], pose[4:8]
    slack = radius / 100 + 1e-4 if math.isfinite(radius) else 1e-4
    dot = abs(sum(p * q for p, q in zip(turn, rotation))) / math.hypot(*turn) / math.hypot(*rotation)
    return math.dist(place, position) < slack and math.acos(min(dot, 1)) * 2 < 0.006


def check_run(glb, print_sums, replay, frames):
    """Nodes are the bodies in their order, then the camera."""
    channels = channels_of(glb)
    seconds = max(times[-1] for times, _, _ in channels.values()) / frames
    bodies = [node for node in glb.json["nodes"] if "mesh" in node]
    moved = 0
    for frame in sorted({0, 1, frames // 3, frames // 2, frames - 1, frames}):
        poses = true_poses(print_sums, replay, frame)
        assert len(poses) == len(bodies)
        for i, (node, pose) in enumerate(zip(bodies, poses)):
            place = sample(channels[i, "translation"], frame * seconds, "translation") if (i, "translation") in channels else node["translation"]
            turn = sample(channels[i, "rotation"], frame * seconds, "rotation") if (i, "rotation") in channels else node["rotation"]
            assert same_pose(place, turn, pose), f"frame {frame} body {i}: {place} {turn} for {pose}"
            moved += math.dist(place, node["translation"]) > 0.01
    assert moved > 0


def check_frame(glb, print_sums, replay, frame):
    assert glb.json["extensionsRequired"] == ["EXT_mesh_gpu_instancing"]
    poses = sorted(true_poses(print_sums, replay, frame), key=lambda pose: pose[1:4])
    placed = []
    for node in glb.json["nodes"]:
        if "mesh" in node:
            attributes = node["extensions"]["EXT_mesh_gpu_instancing"]["attributes"]
            placed += zip(glb.values[attributes["TRANSLATION"]], glb.values[attributes["ROTATION"]])
    assert len(placed) == len(poses)
    for (place, turn), pose in zip(sorted(placed), poses):
        assert same_pose(place, turn, pose)


def load_by_packages(path):
    loaded = []
    try:
        import pygltflib
        pygltflib.GLTF2().load(path)
        loaded.append("pygltflib")
    except ImportError:
        pass
    try:
        import trimesh
        assert len(trimesh.load(path).geometry) > 0
        loaded.append("trimesh")
    except ImportError:
        pass
    return loaded


def gltfpack_takes(path):
    packed = subprocess.run(["gltfpack", "-i", path, "-o", path + ".packed.glb"], capture_output=True, text=True)
    return packed.returncode == 0


def validate(path):
    if shutil.which("gltfpack") is None:
        return "not validated"
    assert gltfpack_takes(path), path
    with open(path, "rb") as file:
        data = file.read()
    count = data.index(b'"count":') + len(b'"count":')
    damaged = path + ".damaged.glb"
    with open(damaged, "wb") as file:
        file.write(data[:count] + b"9" + data[count + 1:])
    assert data[count:count + 1] != b"9" and not gltfpack_takes(damaged)
    return "validated by gltfpack"


def main():
    program, print_sums, folder = sys.argv[1:4]
    os.makedirs(folder, exist_ok=True)
    for scene, count, frames in SCENES:
        replay, whole, one = (os.path.join(folder, scene + ending) for ending in (".replay", ".glb", "_frame.glb"))
        run = [program, "run", scene, "--backend", "cpu", "--bodies", str(count), "--frames", str(frames), "--record", replay, "--gltf", whole]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([program, "replay", replay, "--gltf", one, "--gltf-frame", str(frames)], check=True, stdout=subprocess.DEVNULL)
        run, frame = Glb(whole), Glb(one)
        if scene != "landscape":  # whose field has half a million triangles
            check_meshes(run)
            check_meshes(frame)
        if scene == "dice":
            check_colours(run)
            check_colours(frame)
        check_run(run, print_sums, replay, frames)
        check_frame(frame, print_sums, replay, frames)
        print(f"{scene}: {os.path.getsize(whole)} and {os.path.getsize(one)} bytes, "
              f"loaded by {load_by_packages(whole) or 'no package'}, {validate(whole)}")
    return 0


sys.exit(main())
