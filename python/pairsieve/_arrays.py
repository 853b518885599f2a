"""Arrays of other libraries, where they are: address, shape, strides and device, and results in the same library.

Nothing is copied. NumPy, PyTorch, CuPy, Warp, Numba and JAX arrays are known; whatever else speaks
``__cuda_array_interface__``, ``__array_interface__`` or DLPack works too, and what speaks none is made a NumPy array.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from ._native import ArgumentError, UnsupportedError

_TYPES = {"f4": "float32", "f8": "float64", "i4": "int32", "u4": "uint32", "i8": "int64", "u8": "uint64", "u1": "uint8", "i1": "int8",
          "b1": "bool", "i2": "int16", "u2": "uint16", "f2": "float16", "S16": "S16"}
_SIZES = {name: np.dtype(name).itemsize for name in _TYPES.values()} | {"bfloat16": 2}


class View:
    """What is known of an array. ``strides`` are in bytes; ``device`` is -1 for host memory, else the CUDA device."""

    __slots__ = ("pointer", "shape", "strides", "dtype", "device", "stream", "maker", "owner", "writable")

    def __init__(self, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str, device: int, stream: int | None,
                 maker: str, owner: Any, writable: bool = True) -> None:
        self.pointer = pointer
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.device = device
        self.stream = stream
        self.maker = maker
        self.owner = owner
        self.writable = writable

    @property
    def itemsize(self) -> int:
        return _SIZES[self.dtype]

    @property
    def nbytes(self) -> int:
        """Bytes from the first element to behind the last."""
        if 0 in self.shape:
            return 0
        return sum((n - 1) * s for n, s in zip(self.shape, self.strides)) + self.itemsize

    @property
    def contiguous(self) -> bool:
        return self.strides == _dense(self.shape, self.itemsize) or self.nbytes == 0


def _dense(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    strides = []
    for n in reversed(shape):
        strides.append(itemsize)
        itemsize *= n
    return tuple(reversed(strides))


def stream_number(stream: Any) -> int | None:
    """A cudaStream_t as a number, from a number or a stream object of PyTorch, CuPy, Warp, Numba or CUDA Python."""
    if stream is None or isinstance(stream, int):
        return stream
    for name in ("cuda_stream", "ptr", "handle"):
        value = getattr(stream, name, None)
        if value is not None:
            return int(getattr(value, "value", value) or 0)
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    raise ArgumentError(f"stream is a {type(stream).__name__}; a cudaStream_t as a number or a stream object is wanted")


_torch_types: dict[Any, tuple[str, int]] = {}  # dtype: (name, bytes), filled when first used


def _torch_type(dtype: Any) -> tuple[str, int]:
    name = str(dtype)[6:]
    if name not in _SIZES:
        raise ArgumentError(f"the tensor holds {name}, which has no counterpart here")
    _torch_types[dtype] = name, _SIZES[name]
    return _torch_types[dtype]


def _torch_view(tensor: Any, torch: ModuleType) -> View:
    # A frame of few boxes takes microseconds: nothing here makes an object that it can do without.
    if tensor.layout is not torch.strided:
        raise ArgumentError("the tensor is sparse; a dense one is wanted")
    dtype, size = _torch_types.get(tensor.dtype) or _torch_type(tensor.dtype)
    device, stream = -1, None
    if tensor.is_cuda:
        device = tensor.get_device()
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        stream = raw(device) if raw is not None else torch.cuda.current_stream(device).cuda_stream
    elif tensor.device.type != "cpu":
        raise ArgumentError(f"the tensor lies on '{tensor.device}'; cpu or cuda is wanted")
    return View(tensor.data_ptr(), tuple(tensor.shape), tuple([s * size for s in tensor.stride()]), dtype, device, stream,
                "torch", tensor)


def _typestr(typestr: str) -> str:
    if typestr[0] == ">" or typestr[1:] not in _TYPES:
        raise ArgumentError(f"the array's type is '{typestr}', which has no counterpart here")
    return _TYPES[typestr[1:]]


def _interface_view(interface: dict[str, Any], device: int, stream: int | None, library: str, owner: Any) -> View:
    dtype = _typestr(interface["typestr"])
    shape = tuple(interface["shape"])
    strides = interface.get("strides") or _dense(shape, _SIZES[dtype])
    pointer, read_only = interface["data"]
    return View(pointer or 0, shape, tuple(strides), dtype, device, stream, library, owner, not read_only)


def _library_of(array: Any) -> str:
    name = type(array).__module__.partition(".")[0]
    return "jax" if name == "jaxlib" else name


def _cuda_interface_view(array: Any, library: str) -> View:
    interface = array.__cuda_array_interface__
    stream, device = interface.get("stream"), 0
    if library == "cupy":
        device, stream = array.device.id, sys.modules["cupy"].cuda.get_current_stream().ptr
    elif library == "warp":
        device, stream = array.device.ordinal, array.device.stream.cuda_stream
    elif library == "numba":
        stream = 0 if stream is None else stream
    # 1 and 2 name the default streams by the interface's own convention; cudaStream_t has the same numbers.
    return _interface_view(interface, device, stream, library, array)


# DLPack, as far as it is read here (version 0 and 1 share this part, behind different heads).
_dlpack = """
typedef struct { int32_t device_type; int32_t device_id; } dl_device;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } dl_type;
typedef struct {
    void *data; dl_device device; int32_t ndim; dl_type type; int64_t *shape; int64_t *strides; uint64_t byte_offset;
} dl_tensor;
"""
_dl: Any = None


def _dlpack_view(array: Any, library: str) -> View:
    global _dl
    if _dl is None:
        from cffi import FFI

        _dl = FFI()
        _dl.cdef(_dlpack)
    kind, index = (int(part) for part in array.__dlpack_device__())
    if kind not in (1, 2, 3, 13):
        raise ArgumentError(f"the array lies on a device of DLPack's kind {kind}; cpu (1) or cuda (2) is wanted")
    on_gpu = kind in (2, 13)
    capsule = array.__dlpack__(stream=1) if on_gpu else array.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _dl.cast("dl_tensor *", get(capsule, b"dltensor"))
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    code = {0: "i", 1: "u", 2: "f", 6: "b"}.get(int(tensor.type.code))
    name = _TYPES.get(f"{code}{tensor.type.bits // 8}") if tensor.type.lanes == 1 else None
    if name is None:
        raise ArgumentError(f"the array's type (DLPack code {tensor.type.code}, {tensor.type.bits} bits) has no counterpart here")
    size = _SIZES[name]
    strides = _dense(shape, size) if tensor.strides == _dl.NULL else tuple(tensor.strides[i] * size for i in range(tensor.ndim))
    pointer = int(_dl.cast("uintptr_t", tensor.data)) + tensor.byte_offset
    # The capsule holds the memory; it was not taken over, so its own destructor lets it go.
    return View(pointer, shape, strides, name, index if on_gpu else -1, 0 if on_gpu else None, library, (array, capsule))


def view(array: Any, name: str = "array") -> View:
    """A View of `array`, or that which `array` is; `name` is the argument's name for errors."""
    if type(array) is View:
        return array
    try:
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(array, torch.Tensor):
            return _torch_view(array, torch)
        library = _library_of(array)
        if library == "numpy" and isinstance(array, np.ndarray):
            return _interface_view(array.__array_interface__, -1, None, "numpy", array)
        # JAX works on streams of its own that no interface names; DLPack makes the default stream wait for them.
        if library != "jax" and hasattr(array, "__cuda_array_interface__"):
            return _cuda_interface_view(array, library)
        if library == "warp" and hasattr(array, "__array_interface__"):
            if getattr(array.device, "is_capturing", False):
                raise UnsupportedError(f"{name}: Warp's capture on the CPU records Warp's own launches alone; a replay would not "
                                       "run this call. On CUDA it can be captured")
            return _interface_view(array.__array_interface__, -1, None, "warp", array)
        if library == "jax" and isinstance(array, import_module("jax").core.Tracer):
            raise UnsupportedError(f"{name} is traced by JAX and has no values yet; within jit, vmap and scan call pairsieve.jax, or "
                                   "jax.pure_callback")
        if hasattr(array, "__dlpack__"):
            return _dlpack_view(array, library)
        made = np.asarray(array)
        return _interface_view(made.__array_interface__, -1, None, "numpy", made)
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}") from None


