"""Types of arguments, for type checkers and for programs that wrap this package.

Arrays are known by what they can do, so that no library has to be installed for its arrays to be checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray


class SupportsDLPack(Protocol):
    """An array that DLPack can describe: NumPy, PyTorch, CuPy, JAX, Warp."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

    @property
    def shape(self) -> Any: ...


class SupportsCuda(Protocol):
    """An array with CUDA's array interface: CuPy, Numba, Warp, PyTorch on a GPU."""

    @property
    def __cuda_array_interface__(self) -> Any: ...

    @property
    def shape(self) -> Any: ...


class SupportsHost(Protocol):
    """An array with NumPy's array interface."""

    @property
    def __array_interface__(self) -> Any: ...

    @property
    def shape(self) -> Any: ...


class SupportsStream(Protocol):
    """A stream of CUDA Python, or of any library that follows its protocol."""

    def __cuda_stream__(self) -> tuple[int, int]: ...


class HasCudaStream(Protocol):
    """A stream of PyTorch or Warp."""

    @property
    def cuda_stream(self) -> Any: ...


class HasPointer(Protocol):
    """A stream of CuPy."""

    @property
    def ptr(self) -> Any: ...


class HasHandle(Protocol):
    """A stream of Numba."""

    @property
    def handle(self) -> Any: ...


class HasDeviceType(Protocol):
    """A device of PyTorch."""

    @property
    def type(self) -> str: ...

    @property
    def index(self) -> Any: ...


AnyArray = SupportsDLPack | SupportsCuda | SupportsHost
#: An array of one library; results are of that library too.
Array = TypeVar("Array", bound=AnyArray)
HostArray = NDArray[Any]
Scalar = TypeVar("Scalar", bound=np.generic)
Indices = NDArray[np.int32]
Floats = NDArray[np.float32]

Numbers = Sequence[float] | Sequence[Sequence[float]] | Sequence[Sequence[Sequence[float]]]
Integers = Sequence[int] | Sequence[Sequence[int]]
#: One array, a list of boxes, or the lower and the upper corners.
HostBoxes = HostArray | tuple[HostArray, HostArray] | list[HostArray] | Numbers
Boxes = AnyArray | tuple[AnyArray, AnyArray] | list[HostArray] | Numbers
#: Rays (n, 8), or origins and directions.
Rays = AnyArray | tuple[AnyArray, AnyArray] | Numbers
Points = AnyArray | Numbers
#: Integers of each box, body or query.
Marks = AnyArray | Integers
Device = str | int | HasDeviceType
Stream = int | SupportsStream | HasCudaStream | HasPointer | HasHandle
#: Three numbers.
Vector = Sequence[float] | HostArray
#: One number, or one for each.
Each = float | Sequence[float] | Sequence[Sequence[float]] | HostArray
#: Ids of bodies, as World.add returns them.
Ids = NDArray[np.void]

ElementKind = Literal["edge-edge", "vertex-face", "face-face", "edge-face"]
KeysAfter = Literal["sorted", "kept", "undefined"]
NaNOrder = Literal["last", "bits"]
TreeQuality = Literal["linear", "fine"]


class Material(TypedDict, total=False):
    """What a shape is made of: density in kg/m^3, frictions and restitution without a unit."""

    density: float | None
    friction: float | None
    restitution: float | None
    rolling_friction: float
    spinning_friction: float
    colour: int  # 0xAABBGGRR, AA the opacity; 0: pictures choose


class BodyQueryParts(TypedDict, total=False):
    """What queries take beside their own arguments, see :class:`pairsieve.Tree`."""

    worlds: Marks | None
    groups: Marks | None
    masks: Marks | None
    filters: Marks | None
    count: AnyArray | None


class QueryParts(BodyQueryParts, total=False):
    """The same for a tree, which can sort its queries."""

    sort_queries: bool


class WorldFields(TypedDict, total=False):
    """Further settings of a world, see :class:`pairsieve.World`."""

    contact_events: bool
    hit_speed: float
    sleeping: bool
    sleep_speed: float
    restitution_threshold: float
    push_speed: float
    max_pairs: int
    max_contacts: int
    max_shapes: int
    self_gravity: float
    softening: float
    bounds_min: Vector
    bounds_max: Vector


class _Part(TypedDict):
    type: Literal["box", "sphere", "capsule"]
    size: Sequence[float]


class Child(_Part, total=False):
    """A part of a compound body. size: half extents, radius, or radius and half length, in metres."""

    position: Vector
    rotation: Vector
