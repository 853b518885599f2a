"""The shared library, its errors, and contexts: one for each object that works."""

import functools
import os
import threading
import weakref
from pathlib import Path

from ._api import ffi

lib = ffi.dlopen(str(Path(__file__).with_name("libpairsieve_native.so")))

NULL = ffi.NULL


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

    def __init__(self, message, needed=None):
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


_errors = {
    getattr(lib, kind.status): kind
    for kind in (ArgumentError, CapacityError, OutOfMemoryError, DeviceError, UnsupportedError, FileError, FormatError)
}


def text(pointer):
    return None if pointer == NULL else ffi.string(pointer).decode()


def name_of(text, argument):
    """The name of a method for the library, which reads it while the object is kept."""
    if not isinstance(text, str):
        raise ArgumentError(f"{argument} is {text!r}; a name is wanted")
    return ffi.new("char[]", _whole(text.encode(), argument))


def _whole(name, argument):
    """The bytes of a name, which C would read up to the first NUL."""
    if b"\0" in name:
        raise ArgumentError(f"{argument} is {name!r}; it has a NUL")
    return name


def path_of(path, argument="path"):
    """The bytes of a path: of text, bytes or what :func:`os.fspath` takes."""
    try:
        return _whole(os.fsencode(path), argument)
    except TypeError:
        raise ArgumentError(f"{argument} is {path!r}; a path is wanted") from None


def check(status, context=NULL):
    """Raises the error of a status, with the library's sentence."""
    if status != lib.PSV_OK:
        raise _errors.get(status, Error)(text(lib.psv_last_error(context)))


def argument_errors(call):
    """Turns the errors of cffi and NumPy about numbers and arrays that do not fit into ArgumentErrors."""

    @functools.wraps(call)
    def checked(*args, **kwargs):
        try:
            return call(*args, **kwargs)
        except (OverflowError, ValueError) as error:
            if isinstance(error, Error):
                raise
            raise ArgumentError(f"{call.__qualname__}: {error}") from error

    return checked


def locked(method):
    """Runs one call of an object at a time, since one thread at a time uses a context. With :func:`argument_errors`."""

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        with self._lock:
            return method(self, *args, **kwargs)

    return argument_errors(call)


class Context:
    """A backend, a device and a stream. Used by one thread at a time: by whoever holds its lock."""

    def __init__(self, device, stream=None, workers=0):
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
        self.handle = made[0]
        self.lock = threading.RLock()
        self.device = device
        self.stream = stream or 0
        self._finalizer = weakref.finalize(self, lib.psv_destroy_context, self.handle)

    def check(self, status):
        if status != lib.PSV_OK:
            check(status, self.handle)

    def use_stream(self, stream):
        stream = stream or 0
        if self.device >= 0 and stream != self.stream:
            self.check(lib.psv_set_stream(self.handle, ffi.cast("void *", stream)))
            self.stream = stream

    def synchronize(self):
        self.check(lib.psv_synchronize(self.handle))


class Profiled:
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
        return {"frame": out.frame_ms} | {
            text(lib.psv_phase_name(phase)): out.phase_ms[phase] for phase in range(lib.PSV_PHASE_COUNT) if out.phase_ms[phase] > 0}


def buffer_of(pointer, nbytes):
    return lib.psv_buffer_of(ffi.cast("void *", pointer), nbytes)
