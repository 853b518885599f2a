"""Programs as users write them, with mistakes that type checkers have to find: each on a line with a comment that says so.

It is checked, never run. planted_mistakes.py has one mistake a call; here they stand among right lines, in classes, loops and callbacks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import pairsieve
from pairsieve import typing as pst
from pairsieve.pictures import Picture

Boxes = NDArray[np.float32]
Pairs = NDArray[np.int32]


# ---- A broad phase behind an interface of one's own -----------------------------------------------------------------------------


@dataclass
class Settings:
    max_bodies: int = 10_000
    device: str = "cpu"
    margin: float = 0.05
    events: bool = True
    quality: str = "fine"


class BroadPhase:
    """Keeps a finder, and what it found last."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.finder = pairsieve.PairFinder(settings.max_bodies, device=settings.device, events=settings.events, margins=True)
        self.slow_finder = pairsieve.PairFinder(settings, device=settings.device)  # wrong
        self.named_finder = pairsieve.PairFinder(max_boxes=settings.max_bodies, backend=settings.device)  # wrong
        self.rough = pairsieve.PairFinder(settings.max_bodies, margins=True, max_pairs=settings.device)  # wrong
        self.count: int = 0

    def update(self, low: Boxes, high: Boxes, worlds: NDArray[np.int32] | None = None) -> Pairs:
        self.finder.find((low, high), worlds=worlds, margin=self.settings.margin)
        pairs: Pairs = self.finder.pairs()
        self.count = self.finder.count()
        self.count = self.finder.count  # wrong
        self.count += len(self.finder.events())
        self.finder.find((low, high), margins=self.settings.margin)  # wrong
        self.finder.find((low, high), worlds=self.settings)  # wrong
        self.finder.find(low, high, worlds=(worlds, None))
        self.finder.find(low, high, worlds, None)  # wrong
        return pairs

    def changes(self) -> tuple[Pairs, Pairs]:
        begun, ended = self.finder.events()
        if begun.shape[0] > 3:
            return begun, ended
        return self.finder.events()

    def wrong_changes(self) -> dict[str, Pairs]:
        return self.finder.events()  # wrong

    def describe(self) -> str:
        found = self.finder.check(samples=32)
        missing: int = found["missing"]
        more = self.finder.check(sample=32)  # wrong
        lines = self.finder.explain().splitlines()
        steps = self.finder.explain()["method"]  # wrong
        return f"{missing} {more} {len(lines)} {steps}"

    def profile(self) -> dict[str, float]:
        self.finder.enable_profile()
        self.finder.enable_profile(on=True, phases=True)  # wrong
        times = self.finder.profile()
        longest: str = max(times, key=lambda name: times[name])
        total: str = times["frame"]  # wrong
        print(longest, total)
        return times

    def bad(self) -> NDArray[np.uint32]:
        bad = self.finder.bad_boxes()
        names: list[str] = self.finder.bad_boxes()  # wrong
        print(names)
        return bad

    def set_joints(self, joints: Sequence[tuple[int, int]]) -> None:
        self.finder.set_rules(excluded=np.asarray(joints, np.int32))
        self.finder.set_rules(exclude=np.asarray(joints, np.int32))  # wrong
        self.finder.set_rules(layer_matrix=np.ones(32, np.uint32), excluded=joints)
        self.finder.set_rule(excluded=joints)  # wrong


def pairs_of_many(sets: Iterable[Boxes]) -> Iterator[int]:
    finder = pairsieve.PairFinder(1000, grow=True, sort=True)
    for boxes in sets:
        yield finder.find(boxes).count()
        yield finder.find(boxes).method  # wrong
        yield len(finder.find(boxes).pairs())
        yield finder.find(boxes, other=boxes).counts()  # wrong
        yield finder.find(boxes, boxes, boxes)  # wrong


def within(boxes: Boxes, seconds: int) -> list[Pairs]:
    out: list[Pairs] = []
    for _ in range(seconds):
        out.append(pairsieve.find_pairs(boxes, sort=True))
        out.append(pairsieve.find_pairs(boxes, sort=True).tobytes())  # wrong
        out += pairsieve.find_pairs(boxes, order="ascending")  # wrong
    return out


