"""Plain answers, by NumPy alone."""

import numpy as np


def boxes(seed, count, side=None, size=1.0):
    random = np.random.default_rng(seed)
    side = max(count, 1) ** (1 / 3) * 1.2 if side is None else side
    low = (random.random((count, 3)) * side).astype(np.float32)
    return np.concatenate([low, low + (random.random((count, 3)) * size).astype(np.float32)], axis=1)


def overlaps(a, b):
    return ((a[:, None, :3] <= b[None, :, 3:]) & (b[None, :, :3] <= a[:, None, 3:])).all(axis=2)


def allowed(count, worlds=None, groups=None, masks=None, flags=None, owners=None, layers=None, layer_matrix=None, excluded=None):
    ok = np.ones((count, count), bool)
    if worlds is not None:
        ok &= worlds[:, None] == worlds[None]
    if groups is not None or masks is not None:
        ones = np.full(count, 0xFFFFFFFF, np.uint32)
        group = ones if groups is None else groups.astype(np.uint32)
        mask = ones if masks is None else masks.astype(np.uint32)
        meets = (group[:, None] & mask[None]) != 0
        ok &= meets & meets.T
    if flags is not None:
        ok &= ~((flags[:, None] & flags[None] & 1) != 0)
        off = (flags & 2) != 0
        ok &= ~(off[:, None] | off[None])
    if owners is not None:
        ok &= (owners[:, None] != owners[None]) | (owners == -1)[:, None]
    if layer_matrix is not None:
        of = np.zeros(count, np.int64) if layers is None else layers.astype(np.int64)
        bits = (layer_matrix.astype(np.uint32)[:, None] >> np.arange(32, dtype=np.uint32)) & 1
        meets = bits[np.minimum(of, 31)][:, np.minimum(of, 31)] != 0
        ok &= meets & meets.T & (of < 32)[:, None] & (of < 32)[None]
    if excluded is not None:
        ok[excluded[:, 0], excluded[:, 1]] = ok[excluded[:, 1], excluded[:, 0]] = False
    return ok


def pairs(a, **filters):
    """Ascending pairs of one set; boxes with NaN or min > max are left out."""
    with np.errstate(invalid="ignore"):
        good = (a[:, :3] <= a[:, 3:]).all(axis=1)
        hit = overlaps(a, a) & good[:, None] & good[None] & allowed(len(a), **filters)
    return np.stack(np.nonzero(np.triu(hit, 1)), axis=1).astype(np.int32)


def pairs_between(a, b):
    return np.stack(np.nonzero(overlaps(a, b)), axis=1).astype(np.int32)


def in_order(found):
    found = np.asarray(found)
    return found[np.lexsort((found[:, 1], found[:, 0]))] if len(found) else found.reshape(0, 2)
