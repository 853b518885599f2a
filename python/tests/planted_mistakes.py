"""A program with mistakes that type checkers have to find: each on a line with a comment that says so. It is checked, never run."""

import numpy as np
from numpy.typing import NDArray

import pairsieve
from pairsieve import typing as pst

boxes: NDArray[np.float32] = np.zeros((10, 6), np.float32)
rays: NDArray[np.float32] = np.zeros((4, 8), np.float32)
keys: NDArray[np.uint64] = np.zeros(10, np.uint64)


class Tensor:
    """An array of some library that no checker knows."""

    def __dlpack__(self, *, stream: int | None = None) -> object:
        return stream

    @property
    def shape(self) -> tuple[int, ...]:
        return (1,)


def right(tensor: Tensor) -> None:
    pairs: NDArray[np.int32] = pairsieve.find_pairs(boxes)
    pairs = pairsieve.find_pairs((boxes[:, :3], boxes[:, 3:]), sort=True, cast=True)
    pairs = pairsieve.find_pairs([[0, 0, 0, 1, 1, 1.5]])
    of_library: Tensor = pairsieve.find_pairs(tensor, worlds=tensor)
    of_library = pairsieve.sort(tensor)
    ordered: NDArray[np.uint64] = pairsieve.sort(keys)
    order: NDArray[np.int32] = pairsieve.argsort(keys)
    finder = pairsieve.PairFinder(100, device="cuda:0", events=True, method="rows")
    finder.find(boxes, kept=3, margin=0.5, origin=(0, 0, 0)).pairs(copy=False)
    begun, ended = finder.events()
    count: int = finder.count()
    text: str = finder.explain() + finder.method
    tree = pairsieve.Tree(100, quality="fine").build(boxes, flags=np.zeros(10, np.uint8))
    offsets = tree.overlap_boxes(boxes).offsets
    counts = tree.overlap_boxes(boxes, each=4, in_order=True, sort_queries=True).counts
    hits = tree.trace_closest(rays, worlds=np.zeros(4, np.int32)).item
    world = pairsieve.World(max_bodies=10, contact_events=True, gravity=np.zeros(3))
    ids: pst.Ids = world.add(world.sphere(0.5, density=100), [(0, 1, 2)], velocities=[[0, 0, 1.0]], static=False)
    world.set_damping(ids, 0.5)
    world.step(count=3)
    energy, momentum = world.energy()
    pairs_of_elements = pairsieve.element_pairs(boxes[:, :3], [[0, 1, 2]], kinds=["edge-edge"])
    edges: NDArray[np.int32] = pairs_of_elements["edge-edge"]
    print(pairs, of_library, ordered, order, begun, ended, count, text, offsets, counts, hits, energy, momentum, edges)


def mistakes(tensor: Tensor) -> None:
    finder, world = pairsieve.PairFinder(100), pairsieve.World()
    sorter, tree = pairsieve.Sorter(100), pairsieve.Tree(100)
    pairsieve.find_pairs("boxes")  # wrong
    pairsieve.find_pairs(boxes, sorted=True)  # wrong
    pairsieve.find_pairs(boxes, max_pairs="all")  # wrong
    pairsieve.find_pairs(boxes, method=3)  # wrong
    pairsieve.find_pairs()  # wrong
    pairsieve.find_pairs(boxes, cast="yes")  # wrong
    list_of_pairs: list[tuple[int, int]] = pairsieve.find_pairs(boxes)  # wrong
    floats: NDArray[np.float32] = pairsieve.find_pairs(boxes)  # wrong
    other_library: NDArray[np.int32] = pairsieve.find_pairs(tensor)  # wrong
    pairsieve.sort(keys, reverse=True)  # wrong
    pairsieve.sort(3)  # wrong
    signed: NDArray[np.int32] = pairsieve.sort(keys)  # wrong
    long_order: NDArray[np.int64] = pairsieve.argsort(keys)  # wrong
    pairsieve.sort_pairs(keys)  # wrong
    sorted_keys: NDArray[np.uint64] = pairsieve.sort_pairs(keys, keys)  # wrong
    both: tuple[int, int] = pairsieve.sort_segments(keys, keys)  # wrong
    pairsieve.PairFinder()  # wrong
    pairsieve.PairFinder("100")  # wrong
    pairsieve.PairFinder(100, "cuda")  # wrong
    pairsieve.PairFinder(100, devices="cuda")  # wrong
    pairsieve.PairFinder(100, device=1.5)  # wrong
    finder.finds(boxes)  # wrong
    finder.find(boxes, world=[0])  # wrong
    finder.find(boxes, kept="all")  # wrong
    finder.find(boxes, origin=0.0)  # wrong
    finder.set_rules(layers=[0])  # wrong
    wide: list[int] = finder.explain()  # wrong
    begun, ended, kept = finder.events()  # wrong
    finder.method("rows")  # wrong
    finder.pairs("copy")  # wrong
    pairsieve.Sorter(100, value_bytes="8")  # wrong
    sorter.argsort(keys, keys, keys_after="keep")  # wrong
    sorter.argsort(keys)  # wrong
    pairsieve.Tree(100, quality="best")  # wrong
    tree.build_boxes(boxes)  # wrong
    tree.overlap_boxes(boxes).counts  # wrong
    tree.overlap_boxes(boxes, each=4).offsets  # wrong
    tree.overlap_boxes(boxes, each=0.5)  # wrong
    tree.trace_closest(rays).distance  # wrong
    tree.trace_closest(rays, world=[0])  # wrong
    tree.find_nearest(rays, k="3")  # wrong
    pairsieve.World(colour=3)  # wrong
    pairsieve.World(gravity=-9.81)  # wrong
    pairsieve.World(sleep_speed="slow")  # wrong
    pairsieve.World.scene(7)  # wrong
    pairsieve.World.scene("drop", body_count=3)  # wrong
    world.sphere(radius="large")  # wrong
    world.sphere(0.5, frction=0.3)  # wrong
    world.box(0.5)  # wrong
    world.compound([{"type": "cone", "size": [1]}])  # wrong
    world.compound([{"type": "box"}])  # wrong
    world.add(0, positon=[[0, 0, 0]])  # wrong
    world.add(shape=0, positions="here")  # wrong
    world.add(0).slot  # wrong
    world.remove([1, 2])  # wrong
    world.step(frames=3)  # wrong
    world.step(1 / 60, "3")  # wrong
    energy: float = world.energy()  # wrong
    world.cast_rays(rays, sort_queries=True)  # wrong
    world.overlap_bodies(boxes[:, :4])  # wrong
    world.events().hit  # wrong
    world.positions = boxes  # wrong
    pairsieve.element_pairs(boxes[:, :3], [[0, 1, 2]], kinds="edge-vertex")  # wrong
    pairsieve.element_pairs(boxes[:, :3])  # wrong
    pairsieve.methods(device=[0])  # wrong

    if pairsieve.cuda_available() > "0":  # wrong
        pass
    print(list_of_pairs, floats, other_library, signed, long_order, sorted_keys, both, wide, begun, ended, kept, energy)
