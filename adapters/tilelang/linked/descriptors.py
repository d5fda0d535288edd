"""The TMA descriptors that a lowered kernel takes: what TileLang's host code would encode, as numbers of the call.

The fields are those of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col in the CUDA driver API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.tilelang.program import variables_of
from tle_raw.adapters.tilelang.tir_types import Expression, Variable
from tle_raw.errors import ShapeError, UnsupportedFeatureError

DESCRIPTORS = "tma"  # the region's parameter that holds their address
TILED, IM2COL = "tiled", "im2col"
BYTES = 128  # of one descriptor, which is also the alignment that keeps each in a cache line of its own
_ATTRIBUTE = "tma_descriptor_args"
_CREATORS = {"__tvm_tensormap_create_tiled": TILED, "__tvm_tensormap_create_im2col": IM2COL}


@dataclass(frozen=True)
class Fields:
    """The numbers of one descriptor; lists go from the innermost dim outwards.

    Attributes
    ----------
    dtype, interleave, swizzle, promotion, fill : values of the driver's enumerations.
    sizes : elements along each dim; ``strides`` bytes, that of the innermost dim left out; ``steps`` element strides.
    box : elements of a tile along each dim (tiled).
    lower, upper : corners of the box of pixels; ``channels`` and ``pixels`` of a column (im2col).
    """

    kind: str
    dtype: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    steps: tuple[int, ...]
    interleave: int
    swizzle: int
    promotion: int
    fill: int
    box: tuple[int, ...] = ()
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    channels: int = 0
    pixels: int = 0


@dataclass(frozen=True)
class Descriptor:
    """One descriptor. ``name`` is the kernel's parameter, ``buffer`` the PrimFunc's buffer that it describes.

    ``numbers`` are TIR expressions, in the order of TileLang's call; ``variables`` tells the PrimFunc's own name of
    each variable in them.
    """

    name: str
    kind: str
    buffer: str
    rank: int
    dtype: int
    numbers: tuple[Any, ...]
    variables: tuple[tuple[Any, str], ...]

    def fields(self, known: Mapping[str, int]) -> Fields:
        """The numbers for one call; ``known`` holds its sizes, strides and scalars by name.

        Raises
        ------
        ShapeError : a number depends on something else.
        """
        values = [_value(number, self.variables, known) for number in self.numbers]
        return (_tiled if self.kind == TILED else _im2col)(self.rank, self.dtype, values)


def read_descriptors(caller: Any, name_of: Any) -> tuple[Descriptor, ...]:
    """All descriptors that a host function makes.

    Parameters
    ----------
    caller : TileLang's host function.
    name_of : tells the PrimFunc's name of a variable of the host's: a buffer's for its memory, or a number's.
    """
    attributes = caller.attrs
    if attributes is None or _ATTRIBUTE not in attributes:
        return ()
    return tuple(
        _descriptor(variable, list(call), name_of) for variable, call in attributes[_ATTRIBUTE].items()
    )  # fmt: skip


def _descriptor(variable: Variable, call: Sequence[Any], name_of: Any) -> Descriptor:
    creator, _, dtype, rank, memory, *numbers = call
    kind = _CREATORS.get(str(getattr(creator, "value", creator)))
    count = None if kind is None else 4 * int(rank) + 4 if kind == TILED else 5 * int(rank) + 2
    if kind is None or len(numbers) != count:
        raise UnsupportedFeatureError(
            f"TileLang makes the TMA descriptor `{variable}` in a form that this release does not know",
            hint="report this with the PrimFunc and the version of TileLang",
        )
    found = {v: name_of(v) for number in numbers for v in _variables(number)}
    return Descriptor(
        str(variable.name), kind, name_of(memory), int(rank), int(dtype), tuple(numbers), tuple(found.items())
    )


def _tiled(rank: int, dtype: int, values: Sequence[int]) -> Fields:
    sizes, strides, box, steps, rest = _split(values, rank, rank, rank, rank)
    interleave, swizzle, promotion, fill = rest
    return Fields(TILED, dtype, sizes, strides[1:], steps, interleave, swizzle, promotion, fill, box)


def _im2col(rank: int, dtype: int, values: Sequence[int]) -> Fields:
    sizes, strides, steps, lower, upper, rest = _split(values, rank, rank, rank, rank - 2, rank - 2)
    pixels, channels, interleave, swizzle, promotion, fill = rest
    return Fields(
        IM2COL, dtype, sizes, strides[1:], steps, interleave, swizzle, promotion, fill,
        lower=lower, upper=upper, channels=channels, pixels=pixels,
    )  # fmt: skip


def _split(values: Sequence[int], *lengths: int) -> Iterator[tuple[int, ...]]:
    start = 0
    for length in lengths:
        yield tuple(values[start : start + length])
        start += length
    yield tuple(values[start:])


def _variables(expression: Expression) -> list[Any]:
    return variables_of(expression)


def _value(expression: Expression, variables: Sequence[tuple[Any, str]], known: Mapping[str, int]) -> int:
    from tvm import arith, tirx

    if isinstance(expression, int):
        return expression
    values = {v: tirx.IntImm(str(v.dtype), known[name]) for v, name in variables if name in known}
    found = arith.Analyzer().simplify(tirx.stmt_functor.substitute(expression, values)) if values else expression
    value = getattr(found, "value", None)
    if not isinstance(value, int):
        raise ShapeError(f"a TMA descriptor needs the number `{expression}`, which the arguments do not tell")
    return value
