"""Calls of FlagTree's untyped stubs: their arguments are their signature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tle_raw.errors import ArgumentCountError, ArgumentTypeError, Row
from tle_raw.fragments.argument import BUFFER, CONSTANT, Argument, natural_dtype
from tle_raw.fragments.bound import OF_ANY_TYPE, POINTER, SCALAR, TILE, BoundParameter, BoundSignature
from tle_raw.fragments.check_arguments import check_dims, not_row_major
from tle_raw.fragments.mlir_types import memref_type
from tle_raw.fragments.parameter_types import ROW_MAJOR


def bind_untyped(name: str, arguments: Sequence[Argument], outputs: Iterable[int]) -> BoundSignature:
    """FlagTree's untyped stubs: the arguments of the call are the signature; ``outputs`` index what comes back.

    Its tiles cross as memrefs, and the types of its pointers are compared by their size. Memory, behind a pointer or in
    a buffer, may be written whether it comes back or not.
    """
    outputs = set(outputs)
    parameters = []
    for i, argument in enumerate(arguments):
        if argument.kind == CONSTANT:
            argument = Argument(SCALAR, natural_dtype(argument.value))
        if argument.kind not in (SCALAR, POINTER, TILE, BUFFER):
            raise ArgumentTypeError(
                f"argument {i} of `{name}` cannot cross into a region",
                table=[Row(f"argument {i}", "a tile, a pointer or a scalar", str(argument))],
            )
        if i in outputs and argument.kind == SCALAR:
            raise ArgumentTypeError(
                f"output {i} of `{name}` is a number, which no function changes",
                table=[Row(f"argument {i}", "a tile or a pointer", str(argument))],
            )
        check_dims(f"argument {i}", argument.dims)
        effect = "InOut" if i in outputs or argument.kind in (POINTER, BUFFER) else "In"
        is_tile = argument.kind in (TILE, BUFFER)
        if argument.kind == BUFFER and argument.layout != ROW_MAJOR:
            raise not_row_major(f"argument {i}", [Row(f"argument {i}", f"Buffer[{argument.dtype}]", str(argument))])
        spelling = memref_type(argument.dtype, argument.dims) if is_tile and argument.dtype else ""
        spelling = OF_ANY_TYPE if argument.kind == POINTER else spelling
        kind = TILE if is_tile else argument.kind
        parameters.append(
            BoundParameter(
                f"arg{i}", kind, effect, argument.dtype, argument.dims, spelling=spelling, buffer=argument.layout
            )
        )
    stray = sorted(i for i in outputs if not 0 <= i < len(arguments))
    if stray:
        raise ArgumentCountError(
            f"output index {stray[0]} of `{name}` names no argument",
            table=[Row("output index", f"0 to {len(arguments) - 1}", str(stray[0]))],
        )
    return BoundSignature(name, tuple(parameters))
