"""Arrays of every library that is here, on every device that is here."""

import os

import numpy as np
import pytest

import pairsieve


os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # of JAX: leave memory to the others


def _libraries():
    found = [("numpy", "cpu")]
    gpu = pairsieve.cuda_available()
    try:
        import torch

        found.append(("torch", "cpu"))
        if gpu and torch.cuda.is_available():
            found.append(("torch", "cuda"))
    except ImportError:
        pass
    if gpu:
        try:
            import cupy  # noqa: F401

            found.append(("cupy", "cuda"))
        except ImportError:
            pass
    try:
        import jax

        found.append(("jax", "cpu"))
        if gpu and any(device.platform == "gpu" for device in jax.devices()):
            found.append(("jax", "cuda"))
    except ImportError:
        pass
    try:
        import warp

        warp.config.quiet = True
        warp.init()
        found.append(("warp", "cpu"))
        if gpu and warp.is_cuda_available():
            found.append(("warp", "cuda"))
    except ImportError:
        pass
    return found


class Library:
    """Makes arrays of one library from NumPy ones, and back."""

    def __init__(self, name, device):
        self.name, self.device = name, device

    def make(self, array):
        if self.name == "torch":
            import torch

            return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
        if self.name == "cupy":
            import cupy

            return cupy.asarray(array)
        if self.name == "jax":
            import jax

            kind = "gpu" if self.device == "cuda" else "cpu"
            return jax.device_put(array, jax.devices(kind)[0])
        if self.name == "warp":
            import warp

            array = np.ascontiguousarray(array)
            return warp.array(array, dtype=getattr(warp, array.dtype.name), device="cuda:0" if self.device == "cuda" else "cpu")
        return array

    def back(self, array):
        """A NumPy array, of an array of this library."""
        made_by = type(array).__module__.partition(".")[0]
        assert made_by == self.name or (self.name == "jax" and made_by == "jaxlib"), f"an array of {made_by} for {self.name}"
        if self.name == "torch":
            return array.cpu().numpy()
        if self.name == "cupy":
            return array.get()
        if self.name == "warp":
            return array.numpy()
        return np.asarray(array)


_found = _libraries()


@pytest.fixture(params=_found, ids=[f"{name}-{device}" for name, device in _found])
def library(request):
    return Library(*request.param)


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and not pairsieve.cuda_available():
        pytest.skip("no CUDA device")
    return request.param


def pytest_collection_modifyitems(items):
    """Ctrl-C is timed: its tests come last, when no type checker runs beside them."""
    items.sort(key=lambda item: item.path.name == "test_interrupts.py")


def pytest_collection_finish(session):
    """Type checkers take the longest, and need no other test."""
    if not session.config.option.collectonly:
        for item in session.items:
            if item.path.name == "test_types.py" and hasattr(item, "callspec"):
                item.module.begin(item)
