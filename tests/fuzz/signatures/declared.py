"""A declaration as data: what a signature states, and what the function of its dialect takes."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tle_raw.fragments.bound import CONST, ELEMENT, POINTER, SCALAR, TILE
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.fragments.parameter_types import Const, Element, Parameter, ParameterType, Pointer, Scalar, Tile
from tle_raw.fragments.signature import Signature

DTYPE_NAMES = ("i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64")
DIMS = {"M": 4, "N": 8, "P": 16}
WEIGHTS = (3, 5, 7, 11, 13, 17, 19, 23)
OUT, RESULT = "out", "result"  # where a function tells what it read


@dataclass(frozen=True)
class Declared:
    """One parameter. ``dims`` are numbers or names of ``DIMS``; ``value`` is a constant's."""

    name: str
    kind: str
    dtype: str = ""
    effect: str = "In"
    dims: tuple[int | str, ...] = ()
    value: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(DIMS[d] if isinstance(d, str) else d for d in self.dims)

    @property
    def parameter(self) -> Parameter:
        return Parameter(self.name, self._type(), self.effect)

    def _type(self) -> ParameterType:
        if self.kind == CONST:
            return Const(f"C_{self.name}")
        if self.kind == TILE:
            return Tile(DTYPES[self.dtype], self.dims)
        return {SCALAR: Scalar, POINTER: Pointer, ELEMENT: Element}[self.kind](DTYPES[self.dtype])


@dataclass(frozen=True)
class Port:
    """One parameter as the function takes it: types in its dialect's words, none where it is left out."""

    declared: Declared
    types: tuple[str, ...]
    name: str = ""


@dataclass(frozen=True)
class Function:
    """What a source defines; without a body it only has the right, or the wrong, type."""

    dialect: str
    name: str
    ports: tuple[Port, ...]
    result: str
    has_body: bool = True


@dataclass(frozen=True)
class Case:
    """A signature and the function that it is declared over. ``told`` is where the weighted sum of all goes."""

    name: str
    parameters: tuple[Declared, ...]
    result: str  # a dtype, or ""
    function: Function
    told: str

    @property
    def is_elementwise(self) -> bool:
        return any(p.kind == ELEMENT for p in self.parameters)

    @property
    def signature(self) -> Signature:
        kind = Element if self.is_elementwise else Scalar
        result = kind(DTYPES[self.result]) if self.result else None
        return Signature(self.name, tuple(p.parameter for p in self.parameters), result)

    @property
    def names(self) -> dict[str, int]:
        """The value of each name of the signature."""
        values = {f"C_{p.name}": p.value for p in self.parameters if p.kind == CONST}
        return values | {d: DIMS[d] for p in self.parameters for d in p.dims if isinstance(d, str)}


def draw_parameters(random: Random) -> tuple[tuple[Declared, ...], str, str]:
    """Parameters, the dtype of the result, and where the sum goes."""
    if random.random() < 0.3:
        return _elementwise(random)
    found = [_parameter(random, f"p{i}", (SCALAR, POINTER, TILE, TILE, CONST)) for i in range(random.randint(1, 6))]
    if random.random() < 0.5:
        return tuple(found), "f64", RESULT
    found.insert(random.randint(0, len(found)), Declared("out", POINTER, "f64", "InOut"))
    return tuple(found), "", OUT


def _elementwise(random: Random) -> tuple[tuple[Declared, ...], str, str]:
    found = [_parameter(random, f"p{i}", (SCALAR, POINTER, ELEMENT, CONST)) for i in range(random.randint(0, 4))]
    found.insert(random.randint(0, len(found)), Declared("x", ELEMENT, random.choice(DTYPE_NAMES)))
    effect = random.choice(("", "Out", "InOut"))
    if not effect:
        return tuple(found), "f64", RESULT
    found.insert(random.randint(0, len(found)), Declared("y", ELEMENT, "f64", effect))
    return tuple(found), "", "y"


def _parameter(random: Random, name: str, kinds: tuple[str, ...]) -> Declared:
    kind = random.choice(kinds)
    if kind == CONST:
        return Declared(name, CONST, value=random.randint(1, 100))
    dtype = random.choice(DTYPE_NAMES)
    if kind != TILE:
        return Declared(name, kind, dtype)
    dims = tuple(random.choice((4, 8, 16, "M", "N", "P")) for _ in range(random.choice((1, 1, 2, 2, 3))))
    return Declared(name, TILE, dtype, random.choice(("In", "In", "InOut", "Out")), dims)


def weight(index: int) -> int:
    return WEIGHTS[index % len(WEIGHTS)]


def tag(index: int, dtype: str) -> int:
    """What a function writes into a tile."""
    return 1 if dtype == "i1" else 20 + index
