"""The types of values in the eDSL, and the rules by which operands of two types meet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tle_raw.fragments.dtypes import DTYPES, DType, parse_dtype


@dataclass(frozen=True, eq=False)
class Type:
    """Base of the types; ``mlir`` is the spelling in a module."""

    @property
    def mlir(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Number(Type):
    """A scalar. There is one object for each name, so that types compare by identity."""

    name: str
    bits: int
    is_float: bool
    is_signed: bool

    @property
    def mlir(self) -> str:
        return self._mlir

    @cached_property
    def _mlir(self) -> str:
        if self.name == "index" or (self.is_float and not self.is_fp8):
            return self.name
        return f"i{self.bits}"

    @cached_property
    def is_bool(self) -> bool:
        return self.name == "i1"

    @cached_property
    def is_fp8(self) -> bool:
        """Kept as its bits: it is loaded, stored and converted, and nothing else."""
        return self.name.startswith("f8")

    @cached_property
    def is_integer(self) -> bool:
        """An integer that is no bool."""
        return not self.is_float and not self.is_bool

    @cached_property
    def rank(self) -> int:
        """bool, integer, float: the kinds in the order in which they give way."""
        return 2 if self.is_float else 0 if self.is_bool else 1

    @cached_property
    def range(self) -> tuple[int, int]:
        if self.is_signed:
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1

    @cached_property
    def itemsize(self) -> int:
        return max(self.bits, 8) // 8

    @cached_property
    def storage(self) -> str:
        """The MLIR type in memory: a bool is a byte."""
        return "i8" if self.is_bool else self.mlir

    def __str__(self) -> str:
        return self.name


def _number(dtype: DType) -> Number:
    return Number(dtype.name, dtype.bits, not dtype.is_integer, dtype.name[0] == "i" and dtype.bits > 1)


NUMBERS = {name: _number(dtype) for name, dtype in DTYPES.items()}
# What MLIR's own operations index with: 64 bits on every target.
INDEX = NUMBERS["index"] = Number("index", 64, False, True)
BOOL, I8, I16, I32, I64 = (NUMBERS[name] for name in ("i1", "i8", "i16", "i32", "i64"))
U8, U32, U64 = (NUMBERS[name] for name in ("u8", "u32", "u64"))
F16, BF16, F32, F64 = (NUMBERS[name] for name in ("f16", "bf16", "f32", "f64"))


def number(dtype: DType | str) -> Number:
    """The type of a dtype; ``index`` has no dtype.

    Raises
    ------
    SignatureError : there is no such dtype.
    """
    name = dtype.name if isinstance(dtype, DType) else dtype
    return NUMBERS.get(name) or NUMBERS[parse_dtype(name).name]


def same_size_integer(type_: Number) -> Number:
    """The integer that holds a number's bits."""
    return NUMBERS[f"i{type_.bits}"]


@dataclass(frozen=True)
class PointerType(Type):
    """An address; ``element`` is None where only a dialect's builder knows what it points to."""

    element: Number | None
    space: int = 1
    writable: bool = True

    @property
    def mlir(self) -> str:
        return f"!llvm.ptr<{self.space}>" if self.space else "!llvm.ptr"

    def __str__(self) -> str:
        return f"Pointer[{self.element or '?'}]"


@dataclass(frozen=True)
class TileType(Type):
    """Shared memory of a static shape; its value is the address of its first element.

    It is row-major and contiguous, unless ``layout`` names how the elements of a buffer of the kernel lie, as in C++.
    """

    element: Number
    dims: tuple[int, ...]
    writable: bool = True
    layout: str = ""

    @property
    def mlir(self) -> str:
        return "!llvm.ptr<3>"

    @cached_property
    def size(self) -> int:
        return math.prod(self.dims)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        return tuple(math.prod(self.dims[axis + 1 :]) for axis in range(len(self.dims)))

    def __str__(self) -> str:
        return f"Tile[{', '.join(map(str, (self.element, *self.dims)))}]"


@dataclass(frozen=True)
class BarrierType(TileType):
    """A barrier of the kernel: the address of its word. ``first`` is the use that waits for the first phase."""

    first: int = 0

    def __str__(self) -> str:
        return "Barrier"


@dataclass(frozen=True)
class DescriptorType(Type):
    """A tensor descriptor of the kernel: the address of its tensor map. ``dims`` are those of a block."""

    element: Number
    dims: tuple[int, ...]
    writable: bool = True

    @property
    def mlir(self) -> str:
        return "!llvm.ptr"

    def __str__(self) -> str:
        return f"Descriptor[{', '.join(map(str, (self.element, *self.dims)))}]"


@dataclass(frozen=True)
class Vector(Type):
    """A few elements in registers."""

    element: Number
    length: int

    @property
    def mlir(self) -> str:
        return f"vector<{self.length}x{self.element.mlir}>"

    def __str__(self) -> str:
        return f"Vector[{self.element}, {self.length}]"


@dataclass(frozen=True)
class Other(Type):
    """A type of the binding that has no meaning of its own here: a memref, a struct, a tensor."""

    spelling: str

    @property
    def mlir(self) -> str:
        return self.spelling

    def __str__(self) -> str:
        return self.spelling


@lru_cache(maxsize=256)
def read_type(spelling: str) -> Type:
    """The type of a value that a dialect's builder made; MLIR's integers have no sign, here they are signed."""
    if spelling in NUMBERS and spelling[0] != "u" and spelling[:2] != "f8":
        return NUMBERS[spelling]
    if spelling == "!llvm.ptr":
        return PointerType(None, 0)
    if spelling.startswith("!llvm.ptr<") and spelling[10:-1].isdigit():
        return PointerType(None, int(spelling[10:-1]))
    if spelling.startswith("vector<"):
        length, _, element = spelling[7:-1].partition("x")
        if length.isdigit() and isinstance(read_type(element), Number):
            return Vector(read_type(element), int(length))  # type: ignore[arg-type]
    return Other(spelling)


def promote(a: Number, b: Number) -> Number:
    """The type in which two values meet.

    A bool gives way to an integer, an integer to a float. Of two floats the wider one is taken, and f16 with bf16 is
    f32. Of two integers of one signedness the wider one is taken; of two signednesses the unsigned one, unless the
    signed one is wider. ``index`` is taken before any other integer. These are C's rules and Triton's, but for small
    integers, which stay small.
    """
    if a is b:
        return a
    if a.rank != b.rank:
        return a if a.rank > b.rank else b
    if a.is_float:
        if a.bits == b.bits:
            return F32
        return a if a.bits > b.bits else b
    if INDEX in (a, b):
        return INDEX
    if a.is_signed == b.is_signed:
        return a if a.bits > b.bits else b
    unsigned, signed = (b, a) if a.is_signed else (a, b)
    return unsigned if unsigned.bits >= signed.bits else signed


def literal_type(value: bool | int | float) -> Number:
    """The type of a constant that nothing else decides: i1, i32 (i64, u64 when it must be) or f32."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, float):
        return F32
    return next((t for t in (I32, I64, U64) if t.range[0] <= value <= t.range[1]), I64)


def meet(value: bool | int | float, other: Number) -> Number:
    """The type in which a literal meets a value: the value's own, unless the literal is of a higher kind."""
    kind = 0 if isinstance(value, bool) else 1 if isinstance(value, int) else 2
    if kind > other.rank:
        return F32 if kind == 2 else literal_type(value)
    return other
