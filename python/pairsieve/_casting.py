"""Arrays as the library wants them: taken as they are where they fit, else converted once.

An array that does not fit is converted where the caller says ``cast=True``, or where it is small; then a CastWarning says so, once for
each kind of array. ``cast=False`` refuses it. Lists count as small. Integers that do not fit, and floats for integers, are always refused.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _arrays
from ._arrays import View, view
from ._native import ArgumentError, CastWarning

Cast = bool | None

_SMALL = 1 << 16  # numbers; to convert so many takes less than a tenth of a millisecond
_EXACT_IN_FLOAT32 = ("float16", "int8", "uint8", "int16", "uint16", "bool", "float32")
_HOME = str(Path(__file__).parent)
_noted: set[tuple[str, str]] = set()


def _note(name: str, what: str) -> None:
    """Warns once for each argument and conversion, at the line of the program that called the package."""
    if (name, what) in _noted:
        return
    _noted.add((name, what))
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        frame = frame.f_back
        depth += 1
    warnings.warn(f"{name} was converted: {what}. Give it as wanted, or cast=True", CastWarning, stacklevel=depth)


def _allow(one: View, name: str, cast: Cast, is_list: bool, problem: str, what: str) -> None:
    """Raises `problem` unless this array may be converted; says `what` happens to it."""
    size = 1
    for n in one.shape:
        size *= n
    if cast is None and not is_list and size > _SMALL:
        raise ArgumentError(f"{problem}. cast=True converts it")
    if cast is False:
        raise ArgumentError(problem)
    if cast is None and not is_list:
        _note(name, what)


def best(dtype: str, accepted: Sequence[str]) -> str:
    """The type of `accepted` that an array becomes: that which loses least."""
    if dtype in accepted:
        return dtype
    if "float64" in accepted and dtype not in _EXACT_IN_FLOAT32:
        return "float64"
    return accepted[0]


def _check_integers(source: Any, dtype: str, name: str) -> None:
    """Refuses floats, and integers that are not of the 32 or 8 bits of `dtype`, signed or not."""
    bits = 8 * np.dtype(dtype).itemsize
    if 0 in tuple(source.shape):
        return
    least, most = int(source.min()), int(source.max())
    if least < -(1 << (bits - 1)) or most >= 1 << bits:
        raise ArgumentError(f"{name} holds {least if least < 0 else most}; numbers of {bits} bits are wanted")


def _rounded(arrays: Any, source: Any, made: Any, direction: int) -> Any:
    """`made`, float32 of `source`, on the given side of it: -1 below, 1 above."""
    wrong = made > source if direction < 0 else made < source
    towards = arrays.full_like(made, -np.inf if direction < 0 else np.inf)
    return arrays.where(wrong, arrays.nextafter(made, towards), made)


def _module_of(one: View, name: str) -> Any:
    """The library that converts arrays of this kind, with NumPy's names of functions."""
    if one.maker == "torch":
        import torch

        return torch
    if one.maker == "jax":
        import jax.numpy

        return jax.numpy
    if one.maker == "cupy":
        import cupy

        return cupy
    if one.device >= 0:
        raise ArgumentError(f"{name}: arrays of {one.maker} on a GPU are not converted; give {name} as wanted")
    return np


def _refuse_floats(one: View, name: str, dtype: str) -> None:
    if dtype[0] != "f" and one.dtype[0] == "f":
        raise ArgumentError(f"{name} holds {one.dtype}; {dtype} is wanted, and floats are not rounded to integers")


def converted(one: View, name: str, dtype: str, direction: int = 0) -> View:
    """A contiguous array of `dtype` in the library of `one`; float32 of wider numbers at the side `direction` of them, if given."""
    arrays = _module_of(one, name)
    source: Any = one.owner[0] if isinstance(one.owner, tuple) else one.owner
    if one.maker == "warp":
        source = source.numpy()
    elif arrays is np:
        source = np.asarray(source)
    if dtype[0] != "f":
        if one.dtype != "bool":
            _check_integers(source, dtype, name)
        if arrays is np and one.dtype != "bool":
            source = source.astype(np.int64)  # so that numbers of 32 bits without a sign wrap
    wide: Any = source
    if one.maker == "torch":
        made = wide.to(getattr(arrays, dtype)).contiguous()
        wide = wide.to(arrays.float64)
    else:
        with np.errstate(over="ignore"):  # beyond float32 lies infinity, on the right side
            made = arrays.ascontiguousarray(source.astype(dtype)) if one.maker != "jax" else source.astype(dtype)
    if direction and dtype == "float32" and one.dtype not in _EXACT_IN_FLOAT32:
        made = _rounded(arrays, wide, made, direction)
    if one.maker == "warp":
        import warp

        made = warp.array(made, dtype=getattr(warp, dtype), device="cpu")
    return view(made, name)