def filters_of(groups: NDArray[np.uint32], masks: NDArray[np.uint32], boxes: Boxes) -> Pairs:
    both: NDArray[np.uint32] = np.stack([groups, masks], axis=1)
    pairs = pairsieve.find_pairs(boxes, filters=both)
    pairs = pairsieve.find_pairs(boxes, groups=groups, masks=masks, cast=True)
    pairs = pairsieve.find_pairs(boxes, group=groups, mask=masks)  # wrong
    print(pairsieve.find_pair(boxes, filters=both))  # wrong
    pairs = pairsieve.find_pairs(boxes, filters=both, max_pairs=1e6)  # wrong
    pairs = pairsieve.find_pairs(boxes, filters=both, method=("rows", "lbvh"))  # wrong
    pairsieve.find_pairs(boxes, filters=both, origin=1.0)  # wrong
    pairs = pairsieve.find_pairs(boxes, filters=both, method="rows", origin=(1.0, 2.0, 3.0))
    return pairs


def with_fallback(boxes: Boxes) -> Pairs:
    try:
        return pairsieve.find_pairs(boxes, max_pairs=100)
    except pairsieve.CapacityError as error:
        needed: int | None = error.needed
        text: str = error.needed  # wrong
        status: str = error.status
        code: int = error.status  # wrong
        print(needed, text, status, code, error.room)  # wrong
    except pairsieve.ArgumentErrors:  # wrong
        raise
    return np.empty((0, 2), np.int32)


# ---- Sorting ------------------------------------------------------------------------------------------------------------------------


@dataclass
class Particles:
    keys: NDArray[np.uint32]
    values: NDArray[np.float32]
    order: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))

    def sort(self) -> None:
        self.order = pairsieve.argsort(self.keys)
        self.keys = pairsieve.sort(self.keys)
        self.values = pairsieve.sort(self.keys)  # wrong
        self.order = pairsieve.sort(self.keys)  # wrong
        self.keys, order = pairsieve.sort_pairs(self.keys, self.order)
        self.keys = pairsieve.sort_pairs(self.keys, self.order)  # wrong
        print(order)

    def sort_in_place(self, sorter: pairsieve.Sorter) -> None:
        sorter.sort(self.keys, self.values)
        sorter.sort(self.keys, self.values, self.order)  # wrong
        sorter.sort(keys=self.keys, value=self.values)  # wrong
        self.keys = sorter.sort(self.keys)  # wrong
        sorter.argsort(self.keys, self.order, keys_after="sorted")
        sorter.argsort(self.keys, self.order, "sorted")  # wrong
        sorter.argsort(self.keys, index=self.order, keys_after="lost")  # wrong

    def sort_segments(self, offsets: NDArray[np.uint32]) -> NDArray[np.uint32]:
        sorted_keys: NDArray[np.uint32] = pairsieve.sort_segments(self.keys, offsets)
        keys, values = pairsieve.sort_segments(self.keys, offsets, self.values)
        wrong: NDArray[np.float32] = pairsieve.sort_segments(self.keys, offsets)  # wrong
        pairsieve.sort_segments(self.keys)  # wrong
        pairsieve.sort_segments(self.keys, offsets, ascending=True)  # wrong
        sorter = pairsieve.SegmentSorter(1000, 10, "uint32", descending=True, nan="bits")
        sorter.sort(keys, offsets, values)
        sorter.sort(keys)  # wrong
        sorter.check(samples=3)  # wrong
        print(wrong)
        return sorted_keys


def make_sorters(count: int) -> dict[str, pairsieve.Sorter]:
    sorters: dict[str, pairsieve.Sorter] = {}
    for name in ("uint8", "float16", "int64"):
        sorters[name] = pairsieve.Sorter(count, name, value_bytes=0)
    sorters["text"] = pairsieve.Sorter("100", "S16")  # wrong
    sorters["nan"] = pairsieve.Sorter(count, "float32", nan="first")  # wrong
    sorters["bits"] = pairsieve.Sorter(count, "uint32", begin_bit=8, end_bit=24)
    sorters["bits"] = pairsieve.Sorter(count, "uint32", bits=(8, 24))  # wrong
    sorters["segments"] = pairsieve.SegmentSorter(count, 10)  # wrong
    statistics: dict[str, str] = {name: sorter.statistics() for name, sorter in sorters.items()}  # wrong
    method: str = sorters["bits"].method(count)
    method = sorters["bits"].method  # wrong
    method = sorters["bits"].method()  # wrong
    print(statistics, method)
    return sorters


