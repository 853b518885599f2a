"""The shared library, its errors, and contexts: one for each object that works."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ._api import ffi as ffi
from ._interrupts import Helper, can_be_interrupted
from ._messages import in_python

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    P = ParamSpec("P")

R = TypeVar("R")
lib: Any = ffi.dlopen(str(Path(__file__).with_name("libpairsieve_native" + (".dll" if os.name == "nt" else ".so"))))

NULL: Any = ffi.NULL
_LONG = 1 << 15  # boxes, bodies or keys; calls of fewer end before anybody presses Ctrl-C


class Error(RuntimeError):
    """A call of the library failed. ``status`` is its name, e.g. ``"PSV_ERROR_DEVICE"``."""

    status = "PSV_ERROR_INTERNAL"


class ArgumentError(Error, ValueError):
    """An argument is out of its range, of the wrong shape, type or device."""

    status = "PSV_ERROR_ARGUMENT"


class CapacityError(Error):
    """A buffer is too small. ``needed`` is the size that would do, in elements; None where the sentence alone says it.

    Of pairs nothing was written past the buffer, and the count is exact.
    """

    status = "PSV_ERROR_CAPACITY"

    def __init__(self, message: str | None, needed: int | None = None) -> None:
        super().__init__(message)
        self.needed = needed


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory could not be had; the message gives the bytes."""

    status = "PSV_ERROR_MEMORY"


class DeviceError(Error):
    """The device or its driver refused or failed."""

    status = "PSV_ERROR_DEVICE"


class UnsupportedError(Error, NotImplementedError):
    """A method, backend or combination that this build or device does not offer."""

    status = "PSV_ERROR_UNSUPPORTED"


class FileError(Error, OSError):
    """A file could not be opened, read or written."""

    status = "PSV_ERROR_FILE"


class FormatError(Error, ValueError):
    """A file is damaged or not of the format; the message gives line and column, or the offset."""

    status = "PSV_ERROR_FORMAT"


class CastWarning(UserWarning):
    """An array was converted, for it was small and of another type or layout. ``cast=True`` says that this is meant."""


_errors: dict[int, type[Error]] = {
    getattr(lib, kind.status): kind
    for kind in (ArgumentError, CapacityError, OutOfMemoryError, DeviceError, UnsupportedError, FileError, FormatError)
}


def text(pointer: Any) -> str | None:
    """A string of the library; None where it is NULL."""
    return None if pointer == NULL else ffi.string(pointer).decode()


def last_error(context: Any = NULL) -> str:
    """The library's sentence about its last failure, in the names of this package."""
    return in_python(text(lib.psv_last_error(context)) or "")


def name_of(text: str, argument: str) -> Any:
    """The name of a method for the library, which reads it while the object is kept."""
    if not isinstance(text, str):
        raise ArgumentError(f"{argument} is {text!r}; a name is wanted")
    return ffi.new("char[]", _whole(text.encode(), argument))


def _whole(name: bytes, argument: str) -> bytes:
    """The bytes of a name, which C would read up to the first NUL."""
    if b"\0" in name:
        raise ArgumentError(f"{argument} is {name!r}; it has a NUL")
    return name


def path_of(path: str | bytes | os.PathLike[Any], argument: str = "path") -> bytes:
    """The bytes of a path: of text, bytes or what :func:`os.fspath` takes."""
    try:
        return _whole(os.fsencode(path), argument)
    except TypeError:
        raise ArgumentError(f"{argument} is {path!r}; a path is wanted") from None


def integer(value: Any, argument: str, least: int = 0, most: int = (1 << 64) - 1) -> int:
    """An integer in a range, of what Python and NumPy count with."""
    try:
        number: int = value.__index__()
    except (AttributeError, TypeError):
        raise ArgumentError(f"{argument} is {value!r}; an integer is wanted") from None
    if not least <= number <= most:
        limit = f"{least} to {most}" if most < (1 << 31) else f"{least} or more" if number < least else f"at most {most}"
        raise ArgumentError(f"{argument} is {number}; {limit} is wanted")
    return number


def check(status: int, context: Any = NULL) -> None:
    """Raises the error of a status, with the library's sentence."""
    if status != lib.PSV_OK:
        kind = _errors.get(status, Error)
        # Sentences about files name files and the fields in them, which keep their names.
        of_file = kind in (FileError, FormatError)
        raise kind((text(lib.psv_last_error(context)) or "") if of_file else last_error(context))


