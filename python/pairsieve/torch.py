"""sort and argsort with the arguments and the results of torch.sort(..., stable=True), by pairsieve's sorters.

    from pairsieve.torch import sort, argsort
    values, indices = sort(x, dim=-1, descending=True)

NaN is greater than every number, -0 equals +0, equal elements keep their order, indices are int64: as PyTorch has it.
No gradients: use values = x.gather(dim, argsort(x, dim)) where they are needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ._native import ArgumentError, CapacityError
from ._peers import peer
from .segments import argsort_rows

torch = peer("torch", "pairsieve.torch", "torch")

_KEYS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64,
         torch.bool)


class Sorted(NamedTuple):
    """values: as the input; indices: int64, so that ``values = input.gather(dim, indices)``."""

    values: Any
    indices: Any


def _rows(keys: Any, descending: bool) -> Any:
    """int32 places (rows, columns) that sort each row of contiguous `keys`."""
    rows, columns = keys.shape
    index = torch.empty((rows, columns), dtype=torch.int32, device=keys.device)
    if keys.numel() == 0 or columns == 1:
        return index.zero_()
    if keys.dtype == torch.bool:
        keys = keys.view(torch.uint8)
    elif keys.dtype.is_floating_point and descending:
        keys = keys.masked_fill(keys.isnan(), float("nan"))
    offsets = torch.arange(0, keys.numel() + 1, columns, dtype=torch.int64, device=keys.device).to(torch.int32)
    argsort_rows(keys.reshape(-1), rows, offsets, index.view(-1), descending)
    return index


def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The indices of :func:`sort`: int64, of the shape and on the device of `input`."""
    if not isinstance(input, torch.Tensor):
        raise ArgumentError(f"input is a {type(input).__name__}; a tensor is wanted")
    keys = input.detach()
    if keys.dtype not in _KEYS:
        raise ArgumentError(f"input holds {input.dtype}; accepted: {', '.join(map(str, _KEYS))}")
    if keys.numel() >= 1 << 31:
        raise CapacityError(f"input has {keys.numel()} elements; at most 2147483647 are sorted at once")
    if keys.dim() == 0:
        if dim not in (-1, 0):
            raise ArgumentError(f"dim is {dim}; a tensor without dimensions has -1 and 0")
        return torch.zeros((), dtype=torch.int64, device=keys.device)
    if not -keys.dim() <= dim < keys.dim():
        raise ArgumentError(f"dim is {dim}; {-keys.dim()} to {keys.dim() - 1} are wanted")
    last = keys.movedim(dim, -1)
    columns = last.shape[-1]
    places = _rows(last.reshape(-1, columns).contiguous() if columns else last.reshape(last.numel(), 0), descending)
    return places.to(torch.int64).reshape(last.shape).movedim(-1, dim)


def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Sorted:
    """Sorts along a dimension, always stably, as ``torch.sort(input, dim=dim, descending=descending, stable=True)``.

    Parameters
    ----------
    input : tensor of any shape
        uint8, integers of 8 to 64 bits, float16, bfloat16, float32, float64 or bool. At most 2147483647 elements.
    dim : int
    descending : bool
    stable : bool
        For the callers of torch.sort: the order is stable in either case.

    Returns
    -------
    Sorted
        values and int64 indices, on the device of `input`. On a GPU nothing waits for the device.

    Raises
    ------
    ArgumentError
        `input` is no tensor, of another type, or `dim` is out of range.
    CapacityError
        Too many elements.
    """
    indices = argsort(input, dim, descending)
    return Sorted(input.detach().gather(dim, indices) if input.dim() else input.detach().clone(), indices)


def __getattr__(name: str) -> Any:
    """For type checkers, which take this file for PyTorch where PyTorch is not installed."""
    raise AttributeError(f"module 'pairsieve.torch' has no attribute '{name}'")
