"""mujoco_warp's broad phase by pairsieve: PairsieveBroadPhase takes the place of nxn_broadphase and sap_broadphase (mujoco_warp 4.0).

    import mujoco_warp, pairsieve.mujoco_warp
    pairsieve.mujoco_warp.install()         # from here on mujoco_warp.collision() uses it
    model = mujoco_warp.put_model(mjm)
    data = mujoco_warp.put_data(mjm, mjd, nworld=4096)
    mujoco_warp.step(model, data)           # the first step can be captured, too

A capture can take no memory. Behind install() put_model, put_data and make_data of mujoco_warp therefore call reserve() for the newest
model that fits the data. Call reserve(model, data) yourself before a capture where several models share the data.

The pairs are those of nxn_broadphase: the model's filters (plane, sphere, box, oriented box), margins and gaps, excluded and
explicit pairs, collision sensors, missing meshes, sleeping bodies and the second pass for bodies that woke. pairsieve finds the overlapping
boxes of all environments at once; one kernel then applies mujoco_warp's own rules to them. Nothing waits for the device.
"""

# Warp's kernels say their types in Warp's own words.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls
# pyright: reportInvalidTypeForm=false

import functools
import weakref
from typing import Any

import numpy as np

from ._native import UnsupportedError
from ._peers import peer
from .pairs import PairFinder

wp: Any = peer("warp", "pairsieve.mujoco_warp", "mujoco-warp")  # Any: checkers read kernels as Python, which they are not
peer("mujoco_warp._src.collision_driver", "pairsieve.mujoco_warp (mujoco_warp 4.0)", "mujoco-warp")

import mujoco  # noqa: E402
import mujoco_warp as theirs  # noqa: E402
from mujoco_warp._src import collision_driver, io  # noqa: E402
from mujoco_warp._src.collision_driver import _add_geom_pair, _broadphase_filter, _mesh_missing  # noqa: E402
from mujoco_warp._src.math import upper_tri_index  # noqa: E402
from mujoco_warp._src.types import BroadphaseFilter, OverflowType, SleepState  # noqa: E402
from mujoco_warp._src.warp_util import cache_kernel  # noqa: E402

BY_BOX, BY_SPHERE, BY_CENTRES, ALL = range(4)


def kind_of_boxes(filters):
    """Boxes that overlap wherever the model's filters let a pair pass."""
    if filters & BroadphaseFilter.AABB:
        return BY_BOX
    if filters & BroadphaseFilter.SPHERE:
        return BY_SPHERE
    # Oriented boxes are tested along their six normals, which bounds the distance of their centres alone.
    return BY_CENTRES if filters & BroadphaseFilter.OBB else ALL


@wp.kernel
def widen_for_pairs(pair_geom1: wp.array[int], pair_geom2: wp.array[int], pair_margin: wp.array2d[float],
                    pair_gap: wp.array2d[float], widened: wp.array2d[float]):
    world, pair = wp.tid()
    margin = pair_margin[world % pair_margin.shape[0], pair] + pair_gap[world % pair_gap.shape[0], pair]
    wp.atomic_max(widened, world, pair_geom1[pair], margin)
    wp.atomic_max(widened, world, pair_geom2[pair], margin)


@wp.kernel
def place_boxes(kind: int, geom_type: wp.array[int], geom_dataid: wp.array2d[int], geom_aabb: wp.array3d[wp.vec3],
                geom_rbound: wp.array2d[float], geom_margin: wp.array2d[float], geom_gap: wp.array2d[float],
                geom_xpos: wp.array2d[wp.vec3], geom_xmat: wp.array2d[wp.mat33], widened: wp.array2d[float], boxes: wp.array3d[float]):
    world, geom = wp.tid()
    rbound = geom_rbound[world % geom_rbound.shape[0], geom]
    margin = geom_margin[world % geom_margin.shape[0], geom] + geom_gap[world % geom_gap.shape[0], geom]
    margin = wp.max(margin, widened[world % widened.shape[0], geom])
    centre = geom_xpos[world, geom]
    half = wp.vec3(rbound, rbound, rbound)
    if kind != 1:
        box = world % geom_aabb.shape[0]
        turn = geom_xmat[world, geom]
        size = geom_aabb[box, geom, 1]
        centre += turn @ geom_aabb[box, geom, 0]
        if kind == 0:
            for axis in range(3):
                half[axis] = wp.abs(turn[axis, 0]) * size[0] + wp.abs(turn[axis, 1]) * size[1] + wp.abs(turn[axis, 2]) * size[2]
        else:
            reach = 1.7321 * (wp.length(size) + wp.max(margin, 0.0))
            half = wp.vec3(reach, reach, reach)
    missing = geom_dataid.shape[0] > 1 and _mesh_missing(geom_dataid, geom, geom_type[geom], world % geom_dataid.shape[0])
    for axis in range(3):
        # A little larger than the filters round; they follow.
        reach = half[axis] + margin
        reach += 2.0e-6 * (wp.abs(centre[axis]) + wp.abs(reach))
        low = centre[axis] - reach
        high = centre[axis] + reach
        if rbound == 0.0 or kind == 3:  # a plane, or a model that filters nothing
            low = -wp.inf
            high = wp.inf
        if missing:
            low = wp.inf  # above `high`: not a box
            high = -wp.inf
        boxes[world, geom, axis] = low
        boxes[world, geom, 3 + axis] = high


