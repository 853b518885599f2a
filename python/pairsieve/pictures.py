"""Pictures: arrays of pixels that notebooks show, files of pictures and videos, and progress of long loops."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._native import ArgumentError, FileError, UnsupportedError

Pixels = NDArray[np.uint8]

_BY_PILLOW = (".gif", ".png", ".apng", ".webp")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_of(pixels: Pixels) -> bytes:
    """A PNG file (ISO 15948) of pixels (height, width, 3) uint8. Each row holds differences to the pixel on its left."""
    height, width, _ = pixels.shape
    rows = np.empty((height, 1 + 3 * width), np.uint8)
    rows[:, 0] = 1
    rows[:, 1:] = pixels.reshape(height, -1)
    rows[:, 4:] -= pixels[:, :-1].reshape(height, -1)
    head = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)) + _chunk(b"IEND", b""))


class Picture:
    """A picture. Notebooks show it, and NumPy takes it as an array.

    pixels : (height, width, 3) uint8
        sRGB, rows from the top.
    """

    def __init__(self, pixels: Pixels) -> None:
        self.pixels = pixels

    @property
    def width(self) -> int:
        return int(self.pixels.shape[1])

    @property
    def height(self) -> int:
        return int(self.pixels.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        made: NDArray[Any] = self.pixels if dtype is None else self.pixels.astype(dtype)
        return made.copy() if copy else made

    def __repr__(self) -> str:
        """Size."""
        return f"<pairsieve.Picture of {self.width} x {self.height} pixels>"

    def _repr_png_(self) -> bytes:
        return png_of(self.pixels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file, complete or not at all: PNG, and by Pillow, where it is installed, what it knows by the name's ending.

        Raises FileError where the file cannot be written and UnsupportedError without Pillow.
        """
        target = Path(path)
        if target.suffix.lower() != ".png":
            image = _pillow(target.suffix).fromarray(self.pixels)
            try:
                return image.save(target)  # type: ignore[no-any-return, unused-ignore]
            except (OSError, ValueError) as error:
                raise FileError(f"{target}: {error}") from None
        part = _part_of(target)
        try:
            part.write_bytes(png_of(self.pixels))
            os.replace(part, target)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise FileError(f"{target} cannot be written: {error.strerror}") from None


def _part_of(target: Path) -> Path:
    """A file beside the target, with its ending, that becomes the target once it is whole."""
    return target.with_name(f"{target.stem}.pairsieve-{os.getpid()}.part{target.suffix}")


def _pillow(suffix: str) -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise UnsupportedError(f"files of the kind '{suffix}' need Pillow: pip install pillow") from None
    return Image


def _ffmpeg() -> str | None:
    """The program ffmpeg, of the system or of the package imageio-ffmpeg."""
    found = shutil.which("ffmpeg")
    if found is None:
        try:
            import imageio_ffmpeg
        except ImportError:
            return None
        try:
            found = str(imageio_ffmpeg.get_ffmpeg_exe())
        except RuntimeError:
            return None
    return found


class Video:
    """A video file that frames are added to. ``with`` closes it; after an error no file is left."""

    def __init__(self, path: str | os.PathLike[str], width: int, height: int, frames_per_second: float) -> None:
        self.target = Path(path)
        self._part = _part_of(self.target)
        self._rate = frames_per_second
        self._frames: list[Any] = []
        self._process: subprocess.Popen[bytes] | None = None
        suffix = self.target.suffix.lower()
        if suffix in _BY_PILLOW:
            self._image = _pillow(suffix)
            return
        program = _ffmpeg()
        if program is None:
            raise UnsupportedError(f"videos of the kind '{suffix}' need the program ffmpeg, or pip install imageio-ffmpeg; "
                                   f"{', '.join(_BY_PILLOW)} need Pillow alone")
        if width % 2 or height % 2:
            raise ArgumentError(f"width and height are {width} and {height}; videos have even ones")
        # The protocol keeps ffmpeg from taking a name with a colon for an address.
        self._process = subprocess.Popen(
            [program, "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r",
             str(frames_per_second), "-i", "-", "-an", "-pix_fmt", "yuv420p", f"file:{self._part}"],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE)

    def add(self, pixels: Pixels) -> None:
        """One frame more."""
        if self._process is None:
            self._frames.append(self._image.fromarray(pixels))
            return
        assert self._process.stdin is not None  # a pipe
        try:
            self._process.stdin.write(pixels.tobytes())
        except OSError:
            self._finish_process()

    def _finish_process(self) -> None:
        """Waits for ffmpeg; its words become the error."""
        process = self._process
        assert process is not None
        _, words = process.communicate()
        if process.returncode != 0:
            reason = words.decode(errors="replace").strip() or f"it ended with {process.returncode}"
            raise FileError(f"{self.target} cannot be written, ffmpeg says: {reason}")

    def _save_frames(self) -> None:
        if not self._frames:
            raise ArgumentError("the video has no frames")
        first, *rest = self._frames
        kind = {".apng": "PNG", ".png": "PNG"}.get(self.target.suffix.lower())
        try:
            first.save(self._part, format=kind, save_all=True, append_images=rest, duration=1000 / self._rate, loop=0)
        except (OSError, ValueError) as error:
            raise FileError(f"{self.target} cannot be written: {error}") from None

    def __enter__(self) -> Video:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        try:
            if kind is None:
                if self._process is None:
                    self._save_frames()
                else:
                    self._finish_process()
                os.replace(self._part, self.target)
        finally:
            if self._process is not None and self._process.poll() is None:
                self._process.kill()
                self._process.communicate()
            self._part.unlink(missing_ok=True)


def in_notebook() -> bool:
    """True where output goes to a notebook."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def with_progress(count: int, what: str, wanted: bool | None) -> Iterable[int]:
    """range(count), with a bar of tqdm where that is installed: if wanted, or by default where a person looks at a loop of seconds."""
    if wanted is False or count < 2 or (wanted is None and not (in_notebook() or (sys.stderr is not None and sys.stderr.isatty()))):
        return range(count)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if wanted:
            raise UnsupportedError("progress needs tqdm: pip install tqdm") from None
        return range(count)
    bar: Iterable[int] = tqdm(range(count), desc=what, unit=" steps", delay=0 if wanted else 2, leave=bool(wanted))
    return bar
