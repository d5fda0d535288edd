"""A fragment's parameters and their types: what may cross the boundary."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tle_raw.errors import SignatureError
from tle_raw.fragments.dtypes import DTYPES, DType, is_dtype_name, parse_dtype

MAX_RANK = 4
IN, OUT, INOUT = "In", "Out", "InOut"

# A dtype or a dim is known, or is a name that each call binds.
DTypeOrName = DType | str
DimOrName = int | str


def _dtype(value: object) -> DTypeOrName:
    """A dtype, or a capitalised name such as "T" that stands for one."""
    if isinstance(value, str) and not is_dtype_name(value) and re.fullmatch(r"[A-Z]\w*", value):
        return value
    return parse_dtype(value)


def _dim(value: object) -> DimOrName:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise SignatureError(f"a dim is an integer or a name, got {value!r}")
    if isinstance(value, str):
        if not re.fullmatch(r"[A-Za-z_]\w*", value):
            raise SignatureError(f"a dim name must be an identifier, got {value!r}")
        return value
    if value < 1 or value & (value - 1):
        raise SignatureError(f"a dim must be a positive power of two, as every Triton block dim, got {value}")
    return value


@dataclass(frozen=True)
class ParameterType:
    """Base of the parameter types; ``kind`` is the word that errors use.

    ``spelling`` of a type that was written as MLIR is its author's own text.
    """

    @property
    def kind(self) -> str:
        return type(self).__name__.lower()


@dataclass(frozen=True)
class Scalar(ParameterType):
    """``Scalar["i32"]``: one value, equal in all threads of the block."""

    dtype: DTypeOrName
    spelling: str = ""

    def __class_getitem__(cls, dtype: object) -> Scalar:
        return cls(_dtype(dtype))

    def __str__(self) -> str:
        return self.spelling or f"Scalar[{self.dtype}]"


@dataclass(frozen=True)
class Pointer(ParameterType):
    """``Pointer["f32"]``: a pointer to global memory. ``Pointer["void"]`` is one to anything, as C's ``void*``."""

    dtype: DTypeOrName
    spelling: str = ""
    is_opaque: bool = False

    def __class_getitem__(cls, dtype: object) -> Pointer:
        return cls(DTYPES["u8"], is_opaque=True) if dtype == "void" else cls(_dtype(dtype))

    def __str__(self) -> str:
        return self.spelling or f"Pointer[{'void' if self.is_opaque else self.dtype}]"


@dataclass(frozen=True)
class Tile(ParameterType):
    """``Tile["f32", "M", "N"]``: a whole block tensor in shared memory.

    Row-major, contiguous, 16-byte aligned; rank 1 to 4; every dim is a power of two when bound. A call may pass a
    shared buffer instead of a tensor: what the region does to the tile, it does to the buffer.
    """

    dtype: DTypeOrName
    dims: tuple[DimOrName, ...]
    spelling: str = ""

    def __class_getitem__(cls, items: object) -> Tile:
        dtype, *dims = (items or (None,)) if isinstance(items, tuple) else (items,)
        if not 1 <= len(dims) <= MAX_RANK:
            raise SignatureError(
                f"a tile has 1 to {MAX_RANK} dims, got {len(dims)}",
                hint='write for example Tile["f32", "M", "N"]',
            )
        return cls(_dtype(dtype), tuple(_dim(dim) for dim in dims))

    def __str__(self) -> str:
        return self.spelling or f"Tile[{', '.join(map(str, (self.dtype, *self.dims)))}]"


@dataclass(frozen=True)
class Element(ParameterType):
    """``Element["f32"]``: the function is applied to each element of a tensor, in registers."""

    dtype: DTypeOrName

    def __class_getitem__(cls, dtype: object) -> Element:
        return cls(_dtype(dtype))

    def __str__(self) -> str:
        return f"Element[{self.dtype}]"


@dataclass(frozen=True)
class Const(ParameterType):
    """``Const["K"]``: an integer known at compile time; K is a template parameter or the macro TLE_K."""

    name: str

    def __class_getitem__(cls, name: object) -> Const:
        if not isinstance(name, str) or not name.isidentifier():
            raise SignatureError(f"Const takes one name, got {name!r}", hint='write for example Const["K"]')
        return cls(name)

    def __str__(self) -> str:
        return f"Const[{self.name}]"


