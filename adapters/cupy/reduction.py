"""CuPy's ReductionKernel: a reduction of tiles by a block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tle_raw.adapters.cpp.source_lines import at_its_line
from tle_raw.adapters.cpp.tokens import tokenize
from tle_raw.adapters.cupy.elementwise import header_lines
from tle_raw.adapters.cupy.parameters import CupyParameter, read_parameters, type_lines
from tle_raw.adapters.cupy.uses import asks_size, check_raw
from tle_raw.errors import DialectError, Row, SignatureError, SourceLocation, UnsupportedFeatureError
from tle_raw.fragments.parameter_types import IN, OUT, Parameter, Pointer, Scalar, Tile
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.source_text import location_of_text

SYMBOL = "tle_raw_reduction"
# Names of a call's extents: longer than the letters that stand for types.
SIZE, ROWS, COLUMNS = "SIZE", "ROWS", "COLUMNS"
_REDUCED = {None: (SIZE, "1"), 0: (ROWS, COLUMNS), 1: (COLUMNS, ROWS)}


def reduction(
    kernel: Any, types: Mapping[str, Any], scalars: Any, axis: Any, location: SourceLocation
) -> tuple[Signature, str, Any]:
    """The signature, the text and the compiler's options of a ReductionKernel.

    Without ``axis`` its one output is a number, equal in all threads. With 0 or 1 the inputs are tiles of rank 2, and
    each output is a tile. ``scalars`` names inputs that are numbers.

    Raises
    ------
    DialectError : axis= or scalars= is wrong.
    SignatureError : a type cannot cross, or a result's type follows from no argument.
    UnsupportedFeatureError : a number for several outputs, or an output that is raw.
    """
    name = str(kernel.name)
    if axis not in (None, 0, 1) or isinstance(axis, bool):
        raise DialectError("axis= is that of a tile of rank 2", table=[Row("axis", "None, 0 or 1", repr(axis))])
    given = read_parameters(kernel.in_params, kernel.out_params, types, location)
    numbers = _numbers(scalars, given)
    outputs = [argument for argument in given if argument.is_output]
    code = {text: str(getattr(kernel, text)) for text in ("map_expr", "reduce_expr", "post_map_expr")}
    for text in code.values():
        tokens, at = tokenize(text), location_of_text(text, location) if text.strip() else location
        check_raw(given, tokens, name, at)
        for indexer in ("_in_ind", "_out_ind"):
            asks_size(tokens, indexer, name, at)
    if any(argument.is_raw for argument in outputs) or (axis is None and len(outputs) != 1):
        raise UnsupportedFeatureError(
            f"`{name}` reduces to {', '.join(('raw ' if a.is_raw else '') + a.name for a in outputs)}",
            table=[Row("outputs", "one" if axis is None else "not raw", str(len(outputs)))],
            hint="a number is one output; with axis=0 or axis=1 each output is a tile",
        ).at(fragment=name, source=location)
    if not any(_is_tile(a, numbers) and not a.is_output for a in given):
        raise SignatureError("a reduction needs an array among its arguments").at(fragment=name, source=location)
    parameters = [_parameter(a, numbers, axis) for a in given if axis is not None or not a.is_output]
    result = Scalar(outputs[0].dtype) if axis is None else None
    text = "\n".join(_text(kernel, code, given, numbers, axis, location))
    return Signature(name, tuple(parameters), result), text, kernel.options


def _numbers(scalars: Any, given: Sequence[CupyParameter]) -> frozenset[str]:
    names = (scalars,) if isinstance(scalars, str) else tuple(scalars)
    known = [a.name for a in given if not a.is_output and not a.is_raw]
    for name in names:
        if name not in known:
            raise DialectError(
                "scalars= names inputs that are numbers", table=[Row("scalars", f"of {', '.join(known)}", repr(name))]
            )
    return frozenset(names)


def _is_tile(argument: CupyParameter, numbers: frozenset[str]) -> bool:
    return not argument.is_raw and argument.name not in numbers


def _parameter(argument: CupyParameter, numbers: frozenset[str], axis: int | None) -> Parameter:
    if argument.is_raw:
        return Parameter(argument.name, Pointer(argument.dtype), IN)
    if argument.name in numbers:
        return Parameter(argument.name, Scalar(argument.dtype))
    if argument.is_output:
        return Parameter(argument.name, Tile(argument.dtype, (_REDUCED[axis][1],)), OUT)
    return Parameter(argument.name, Tile(argument.dtype, (SIZE,) if axis is None else (ROWS, COLUMNS)))


def _text(
    kernel: Any,
    code: Mapping[str, str],
    given: Sequence[CupyParameter],
    numbers: frozenset[str],
    axis: int | None,
    location: SourceLocation,
) -> Iterator[str]:
    yield from header_lines([str(kernel.preamble), *code.values()])
    yield from type_lines(given)
    outputs = [argument for argument in given if argument.is_output]
    kind = str(kernel.reduce_type or outputs[0].own)
    # CuPy's preamble stands before its type: it may declare that type.
    yield at_its_line(str(kernel.preamble), location)
    yield f"typedef {kind} _type_reduce;"
    first = outputs[0].crossing if axis is None else "void"
    parameters = [_declared(a, numbers) for a in given if axis is not None or not a.is_output]
    yield f"__device__ {first} {SYMBOL}({', '.join(parameters)}) {{"
    count, rows = (word if word == "1" else f"TLE_{word}" for word in _REDUCED[axis])
    yield f"  const tle::cupy::extent _in_ind{{(ptrdiff_t){count} * {rows}}}, _out_ind{{{rows}}};"
    yield "  (void)_in_ind; (void)_out_ind;"
    for argument in given:
        if argument.is_raw:
            yield f"  const {argument.own}* const {argument.name} = (const {argument.own}*)tle_raw_{argument.name};"
        elif argument.name in numbers:
            yield f"  const {argument.own} {argument.name} = tle::cupy::as<{argument.own}>(tle_raw_{argument.name});"
    yield "  const auto tle_raw_map = [&](long _i, long _J) -> _type_reduce {"
    place_in_tile = "_i * TLE_COLUMNS + _J" if axis == 1 else "_J * TLE_COLUMNS + _i" if axis == 0 else "_J"
    yield f"  const long tle_raw_at = {place_in_tile}; (void)_i; (void)_J;"
    for a in given:
        if not a.is_output and _is_tile(a, numbers):
            yield f"  const {a.own} {a.name} = tle::cupy::as<{a.own}>(tle_raw_{a.name}[tle_raw_at]);"
    yield "  return static_cast<_type_reduce>("
    yield at_its_line(code["map_expr"], location)
    yield "); };"
    yield "  const auto tle_raw_reduce = [&](_type_reduce a, _type_reduce b) -> _type_reduce { return"
    yield at_its_line(code["reduce_expr"], location)
    yield "; };"
    yield "  const _type_reduce tle_raw_neutral = _type_reduce("
    yield at_its_line(str(kernel.identity or ""), location)
    yield ");"
    yield from _finish(code["post_map_expr"], outputs, axis, location)
    if axis is None:
        yield "  return tle_raw_finish(tle::blockwide::reduce_block<_type_reduce>("
        yield f"    {count}, tle_raw_neutral, [&](long _J) {{ return tle_raw_map(0, _J); }}, tle_raw_reduce));"
    else:
        yield f"  tle::cupy::reduce_rows<_type_reduce>({rows}, {count}, {str(axis == 1).lower()}, tle_raw_neutral,"
        yield "    tle_raw_map, tle_raw_reduce, tle_raw_finish);"
    yield "}"


def _declared(argument: CupyParameter, numbers: frozenset[str]) -> str:
    if argument.name in numbers:
        return f"{argument.crossing} tle_raw_{argument.name}"
    return f"{'' if argument.is_output else 'const '}{argument.crossing}* tle_raw_{argument.name}"


def _finish(code: str, outputs: Sequence[CupyParameter], axis: int | None, location: SourceLocation) -> Iterator[str]:
    """CuPy's last step: ``a`` is the reduced value, and each output a variable."""
    first = outputs[0]
    head = f"(_type_reduce a) -> {first.crossing}" if axis is None else "(long _i, _type_reduce a) -> void"
    yield f"  const auto tle_raw_finish = [&]{head} {{"
    yield "  " + " ".join(f"{argument.own} {argument.name}{{}};" for argument in outputs)
    yield "  [&]() {"
    yield at_its_line(code, location)
    yield "; }();"
    if axis is None:
        yield f"  return tle::cupy::as<{first.crossing}>({first.name});"
    else:
        for argument in outputs:
            yield f"  tle_raw_{argument.name}[_i] = tle::cupy::as<{argument.crossing}>({argument.name});"
    yield "  };"