def fits(one: View, dtypes: Sequence[str], columns: int) -> bool:
    """True for a table (n, columns) of such a type whose rows lie anywhere in ascending order and whose columns are adjacent."""
    return (one.dtype in dtypes and len(one.shape) == 2 and one.shape[1] == columns
            and (one.shape[0] == 0 or (one.strides[1] == one.itemsize and (one.strides[0] > 0 or one.shape[0] == 1))))


def table(array: Any, name: str, dtypes: Sequence[str], columns: int, cast: Cast = None, direction: int = 0) -> View:
    """A View of (n, columns) with adjacent columns."""
    one = view(array, name)
    if fits(one, dtypes, columns):
        return one
    problem = f"{name} is {one.dtype} {one.shape}; {' or '.join(dtypes)} (n, {columns}) with adjacent columns is wanted"
    if len(one.shape) != 2 or one.shape[1] != columns:
        raise ArgumentError(problem)
    dtype = best(one.dtype, dtypes)
    _refuse_floats(one, name, dtype)
    what = f"{one.dtype} to {dtype}" if dtype != one.dtype else "its rows to lie one behind the other"
    if direction and dtype != one.dtype:
        what += ", rounded outwards" if dtype == "float32" else ""
    _allow(one, name, cast, isinstance(array, (list, tuple)), problem, what)
    return converted(one, name, dtype, direction)


def exact(array: Any, name: str, dtypes: Sequence[str], shape: tuple[int, ...], cast: Cast = None) -> View | None:
    """A View of an array of that shape, contiguous; None of None."""
    if array is None:
        return None
    one = view(array, name)
    if one.dtype in dtypes and one.shape == shape and one.contiguous:
        return one
    problem = f"{name} is {one.dtype} {one.shape}; {' or '.join(dtypes)} {shape}, contiguous, is wanted"
    if one.shape != shape:
        raise ArgumentError(problem)
    dtype = one.dtype if one.dtype in dtypes else next((each for each in dtypes if each[0] == "i"), dtypes[0])
    _refuse_floats(one, name, dtype)
    what = f"{one.dtype} to {dtype}" if dtype != one.dtype else "its numbers to lie one behind the other"
    _allow(one, name, cast, isinstance(array, (list, tuple)), problem, what)
    return converted(one, name, dtype)


# --- boxes -------------------------------------------------------------------------------------------------------------

def _are_corners(boxes: Any) -> bool:
    if not isinstance(boxes, (tuple, list)) or len(boxes) != 2:
        return False
    return hasattr(boxes[0], "shape") or (isinstance(boxes, tuple) and np.ndim(boxes[0]) == 2)


def _in_space(parts: Sequence[View], name: str) -> View:
    """(n, 6) of boxes of two dimensions, between z = 0 and z = 0: of (n, 4), (n, 2, 2) or two (n, 2), each float32 or float64."""
    like = parts[0]
    if like.maker == "warp":
        raise ArgumentError(f"{name}: of warp give boxes of three dimensions")
    made, made_view = _arrays.empty((like.shape[0], 6), like.dtype, like)
    for corner in (0, 1):
        part = parts[min(corner, len(parts) - 1)]
        source = part.owner[0] if isinstance(part.owner, tuple) else part.owner
        if like.maker == "jax":
            source = np.asarray(source) if like.device < 0 else sys.modules["cupy"].from_dlpack(source)
        if len(parts) == 1:
            source = source[:, corner] if len(part.shape) == 3 else source[:, 2 * corner : 2 * corner + 2]
        made[:, 3 * corner : 3 * corner + 2] = source
        made[:, 3 * corner + 2] = 0
    made_view.maker = like.maker  # of JAX another library made it; results are JAX's again
    return made_view