# How the elements of a shared buffer lie in memory. A layout that is none of them is spelled as in C++
# (tle_raw/buffer.h). A tile's parameter may get a buffer that is not row-major: it takes a copy of it.
ROW_MAJOR = "row_major"
ANY_LAYOUT = "any"
COPIED = "copied"
# A word that is no buffer of elements: a barrier of the kernel, of which use 0 waits for the first phase, or for none.
BARRIER = "barrier"
READY_BARRIER = "ready_barrier"
DESCRIPTOR = "descriptor"  # no buffer either: where a tensor descriptor of the kernel is


class AnyLayout:
    """The last item of ``Buffer[...]``: the function takes the buffer however its elements lie, as ``tle::buffer``."""


@dataclass(frozen=True)
class Buffer(Tile):
    """``Buffer["f32", "M", "N"]``: a shared buffer of the kernel (``tle.gpu.alloc``), in place.

    It is row-major, contiguous and 16-byte aligned, unless ``AnyLayout`` stands last: ``Buffer["bf16", "M", "N",
    AnyLayout]``. The call passes it whatever its effect is; ``Out`` says that the function reads nothing of it.
    """

    layout: str = ROW_MAJOR

    def __class_getitem__(cls, items: object) -> Buffer:
        given = items if isinstance(items, tuple) else (items,)
        layout = ANY_LAYOUT if given[-1] is AnyLayout else ROW_MAJOR
        tile = Tile.__class_getitem__(given[:-1] if layout == ANY_LAYOUT else given)
        return cls(tile.dtype, tile.dims, layout=layout)

    def __str__(self) -> str:
        items = [self.dtype, *self.dims, *(["AnyLayout"] if self.layout == ANY_LAYOUT else [])]
        return f"Buffer[{', '.join(map(str, items))}]"


@dataclass(frozen=True)
class Barrier(Buffer):
    """``Barrier``: a barrier of the kernel (``tle.gpu.alloc_barrier``), or one of several, in place.

    The function waits for it and arrives at it, and copies that it begins may complete a phase: ``tle::barrier`` of
    ``tle_raw/barrier.h``. Where no such type exists it is the address of the barrier's eight bytes, PTX's mbarrier. It
    is ``InOut`` unless ``In[Barrier]`` says that the function only waits.
    """

    dtype: DTypeOrName = DTYPES["i64"]
    dims: tuple[DimOrName, ...] = (1,)
    layout: str = BARRIER
    arrivals: int = 0  # that complete a phase, where the function says so

    def __class_getitem__(cls, items: object) -> Barrier:
        raise SignatureError("a barrier has neither dtype nor dims", hint="write `Barrier`, or `In[Barrier]`")

    def __str__(self) -> str:
        return "Barrier"


@dataclass(frozen=True)
class Descriptor(Buffer):
    """``Descriptor["f16", "M", "N"]``: a tensor descriptor of the kernel, whose block has this dtype and these dims.

    ``tl.make_tensor_descriptor`` in the kernel, or ``TensorDescriptor`` on the host. The function copies blocks between
    the array and shared buffers by it: ``tle::descriptor`` of ``tle_raw/descriptor.h``. A buffer with the same dtype
    and dims, ``Buffer["f16", "M", "N", AnyLayout]``, has the copy engine's layout, which is alloc's own.
    """

    layout: str = DESCRIPTOR

    def __class_getitem__(cls, items: object) -> Descriptor:
        tile = Tile.__class_getitem__(items)
        return cls(tile.dtype, tile.dims)

    def __str__(self) -> str:
        return f"Descriptor[{', '.join(map(str, (self.dtype, *self.dims)))}]"


def layout_of(type_: ParameterType) -> str:
    """The layout that a parameter takes: ``row_major``, ``any`` or ``barrier``; "" where it is no buffer."""
    return type_.layout if isinstance(type_, Buffer) else ""


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, type and effect (``In``, ``Out`` or ``InOut``)."""

    name: str
    type: ParameterType
    effect: str = IN

    @property
    def is_passed(self) -> bool:
        """The call gives it a value (an ``Out`` tile is allocated instead)."""
        return self.effect != OUT or isinstance(self.type, Buffer)

    @property
    def is_returned(self) -> bool:
        """The call gives it back. Memory behind a pointer and a shared buffer are updated, never returned."""
        return self.effect != IN and not isinstance(self.type, (Pointer, Buffer))

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" if self.effect == IN else f"{self.name}: {self.effect}[{self.type}]"