@wp.func
def rests(state1: int, state2: int) -> bool:
    """Nothing of the pair can move: one sleeps, and the other sleeps or is static."""
    return state1 != int(SleepState.AWAKE) and state2 != int(SleepState.AWAKE) and (
        state1 == int(SleepState.ASLEEP) or state2 == int(SleepState.ASLEEP))


@wp.func
def wanted_now(awake: wp.array2d[int], awake_before: wp.array2d[int], second_pass: bool, world: int, body1: int, body2: int) -> bool:
    if rests(awake[world, body1], awake[world, body2]):
        return False
    return not second_pass or rests(awake_before[world, body1], awake_before[world, body2])


@cache_kernel
def rules_kernel(filters, aabbs, rbounds, margins, gaps, pair_margins, pair_gaps, sleep, second_pass):
    @wp.kernel(module="unique", enable_backward=False)
    def apply_rules(pairs: wp.array2d[int], count: wp.array[wp.uint64], threads: int, geoms: int, geom_type: wp.array[int],
                    geom_bodyid: wp.array[int], geom_aabb: wp.array3d[wp.vec3], geom_rbound: wp.array2d[float],
                    geom_margin: wp.array2d[float], geom_gap: wp.array2d[float], pair_margin: wp.array2d[float],
                    pair_gap: wp.array2d[float], nxn_pairid: wp.array[wp.vec2i], geom_xpos: wp.array2d[wp.vec3],
                    geom_xmat: wp.array2d[wp.mat33], awake: wp.array2d[int], awake_before: wp.array2d[int], most: int,
                    found: wp.array[int], out_pair: wp.array[wp.vec2i], out_pairid: wp.array[wp.vec2i], out_world: wp.array[int],
                    overflow: wp.array[int]):
        n = wp.tid()
        last = wp.min(wp.int(count[0]), pairs.shape[0])
        if wp.int(count[0]) > pairs.shape[0] and n == 0:
            for one in range(overflow.shape[0]):
                wp.atomic_or(overflow, one, wp.static(int(OverflowType.BROADPHASE)))
        while n < last:
            first = pairs[n, 0]
            world = first // geoms
            geom1 = first - world * geoms
            geom2 = pairs[n, 1] - world * geoms
            n += threads
            pairid = nxn_pairid[upper_tri_index(geoms, geom1, geom2)]
            if pairid[0] < -1 or pairid[1] >= 0:
                continue  # excluded; or of a sensor, which has a kernel of its own
            if wp.static(sleep):
                if not wanted_now(awake, awake_before, wp.static(second_pass), world, geom_bodyid[geom1], geom_bodyid[geom2]):
                    continue
            if wp.static(_broadphase_filter(filters, aabbs, rbounds, margins, gaps, pair_margins, pair_gaps))(
                    geom_aabb, geom_rbound, geom_margin, geom_gap, pair_margin, pair_gap, geom_xpos, geom_xmat, geom1, geom2,
                    pairid[0], world):
                _add_geom_pair(most, geom1, geom2, geom_type[geom1], geom_type[geom2], world, pairid, found, out_pair, out_pairid,
                               out_world)

    return apply_rules


@wp.kernel
def add_sensor_pairs(pairs: wp.array[wp.vec2i], pairids: wp.array[wp.vec2i], geom_type: wp.array[int], geom_bodyid: wp.array[int],
                     geom_dataid: wp.array2d[int], awake: wp.array2d[int], awake_before: wp.array2d[int], sleep: bool,
                     second_pass: bool, most: int, found: wp.array[int], out_pair: wp.array[wp.vec2i],
                     out_pairid: wp.array[wp.vec2i], out_world: wp.array[int]):
    world, n = wp.tid()
    geom1 = pairs[n][0]
    geom2 = pairs[n][1]
    type1 = geom_type[geom1]
    type2 = geom_type[geom2]
    if geom_dataid.shape[0] > 1:
        mesh = world % geom_dataid.shape[0]
        if _mesh_missing(geom_dataid, geom1, type1, mesh) or _mesh_missing(geom_dataid, geom2, type2, mesh):
            return
    if sleep:
        if not wanted_now(awake, awake_before, second_pass, world, geom_bodyid[geom1], geom_bodyid[geom2]):
            return
    _add_geom_pair(most, geom1, geom2, type1, type2, world, pairids[n], found, out_pair, out_pairid, out_world)


