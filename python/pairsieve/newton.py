"""newton's broad phase by pairsieve: PairsieveBroadPhase takes the place of newton.geometry.BroadPhaseSAP.

Its constructor and launch() have the arguments of newton 1.8's class, and its pairs are the same: worlds with shared shapes (world -1),
collision groups, excluded pairs, gaps, bodies, displacement. pairsieve finds the overlapping boxes, one world beside the other;
one kernel then applies newton's own rules to them. Nothing waits for the device, so that a step can be captured.

    import newton, pairsieve.newton
    pairsieve.newton.install()
    collision = newton.CollisionPipeline(model, broad_phase="sap")     # which is pairsieve from here on
"""

# Warp's kernels say their types in Warp's own words.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls
# pyright: reportInvalidTypeForm=false

from typing import Any

import numpy as np

from ._native import ArgumentError
from ._peers import peer
from .pairs import PairFinder

wp: Any = peer("warp", "pairsieve.newton", "newton")  # Any: checkers read kernels as Python, which they are not
peer("newton._src.geometry.broad_phase_common", "pairsieve.newton (newton 1.8)", "newton")

from newton._src.geometry.broad_phase_common import (  # noqa: E402
    check_aabb_overlap_moving, is_pair_excluded, is_shape_pair_immovable_filtered,
    is_shape_pair_same_body_filtered, precompute_world_map,
    test_world_and_group_pair, write_pair)
from newton._src.sim import collide  # noqa: E402


@wp.kernel
def place_boxes(index_map: wp.array[int], lower: wp.array[wp.vec3], upper: wp.array[wp.vec3], gap: wp.array[float],
                displacement: wp.array[wp.vec3], shape_count: int, flags: wp.array[wp.uint8], boxes: wp.array2d[float]):
    i = wp.tid()
    shape = index_map[i]
    flags[i] = wp.uint8(0)
    if shape >= shape_count:
        flags[i] = wp.uint8(2)  # disabled
        return
    for axis in range(3):
        low = lower[shape][axis]
        high = upper[shape][axis]
        if displacement.shape[0] > 0:
            low += wp.min(displacement[shape][axis], 0.0)
            high += wp.max(displacement[shape][axis], 0.0)
        # A little larger than newton's test rounds; the exact test follows.
        margin = 1.0e-6 * (wp.abs(low) + wp.abs(high))
        if gap.shape[0] > 0:
            margin += gap[shape] * 1.000001
        boxes[i, axis] = low - margin
        boxes[i, 3 + axis] = high + margin


@wp.kernel
def apply_rules(pairs: wp.array2d[int], count: wp.array[wp.uint64], threads: int, index_map: wp.array[int],
                slice_of: wp.array[int], last_slice: int, lower: wp.array[wp.vec3], upper: wp.array[wp.vec3],
                gap: wp.array[float], displacement: wp.array[wp.vec3], group: wp.array[int], world: wp.array[int],
                filter_pairs: wp.array[wp.vec2i], filter_count: int, shape_body: wp.array[int], body_flags: wp.array[int],
                immovable_pairs: bool, out: wp.array[wp.vec2i], out_count: wp.array[int]):
    room = pairs.shape[0]
    found = wp.int(count[0])
    if found > room:
        # Not all pairs are here: the count says so to newton, which reports that its room was too small.
        if wp.tid() == 0:
            out_count[0] = wp.max(found, out.shape[0] + 1)
        return
    n = wp.tid()
    while n < found:
        place_a = pairs[n, 0]
        a = index_map[place_a]
        b = index_map[pairs[n, 1]]
        n += threads
        # Shared shapes stand in every world; pairs of two of them count in the last slice alone.
        if world[a] == -1 and world[b] == -1 and slice_of[place_a] != last_slice:
            continue
        if not test_world_and_group_pair(world[a], world[b], group[a], group[b]):
            continue
        pair = wp.vec2i(wp.min(a, b), wp.max(a, b))
        if is_pair_excluded(pair, filter_pairs, filter_count):
            continue
        if is_shape_pair_same_body_filtered(a, b, shape_body):
            continue
        if is_shape_pair_immovable_filtered(a, b, shape_body, body_flags, immovable_pairs):
            continue
        gap_a = float(0.0)
        gap_b = float(0.0)
        if gap.shape[0] > 0:
            gap_a = gap[a]
            gap_b = gap[b]
        if check_aabb_overlap_moving(pair[0], pair[1], lower, upper, gap_a, gap_b, displacement):
            write_pair(pair, out, out_count, out.shape[0])


