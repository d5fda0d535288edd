"""The typed signature of a fragment: what crosses the boundary, and in which direction."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, get_args, get_origin

from tle_raw.errors import SignatureError
from tle_raw.fragments.dtypes import DTYPES, DType, is_dtype_name, parse_dtype
from tle_raw.fragments.structs import Node

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
class Effect:
    effect: str
    type: ParameterType | str  # a text in MLIR's spelling is read when the parameter's name is known


class _EffectMaker:
    """``In[...]``, ``Out[...]``, ``InOut[...]``: what a call does with a parameter.

    They take a parameter type, or a type in MLIR's spelling as text: ``InOut["memref<?xf32, 3>"]``.
    """

    def __init__(self, effect: str) -> None:
        self._effect = effect

    def __getitem__(self, type_: object) -> Effect:
        if get_origin(type_) is Literal:  # FlagTree's L["..."]
            (type_,) = get_args(type_)
        if isinstance(type_, str):
            return Effect(self._effect, type_)
        type_ = Barrier() if type_ is Barrier else type_
        if not isinstance(type_, ParameterType):
            raise SignatureError(
                f"{self._effect}[...] takes a parameter type, got {type_!r}",
                hint=f'write for example {self._effect}[Tile["f32", "M"]] or {self._effect}["memref<?xf32, 3>"]',
            )
        return Effect(self._effect, type_)

    def __repr__(self) -> str:
        return f"tle_raw.{self._effect}"


In = _EffectMaker(IN)
Out = _EffectMaker(OUT)
InOut = _EffectMaker(INOUT)
# FlagTree's names.
Input = Num = In


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


@dataclass(frozen=True)
class StructParameter:
    """A struct that is passed by value: ``count`` parameters of the signature from ``first`` on are what it holds."""

    name: str
    type: Node
    first: int
    count: int

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


@dataclass(frozen=True)
class Signature:
    """Name, parameters and result of a fragment; immutable, hashed into every cache key by its text.

    ``structs`` are those parameters that a call passes together, as a tuple.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: Scalar | Element | None = None
    structs: tuple[StructParameter, ...] = ()
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(_names(self)))
        _check(self)

    @property
    def is_elementwise(self) -> bool:
        """Whether the function is applied to each element, in registers."""
        return any(isinstance(p.type, Element) for p in self.parameters)

    @property
    def has_tiles(self) -> bool:
        """Whether any parameter is a tile."""
        return any(isinstance(p.type, Tile) for p in self.parameters)

    @property
    def passed(self) -> tuple[Parameter, ...]:
        """The parameters that a call passes: all but ``Out``."""
        return tuple(p for p in self.parameters if p.is_passed)

    @property
    def returned(self) -> tuple[Parameter, ...]:
        """The parameters that a call returns: ``Out`` and ``InOut``, in order."""
        return tuple(p for p in self.parameters if p.is_returned)

    @property
    def own(self) -> tuple[Parameter | StructParameter, ...]:
        """The parameters as the author wrote them: a struct is one."""
        found: list[Parameter | StructParameter] = []
        structs = {s.first: s for s in self.structs if s.count}
        empty = [s for s in self.structs if not s.count]
        index = 0
        while index < len(self.parameters):
            found += [s for s in empty if s.first == index]
            found.append(structs.get(index, self.parameters[index]))
            index += structs[index].count if index in structs else 1
        return (*found, *(s for s in empty if s.first == index))

    def __str__(self) -> str:
        text = f"{self.name}({', '.join(map(str, self.own))})"
        return f"{text} -> {self.result}" if self.result else text


def _names(signature: Signature) -> list[str]:
    """Dim, dtype and constant names in the order in which the signature first shows them."""
    names: dict[str, None] = {}
    for parameter in signature.parameters:
        type_ = parameter.type
        if isinstance(type_, Const):
            names[type_.name] = None
            continue
        dims = type_.dims if isinstance(type_, Tile) else ()
        for value in (type_.dtype, *dims):  # type: ignore[attr-defined]
            if isinstance(value, str):
                names[value] = None
    if signature.result and isinstance(signature.result.dtype, str):
        names[signature.result.dtype] = None
    return list(names)


