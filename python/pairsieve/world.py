"""Rigid bodies and particles that fall, collide and come to rest."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays
from ._native import (NULL, ArgumentError, Context, Profiled, address_of, argument_errors, ffi, integer, lib, locked, name_of, path_of,
                      text)
from .pairs import device_number, device_text, struct_dict
from .pictures import with_progress
from .typing import Child, Device, Each, Floats, HostArray, Ids, Material, Numbers, Stream, Vector, WorldFields
from .world_pictures import WorldPictures, _Renderer
from .world_queries import WorldQueries, record_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = str | bytes | os.PathLike[Any]

_BODY = record_of("psv_body_def")
_ID = record_of("psv_body_id")
_STATE = record_of("psv_body_state")
_IMPULSE = record_of("psv_body_impulse")
_MATERIAL = frozenset(Material.__optional_keys__)
_SHAPE_FIELDS = _MATERIAL | {"vertices", "vertex_count", "indices", "triangle_count", "weld_angle", "one_sided", "heights", "rows",
                             "columns", "children", "child_count"}


def scenes() -> dict[str, str]:
    """Names of the shipped scenes, each with one line about it, as a dict."""
    out: dict[str, str] = {}
    while (name := text(lib.psv_shipped_scene_name(len(out)))) is not None:
        out[name] = text(lib.psv_shipped_scene_description(len(out))) or ""
    return out


def _floats(value: Any, count: int, name: str) -> Floats:
    made = np.ascontiguousarray(value, np.float32)
    if made.shape != (count,):
        raise ArgumentError(f"{name} has shape {made.shape}; {count} numbers are wanted")
    return made


class World(WorldPictures, WorldQueries, Profiled):
    """Bodies that move. Metres, seconds, kilograms, radians; y is up.

    Parameters
    ----------
    device : str or int
        As for PairFinder.
    gravity : 3 numbers
        m/s^2.
    substeps : int
        Solver substeps of a step, 1 to 64; 0: 960 a second, which is 16 a step of 1/60 s. For heaps 4 are enough.
    max_bodies : int
        Room for bodies, static ones included.
    worlds : int
        Sub-worlds whose bodies never meet.
    broad_phase, sort_method : str
        See :func:`pairsieve.methods` and :func:`pairsieve.sort_methods`.
    **more
        Other fields of ``psv_world_def`` by name: ``contact_events=True`` (for :meth:`contacts` and :meth:`events`; hit_speed, m/s),
        ``sleeping=True`` (bodies at rest cost little; sleep_speed, m/s), restitution_threshold and push_speed (m/s), max_pairs,
        max_contacts, max_shapes, self_gravity, softening, bounds_min, bounds_max.

    One rule for arrays of bodies: properties are the world's own memory by slot, of all bodies, and calls with ids copy, in the order of
    the ids. :attr:`positions`, :attr:`rotations`, :attr:`velocities`, :attr:`angular_velocities` and :attr:`boxes` show the newest
    step without waiting, on a GPU as arrays there; ask for them again after bodies were added. :meth:`slots` leads from ids to
    them. :meth:`states` are NumPy arrays of the same numbers, and wait for the device.
    """

    @argument_errors
    def __init__(self, *, device: Device = "cpu", gravity: Vector = (0, -9.81, 0), substeps: int = 0, max_bodies: int = 4096,
                 worlds: int = 1, broad_phase: str = "auto", sort_method: str = "cells", workers: int = 0, stream: Stream | None = None,
                 **more: Unpack[WorldFields]) -> None:
        self._begin(device, stream, workers)
        definition = ffi.new("psv_world_def *", lib.psv_default_world_def())
        names = [name_of(broad_phase, "broad_phase"), name_of(sort_method, "sort_method")]
        definition.broad_phase, definition.sort_method = names
        known = {name for name, _ in ffi.typeof("psv_world_def").fields} - {"cookie"}
        values: dict[str, Any] = dict(gravity=[float(g) for g in gravity], substeps=substeps, max_bodies=integer(max_bodies, "max_bodies"),
                                      sub_world_count=integer(worlds, "worlds"), **more)
        for name, value in values.items():
            if name not in known:
                raise ArgumentError(f"'{name}' is no field of a world; known: {', '.join(sorted(known))}")
            try:
                setattr(definition, name, value)
            except (OverflowError, TypeError, IndexError) as error:
                raise ArgumentError(f"{name} is {value!r}: {error}") from None
        made = ffi.new("psv_world **")
        self.context.check(lib.psv_create_world(self.context.handle, definition, made))
        self._own(made[0])

    def _begin(self, device: Device, stream: Stream | None, workers: int) -> None:
        self.device = device_number(device)
        self.context = Context(self.device, _arrays.stream_number(stream), integer(workers, "workers"))
        self._lock = self.context.lock
        self._scene: Any = NULL
        self._name: str | None = None  # of the scene

    def _own(self, handle: Any, scene: Any = NULL) -> None:
        self.handle: Any = handle
        self._scene = scene
        release, owned = (lib.psv_destroy_scene, scene) if scene != NULL else (lib.psv_destroy_world, handle)
        self._renderers = []
        self._finalizer = weakref.finalize(self, _destroy, release, owned, self._renderers, self.context)

    def __repr__(self) -> str:
        """Scene, bodies, device, steps, and the broad phase of the last step."""
        counters = self.counters()
        name = "" if self._name is None else f" '{self._name}'"
        bodies = f"{len(self):,} {'body' if len(self) == 1 else 'bodies'}"
        if counters["asleep"]:
            bodies += f" ({counters['asleep']:,} asleep)"
        last = f", {counters['frame']:,} steps"
        if counters["frame"]:
            last += f", pairs by {counters['broad_phase']}, route {counters['route']}"
        return f"<pairsieve.World{name} of {bodies} on {device_text(self.device)}{last}>"

    @classmethod
    @argument_errors
    def scene(cls, name: Path, *, bodies: int = 0, seed: int | None = None, device: Device = "cpu", workers: int = 0,
              stream: Stream | None = None, broad_phase: str | None = None, sort_method: str | None = None) -> World:
        """The world of a shipped scene (see :func:`scenes`), of a scene file, or of a file of :meth:`save` without further arguments."""
        world = cls.__new__(cls)
        world._begin(device, stream, workers)
        options = ffi.new("psv_scene_options *", lib.psv_default_scene_options())
        options.bodies = integer(bodies, "bodies")
        options.has_seed, options.seed = seed is not None, integer(seed or 0, "seed")
        given = (("broad_phase", broad_phase), ("sort_method", sort_method))
        keep = {argument: name_of(name, argument) for argument, name in given if name is not None}
        for argument, kept in keep.items():
            setattr(options, argument, kept)
        made = ffi.new("psv_scene **")
        world.context.check(lib.psv_load_scene(world.context.handle, path_of(name, "name"), options, made))
        world._own(lib.psv_scene_world(made[0]), made[0])
        world._name = text(lib.psv_scene_name(made[0]))
        return world

    @classmethod
    @argument_errors
    def load(cls, path: Path, *, device: Device = "cpu", workers: int = 0, stream: Stream | None = None) -> World:
        """The world of a snapshot file, bit for bit."""
        world = cls.__new__(cls)
        world._begin(device, stream, workers)
        made = ffi.new("psv_world **")
        world.context.check(lib.psv_restore_snapshot(world.context.handle, path_of(path), made))
        world._own(made[0])
        return world

    @locked
    def save(self, path: Path) -> None:
        """Writes the exact state to a file. Waits for the device."""
        self.context.check(lib.psv_save_snapshot(self.handle, path_of(path)))

    # --- states to return to ------------------------------------------------------------------------------------------

    @locked
    def reserve_states(self, count: int) -> None:
        """Memory of the device for ``count`` states of :meth:`keep`; states kept before are forgotten."""
        self.context.check(lib.psv_world_reserve_states(self.handle, count))

    @locked
    def keep(self, state: int = 0) -> None:
        """Keeps the world as it is as number ``state`` of the reserved ones, on the device."""
        self.context.check(lib.psv_world_keep(self.handle, state))

    @locked
    def restore(self, state: int = 0) -> None:
        """The world becomes what it was at :meth:`keep`, and repeats its steps bit by bit. Waits for the device."""
        self.context.check(lib.psv_world_return(self.handle, state))

    # --- shapes ------------------------------------------------------------------------------------------------------

    @locked
    def _shape(self, kind: str, size: Sequence[float] | Floats = (), /, *, keep: Sequence[Any] = (), **fields: Any) -> int:
        definition = ffi.new("psv_shape_def *", lib.psv_default_shape_def())
        definition.type = getattr(lib, "PSV_SHAPE_" + kind)
        for i, value in enumerate(size):
            definition.size[i] = value
        for name, value in fields.items():
            if name not in _SHAPE_FIELDS:
                raise ArgumentError(f"'{name}' is nothing that a shape is made of; known: {', '.join(sorted(_MATERIAL))}")
            if value is not None:
                try:
                    setattr(definition, name, value)
                except (OverflowError, TypeError) as error:
                    raise ArgumentError(f"{name} is {value!r}: {error}") from None
        out = ffi.new("uint32_t *")
        self.context.check(lib.psv_create_shape(self.handle, definition, out))
        del keep
        return int(out[0])

    def sphere(self, radius: float, **material: Unpack[Material]) -> int:
        """A sphere. Returns its number, for :meth:`add`.

        Material: density (kg/m^3), friction, restitution, rolling_friction, spinning_friction, and a colour for the viewer
        (0xAABBGGRR with the opacity AA; 0: it chooses).
        """
        return self._shape("SPHERE", (radius,), **material)

    def particle(self, radius: float, **material: Unpack[Material]) -> int:
        """A sphere that does not turn, which is cheaper."""
        return self._shape("PARTICLE", (radius,), **material)

    def box(self, half_extents: Vector, **material: Unpack[Material]) -> int:
        """A box of three half extents."""
        return self._shape("BOX", _floats(half_extents, 3, "half_extents"), **material)

    def capsule(self, radius: float, half_length: float, **material: Unpack[Material]) -> int:
        """A capsule along its local y."""
        return self._shape("CAPSULE", (radius, half_length), **material)

    def plane(self, **material: Unpack[Material]) -> int:
        """An endless static plane through a body's position; its normal is the body's local y."""
        return self._shape("PLANE", **material)

    def mesh(self, vertices: HostArray | Numbers, triangles: HostArray | Numbers, *, weld_angle: float | None = None,
             one_sided: bool | None = None,
             **material: Unpack[Material]) -> int:
        """A static triangle mesh: vertices (n, 3) float32, triangles (m, 3) uint32, NumPy arrays, which are copied.

        weld_angle: edges that bend by less, rad, are none. one_sided: solid from where triangles are counter-clockwise.
        """
        points = np.ascontiguousarray(vertices, np.float32)
        faces = np.ascontiguousarray(triangles, np.uint32)
        if points.ndim != 2 or points.shape[1] != 3 or faces.ndim != 2 or faces.shape[1] != 3:
            raise ArgumentError(f"vertices {points.shape}, triangles {faces.shape}; (n, 3) and (m, 3) are wanted")
        return self._shape("MESH", keep=(points, faces), vertices=ffi.cast("float *", points.ctypes.data), vertex_count=len(points),
                           indices=ffi.cast("uint32_t *", faces.ctypes.data), triangle_count=len(faces),
                           weld_angle=weld_angle, one_sided=one_sided, **material)

    def hull(self, points: HostArray | Numbers, **material: Unpack[Material]) -> int:
        """The convex hull of points (n, 3) float32, of at most 64 corners. A body's pose is that of the points' frame; it turns about
        the hull's centre of mass."""
        corners = np.ascontiguousarray(points, np.float32)
        if corners.ndim != 2 or corners.shape[1] != 3:
            raise ArgumentError(f"points {corners.shape}; (n, 3) are wanted")
        return self._shape("HULL", keep=(corners,), vertices=ffi.cast("float *", corners.ctypes.data),
                           vertex_count=len(corners), **material)

    def height_field(self, heights: HostArray | Numbers, width: float, depth: float, **material: Unpack[Material]) -> int:
        """A static landscape: heights (rows, columns) float32 in metres over width x depth metres, centred."""
        samples = np.ascontiguousarray(heights, np.float32)
        if samples.ndim != 2:
            raise ArgumentError(f"heights has shape {samples.shape}; (rows, columns) is wanted")
        return self._shape("HEIGHT_FIELD", (width, 1, depth), keep=(samples,), heights=ffi.cast("float *", samples.ctypes.data),
                           rows=samples.shape[0], columns=samples.shape[1], **material)

    def compound(self, children: Sequence[Child], **material: Unpack[Material]) -> int:
        """A body of parts: dicts with ``type`` ("box", "sphere", "capsule"), ``size``, ``position`` and ``rotation`` (x, y, z, w)."""
        parts = ffi.new("psv_shape_child[]", max(len(children), 1))
        for part, child in zip(parts, children):
            part.type = getattr(lib, "PSV_SHAPE_" + child["type"].upper())
            for i, value in enumerate(child["size"]):
                part.size[i] = value
            part.pose.position = [float(x) for x in child.get("position", (0, 0, 0))]
            part.pose.rotation = [float(x) for x in child.get("rotation", (0, 0, 0, 1))]
        return self._shape("COMPOUND", keep=(parts,), children=parts, child_count=len(children), **material)

    # --- bodies ------------------------------------------------------------------------------------------------------

    @locked
    def add(self, shape: int | Sequence[int] | HostArray, positions: HostArray | Numbers = ((0, 0, 0),), *,
            rotations: HostArray | Numbers | None = None, velocities: HostArray | Numbers | None = None,
            angular_velocities: HostArray | Numbers | None = None, static: Each = False, kinematic: Each = False, world: Each = 0,
            group: Each = 1, mask: Each = 0xFFFFFFFF, linear_damping: Each = 0, angular_damping: Each = 0, gravity_scale: Each = 1,
            user_data: Each = 0) -> Ids:
        """Adds bodies of a shape, all or none, and returns their ids (n,) as records of index1 and generation.

        positions (n, 3), rotations (n, 4) as x, y, z, w, velocities (n, 3) m/s, angular_velocities (n, 3) rad/s; omitted arrays are zero
        (not turned). The others are one value or (n,): `kinematic` bodies move as their velocities say, whatever they meet; speeds
        fall by the damping's share a second (1/s); `user_data` (uint64) is the program's own.
        """
        places = np.atleast_2d(np.asarray(positions, np.float32))
        # Every field begins as the library says, also those that come later.
        default = ffi.new("psv_body_def *", lib.psv_default_body_def())
        defs = np.repeat(np.frombuffer(ffi.buffer(default), _BODY), len(places))
        try:
            defs["shape"], defs["is_static"], defs["sub_world"] = shape, static, world
            defs["pose"]["position"] = places
            defs["pose"]["rotation"] = (0, 0, 0, 1) if rotations is None else rotations
            defs["velocity"] = 0 if velocities is None else velocities
            defs["angular_velocity"] = 0 if angular_velocities is None else angular_velocities
            defs["filter"]["group"], defs["filter"]["mask"] = group, mask
            defs["is_kinematic"], defs["gravity_scale"], defs["user_data"] = kinematic, gravity_scale, user_data
            defs["linear_damping"], defs["angular_damping"] = linear_damping, angular_damping
        except ValueError as error:
            raise ArgumentError(f"an array does not fit {len(places)} bodies: {error}") from None
        ids = np.zeros(len(places), _ID)
        self.context.check(lib.psv_create_bodies(self.handle, ffi.cast("psv_body_def *", defs.ctypes.data), len(places),
                                                 ffi.cast("psv_body_id *", ids.ctypes.data)))
        return ids

    def _ids(self, ids: Ids) -> Ids:
        made = np.ascontiguousarray(np.atleast_1d(ids))
        if made.dtype != _ID:
            raise ArgumentError(f"ids are {made.dtype}; what add() returned is wanted")
        return made

    def slots(self, ids: Ids) -> NDArray[np.int32]:
        """Places (n,) of these bodies in :attr:`positions` and the other arrays by slot: ``positions[slots(ids)]``."""
        return (self._ids(ids)["index1"].astype(np.int64) - 1).astype(np.int32)

    @locked
    def remove(self, ids: Ids) -> None:
        """Takes bodies out. An id that is not alive stops it, with an error."""
        self._each_body(ids, lib.psv_destroy_body)

    def _each_body(self, ids: Ids, call: Callable[..., int], *columns: HostArray) -> None:
        """call(world, id, one element of each column) for each id; columns are one value or one an id."""
        wanted = self._ids(ids)
        try:
            spread = [np.broadcast_to(column, wanted.shape) for column in columns]
        except ValueError as error:
            raise ArgumentError(f"a value does not fit {len(wanted)} bodies: {error}") from None
        for one, *values in zip(wanted, *spread):
            body = ffi.new("psv_body_id *", (int(one["index1"]), int(one["generation"])))[0]
            self.context.check(call(self.handle, body, *(value.item() for value in values)))

    @locked
    def set_damping(self, ids: Ids, linear: Each = 0, angular: Each = 0) -> None:
        """Speeds of these bodies fall by these shares a second, 1/s, one value or (n,). Waits for the device."""
        self._each_body(ids, lib.psv_set_damping, np.asarray(linear, float), np.asarray(angular, float))

    @locked
    def set_gravity_scale(self, ids: Ids, scale: Each) -> None:
        """Gravity of these bodies times `scale`, one value or (n,), -100 to 100. Waits for the device."""
        self._each_body(ids, lib.psv_set_gravity_scale, np.asarray(scale, float))

    @locked
    def set_user_data(self, ids: Ids, data: Each) -> None:
        """The program's own numbers, uint64, one or (n,), which contacts and events then give. Waits for the device."""
        self._each_body(ids, lib.psv_set_user_data, np.asarray(data, np.uint64))

    @locked
    def set_targets(self, ids: Ids, positions: HostArray | Numbers, rotations: HostArray | Numbers | None = None, *,
                    seconds: float = 1 / 60) -> None:
        """Velocities with which kinematic and static bodies come to these poses within `seconds`, and which they keep.

        positions (n, 3), rotations (n, 4) as x, y, z, w; not given: they stay as they are turned. Static bodies are kinematic
        from then on. Waits for the device.
        """
        wanted = self._ids(ids)
        try:
            places = np.broadcast_to(np.asarray(positions, np.float32), (len(wanted), 3))
            given = self.states(wanted)["pose"]["rotation"] if rotations is None else rotations
            turns = np.broadcast_to(np.asarray(given, np.float32), (len(wanted), 4))
        except ValueError as error:
            raise ArgumentError(f"an array does not fit {len(wanted)} bodies: {error}") from None
        pose = ffi.new("psv_pose *")
        for one, place, turn in zip(wanted, places.tolist(), turns.tolist()):
            pose.position, pose.rotation = place, turn
            body = ffi.new("psv_body_id *", (int(one["index1"]), int(one["generation"])))[0]
            self.context.check(lib.psv_set_body_target(self.handle, body, pose, seconds))

    @locked
    def configure(self, *, gravity: Vector | None = None, substeps: int | None = None, restitution_threshold: float | None = None,
                  push_speed: float | None = None) -> None:
        """Changes settings from the next step on; omitted ones are unchanged. Values as of :class:`World`."""
        if gravity is not None:
            self.context.check(lib.psv_set_gravity(self.handle, _floats(gravity, 3, "gravity").tolist()))
        for value, call in ((substeps, lib.psv_set_substeps), (restitution_threshold, lib.psv_set_restitution_threshold),
                            (push_speed, lib.psv_set_push_speed)):
            if value is not None:
                try:
                    status = call(self.handle, value)
                except (OverflowError, TypeError) as error:
                    raise ArgumentError(f"{value!r} is no value of a setting: {error}") from None
                self.context.check(status)

    @locked
    def states(self, ids: Ids) -> NDArray[np.void]:
        """The bodies' states, a NumPy record array: pose (position, rotation), velocity, angular_velocity. Waits for the device."""
        wanted = self._ids(ids)
        out = np.zeros(len(wanted), _STATE)
        self.context.check(lib.psv_get_body_states(self.handle, ffi.cast("psv_body_id *", wanted.ctypes.data), len(wanted),
                                                   ffi.cast("psv_body_state *", out.ctypes.data)))
        return out

    @locked
    def set_states(self, ids: Ids, states: NDArray[np.void]) -> None:
        """Writes what :meth:`states` gave, changed. Waits for the device."""
        wanted, given = self._ids(ids), np.ascontiguousarray(states)
        if given.dtype != _STATE or given.shape != wanted.shape:
            raise ArgumentError(f"states are {given.shape} of {given.dtype}; {wanted.shape} of what states() gives is wanted")
        self.context.check(lib.psv_set_body_states(self.handle, ffi.cast("psv_body_id *", wanted.ctypes.data), len(wanted),
                                                   ffi.cast("psv_body_state *", given.ctypes.data)))

    @locked
    def apply_impulses(self, ids: Ids, impulses: HostArray | Numbers, points: HostArray | Numbers) -> None:
        """Impulses (n, 3) in N s at points (n, 3) of the world. Waits for the device."""
        wanted = self._ids(ids)
        given = np.zeros(len(wanted), _IMPULSE)
        given["impulse"], given["point"] = impulses, points
        self.context.check(lib.psv_apply_impulses(self.handle, ffi.cast("psv_body_id *", wanted.ctypes.data), len(wanted),
                                                  ffi.cast("psv_body_impulse *", given.ctypes.data)))

    @locked
    def step(self, seconds: float | None = None, count: int = 1, *, progress: bool | None = None) -> None:
        """Steps the world. On a GPU it is only enqueued. A scene's world goes by the scene's frames; `seconds` is 1/60 otherwise.

        Ctrl-C ends a loop of `count` steps after the step that runs. `progress` is a bar of tqdm, where that is installed. Default:
        on a terminal and in notebooks, for what takes longer than two seconds.
        """
        integer(count, "count")
        if self._scene != NULL and seconds is not None:
            raise ArgumentError("a scene steps by its own frames; seconds cannot be given")
        for _ in with_progress(count, "step", progress) if count > 1 else range(count):
            if self._scene != NULL:
                status = self.context.run(len(self), (self,), lib.psv_scene_step, self._scene)
            else:
                status = self.context.run(len(self), (self,), lib.psv_world_step, self.handle, 1 / 60 if seconds is None else seconds)
            self.context.check(status)

    @locked
    def _array(self, buffer: Any, columns: int) -> Any:
        if self.device < 0:
            self._settle()
        library = "numpy" if self.device < 0 else self._gpu_library()
        slots = int(lib.psv_world_slot_count(self.handle))
        return _arrays.wrap(address_of(buffer), (slots, columns), "float32", self.device, None, library, self)

    @staticmethod
    def _gpu_library() -> str:
        return next((name for name in ("torch", "cupy", "warp") if name in sys.modules), "memory")

    @property
    def positions(self) -> Any:
        """(slots, 4) float32: x, y, z, bounding radius (0: an empty slot)."""
        return self._array(lib.psv_world_positions(self.handle), 4)

    @property
    def rotations(self) -> Any:
        """(slots, 4) float32: quaternions x, y, z, w."""
        return self._array(lib.psv_world_rotations(self.handle), 4)

    @property
    def velocities(self) -> Any:
        """(slots, 4) float32: m/s, and the inverse mass (0: static)."""
        return self._array(lib.psv_world_velocities(self.handle), 4)

    @property
    def angular_velocities(self) -> Any:
        """(slots, 4) float32: rad/s, and 0."""
        return self._array(lib.psv_world_angular_velocities(self.handle), 4)

    @property
    def boxes(self) -> Any:
        """(slots, 6) float32: the boxes of the last step, for PairFinder.find."""
        return self._array(lib.psv_world_boxes(self.handle), 6)

    def __len__(self) -> int:
        """Living bodies, static ones included."""
        return int(lib.psv_world_body_count(self.handle))

    @locked
    def counters(self) -> dict[str, int]:
        """Bodies, pairs, contacts, ... of the last step, as a dict. Waits for the device."""
        out = ffi.new("psv_world_counters *")
        self.context.check(lib.psv_read_world_counters(self.handle, out))
        return struct_dict(out)

    @locked
    def energy(self) -> tuple[float, NDArray[np.float64]]:
        """(energy in J, momentum (3,) in kg m/s) of all bodies that are not static. Waits for the device."""
        energy, momentum = ffi.new("double *"), ffi.new("double[3]")
        self.context.check(lib.psv_world_energy(self.handle, energy, momentum))
        return float(energy[0]), np.array(list(momentum))

    @locked
    def hash(self) -> int:
        """A number that is the same for worlds with the same poses and velocities, bit by bit, in the same slots. Waits for
        the device."""
        value = ffi.new("uint64_t *")
        self.context.check(lib.psv_world_hash(self.handle, value))
        return int(value[0])

    @locked
    def cast_ray(self, origin: Vector, direction: Vector, max_distance: float = float("inf")) -> tuple[np.void, float] | None:
        """(id, distance) of the first body that a ray hits, or None. Waits for the device."""
        body, distance = ffi.new("psv_body_id *"), ffi.new("float *")
        self.context.check(lib.psv_cast_ray(self.handle, [float(x) for x in origin], [float(x) for x in direction], max_distance,
                                            body, distance))
        if body.index1 == 0:
            return None
        found: np.void = np.array([(body.index1, body.generation)], _ID)[0]
        return found, float(distance[0])

    def synchronize(self) -> None:
        """Waits until all steps have happened."""
        self.counters()


def _destroy(release: Callable[[Any], None], owned: Any, renderers: list[_Renderer], _context: Context) -> None:
    for renderer in renderers:
        renderer.close()
    release(owned)


def load_mesh(path: Path) -> tuple[Floats, NDArray[np.uint32]]:
    """(positions (n, 3) float32, triangles (m, 3) uint32) of a PLY, OBJ or STL file, as NumPy arrays."""
    mesh = ffi.new("psv_mesh *")
    context = Context(-1, workers=1)
    context.check(lib.psv_load_mesh(context.handle, path_of(path), mesh))
    try:
        points = np.empty((mesh.vertex_count, 3), np.float32)
        faces = np.empty((mesh.triangle_count, 3), np.uint32)
        if points.size:
            ffi.memmove(ffi.from_buffer(points), mesh.positions, points.nbytes)
        if faces.size:
            ffi.memmove(ffi.from_buffer(faces), mesh.triangles, faces.nbytes)
    finally:
        lib.psv_free_mesh(mesh)
    return points, faces
