"""Bodies and pairs as a stream of Rerun (rerun-sdk), for its viewer or a file.

    import rerun, pairsieve
    from pairsieve.rerun import log_pairs, log_world
    rerun.init("drop", spawn=True)
    world = pairsieve.World.scene("drop", bodies=1000)
    for _ in range(240):
        world.step()
        log_world(world)

Each call logs the newest step into the current recording of Rerun, or into `recording`, on the time line "step". On a GPU it waits for
the step and copies what it logs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._native import ArgumentError
from ._peers import peer
from .world import World

rerun = peer("rerun", "pairsieve.rerun", "rerun")

_BODY, _STATIC = (86, 156, 214), (150, 150, 150)


def _host(array: Any) -> np.ndarray[Any, np.dtype[Any]]:
    return np.asarray(array.get() if hasattr(array, "get") else array.cpu() if hasattr(array, "cpu") else array)


def log_world(world: World, entity: str = "world", *, step: int | None = None, recording: Any = None) -> int:
    """Logs the bodies of a world: their boxes as ``entity/boxes``, their velocities as arrows ``entity/velocities``.

    Parameters
    ----------
    world : World
    entity : str
        Path in the recording.
    step : int, optional
        Place on the time line "step"; the number of steps that the world has made.
    recording : rerun.RecordingStream, optional

    Returns
    -------
    int
        Bodies that were logged: those whose boxes are finite, so no plane.
    """
    rerun.set_time("step", sequence=world.counters()["frame"] if step is None else step, recording=recording)
    boxes, velocity = _host(world.boxes).reshape(-1, 2, 3), _host(world.velocities)
    low, high = boxes[:, 0], boxes[:, 1]
    here = np.isfinite(boxes).all(axis=(1, 2)) & (low <= high).all(axis=1) & (np.abs(boxes).max(axis=(1, 2)) < 1e6)
    moves = velocity[here, 3] > 0
    low, high = low[here], high[here]
    colors = np.where(moves[:, None], _BODY, _STATIC).astype(np.uint8)
    rerun.log(f"{entity}/boxes", rerun.Boxes3D(mins=low, sizes=high - low, colors=colors), recording=recording)
    rerun.log(f"{entity}/velocities", rerun.Arrows3D(origins=((low + high) / 2)[moves], vectors=velocity[here, :3][moves]),
              recording=recording)
    return len(low)


def log_pairs(boxes: Any, pairs: Any, entity: str = "pairs", *, recording: Any = None) -> int:
    """Logs overlapping pairs as lines between the middles of their boxes.

    boxes (n, 6), pairs (count, 2) as :func:`pairsieve.find_pairs` takes and gives them. Returns the number of lines.
    """
    boxes, pairs = _host(boxes), _host(pairs)
    if boxes.ndim != 2 or boxes.shape[1] != 6 or pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ArgumentError(f"boxes have shape {boxes.shape} and pairs {pairs.shape}; (n, 6) and (count, 2) are wanted")
    if len(pairs) and not 0 <= pairs.min() <= pairs.max() < len(boxes):
        raise ArgumentError(f"pairs hold {pairs.min()} to {pairs.max()}; numbers of the {len(boxes)} boxes are wanted")
    middles = (boxes[:, :3] + boxes[:, 3:]) / 2
    rerun.log(entity, rerun.LineStrips3D(middles[pairs], radii=0.01), recording=recording)
    return len(pairs)


def __getattr__(name: str) -> Any:
    """For type checkers, which take this file for Rerun where Rerun is not installed."""
    raise AttributeError(f"module 'pairsieve.rerun' has no attribute '{name}'")