class PairsieveBroadPhase:
    def __init__(self, shape_world, shape_flags=None, sweep_thread_count_multiplier=5, sort_type="segmented", tile_block_dim=None,
                 device=None, max_pairs=0):
        """As newton's BroadPhaseSAP; `max_pairs` is room for overlapping boxes before the rules; 0: all pairs of few shapes,
        64 a shape of many. What concerns newton's own sort (sort_type, tile_block_dim) has no meaning here."""
        if device is None:
            device = shape_world.device if isinstance(shape_world, wp.array) else "cpu"
        self.device = wp.get_device(device)
        as_numpy = [array.numpy() if array is not None and isinstance(array, wp.array) else array for array in (shape_world, shape_flags)]
        index_map, slice_ends = precompute_world_map(*as_numpy)
        count = len(index_map)
        slices = np.repeat(np.arange(len(slice_ends)), np.diff(np.concatenate([[0], slice_ends]))).astype(np.int32)
        self.world_count = len(slice_ends)
        self.num_regular_worlds = self.last_slice = max(0, len(slice_ends) - 1)
        with wp.ScopedDevice(self.device):
            self.index_map = self.world_index_map = wp.array(index_map, dtype=int)
            self.world_slice_ends = wp.array(slice_ends, dtype=int)
            self.slice_of = wp.array(slices, dtype=int)
            self.boxes = wp.zeros((max(count, 1), 6), dtype=float)
            self.flags = wp.zeros(max(count, 1), dtype=wp.uint8)
        self.count = count
        self.finder = PairFinder(max(count, 1), device=self.device.ordinal if self.device.is_cuda else "cpu",
                                           max_pairs=max_pairs or max(1, min(count * (count - 1) // 2, 64 * count + 65536)),
                                           worlds=max(len(slice_ends), 1))

    def launch(self, shape_lower, shape_upper, shape_gap, shape_collision_group, shape_world, shape_count, candidate_pair,
               candidate_pair_count, device=None, filter_pairs=None, num_filter_pairs=None, skip_count_zero=False, *,
               shape_body=None, body_flags=None, include_static_kinematic_pairs=True, shape_displacement=None,
               sort_axis_displacement_limit=None):
        if shape_count < 0 or shape_count > shape_lower.shape[0]:
            raise ArgumentError(f"shape_count must be in [0, {shape_lower.shape[0]}], got {shape_count}")
        if shape_displacement is not None and shape_displacement.shape[0] != shape_lower.shape[0]:
            raise ArgumentError("shape_displacement length must match the shape bounds "
                             f"({shape_lower.shape[0]}), got {shape_displacement.shape[0]}")
        if sort_axis_displacement_limit is not None and not 0 <= sort_axis_displacement_limit < float("inf"):
            raise ArgumentError("sort_axis_displacement_limit must be a non-negative finite number, "
                             f"got {sort_axis_displacement_limit!r}")
        if not skip_count_zero:
            candidate_pair_count.zero_()
        if self.count == 0:
            return
        wp.launch(place_boxes, dim=self.count, device=self.device, inputs=[self.index_map, shape_lower, shape_upper, shape_gap,
                  shape_displacement, shape_count, self.flags, self.boxes])
        self.finder.find(self.boxes, worlds=self.slice_of, flags=self.flags)
        filters = 0 if filter_pairs is None else filter_pairs.shape[0] if num_filter_pairs is None else num_filter_pairs
        threads = 1 if self.device.is_cpu else 131072
        wp.launch(apply_rules, dim=threads, device=self.device,
                  inputs=[self.finder.pair_buffer, self.finder.count_buffer, threads, self.index_map, self.slice_of, self.last_slice,
                          shape_lower, shape_upper, shape_gap, shape_displacement, shape_collision_group, shape_world,
                          filter_pairs, filters, shape_body, body_flags, include_static_kinematic_pairs],
                  outputs=[candidate_pair, candidate_pair_count])


def install():
    """newton's collision pipelines of the mode "sap" use pairsieve from here on."""
    collide.BroadPhaseSAP = PairsieveBroadPhase