def argument_errors(call: Callable[P, R]) -> Callable[P, R]:
    """Turns the errors of cffi and NumPy about numbers and arrays that do not fit into ArgumentErrors."""

    @functools.wraps(call)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except (OverflowError, ValueError) as error:
            if isinstance(error, Error):
                raise
            raise ArgumentError(f"{call.__qualname__}: {error}") from error

    return checked


class Worker:
    """An object with a context, which one thread at a time uses."""

    context: Context
    _lock: threading.RLock  # type: ignore[valid-type, unused-ignore]  # a function in older stubs


Method = TypeVar("Method", bound=Callable[..., Any])


def locked(method: Method) -> Method:
    """Runs one call of an object at a time, since one thread at a time uses a context. With :func:`argument_errors`.

    The type is the method's own: mypy loses further keywords (``**parts``) of a method within Concatenate.
    """

    @functools.wraps(method)
    def call(self: Worker, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            if self.context.helper is not None:
                self.context.end_interrupted()
            return method(self, *args, **kwargs)

    return cast(Method, argument_errors(call))


class Context:
    """A backend, a device and a stream. Used by one thread at a time: by whoever holds its lock."""

    def __init__(self, device: int, stream: int | None = None, workers: int = 0) -> None:
        definition = lib.psv_default_context_def()
        definition.worker_count = workers
        if device < 0:
            definition.backend = lib.PSV_BACKEND_CPU
        else:
            definition.backend = lib.PSV_BACKEND_CUDA
            definition.device = device
            definition.borrow_stream = True
            definition.stream = ffi.cast("void *", stream or 0)
        made = ffi.new("psv_context **")
        keep = ffi.new("psv_context_def *", definition)
        check(lib.psv_create_context(keep, made))
        self.handle: Any = made[0]
        self.lock = threading.RLock()
        self.device = device
        self.stream: int = stream or 0
        self.helper: Helper | None = None  # where an interrupted call still runs
        self._finalizer = weakref.finalize(self, lib.psv_destroy_context, self.handle)

    def check(self, status: int) -> None:
        if status != lib.PSV_OK:
            check(status, self.handle)

    def run(self, amount: int, keep: Any, call: Callable[..., int], *args: Any) -> int:
        """call(*args), a status. A long call of the main thread ends for Python when Ctrl-C is pressed. The library then
        goes on behind it, and the next call on this context waits for it. `keep` and `args` hold what the call works on."""
        if amount < _LONG or self.device >= 0 or not can_be_interrupted():
            return call(*args)
        self.helper = Helper.take()
        status = self.helper.run(call, args, (self, keep))
        self.helper = None
        return status

    def end_interrupted(self) -> None:
        """Waits for a call that was interrupted."""
        if self.helper is not None:
            self.helper.wait()
            self.helper = None

    def use_stream(self, stream: int | None) -> None:
        stream = stream or 0
        if self.device >= 0 and stream != self.stream:
            self.check(lib.psv_set_stream(self.handle, ffi.cast("void *", stream)))
            self.stream = stream

    def synchronize(self) -> None:
        self.check(lib.psv_synchronize(self.handle))

    def device_name(self) -> str:
        """For people: the processor's or the card's name."""
        return text(lib.psv_context_device_name(self.handle)) or "?"


class Profiled(Worker):
    """What of an object with a context times the phases of its frames or steps."""

    @locked
    def enable_profile(self, on: bool = True) -> None:
        """Time the phases of frames, or of a world's steps, from here on."""
        self.context.check(lib.psv_enable_profile(self.context.handle, on))

    @locked
    def profile(self) -> dict[str, float]:
        """Milliseconds of the last frame or step by phase, as a dict; ``frame`` is the whole. Waits for the device."""
        out = ffi.new("psv_profile *")
        self.context.check(lib.psv_wait_profile(self.context.handle, out))
        times: dict[str, float] = {"frame": out.frame_ms}
        for phase in range(lib.PSV_PHASE_COUNT):
            if out.phase_ms[phase] > 0:
                times[text(lib.psv_phase_name(phase)) or "?"] = out.phase_ms[phase]
        return times


def names_of(first: list[str], name_at: Callable[[int], Any]) -> list[str]:
    """`first`, and the names that the library numbers from 0 on."""
    names = list(first)
    while (name := text(name_at(len(names) - len(first)))) is not None:
        names.append(name)
    return names


def address_of(buffer: Any) -> int:
    """The address of a buffer of the library."""
    return int(ffi.cast("uintptr_t", buffer.address)) + int(buffer.offset)


def buffer_of(pointer: int, nbytes: int) -> Any:
    return lib.psv_buffer_of(ffi.cast("void *", pointer), nbytes)