class Memory:
    """Memory of the library that other libraries can look at without a copy. Holds its owner alive."""

    def __init__(self, pointer: int, shape: Sequence[int], dtype: str, device: int, owner: Any) -> None:
        typestr = np.dtype(dtype).str
        interface = {"shape": tuple(shape), "typestr": typestr, "data": (pointer, False), "strides": None, "version": 3}
        if device >= 0:
            # Streams are ordered by whoever made the array: by the context, whose stream is the caller's.
            self.__cuda_array_interface__ = interface
        else:
            self.__array_interface__ = interface
        self.pointer = pointer
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype).name
        self.device = device
        self.owner = owner


def wrap(pointer: int, shape: Sequence[int], dtype: str, device: int, stream: int | None, library: str, owner: Any) -> Any:
    """An array of `library` over memory of ours; on the device the library has to be one that can hold such memory."""
    memory = Memory(pointer, shape, dtype, device, owner)
    made: Any
    empty = 0 in memory.shape
    if library == "warp":
        import warp

        kind = getattr(warp, memory.dtype)
        if device < 0:
            return warp.array(np.asarray(memory), dtype=kind, device="cpu", copy=False)
        made = warp.array(ptr=None if empty else pointer, shape=memory.shape, dtype=kind, device=f"cuda:{device}")
        made._pairsieve_owner = owner
        return made
    if device < 0:
        made = np.empty(memory.shape, dtype) if empty else np.asarray(memory)
        return from_numpy(made, library)
    if library == "torch":
        torch = import_module("torch")

        if empty:
            return torch.empty(memory.shape, dtype=getattr(torch, memory.dtype), device=f"cuda:{device}")
        return torch.as_tensor(memory, device=f"cuda:{device}")
    if library in ("cupy", "jax"):
        import cupy

        with cupy.cuda.Device(device):
            made = cupy.empty(memory.shape, dtype) if empty else cupy.asarray(memory)
        if library == "jax":
            import jax

            return jax.dlpack.from_dlpack(made)
        return made
    return memory