def _check_descriptor(signature: Signature, parameter: Parameter) -> None:
    if parameter.effect == OUT:
        raise SignatureError(
            f"parameter `{parameter.name}`: a descriptor cannot be Out, the call passes it",
            hint="InOut[Descriptor[...]] says that the function writes the array by it",
        )
    for other in signature.parameters:
        if is_block_of(other.type, parameter.type) and layout_of(other.type) == ROW_MAJOR:
            raise SignatureError(
                f"parameter `{other.name}`: a buffer with the block of the descriptor `{parameter.name}` has the copy "
                "engine's layout, whose rows do not lie behind each other",
                hint=f"write {str(other.type)[:-1]}, AnyLayout]; other names of its dims say that it is another buffer",
            )


def is_block_of(type_: ParameterType, descriptor: ParameterType) -> bool:
    """Whether it is a buffer of the dtype and dims that a descriptor's block is declared with."""
    if not isinstance(type_, Buffer) or isinstance(type_, Barrier | Descriptor):
        return False
    return isinstance(descriptor, Descriptor) and (type_.dtype, type_.dims) == (descriptor.dtype, descriptor.dims)


def _check(signature: Signature) -> None:
    for parameter in signature.parameters:
        _check_effect(parameter)
        if isinstance(parameter.type, Descriptor):
            _check_descriptor(signature, parameter)
    _check_names(signature)
    _check_elements(signature)


def _check_effect(p: Parameter) -> None:
    if isinstance(p.type, (Scalar, Const)) and p.effect != IN:
        raise SignatureError(
            f"parameter `{p.name}`: a {p.type.kind} can only be In, got {p.effect}",
            hint='return a scalar with `-> Scalar["f32"]`',
        )
    if isinstance(p.type, Barrier) and p.effect == OUT:
        raise SignatureError(
            f"parameter `{p.name}`: a barrier cannot be Out, its state counts",
            hint="write `Barrier`, or `In[Barrier]` where the function only waits",
        )
    if isinstance(p.type, Pointer) and p.effect == OUT:
        raise SignatureError(
            f"parameter `{p.name}`: a pointer cannot be Out, nothing is allocated behind it",
            hint="InOut[Pointer[...]] says that the function writes the memory behind it",
        )


def _check_names(signature: Signature) -> None:
    """A name is bound to one thing by a call."""
    dtypes, integers = set(), set()
    for p in signature.parameters:
        if isinstance(p.type, Const):
            integers.add(p.type.name)
        elif isinstance(p.type, Tile):
            integers.update(d for d in p.type.dims if isinstance(d, str))
        if isinstance(getattr(p.type, "dtype", None), str):
            dtypes.add(p.type.dtype)  # type: ignore[attr-defined]
    if dtypes & integers:
        name = min(dtypes & integers)
        raise SignatureError(f"name `{name}` stands for a dtype in one place and for an integer in another")


def _check_elements(signature: Signature) -> None:
    if signature.is_elementwise and signature.has_tiles:
        raise SignatureError("a fragment takes whole tiles or single elements, not both")
    outputs = len(signature.returned) + (signature.result is not None)
    if signature.is_elementwise and outputs != 1:
        raise SignatureError(
            f"an elementwise fragment gives exactly one result, this one has {outputs}",
            hint='write `-> Element["f32"]`, or make one parameter InOut',
        )
    if isinstance(signature.result, Element) and not signature.is_elementwise:
        raise SignatureError("a result is an Element only when a parameter is one")
    if signature.is_elementwise and isinstance(signature.result, Scalar):
        raise SignatureError("an elementwise fragment returns an Element, not a Scalar")