# ---- Neighbours and graphs ------------------------------------------------------------------------------------------------------


class Graph:
    def __init__(self, points: NDArray[np.float32], radius: float) -> None:
        self.points, self.radius = points, radius
        self.lists = pairsieve.neighbours(points, radius)
        self.edges = pairsieve.neighbour_edges(points, radius, distances=True)
        self.pairs = pairsieve.query_pairs(points, radius)
        self.typo = pairsieve.neighbors(points, radius)  # wrong
        self.radii = pairsieve.neighbours(points, "0.1")  # wrong
        self.less = pairsieve.neighbours(points)  # wrong
        self.nearest = pairsieve.neighbours(points, radius, k=8)  # wrong
        self.few = pairsieve.neighbours(points, radius, max_neighbours=8)
        self.fewer = pairsieve.neighbours(points, radius, max_neighbours="8")  # wrong

    def degree(self) -> NDArray[np.int64]:
        offsets, indices, distances = self.lists
        degrees: NDArray[np.int64] = np.diff(offsets)
        rows, columns = self.lists  # wrong
        index = self.lists.edge_index  # wrong
        count = self.edges.offsets  # wrong
        edge_index, lengths = self.edges
        print(indices, distances, rows, columns, index, count, edge_index, lengths)
        return degrees

    def around(self, centres: NDArray[np.float32]) -> pairsieve.Neighbours:
        found = pairsieve.neighbours(self.points, self.radius, centres, index="int64")
        found = pairsieve.neighbours(self.points, self.radius, centres, index=np.int64)  # wrong
        edges: pairsieve.Neighbours = pairsieve.neighbour_edges(self.points, self.radius, centres)  # wrong
        text: str = pairsieve.neighbours(self.points, self.radius, centres)  # wrong
        print(text, edges)
        return found


# ---- Trees --------------------------------------------------------------------------------------------------------------------------


class Scene:
    """Triangles that rays are cast at."""

    def __init__(self, points: NDArray[np.float32], faces: NDArray[np.int32]) -> None:
        self.tree: pairsieve.Tree = pairsieve.Tree(len(faces), triangles=True, quality="fine").build_triangles(points, faces)
        self.flat = pairsieve.Tree(len(faces), triangle=True)  # wrong
        self.good = pairsieve.Tree(len(faces), triangles=True, quality="good")  # wrong
        self.none = pairsieve.Tree()  # wrong
        self.built: pairsieve.Tree = pairsieve.Tree(len(faces)).build(points)
        self.found: pairsieve.PairFinder = pairsieve.Tree(len(faces)).build(points)  # wrong

    def pick(self, origin: Sequence[float], direction: Sequence[float]) -> int:
        rays = np.array([[*origin, 0, *direction, 100]], np.float32)
        hit = self.tree.trace_closest(rays)
        item = int(hit.item[0])
        distance = float(hit.t[0])
        normal = hit.normal  # wrong
        distance = hit.distance[0]  # wrong
        t, item_too, uv = hit
        t, item_too = hit  # wrong
        shadow = self.tree.trace_any(rays, until=3.0)  # wrong
        every = self.tree.trace_all(rays, each=8)
        lists = self.tree.trace_all(rays)
        print(distance, normal, t, item_too, uv, shadow, every.counts, lists.offsets)
        print(every.offsets)  # wrong
        print(lists.counts)  # wrong
        return item

    def near(self, points: NDArray[np.float32]) -> NDArray[np.int32]:
        distances, items = self.tree.find_nearest(points, k=4)
        self.tree.find_nearest(points, count=4, kind="exact")  # wrong
        self.tree.find_nearest(points, k=4, radius="far")  # wrong
        self.tree.find_nearest(k=4)  # wrong
        closest = self.tree.find_closest(points, radius=2.0)
        print(closest.point, closest.distance, closest.uv)
        print(closest.points)  # wrong
        spheres = self.tree.overlap_spheres(points, 0.5)
        print(spheres.offsets, spheres.items)
        print(spheres.counts)  # wrong
        self.tree.overlap_spheres(points, 0.5, each="all")  # wrong
        self.tree.overlap_boxes(points, in_order=True)
        self.tree.overlap_boxes(points, ordered=True)  # wrong
        self.tree.overlap(points)  # wrong
        print(distances)
        return np.asarray(items, np.int32)

    def move(self, points: NDArray[np.float32]) -> None:
        self.tree.refit_triangles(points)
        self.tree.refit_triangles(points, indices=None)
        self.tree.refit_triangles(points, faces=None)  # wrong
        self.tree = self.tree.refit(points)
        self.tree = self.tree.statistics()  # wrong
        self.tree.rebuild(points)  # wrong


