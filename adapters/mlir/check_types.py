"""Holds a fragment's signature against the MLIR type of its function, before anything is lowered."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from tle_raw.adapters.mlir.functions import MlirFunction
from tle_raw.errors import Context, Row, SignatureMismatchError, SourceLocation
from tle_raw.fragments.bound import CONST, ELEMENT, POINTER, TILE, BoundParameter, BoundSignature
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.mlir_types import element_type

NOTHING = "(nothing)"
_POINTERS = ("!llvm.ptr<1>", "!llvm.ptr")
_MAPS = ("!llvm.ptr", "i64")  # the address of a tensor map
_TILES = ("!llvm.ptr<3>", "!llvm.ptr", "i32")
_MEMREF = re.compile(r"memref<((?:(?:\?|\d+)\s*x\s*)*)([\w!.]+)\s*(?:,\s*(.*))?>$", re.DOTALL)


def check_types(function: MlirFunction, bound: BoundSignature, location: SourceLocation) -> None:
    """Every parameter of the function must take what is passed.

    Raises
    ------
    SignatureMismatchError : with a table of every parameter.
    """
    tables = [_rows(function, list(passed), bound) for passed in _forms(bound)]
    table = min(tables, key=lambda rows: sum(row.differs for row in rows))
    if any(row.differs for row in table):
        raise SignatureMismatchError(
            f"the function `{function.name}` does not fit the signature",
            table=table,
            hint=_hint(table),
            context=Context(source=location),
        )


def lowered_names(function: MlirFunction) -> tuple[str, ...]:
    """The author's name of each parameter as lowered: a memref becomes two pointers, an offset, sizes and strides."""
    return tuple(part for name, type_ in zip(function.names, function.parameters) for part in [name] * _lowered(type_))


def _lowered(written: str) -> int:
    match = _MEMREF.fullmatch(written)
    return 3 + 2 * len(re.findall(r"\?|\d+", match[1])) if match else 1


def _forms(bound: BoundSignature) -> Iterator[Sequence[BoundParameter]]:
    """Constants may be left out; an element that is written may be returned instead of pointed to."""
    constants = [True, False] if any(p.kind == CONST for p in bound.parameters) else [True]
    written = [p for p in bound.parameters if p.kind == ELEMENT and p.effect != "In"]
    for with_constants, with_outputs in itertools.product(constants, [True, False] if written else [True]):
        yield [
            p
            for p in bound.parameters
            if (p.kind != CONST or with_constants) and (p not in written or p.effect == "InOut" or with_outputs)
        ]


def _rows(function: MlirFunction, passed: list[BoundParameter], bound: BoundSignature) -> list[Row]:
    rows = []
    for index, (parameter, written) in enumerate(itertools.zip_longest(passed, function.parameters)):
        if parameter is None:
            rows.append(Row(f"#{index + 1}", NOTHING, written))
        elif written is None:
            rows.append(Row(parameter.name, _expected(parameter), NOTHING))
        else:
            rows.append(Row(parameter.name, written if _fits(parameter, written) else _expected(parameter), written))
    return [*rows, _result_row(function, bound)]


def _result_row(function: MlirFunction, bound: BoundSignature) -> Row:
    got = ", ".join(function.results) or NOTHING
    updated = [p.dtype for p in bound.parameters if p.kind == ELEMENT and p.effect != "In" and p.dtype]
    allowed = [NOTHING] if bound.result is None else []
    for dtype in filter(None, [bound.result, *updated]):
        allowed += _value_types(dtype)
    return Row("result", got if got in allowed else " or ".join(allowed), got)


def _fits(parameter: BoundParameter, written: str) -> bool:
    if parameter.is_descriptor:
        return written in _MAPS
    if parameter.kind == TILE:
        return written in _TILES or _fits_memref(parameter, written)
    return written in _accepted(parameter)


def _fits_memref(parameter: BoundParameter, written: str) -> bool:
    match = _MEMREF.fullmatch(written)
    if match is None or parameter.dtype is None or match[2] not in _value_types(parameter.dtype):
        return False
    dims = re.findall(r"\?|\d+", match[1])
    if len(dims) != len(parameter.dims) or any(d not in ("?", str(n)) for d, n in zip(dims, parameter.dims)):
        return False
    return _fits_layout(parameter, match[3] or "")


def _fits_layout(parameter: BoundParameter, rest: str) -> bool:
    """Row-major from the first element on, in shared memory; a generic address will do too."""
    strided = re.match(r"strided<\[([^\]]*)\](?:\s*,\s*offset\s*:\s*(\S+?))?>", rest)
    if strided:
        strides = [1]
        for dim in reversed(parameter.dims[1:]):
            strides.insert(0, strides[0] * dim)
        written = [s.strip() for s in strided[1].split(",") if s.strip()]
        fits = len(written) == len(strides) and all(w in ("?", str(s)) for w, s in zip(written, strides))
        if not fits or (strided[2] or "0") not in ("0", "?"):
            return False
        rest = rest[strided.end() :].lstrip(" ,")
    return bool(re.fullmatch(r"|[03](\s*:\s*i\d+)?|#gpu\.address_space<workgroup>", rest.strip()))


def _expected(parameter: BoundParameter) -> str:
    if parameter.is_descriptor:
        return " or ".join(_MAPS)
    if parameter.kind == TILE and parameter.dtype is not None:
        shape = "".join(f"{dim}x" for dim in parameter.dims)
        return f"memref<{shape}{element_type(parameter.dtype)}, 3>, or !llvm.ptr<3>"
    return " or ".join(_accepted(parameter))


def _accepted(parameter: BoundParameter) -> tuple[str, ...]:
    if parameter.kind == POINTER:
        return _POINTERS
    if parameter.kind == CONST:
        return ("i32", "i64", "index", "i16", "i8")
    assert parameter.dtype is not None
    values = _value_types(parameter.dtype)
    return ("!llvm.ptr", *values) if parameter.kind == ELEMENT and parameter.effect != "In" else values


def _value_types(dtype: DType) -> tuple[str, ...]:
    """MLIR's spellings of a value."""
    plain = element_type(dtype)
    if dtype.name == "i1":
        return ("i1", "i8")
    if not dtype.is_integer:
        return (plain, "i8") if dtype.bits == 8 else (plain,)
    signed = f"{'ui' if dtype.name[0] == 'u' else 'si'}{dtype.bits}"
    return (plain, signed, "index") if dtype.bits == 64 else (plain, signed)


def _hint(table: Sequence[Row]) -> str:
    if any("strided<[" in row.got for row in table if row.differs):
        return "a tile is row-major and contiguous: leave its layout out"
    return "change the function or the signature; `tle-raw prototype` prints the function that fits"