def _two_corners(boxes: Any, name: str, dtypes: Sequence[str], cast: Cast) -> tuple[View, View | None]:
    parts = [view(boxes[i], f"{name}[{i}]") for i in (0, 1)]
    for i, one in enumerate(parts):
        if len(one.shape) != 2 or one.shape[1] not in (2, 3):
            raise ArgumentError(f"{name}[{i}] is {one.dtype} {one.shape}; float32 (n, 3) with adjacent columns is wanted, or float64")
    if parts[0].shape != parts[1].shape:
        raise ArgumentError(f"{name}[0] has {parts[0].shape[0]} corners of {parts[0].shape[1]} numbers and {name}[1] "
                            f"{parts[1].shape[0]} of {parts[1].shape[1]}")
    columns = parts[0].shape[1]
    if parts[0].dtype != parts[1].dtype and all(one.dtype in dtypes for one in parts):
        raise ArgumentError(f"{name}[0] holds {parts[0].dtype} and {name}[1] {parts[1].dtype}; one type is wanted")
    low, high = (one if fits(one, dtypes, columns) else table(boxes[i], f"{name}[{i}]", dtypes, columns, cast, direction=2 * i - 1)
                 for i, one in enumerate(parts))
    if columns == 2:
        _allow(low, name, cast, False, f"{name} are of two dimensions; (n, 3) is wanted", "boxes of two dimensions, at z = 0")
        return _in_space([low, high], name), None
    return low, high


def _rounded_outwards(one: View, name: str) -> View:
    """(n, 6) float32 around boxes (n, 6) of wider numbers."""
    source = one.owner[0] if isinstance(one.owner, tuple) else one.owner
    if one.maker == "warp":
        source = source.numpy()
    elif one.device < 0 and one.maker not in ("torch", "jax"):
        source = np.asarray(source)
    half = one.shape[1] // 2 if len(one.shape) == 2 else 1
    sides = [converted(view(side, name), name, "float32", direction)
             for side, direction in ((source[:, :half], -1), (source[:, half:], 1))]
    arrays = _module_of(one, name)
    made = (arrays.cat if one.maker == "torch" else arrays.concatenate)([side.owner[0] if isinstance(side.owner, tuple) else side.owner
                                                                         for side in sides], 1)
    if one.maker == "warp":
        import warp

        made = warp.array(made, dtype=warp.float32, device="cpu")
    return view(made, name)


def _boxes_fit(one: View, dtypes: Sequence[str]) -> bool:
    size, n = one.itemsize, one.shape[0] if one.shape else 0
    inner = {(n, 6): (size,), (n, 2, 3): (3 * size, size)}.get(one.shape)
    return one.dtype in dtypes and inner is not None and (n == 0 or (one.strides[1:] == inner and (one.strides[0] > 0 or n == 1)))


def corners(boxes: Any, name: str, dtypes: Sequence[str] = ("float32", "float64"), cast: Cast = None) -> tuple[View, View | None]:
    """Views of the first min[3] and max[3], as (min View, max View or None)."""
    if _are_corners(boxes):
        return _two_corners(boxes, name, dtypes, cast)
    one = view(boxes, name)
    if _boxes_fit(one, dtypes):
        return one, None
    shape, is_list = one.shape, isinstance(boxes, (list, tuple))
    problem = (f"{name} is {one.dtype} {shape} with strides {one.strides}; {' or '.join(dtypes)} (n, 6) or (n, 2, 3) with min and max "
               "adjacent and rows in ascending order, or two (n, 3), are wanted")
    if not (len(shape) == 2 and shape[1] in (4, 6)) and not (len(shape) == 3 and shape[1] == 2 and shape[2] in (2, 3)):
        raise ArgumentError(problem)
    dtype = best(one.dtype, dtypes)
    flat = shape[-1] in (2, 4)
    what = f"{one.dtype} to {dtype}" if dtype != one.dtype else "its rows to lie one behind the other"
    what = "boxes of two dimensions, at z = 0" if flat else what
    rounds = dtype == "float32" and one.dtype not in _EXACT_IN_FLOAT32
    if rounds:
        what += ", rounded outwards: no pair is lost, a touch may be added"
    _allow(one, name, cast, is_list, problem, what)
    made = _rounded_outwards(one, name) if rounds else converted(one, name, dtype)
    return (_in_space([made], name) if flat else made), None
