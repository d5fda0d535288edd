"""Whether the arguments of a call are what its signature says, and the tables and hints that tell where not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tle_raw.errors import ArgumentTypeError, Row, ShapeError
from tle_raw.fragments.argument import BARRIER_KIND, BUFFER, CONSTANT, DESCRIPTOR_KIND, POINTER_TILE, Argument
from tle_raw.fragments.bound import CONST, ELEMENT, POINTER, SCALAR, TILE, BoundParameter
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.parameter_types import (
    Barrier,
    Buffer,
    Const,
    Descriptor,
    Element,
    Parameter,
    Pointer,
    Scalar,
    Tile,
)
from tle_raw.fragments.signature import Signature


def _expected_kinds(parameter: Parameter) -> tuple[str, ...]:
    return {
        Scalar: (SCALAR, CONSTANT),
        Pointer: (POINTER,),
        Tile: (TILE, BUFFER),
        Buffer: (BUFFER,),
        Barrier: (BARRIER_KIND,),
        Descriptor: (DESCRIPTOR_KIND,),
        Element: (TILE, SCALAR, CONSTANT),
        Const: (CONSTANT,),
    }[type(parameter.type)]


def check_kind(signature: Signature, parameter: Parameter, arguments: Mapping[str, Argument]) -> None:
    argument = arguments[parameter.name]
    if argument.kind in _expected_kinds(parameter):
        return
    hints = {
        (TILE, "pointer"): "pass the pointer itself, not what tl.load read from it",
        (POINTER, "tile"): "load the tile first: tl.load(pointer + offsets)",
        (SCALAR, "tile"): "pass a block tensor",
        (TILE, "scalar"): "a scalar is one value: reduce the tile first, or declare a Tile",
        (POINTER_TILE, "pointer"): "pass the base pointer; the function does its own indexing",
        (POINTER_TILE, "tile"): "load the tile first: tl.load(pointers)",
        (BUFFER, "element"): "pass what it holds: buffer.load()",
        (TILE, "buffer"): "put the tile into a buffer of tle.gpu.alloc first, or declare a Tile",
        (BUFFER, "barrier"): "tle.gpu.alloc_barrier makes barriers",
        (BARRIER_KIND, "buffer"): "declare the parameter as Barrier",
        (DESCRIPTOR_KIND, "pointer"): "declare the parameter as Descriptor",
        (DESCRIPTOR_KIND, "tile"): "load the tile first: descriptor.load(offsets); or declare a Descriptor",
        (DESCRIPTOR_KIND, "buffer"): "declare the parameter as Descriptor, and pass the buffer beside it",
        (POINTER, "descriptor"): "tl.make_tensor_descriptor makes descriptors, TensorDescriptor on the host",
        (SCALAR, "const"): "the value must be known at compile time: make it a tl.constexpr",
    }
    raise ArgumentTypeError(
        f"argument `{parameter.name}` is {_article(argument.kind)} where {_article(parameter.type.kind)} belongs",
        table=table_of(signature, arguments),
        hint=hints.get((argument.kind, parameter.type.kind), ""),
    )


def _article(kind: str) -> str:
    word = {CONST: "constant", ELEMENT: "tensor"}.get(kind, kind)
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def not_row_major(what: str, table: Sequence[Row]) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"the elements of the buffer {what} do not lie row by row",
        table=table,
        hint="allocate it with nv_mma_shared_layout=False; or end the type with AnyLayout and take a tle::buffer",
    )


def cast_hint(parameter: Parameter, dtype: DType, argument: Argument) -> str:
    if argument.kind == POINTER:
        return f"the pointer's element type must be {dtype}; or declare Pointer[{argument.dtype}]"
    return f"cast it at the call, for example `{parameter.name}.to(tl.{_tl_name(dtype)})`"


def _tl_name(dtype: DType) -> str:
    return dtype.triton.replace("fp8", "float8").replace("fp", "float").replace("bf16", "bfloat16")


def check_dims(what: str, dims: tuple[int, ...]) -> None:
    for dim in dims:
        if dim < 1 or dim & (dim - 1):
            raise ShapeError(
                f"{what}: a tile's dims are powers of two",
                table=[Row("shape", "powers of two", str(dims))],
                hint="round up with triton.next_power_of_2 and mask the tail",
            )


def check_constant(parameter: Parameter, bound: BoundParameter, argument: Argument) -> None:
    if argument.kind != CONSTANT or bound.dtype is None:
        return
    value, dtype = argument.value, bound.dtype
    low, high = dtype.integer_range if dtype.is_integer else (0, 0)
    if dtype.is_integer and not (isinstance(value, int) and low <= value <= high):
        raise ArgumentTypeError(
            f"argument `{parameter.name}`: the constant does not fit its dtype",
            table=[Row(parameter.name, f"{dtype}, {low} to {high}", repr(value))],
        )
    if not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"argument `{parameter.name}` is no number: {value!r}")


def table_of(signature: Signature, arguments: Mapping[str, Argument]) -> list[Row]:
    """One row a parameter; a row that fits says the same on both sides, so that only misfits are marked."""
    rows = []
    for parameter in signature.passed:
        argument = arguments[parameter.name]
        expected, got = str(parameter.type), str(argument)
        rows.append(Row(parameter.name, got if _fits(parameter, argument) else expected, got))
    return rows


def _fits(parameter: Parameter, argument: Argument) -> bool:
    type_ = parameter.type
    if argument.kind not in _expected_kinds(parameter):
        return False
    if isinstance(type_, Const) or argument.kind == CONSTANT:
        return True
    if isinstance(type_.dtype, DType) and type_.dtype != argument.dtype:  # type: ignore[attr-defined]
        return False
    if not isinstance(type_, Tile):
        return True
    same_rank = len(type_.dims) == len(argument.dims)
    return same_rank and all(isinstance(d, str) or d == a for d, a in zip(type_.dims, argument.dims))