def geoms_without_motion(m):
    """1 for geoms of bodies that nothing can move, but for those that explicit or sensor pairs name: two such never pair."""
    weld = m.body_weldid.numpy()[m.geom_bodyid.numpy()]
    still = m.body_dofnum.numpy()[weld] == 0
    named = m.nxn_geom_pair_filtered.numpy()[(m.nxn_pairid_filtered.numpy() >= 0).any(axis=1)]
    still[named.reshape(-1)] = False
    return still.astype(np.uint8)


class PairsieveBroadPhase:
    """The broad phase of one model and a number of environments. `max_pairs` is room for overlapping boxes of all environments before
    the rules; 0: all pairs of few geoms, 64 a geom of many. What does not fit sets OverflowType.BROADPHASE in ``data.overflow``.
    It takes all its memory here, so that each of its calls can be captured."""

    def __init__(self, m, nworld, max_pairs=0):
        self.device = m.geom_bodyid.device
        self.geoms, self.worlds = m.ngeom, nworld
        count = nworld * m.ngeom
        room = max_pairs or max(1, min(nworld * (m.ngeom * (m.ngeom - 1) // 2), 64 * count))
        still = geoms_without_motion(m)
        sensor = (m.nxn_pairid_filtered.numpy()[:, 1] >= 0).nonzero()[0]
        with wp.ScopedDevice(self.device):
            self.boxes = wp.empty((nworld, m.ngeom, 6), dtype=float)
            self.world_of = wp.array(np.repeat(np.arange(nworld), m.ngeom), dtype=int)
            self.flags = wp.array(np.tile(still, nworld), dtype=wp.uint8) if still.sum() > 1 else None
            # A row for each world, since the model's arrays of pairs may be given a row for each world later.
            self.widened = wp.zeros((nworld if m.npair else 1, m.ngeom), dtype=float)
            self.sensor_pairs = wp.array(m.nxn_geom_pair_filtered.numpy()[sensor], dtype=wp.vec2i)
            self.sensor_pairids = wp.array(m.nxn_pairid_filtered.numpy()[sensor], dtype=wp.vec2i)
        self.finder = PairFinder(max(count, 1), device=self.device.ordinal if self.device.is_cuda else "cpu",
                                           max_pairs=room, worlds=max(nworld, 1))

    def __call__(self, m, d, ctx, awake_prev=None):
        """As nxn_broadphase and sap_broadphase."""
        if m.ngeom == 0 or d.nworld == 0:
            return
        second_pass = awake_prev is not None
        awake = d.body_awake, awake_prev if second_pass else d.body_awake
        results = [d.ncollision, ctx.collision_pair, ctx.collision_pairid, ctx.collision_worldid]
        self._find(m, d.geom_xpos, d.geom_xmat, awake, second_pass, d.naconmax, results, d.overflow)

    def warm_up(self, m, d, geom_xpos, geom_xmat):
        """Runs each pass once with geoms that are placed so, and leaves the data alone. The kernels are loaded then, and the finder
        knows such a frame."""
        with wp.ScopedDevice(self.device):
            nothing = wp.empty(0, dtype=wp.vec2i)
            for second_pass in (False, True) if m.opt.enableflags & collision_driver.EnableBit.SLEEP else (False,):
                results = [wp.zeros(1, dtype=int), nothing, nothing, wp.empty(0, dtype=int)]
                overflow = wp.zeros(d.overflow.shape, dtype=int)
                self._find(m, geom_xpos, geom_xmat, (d.body_awake, d.body_awake), second_pass, 0, results, overflow)

    def _find(self, m, geom_xpos, geom_xmat, awake, second_pass, most, results, overflow):
        sleep = bool(m.opt.enableflags & collision_driver.EnableBit.SLEEP)
        with wp.ScopedDevice(self.device):
            widened = self.widened if max(m.pair_margin.shape[0], m.pair_gap.shape[0]) > 1 else self.widened[:1]
            widened.zero_()
            wp.launch(widen_for_pairs, dim=(widened.shape[0], m.npair),
                      inputs=[m.pair_geom1, m.pair_geom2, m.pair_margin, m.pair_gap], outputs=[widened])
            wp.launch(place_boxes, dim=(self.worlds, m.ngeom),
                      inputs=[kind_of_boxes(m.opt.broadphase_filter), m.geom_type, m.geom_dataid, m.geom_aabb, m.geom_rbound,
                              m.geom_margin, m.geom_gap, geom_xpos, geom_xmat, widened], outputs=[self.boxes])
            self.finder.find(self.boxes.reshape((-1, 6)), worlds=self.world_of, flags=self.flags)
            threads = 1 if self.device.is_cpu else 131072
            sizes = [array.shape[0] for array in (m.geom_aabb, m.geom_rbound, m.geom_margin, m.geom_gap, m.pair_margin, m.pair_gap)]
            rules = [int(m.opt.broadphase_filter), *sizes, sleep, second_pass]
            wp.launch(rules_kernel(*rules), dim=threads,
                      inputs=[self.finder.pair_buffer, self.finder.count_buffer, threads, m.ngeom, m.geom_type, m.geom_bodyid, m.geom_aabb,
                              m.geom_rbound, m.geom_margin, m.geom_gap, m.pair_margin, m.pair_gap, m.nxn_pairid, geom_xpos, geom_xmat,
                              *awake, most], outputs=[*results, overflow])
            if len(self.sensor_pairs):
                wp.launch(add_sensor_pairs, dim=(self.worlds, len(self.sensor_pairs)),
                          inputs=[self.sensor_pairs, self.sensor_pairids, m.geom_type, m.geom_bodyid, m.geom_dataid, *awake, sleep,
                                  second_pass, most], outputs=results)


def captures_on_the_gpu(device):
    return device.is_cuda and device.is_capturing


def reserve(m, d, max_pairs=0):
    """The PairsieveBroadPhase of this model and data, made when it is first asked for: what a captured step needs before."""
    kept = d.__dict__.setdefault("pairsieve_broad_phases", [])
    for model, phase in kept:
        if model is m:
            return phase
    if captures_on_the_gpu(m.geom_bodyid.device):
        raise UnsupportedError("the broad phase of this model and data has no memory yet, and a capture can take none; "
                               "call pairsieve.mujoco_warp.reserve(model, data) before the capture")
    kept.append((m, PairsieveBroadPhase(m, d.nworld, max_pairs)))
    return kept[-1][1]


def broad_phase(m, d, ctx, awake_prev=None):
    """In place of nxn_broadphase and sap_broadphase: the PairsieveBroadPhase of this model and data."""
    reserve(m, d)(m, d, ctx, awake_prev)


models: list[weakref.ref[Any]] = []  # of put_model, the newest last


def fits(m, d):
    """The data can be of this model."""
    return (m.ngeom, m.nbody) == (d.geom_xpos.shape[1], d.xpos.shape[1]) and m.geom_bodyid.device == d.geom_xpos.device


def reserve_newest(mjm, d, qpos):
    """Memory for the newest model that fits the data, and on CUDA a first frame with the geoms of `mjm` where `qpos` has them."""
    model = next((m for m in (reference() for reference in reversed(models)) if m is not None and fits(m, d)), None)
    if model is None or d.naconmax == 0 or model.ngeom == 0:
        return
    phase = reserve(model, d)
    if phase.device.is_cuda:
        warm_up_at(phase, model, d, mjm, qpos)


def warm_up_at(phase, m, d, mjm, qpos):
    """Of a model that is at `qpos` in all worlds."""
    host = mujoco.MjData(mjm)
    host.qpos[:] = qpos
    mujoco.mj_kinematics(mjm, host)
    places = [np.tile(array.astype(np.float32).reshape(1, m.ngeom, *shape), (d.nworld, 1, *([1] * len(shape))))
              for array, shape in ((host.geom_xpos, (3,)), (host.geom_xmat, (3, 3)))]
    with wp.ScopedDevice(phase.device):
        phase.warm_up(m, d, wp.array(places[0], dtype=wp.vec3), wp.array(places[1], dtype=wp.mat33))


def put_model(mjm, *arguments, **named):
    """mujoco_warp's, which remembers the model until its memory is let go."""
    m = its_own["put_model"](mjm, *arguments, **named)
    models[:] = [reference for reference in models if reference() is not None]
    models.append(weakref.ref(m))
    return m


def put_data(mjm, mjd, *arguments, **named):
    """mujoco_warp's, followed by reserve()."""
    d = its_own["put_data"](mjm, mjd, *arguments, **named)
    reserve_newest(mjm, d, mjd.qpos)
    return d


def make_data(mjm, *arguments, **named):
    """mujoco_warp's, followed by reserve()."""
    d = its_own["make_data"](mjm, *arguments, **named)
    reserve_newest(mjm, d, mjm.qpos0)
    return d


its_own: dict[str, Any] = {}  # mujoco_warp's functions that install() has replaced


def install():
    """mujoco_warp.collision() uses pairsieve from here on, whatever ``model.opt.broadphase`` says."""
    collision_driver.nxn_broadphase = collision_driver.sap_broadphase = broad_phase
    for function in (put_model, put_data, make_data):
        name = function.__name__
        if name not in its_own:
            its_own[name] = getattr(io, name)
            replacement = functools.wraps(its_own[name])(function)
            setattr(io, name, replacement)
            setattr(theirs, name, replacement)
