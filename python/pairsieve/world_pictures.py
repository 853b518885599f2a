"""Pictures and videos of a World by rays: sun, shadows, sky, mirrors and glass (docs/how/rendering.md)."""

from __future__ import annotations

import base64
import html
import math
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
import webbrowser
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ._native import ArgumentError, Context, UnsupportedError, Worker, ffi, integer, lib, locked
from .pictures import Picture, Video, in_notebook, with_progress
from .typing import Vector

_FROM = np.array([0.554, 0.446, 0.705])  # direction from which bodies are seen, unless a scene or the caller says
_viewers: list[subprocess.Popen[bytes]] = []  # that show() opened
_SKIES = {"auto": "PSV_SKY_AUTO", "day": "PSV_SKY_DAY", "space": "PSV_SKY_SPACE"}


class _Renderer:
    """A psv_renderer and its buffer of pixels, for pictures of up to one size."""

    def __init__(self, context: Context, world: Any, width: int, height: int) -> None:
        definition = ffi.new("psv_renderer_def *", lib.psv_default_renderer_def())
        definition.world, definition.max_width, definition.max_height = world, width, height
        made = ffi.new("psv_renderer **")
        context.check(lib.psv_create_renderer(context.handle, definition, made))
        self.context, self.handle = context, made[0]
        self.width, self.height = width, height
        self.pixels = ffi.new("psv_buffer *")
        status = lib.psv_alloc_buffer(context.handle, 4 * width * height, self.pixels)
        if status != lib.PSV_OK:
            lib.psv_destroy_renderer(self.handle)
            context.check(status)

    def close(self) -> None:
        lib.psv_destroy_renderer(self.handle)
        lib.psv_free_buffer(self.context.handle, self.pixels)

    def fits(self, width: int, height: int) -> bool:
        return width <= self.width and height <= self.height

    def render(self, picture: Any, samples: int, owner: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """(height, width, 3): the sum of so many pictures of bodies that rest."""
        width, height, nothing = int(picture.width), int(picture.height), ffi.new("psv_buffer *")[0]
        for sample in range(samples):
            picture.rests = sample > 0
            call, keep = lib.psv_render_world, (owner, self, picture)
            self.context.check(self.context.run(width * height, keep, call, self.handle, picture, self.pixels[0], nothing))
            picture.frame += 1
        out = np.empty((height, width, 4), np.uint8)
        self.context.check(lib.psv_download(self.context.handle, ffi.cast("void *", out.ctypes.data), self.pixels[0], out.nbytes))
        return np.ascontiguousarray(out[:, :, :3])


def _three(value: Any, name: str) -> list[float]:
    made = [float(number) for number in value]
    if len(made) != 3:
        raise ArgumentError(f"{name} is {value!r}; 3 numbers are wanted")
    return made


def find_viewer() -> str | None:
    """The program pairsieve-view: beside the package, beside Python, or on the PATH."""
    name = "pairsieve-view.exe" if sys.platform == "win32" else "pairsieve-view"
    for folder in (Path(__file__).parent, Path(sys.executable).parent):
        if os.access(folder / name, os.X_OK):
            return str(folder / name)
    return shutil.which(name)


def _missing(program: str | None) -> str | None:
    """A sentence about what the viewer lacks; None where it can be opened."""
    if program is None:
        return ("pairsieve-view is neither on the PATH nor beside the package: Debian's package pairsieve-view has it, and so has "
                "'cmake --install' of the project")
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return "there is no display: DISPLAY and WAYLAND_DISPLAY are not set"
    return None


def _temporary(suffix: str) -> str:
    handle, name = tempfile.mkstemp(prefix="pairsieve-", suffix=suffix)
    os.close(handle)
    return name


class WorldPictures(Worker):
    """The part of World that people look at."""

    handle: Any
    device: int
    _scene: Any
    _renderers: list[_Renderer]  # none or one; the world's finalizer closes it

    def step(self, seconds: float | None = None, count: int = 1) -> None:
        raise NotImplementedError

    def _places(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Centres (n, 3) and radii (n,) of the bodies that are no ground, in host memory; of all where none moves."""
        slots = int(lib.psv_world_slot_count(self.handle))
        arrays = []
        for buffer in (lib.psv_world_positions(self.handle), lib.psv_world_velocities(self.handle)):
            out = np.empty((slots, 4), np.float32)
            if slots:
                self.context.check(lib.psv_download(self.context.handle, ffi.cast("void *", out.ctypes.data), buffer, out.nbytes))
            arrays.append(out.astype(np.float64))
        place, velocity = arrays
        here = (place[:, 3] > 0) & (place[:, 3] < 1e6) & np.isfinite(place).all(axis=1)
        moving = here & (velocity[:, 3] > 0)
        wanted = moving if moving.any() else here
        return place[wanted, :3], place[wanted, 3]

    def _view(self, field: float, aspect: float, frame_all: bool) -> tuple[list[float], list[float]]:
        """(eye, target): the scene's, or from its side so far away that all bodies are seen. Of many bodies one in 200 may lie outside:
        it may be lost far away."""
        eye, target = np.zeros(3), np.zeros(3)
        if self._scene != ffi.NULL:
            places = ffi.new("float[3]"), ffi.new("float[3]")
            lib.psv_scene_view(self._scene, *places)
            eye, target = (np.array(list(place)) for place in places)
        has_camera = self._scene != ffi.NULL and bool((eye != target).any())  # that of a snapshot has none
        centre, radius = self._places()
        if has_camera and (len(centre) == 0 or not frame_all):
            return eye.tolist(), target.tolist()
        if len(centre) == 0:
            return [8.0, 6.0, 10.0], [0.0, 1.0, 0.0]
        towards = (eye - target) / np.linalg.norm(eye - target) if has_camera else _FROM / np.linalg.norm(_FROM)
        right = np.cross([0, 1, 0], towards)
        right = np.array([1.0, 0, 0]) if np.linalg.norm(right) < 1e-6 else right / np.linalg.norm(right)
        low, high = (np.percentile(centre + side * radius[:, None], share, axis=0) for side, share in ((-1, 0.5), (1, 99.5)))
        target = (low + high) / 2
        offset = centre - target
        half = math.tan(min(field, 3.0) / 2)
        needed = [np.abs(offset @ axis) / size + radius * math.sqrt(1 + 1 / size**2) + offset @ towards
                  for axis, size in ((right, half * aspect), (np.cross(towards, right), half))]
        distance = 1.04 * float(np.percentile(np.maximum(*needed), 99.5))
        return (target + distance * towards).tolist(), target.tolist()

    def _picture_def(self, width: int, height: int, eye: Vector | None, target: Vector | None, up: Vector, field: float,
                     sun: Vector | None, sky: str, mirrors: float, glass: float, denoise: bool, seed: int, frame_all: bool) -> Any:
        made = ffi.new("psv_picture_def *", lib.psv_default_picture_def())
        made.width, made.height = integer(width, "width", 1, 16384), integer(height, "height", 1, 16384)
        if sky not in _SKIES:
            raise ArgumentError(f"sky is {sky!r}; accepted: {', '.join(_SKIES)}")
        made.sky = getattr(lib, _SKIES[sky])
        if eye is None or target is None:
            seen = self._view(field, made.width / made.height, frame_all)
            eye, target = seen[0] if eye is None else eye, seen[1] if target is None else target
        camera = made.camera
        camera.eye, camera.target, camera.up, camera.field = _three(eye, "eye"), _three(target, "target"), _three(up, "up"), field
        if sun is not None:
            made.sun = _three(sun, "sun")
        made.mirrors, made.glass, made.denoise = mirrors, glass, denoise
        made.seed = integer(seed, "seed", most=(1 << 32) - 1)
        return made

    def _renderer(self, width: int, height: int) -> _Renderer:
        if self._renderers and not self._renderers[0].fits(width, height):
            self._renderers.pop().close()
        if not self._renderers:
            self._renderers.append(_Renderer(self.context, self.handle, width, height))
        return self._renderers[0]

    @locked
    def picture(self, width: int = 960, height: int = 540, *, eye: Vector | None = None, target: Vector | None = None,
                up: Vector = (0, 1, 0), field: float = math.pi / 4, samples: int = 8, sun: Vector | None = None,
                sky: Literal["auto", "day", "space"] = "auto", mirrors: float = 0.04, glass: float = 0.04, denoise: bool = True,
                seed: int = 1, frame_all: bool = False) -> Picture:
        """A ray-traced picture of the bodies as they are now. Waits for the device.

        Parameters
        ----------
        width, height : int
            Pixels, 1 to 16,384.
        eye, target, up : 3 numbers, optional
            Place of the camera and what it looks at, metres. Default: the scene's; of other worlds all bodies are in view.
        field : float
            Vertical angle of view, radians, at most 3.
        samples : int
            Pictures that add up to this one: more are smoother and take longer.
        sun : 3 numbers, optional
            Direction to the sun.
        sky : str
            "day", "space" (dark), or "auto": space where the world has no ground.
        mirrors, glass : float
            Shares of the bodies, 0 to 1.
        denoise : bool
            Smooth the light over surfaces.
        seed : int
            Of the random numbers; the same calls give the same picture.
        frame_all : bool
            All bodies of a scene are in view, too, from the side of its camera.
        """
        definition = self._picture_def(width, height, eye, target, up, field, sun, sky, mirrors, glass, denoise, seed,
                                       frame_all)
        return Picture(self._renderer(width, height).render(definition, integer(samples, "samples", 1, 65536), self))

    def video(self, path: str | os.PathLike[str], count: int = 240, *, width: int = 960, height: int = 540,
              frames_per_second: float = 60, steps: int = 1, seconds: float | None = None, progress: bool | None = None,
              **camera: Any) -> None:
        """Steps the world and writes a video of `count` frames, complete or not at all.

        Parameters
        ----------
        path : path
            mp4, mkv, mov, webm by ffmpeg, of the system or of imageio-ffmpeg; gif, png (animated) and webp by Pillow.
        steps, seconds
            Steps for each frame, and as of :meth:`step`. The first frame is the world as it is.
        progress : bool, optional
            As of :meth:`step`.
        **camera
            As of :meth:`picture`; samples is 2 without it. The camera stays where it is in the first frame.

        Raises UnsupportedError without the program that writes such a file, FileError where it cannot be written.
        """
        count, steps = integer(count, "count", 1), integer(steps, "steps")
        samples = integer(camera.pop("samples", 2), "samples", 1, 65536)
        names = {"eye": None, "target": None, "up": (0, 1, 0), "field": math.pi / 4, "sun": None, "sky": "auto", "mirrors": 0.04,
                 "glass": 0.04, "denoise": True, "seed": 1, "frame_all": False}
        for name in camera:
            if name not in names:
                raise ArgumentError(f"'{name}' is no argument of a video; accepted: samples, {', '.join(names)}")
        with self._lock:
            definition = self._picture_def(width, height, **{**names, **camera})
        with Video(path, width, height, frames_per_second) as video:
            for frame in with_progress(count, "video", progress):
                if frame:
                    self.step(seconds, steps)
                video.add(self._rendered(definition, samples))

    @locked
    def _rendered(self, definition: Any, samples: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        return self._renderer(int(definition.width), int(definition.height)).render(definition, samples, self)

    def save(self, path: Any) -> None:
        raise NotImplementedError

    def show(self, width: int = 960, height: int = 540, *, viewer: bool | None = None, **camera: Any) -> None:
        """Shows the world: in a notebook as a picture below the cell, otherwise in a window of pairsieve-view.

        The viewer begins with the world as it is now, paused, and goes on by itself; the program does not wait for it. Emitters and
        turning gravity of scenes are not in it. Without the viewer a picture is opened by the program that the system has for PNG files,
        and a warning says what is missing.

        Parameters
        ----------
        width, height : int
            Pixels.
        viewer : bool, optional
            True: the viewer, or UnsupportedError with what is missing. False: a picture. None: the viewer if it can be had, and neither
            a notebook nor `camera` asks for a picture.
        **camera
            As of :meth:`picture`.
        """
        if camera and viewer:
            raise ArgumentError(f"'{next(iter(camera))}' is for pictures; the viewer has a camera of its own")
        if viewer or (viewer is None and not camera and not in_notebook()):
            program = find_viewer()
            missing = _missing(program)
            if program is not None and missing is None:
                self._open_viewer(program, integer(width, "width", 64, 16384), integer(height, "height", 64, 16384))
                return
            if viewer:
                raise UnsupportedError(f"the viewer cannot be opened: {missing}")
            warnings.warn(f"{missing}; show() opens a picture instead", stacklevel=2)
        made = self.picture(width, height, **camera)
        if in_notebook():
            import IPython.display

            notebook: Any = IPython.display
            notebook.display(made)
            return
        name = _temporary(".png")
        made.save(name)
        webbrowser.open(Path(name).as_uri())

    def _open_viewer(self, program: str, width: int, height: int) -> None:
        name = _temporary(".world")  # the viewer reads it when it has a window; it stays until the system cleans its folder
        self.save(name)
        arguments = [program, name, "--paused", "--size", f"{width}x{height}", "--backend", "cpu" if self.device < 0 else "cuda"]
        _viewers.append(subprocess.Popen(arguments, stdin=subprocess.DEVNULL, start_new_session=True))

    def _repr_png_(self) -> bytes:
        return self.picture(640, 360, samples=4)._repr_png_()

    def _repr_html_(self) -> str:
        picture = base64.b64encode(self._repr_png_()).decode("ascii")
        return (f'<figure style="margin:0"><img width="640" height="360" alt="bodies of the world" src="data:image/png;base64,{picture}">'
                f"<figcaption><code>{html.escape(repr(self))}</code></figcaption></figure>")
