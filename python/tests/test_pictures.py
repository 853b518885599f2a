"""Pictures, videos, progress and reprs."""

import io
import math
import os
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest

import pairsieve
from pairsieve import pictures


def space(*centres, radius=1.0):
    world = pairsieve.World(gravity=(0, 0, 0))
    world.add(world.sphere(radius), np.array(centres, np.float32).reshape(-1, 3))
    return world


def lit(picture):
    """Pixels of bodies before the sky of space."""
    pixels = np.asarray(picture).astype(int)
    return np.abs(pixels - np.median(pixels.reshape(-1, 3), axis=0)).sum(axis=2) > 24


@pytest.mark.parametrize("distance, field", [(5.0, math.pi / 4), (12.0, 0.6), (3.0, 1.2)])
def test_a_ball_has_its_size(distance, field):
    """The silhouette of a ball in the middle is a disk: its radius in pixels is that of a cone around the ball."""
    width, height = 160, 120
    picture = space((0, 0, 0)).picture(width, height, eye=(0, 0, distance), target=(0, 0, 0), field=field, samples=16, mirrors=0, glass=0,
                                       sun=(0.2, 0.3, 1), sky="day", denoise=False)
    expected = math.tan(math.asin(1 / distance)) / math.tan(field / 2) * height / 2
    sky = np.asarray(space((0, 0, -1e5)).picture(width, height, eye=(0, 0, distance), target=(0, 0, 0), field=field, samples=16, mirrors=0,
                                                 glass=0, sun=(0.2, 0.3, 1), sky="day", denoise=False)).astype(int)
    ball = np.abs(np.asarray(picture).astype(int) - sky).sum(axis=2) > 20
    rows, columns = (np.flatnonzero(ball.any(axis=axis)) for axis in (1, 0))
    assert abs(len(rows) / 2 - expected) < 1.5 and abs(len(columns) / 2 - expected) < 1.5
    assert abs(rows.mean() - (height - 1) / 2) < 1.5 and abs(columns.mean() - (width - 1) / 2) < 1.5


def test_default_cameras_show_all_bodies():
    for size in ((160, 90), (90, 160)):
        world = space(*[(9 * i, 3 * (i % 2), 0) for i in range(5)])
        seen = lit(world.picture(*size, samples=2, mirrors=0, glass=0, sky="space"))
        assert seen.any()
        border = np.ones_like(seen)
        border[1:-1, 1:-1] = False
        assert not (seen & border).any(), "a body is cut"
        extent = max(np.ptp(np.flatnonzero(seen.any(axis=axis))) / seen.shape[1 - axis] for axis in (0, 1))
        assert extent > 0.6, "the bodies are small"
    scene = pairsieve.World.scene("galaxy", bodies=50)
    assert (scene.picture(64, 36, samples=1).pixels != scene.picture(64, 36, samples=1, frame_all=True).pixels).any()
    assert pairsieve.World().picture(32, 20, samples=1).pixels.shape == (20, 32, 3)  # without bodies


def test_pictures_are_reproducible_and_show_steps():
    world = pairsieve.World.scene("drop", bodies=60)
    first = world.picture(96, 54, samples=2)
    np.testing.assert_array_equal(first.pixels, world.picture(96, 54, samples=2).pixels)
    before = world.hash()
    assert (world.picture(120, 40, samples=1).width, world.picture(20, 90, samples=1).height) == (120, 90)  # other sizes
    assert world.hash() == before
    world.step(count=30)
    assert (first.pixels != world.picture(96, 54, samples=2).pixels).any()
    world.add(world.box((1, 1, 1)), [(0, 9, 0)])  # shapes and bodies made after the renderer
    world.picture(96, 54, samples=1)
    del world  # and its renderer


def test_files(tmp_path):
    picture = pairsieve.World.scene("drop", bodies=40).picture(64, 36, samples=1)
    picture.save(tmp_path / "a.png")
    assert os.listdir(tmp_path) == ["a.png"]
    assert (tmp_path / "a.png").read_bytes() == picture._repr_png_()
    with pytest.raises(pairsieve.FileError, match="nowhere"):
        picture.save(tmp_path / "nowhere" / "a.png")
    image = pytest.importorskip("PIL.Image")
    np.testing.assert_array_equal(np.asarray(image.open(io.BytesIO(picture._repr_png_())).convert("RGB")), picture.pixels)
    for width, height in ((1, 1), (1, 5), (7, 1), (31, 17)):
        pixels = np.random.default_rng(width).integers(0, 256, (height, width, 3)).astype(np.uint8)
        np.testing.assert_array_equal(np.asarray(image.open(io.BytesIO(pictures.png_of(pixels)))), pixels)
    picture.save(tmp_path / "a.jpg")
    with pytest.raises(pairsieve.FileError, match="unknown"):
        picture.save(tmp_path / "a.unknown")