# ---- Worlds -------------------------------------------------------------------------------------------------------------------------


class Simulation:
    """A stack that is shot at."""

    def __init__(self, bodies: int = 100, output: str | os.PathLike[str] = "out") -> None:
        self.output = Path(output)
        self.world = pairsieve.World(max_bodies=bodies, contact_events=True, sleeping=True, gravity=(0, -9.81, 0))
        self.fast = pairsieve.World(max_bodies=bodies, substep=8)  # wrong
        self.moon = pairsieve.World(gravity="moon")  # wrong
        self.many = pairsieve.World(max_bodies=bodies, worlds=[1, 2])  # wrong
        self.scene = pairsieve.World.scene("drop", bodies=bodies, seed=3)
        self.other = pairsieve.World.scene("drop", count=bodies)  # wrong
        self.loaded = pairsieve.World.load(self.output / "state.world")
        self.unloaded = pairsieve.World.load()  # wrong
        box = self.world.box((0.5, 0.5, 0.5), density=500, friction=0.6)
        ball = self.world.sphere(0.25, density=2000, restitution=0.4)
        pole = self.world.capsule(0.1, 0.5)
        short = self.world.capsule(0.1)  # wrong
        soft = self.world.sphere(0.25, elasticity=0.4)  # wrong
        heavy = self.world.box((0.5, 0.5, 0.5), density="lead")  # wrong
        cube = self.world.box(0.5, 0.5, 0.5)  # wrong
        dumb_bell = self.world.compound([{"type": "sphere", "size": [0.2], "position": (0, 0.5, 0)},
                                         {"type": "capsule", "size": [0.05, 0.4]}])
        half = self.world.compound([{"type": "sphere", "position": (0, 0.5, 0)}])  # wrong
        tube = self.world.compound([{"type": "tube", "size": [0.2]}])  # wrong
        self.shapes: list[int] = [box, ball, pole, short, soft, heavy, cube, dumb_bell, half, tube]
        self.ids: pst.Ids = self.world.add(box, np.zeros((bodies, 3)))
        self.numbers: list[int] = self.world.add(box, np.zeros((bodies, 3)))  # wrong
        self.world.add(box, places=[(0, 1, 0)])  # wrong
        self.world.add("box", [(0, 1, 0)])  # wrong
        self.world.add(box, [(0, 1, 0)], statics=True)  # wrong
        self.world.plane(friction=0.8)
        self.world.ground(friction=0.8)  # wrong

    def shoot(self, speed: float) -> None:
        ball = self.world.add(self.shapes[1], [(0, 1, 10)], velocities=[(0, 0, -speed)])
        self.world.set_damping(ball, linear=0.1)
        self.world.set_damping(ball, angle=0.1)  # wrong
        self.world.set_gravity_scale(ball, 0.5)
        self.world.set_gravity_scale(0.5)  # wrong
        self.world.set_user_data([7], ball)  # wrong
        self.world.apply_impulses(ball, [(0, 10, 0)], [(0, 0, 0)])
        self.world.apply_impulses(ball, [(0, 10, 0)])  # wrong
        self.world.apply_impulse(ball, [(0, 10, 0)])  # wrong
        self.world.configure(gravity=(0, -1.6, 0), substeps=8)
        self.world.configure(gravity=-1.6)  # wrong
        self.world.configure(wind=(1, 0, 0))  # wrong

    def run(self, seconds: float, each: Callable[[int], None]) -> NDArray[np.void]:
        for frame in range(int(seconds * 60)):
            self.world.step()
            self.world.step(1 / 60, count=2, progress=False)
            self.world.step(dt=1 / 60)  # wrong
            self.world.step(count=2.5)  # wrong
            each(frame)
            each(self.world)  # wrong
        energy, momentum = self.world.energy()
        height: float = momentum  # wrong
        joules: int = self.world.energy()[1]  # wrong
        states = self.world.states(self.ids)
        states = self.world.states([0, 1, 2])  # wrong
        print(self.world.state(self.ids))  # wrong
        self.world.set_states(self.ids, states)
        self.world.set_states(states)  # wrong
        print(energy, height, joules)
        return states

    def look(self) -> Picture:
        picture = self.world.picture(320, 180, samples=2, eye=(3, 3, 3))
        self.world.picture("320x180")  # wrong
        self.world.picture(320, 180, sky="night")  # wrong
        self.world.picture(320, 180, camera=(3, 3, 3))  # wrong
        picture.save(self.output / "picture.png")
        picture.save(3.5)  # wrong
        width: int = picture.width
        size: str = picture.height  # wrong
        self.world.video(self.output / "video.mp4", 60, steps=2)
        self.world.video(60, self.output / "video.mp4")  # wrong
        print(width, size)
        return picture

    def sense(self, rays: NDArray[np.float32]) -> float:
        hits = self.world.cast_rays(rays, t_max=10.0)
        self.world.cast_rays(rays, max_t=10.0)  # wrong
        hit = self.world.cast_ray((0, 5, 0), (0, -1, 0))
        body, distance = hit  # wrong
        if hit is not None:
            body, distance = hit
            print(body)
            return distance
        self.world.cast_ray((0, 5, 0))  # wrong
        near = self.world.closest_bodies(rays[:, :3], radius=1.0)
        self.world.overlap_bodies(rays[:, :3], 0.5, each=4)
        self.world.overlap_bodies(rays[:, :3], 0.5)  # wrong
        touching = self.world.contacts()
        events = self.world.events()
        print(hits, near, touching["point"], events.begins, events.ends, events.hits)
        print(events.begun)  # wrong
        return "nothing"  # wrong

    def places(self) -> NDArray[np.float32]:
        self.world.positions[0] = 3
        places: NDArray[np.float32] = np.asarray(self.world.positions)
        self.world.velocity[0] = 3  # wrong
        count: int = len(self.world)
        self.world.slots = count  # wrong
        name: str = self.world.counters()["bodies"]  # wrong
        number: int = self.world.hash()
        digest: bytes = self.world.hash()  # wrong
        print(name, number, digest)
        return places

    def rewind(self) -> None:
        self.world.reserve_states(4)
        self.world.keep(0)
        self.world.restore(state="last")  # wrong
        self.world.reserve_states()  # wrong
        self.world.save(self.output / "state.world")
        self.world.save(self.output / "state.world", compressed=True)  # wrong


