"""Answers to queries by NumPy in double precision, one table of all queries against all items.

Floating-point results are off by rounding, so that what only just hits or misses may go either way: `sure` and `maybe` tables bracket
the answer.
"""

import numpy as np

SLACK = 2e-5  # of coordinates up to about 10
LIMIT = 2.0**126  # pairsieve/tree.h: coordinates of boxes count as this beyond


def limited(boxes):
    return np.clip(boxes, -LIMIT, LIMIT)


def ray_boxes(origins, directions, t_min, t_max, boxes, slack):
    """Distance t (queries, items) of closed, solid boxes that are `slack` larger; infinite where the ray misses."""
    o, d = origins[:, None].astype(np.float64), directions[:, None].astype(np.float64)
    low, high = boxes[None, :, :3].astype(np.float64) - slack, boxes[None, :, 3:].astype(np.float64) + slack
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (low - o) / d, (high - o) / d
    along = np.broadcast_to(d != 0, a.shape)
    inside = (low <= o) & (o <= high)
    near = np.where(along, np.fmin(a, b), np.where(inside, -np.inf, np.inf)).max(axis=2)
    far = np.where(along, np.fmax(a, b), np.where(inside, np.inf, -np.inf)).min(axis=2)
    near, far = np.maximum(near, t_min[:, None]), np.minimum(far, t_max[:, None])
    return np.where(near <= far, near, np.inf)


def ray_triangles(origins, directions, t_min, t_max, triangles, slack):
    """The same for triangles, whose weights may be `slack` outside; of rays within a triangle's plane nothing is hit."""
    o, d = origins[:, None].astype(np.float64), directions[:, None].astype(np.float64)
    p = triangles.astype(np.float64)
    ab, ac = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
    normal = np.cross(ab, ac)[None]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = ((p[None, :, 0] - o) * normal).sum(2) / (d * normal).sum(2)
        at = o + t[..., None] * d
        areas = [(np.cross(p[None, :, (i + 1) % 3] - p[None, :, i], at - p[None, :, i]) * normal).sum(2)
                 for i in range(3)]
        weights = np.stack(areas, axis=2) / (normal * normal).sum(2)[..., None]
    hit = (weights >= -slack).all(axis=2) & (t >= t_min[:, None] - slack) & (t <= t_max[:, None] + slack) & np.isfinite(t)
    return np.where(hit, t, np.inf)


def box_distances(points, boxes):
    points = points[:, None].astype(np.float64)
    out = np.maximum(np.maximum(boxes[None, :, :3] - points, points - boxes[None, :, 3:]), 0)
    return np.sqrt((out * out).sum(axis=2))


def triangle_distances(points, triangles):
    """The least distance to the plane, where the foot lies inside, and to the three edges."""
    q = points[:, None].astype(np.float64)
    p = triangles.astype(np.float64)
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    squared = np.maximum((normal * normal).sum(1), 1e-300)
    height = ((q - p[None, :, 0]) * normal).sum(2) / np.sqrt(squared)
    foot = q - (height / np.sqrt(squared))[..., None] * normal
    inside = np.ones(height.shape, bool)
    best = np.full(height.shape, np.inf)
    for i in range(3):
        a, b = p[None, :, i], p[None, :, (i + 1) % 3]
        inside &= (np.cross(b - a, foot - a) * normal).sum(2) >= 0
        along = np.clip(((q - a) * (b - a)).sum(2) / np.maximum(((b - a) ** 2).sum(2), 1e-300), 0, 1)
        best = np.minimum(best, np.linalg.norm(q - a - along[..., None] * (b - a), axis=2))
    return np.where(inside, np.abs(height), best)


def lists(offsets, items):
    offsets = np.asarray(offsets).astype(np.int64)
    return [np.asarray(items)[offsets[i] : offsets[i + 1]].tolist() for i in range(len(offsets) - 1)]


def check_lists(found, sure, maybe):
    """Every sure item is in a query's list, none that may not be, none twice."""
    for query, got in enumerate(found):
        assert len(set(got)) == len(got)
        assert set(np.nonzero(sure[query])[0]) <= set(got) <= set(np.nonzero(maybe[query])[0]), query