def test_notebooks_show_worlds():
    world = pairsieve.World.scene("drop", bodies=40)
    assert world._repr_png_()[:8] == b"\x89PNG\r\n\x1a\n"
    words = world._repr_html_()
    assert "data:image/png;base64," in words and "&lt;pairsieve.World &#x27;drop&#x27; of 41 bodies on cpu" in words


@pytest.mark.parametrize("name", ["a.gif", "a.png", "a.webp", "a.mp4"])
def test_videos(tmp_path, name):
    if name == "a.mp4" and shutil.which("ffmpeg") is None:
        pytest.skip("no ffmpeg")
    image = None if name == "a.mp4" else pytest.importorskip("PIL.Image")
    world, other = (pairsieve.World.scene("drop", bodies=40) for _ in range(2))
    world.video(tmp_path / name, 5, width=64, height=36, steps=4, samples=1)
    assert os.listdir(tmp_path) == [name]
    other.step(count=16)
    assert world.hash() == other.hash()  # four frames after the first
    if image is None:
        raw = subprocess.run(["ffmpeg", "-v", "error", "-i", tmp_path / name, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
                             capture_output=True, check=True).stdout
        frames = np.frombuffer(raw, np.uint8).reshape(-1, 36, 64, 3)
        assert len(frames) == 5 and np.abs(frames[0].astype(int) - frames[-1]).max() > 30
    else:
        file = image.open(tmp_path / name)
        assert (file.n_frames, file.size) == (5, (64, 36))


@pytest.mark.parametrize("name", ["a.gif", "a.mp4"])
def test_no_video_is_left_after_an_error(tmp_path, name, monkeypatch):
    if name == "a.mp4" and shutil.which("ffmpeg") is None:
        pytest.skip("no ffmpeg")
    if name == "a.gif":
        pytest.importorskip("PIL.Image")
    world = pairsieve.World.scene("drop", bodies=20)
    step, calls = world.step, []

    def stop(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        step(*arguments)

    monkeypatch.setattr(world, "step", stop)
    with pytest.raises(KeyboardInterrupt):
        world.video(tmp_path / name, 9, width=32, height=18, samples=1)
    assert os.listdir(tmp_path) == []
    with pytest.raises(pairsieve.FileError, match="nowhere"):
        pairsieve.World.scene("drop", bodies=20).video(tmp_path / "nowhere" / name, 2, width=32, height=18, samples=1)


@pytest.mark.parametrize("call, words", [
    (lambda w: w.picture(0, 10), ["width", "0", "16384"]),
    (lambda w: w.picture(10, 10.5), ["height", "10.5"]),
    (lambda w: w.picture(8, 8, sky="night"), ["night", "space"]),
    (lambda w: w.picture(8, 8, eye=(1, 2)), ["eye", "3"]),
    (lambda w: w.picture(8, 8, eye=(1, 2, 3), target=(1, 2, 3)), ["eye and target"]),
    (lambda w: w.picture(8, 8, field=7), ["field", "7"]),
    (lambda w: w.picture(8, 8, mirrors=0.8, glass=0.8), ["mirrors", "0.8"]),
    (lambda w: w.picture(8, 8, samples=0), ["samples", "0"]),
    (lambda w: w.video("x.gif", 0), ["count", "0"]),
    (lambda w: w.video("x.gif", 2, colour=1), ["colour", "eye"]),
])
def test_errors(call, words):
    with pytest.raises(pairsieve.ArgumentError) as error:
        call(pairsieve.World())
    for word in words:
        assert word in str(error.value)
    assert "picture." not in str(error.value)


def is_picture(opened):
    """Whether the one file that was opened is a PNG file, which goes."""
    path = opened.pop().removeprefix("file://")
    with open(path, "rb") as file:
        begin = file.read(8)
    os.remove(path)
    return begin == b"\x89PNG\r\n\x1a\n" and not opened


@pytest.mark.skipif(sys.platform == "win32", reason="the program that stands for the viewer is a shell script")
def test_show(monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("PATH", "/nothing")
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.setattr("pairsieve.world_pictures.__file__", str(tmp_path / "no" / "package.py"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no" / "python"))
    world = space((0, 0, 0), (3, 0, 0))
    world.step(count=3)
    world.show(16, 9, samples=1)
    assert is_picture(opened)
    with pytest.warns(UserWarning, match="pairsieve-view is neither on the PATH nor beside the package: .*; show.. opens a picture instead"):
        world.show(64, 64)
    assert is_picture(opened)
    with pytest.raises(pairsieve.UnsupportedError, match="the viewer cannot be opened: pairsieve-view is neither"):
        world.show(viewer=True)
    with pytest.raises(pairsieve.ArgumentError, match="'samples' is for pictures"):
        world.show(viewer=True, samples=2)
    program = tmp_path / "pairsieve-view"  # keeps what it was told
    program.write_text(f'#!/bin/sh\nprintf "%s " "$@" >{tmp_path}/part\n/bin/mv {tmp_path}/part {tmp_path}/arguments\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    world.show(320, 180)
    from pairsieve.world_pictures import _viewers
    assert _viewers.pop().wait(timeout=60) == 0 and not opened
    path, *rest = (tmp_path / "arguments").read_text(encoding="utf-8").split()
    assert rest == ["--paused", "--size", "320x180", "--backend", "cpu"]
    shown = pairsieve.World.scene(path)
    assert shown.hash() == world.hash()
    os.remove(path)
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    if sys.platform.startswith("linux"):
        with pytest.raises(pairsieve.UnsupportedError, match="there is no display: DISPLAY and WAYLAND_DISPLAY are not set"):
            world.show(viewer=True)


def test_snapshots_are_scenes(tmp_path):
    world = pairsieve.World.scene("drop", bodies=200)
    world.step(count=20)
    world.save(tmp_path / "state.world")
    shown, loaded = pairsieve.World.scene(tmp_path / "state.world"), pairsieve.World.load(tmp_path / "state.world")
    assert shown.hash() == world.hash()
    for one in (shown, loaded):
        one.step(count=5)
    assert shown.hash() == loaded.hash() != world.hash()
    np.testing.assert_array_equal(shown.picture(64, 36, samples=1).pixels, loaded.picture(64, 36, samples=1).pixels)
    for more, name in ((dict(bodies=3), "number of bodies"), (dict(seed=0), "seed"), (dict(broad_phase="rows"), "broad phase"),
                       (dict(sort_method="radix"), "sorting method")):
        with pytest.raises(pairsieve.ArgumentError, match=f"state.world is a snapshot, which has its own {name}"):
            pairsieve.World.scene(tmp_path / "state.world", **more)
    (tmp_path / "short.world").write_bytes((tmp_path / "state.world").read_bytes()[:100])
    with pytest.raises(pairsieve.FormatError):
        pairsieve.World.scene(tmp_path / "short.world")


def test_progress(monkeypatch, capfd):
    seen = []

    def bar(items, **options):
        seen.append((len(items), options["desc"], options["delay"]))
        return items

    module = types.ModuleType("tqdm.auto")
    module.tqdm = bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    world = space((0, 0, 0))
    world.step(count=3, progress=True)
    world.step(count=3, progress=False)
    world.step(count=3)  # nobody looks
    world.step()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    world.step(count=4)
    assert seen == [(3, "step", 0), (4, "step", 2)]
    assert world.counters()["frame"] == 14
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    world.step(count=2)
    with pytest.raises(pairsieve.UnsupportedError, match="tqdm"):
        world.step(count=2, progress=True)


def test_reprs():
    boxes = np.zeros((3, 6), np.float32)
    finder = pairsieve.PairFinder(1200, method="rows")
    assert repr(finder) == "<pairsieve.PairFinder for 1,200 boxes on cpu, method 'rows'>"
    assert repr(finder.find(boxes)).startswith("<pairsieve.PairFinder for 1,200 boxes on cpu, method 'rows', last frame 3 boxes, 3 pairs by ")
    tree = pairsieve.Tree(10)
    assert repr(tree) == "<pairsieve.Tree for 10 boxes on cpu, quality 'linear', nothing built>"
    assert repr(tree.build(boxes)) == "<pairsieve.Tree for 10 boxes on cpu, quality 'linear', built of 3>"
    assert repr(pairsieve.Sorter(5000, "int64", descending=True)) == (
        "<pairsieve.Sorter for 5,000 int64 keys with 4 bytes of values on cpu, descending, method 'radix'>")
    assert "7 segments of 50 uint32 keys" in repr(pairsieve.SegmentSorter(50, 7))
    world = space((0, 0, 0))
    assert repr(world) == "<pairsieve.World of 1 body on cpu, 0 steps>"
    world.step(count=2)
    assert repr(world).startswith("<pairsieve.World of 1 body on cpu, 2 steps, pairs by ")
    assert repr(world.picture(4, 3, samples=1)) == "<pairsieve.Picture of 4 x 3 pixels>"


def test_arrays_by_slot_and_by_id_agree():
    world = pairsieve.World()
    shape = world.sphere(0.5)
    first = world.add(shape, [(i * 2, 1, 0) for i in range(6)])
    world.remove(first[[1, 4]])
    ids = np.concatenate([first[[5, 0, 3]], world.add(shape, [(0, 9, 0)])])
    world.step(count=5)
    slots = world.slots(ids)
    states = world.states(ids)
    np.testing.assert_array_equal(world.positions[slots, :3], states["pose"]["position"])
    np.testing.assert_array_equal(world.rotations[slots], states["pose"]["rotation"])
    np.testing.assert_array_equal(world.velocities[slots, :3], states["velocity"])