def read_only(array: Any) -> Any:
    """The array, of NumPy one that cannot be written to; other libraries have no such arrays."""
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array


def from_numpy(array: Any, library: str) -> Any:
    """A NumPy array as an array of another library, in host memory."""
    if library == "torch":
        torch = import_module("torch")

        return torch.from_numpy(array)
    if library == "jax":
        import jax

        return jax.numpy.asarray(array)
    return array


def empty(shape: Sequence[int], dtype: str, like: View) -> tuple[Any, View]:
    """An uninitialized array of the library and device of a View, and its View."""
    made: Any
    shape = tuple(shape)
    if like.maker == "torch":
        torch = import_module("torch")

        device = "cpu" if like.device < 0 else f"cuda:{like.device}"
        made = torch.empty(shape, dtype=getattr(torch, dtype), device=device)
    elif like.maker == "cupy" or (like.maker == "jax" and like.device >= 0):
        import cupy

        with cupy.cuda.Device(like.device):
            made = cupy.empty(shape, dtype)
    elif like.maker == "warp":
        import warp

        made = warp.empty(shape, dtype=getattr(warp, dtype), device="cpu" if like.device < 0 else f"cuda:{like.device}")
    elif like.device >= 0:
        raise ArgumentError(f"results for arrays of '{like.maker}' on a GPU need cupy or torch; give `out`")
    else:
        made = np.empty(shape, dtype)
    return made, view(made)


def finish(made: Any, like: View) -> Any:
    """What `empty` made and a call filled, as an array of the library of `like`."""
    if like.maker == "jax":
        import jax

        return jax.dlpack.from_dlpack(made) if like.device >= 0 else jax.numpy.asarray(made)
    return from_numpy(made, like.maker) if isinstance(made, np.ndarray) else made


def field(made: Any, first: int, columns: int, dtype: str, like: View) -> Any:
    """Columns of what `empty` made as float32 (.., width) and a call filled, read as `dtype` (of 4 bytes), without a copy but in JAX.
    columns 0: the one column `first`, without its dimension."""
    part: Any
    where: Any = (..., first) if columns == 0 else (..., slice(first, first + columns))
    if like.maker == "warp":
        import warp

        shape, strides = (made.shape[:-1], made.strides[:-1]) if columns == 0 else ((*made.shape[:-1], columns), made.strides)
        kind = getattr(warp, dtype)
        if 0 in shape:
            return warp.empty(shape, dtype=kind, device=made.device)
        part = warp.array(ptr=made.ptr + 4 * first, shape=shape, strides=strides, dtype=kind, device=made.device)
        part._pairsieve_owner = made
        return part
    if like.maker == "torch":
        torch = import_module("torch")

        return made.view(getattr(torch, dtype))[where]
    part = made.view(dtype)[where]
    if like.maker == "jax":
        return finish(part.copy(), like)
    return finish(part, like)


def fill_with_ones(made: Any) -> None:
    """All bits: -1 as an int32, NaN as a float32."""
    library = _library_of(made)
    if library == "warp":
        import warp

        made.view(warp.int32).fill_(-1)
    elif library == "torch":
        torch = import_module("torch")

        made.view(torch.int32).fill_(-1)
    else:
        made.view("int32").fill(-1)


def copy_into(target: Any, source: Any) -> None:
    """target[...] = source, for two arrays of one library."""
    library = _library_of(target)
    if library == "torch":
        target.copy_(source)
    elif library == "warp":
        import warp

        warp.copy(target, source)
    else:
        target[...] = source


def same_place(views: Sequence[View]) -> tuple[int, int | None]:
    """The device that all views share, and the stream to work on."""
    first = views[0]
    for other in views[1:]:
        if other.device != first.device:
            raise ArgumentError(f"arrays lie on different devices: {place(first.device)} and {place(other.device)}")
    return first.device, first.stream


def place(device: int) -> str:
    return "the CPU" if device < 0 else f"CUDA device {device}"