def elements_of_cloth(start: NDArray[np.float32], end: NDArray[np.float32], faces: NDArray[np.int32]) -> int:
    pairs = pairsieve.element_pairs(start, faces, end=end, kinds=["edge-edge", "vertex-face"])
    pairs = pairsieve.element_pairs(start, faces, end=end, kind=["edge-edge"])  # wrong
    pairs = pairsieve.element_pairs(start, faces, end=end, kinds=["edge-vertex"])  # wrong
    edges: NDArray[np.int32] = pairsieve.edges_of(faces)
    names: list[str] = pairsieve.edges_of(faces)  # wrong
    points, triangles = pairsieve.load_mesh("cloth.obj")
    mesh: NDArray[np.float32] = pairsieve.load_mesh("cloth.obj")  # wrong
    pairsieve.load_mesh("cloth.obj", scale=2.0)  # wrong
    print(edges, names, points, triangles, mesh)
    return len(pairs["edge-edge"])


def main(arguments: Sequence[str]) -> int:
    device = "cuda" if pairsieve.cuda_available() else "cpu"
    settings = Settings(device=device)
    phase = BroadPhase(settings)
    phase.update(np.zeros((3, 3), np.float32), np.ones((3, 3), np.float32))
    names: list[str] = pairsieve.methods(device) + pairsieve.sort_methods(device)
    about: dict[str, str] = pairsieve.scenes()
    first: int = pairsieve.scenes()["drop"]  # wrong
    version: tuple[int, int, int] = pairsieve.__version__  # wrong
    pairsieve.clear_cache(settings)  # wrong
    pairsieve.methods(3.5)  # wrong
    print(names, about, first, version, arguments)
    return phase.count
