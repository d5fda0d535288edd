"""PyCUDA's ReductionKernel: a reduction of tiles by a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tle_raw.adapters.pycuda.arguments import Argument, dtype_of, read_arguments
from tle_raw.adapters.pycuda.declare import at_its_line, caller_place, clang_flags, declare_text, pycuda_headers
from tle_raw.dtypes import DType
from tle_raw.errors import DialectError, Place, Row, SignatureError
from tle_raw.signature import OUT, Parameter, Scalar, Signature, Tile

_SYMBOL, RESULT = "tle_raw_reduction", "out"


def ReductionKernel(
    dtype_out: Any,
    neutral: Any,
    reduce_expr: str,
    map_expr: str | None = None,
    arguments: Any = None,
    name: str = "reduce_kernel",
    keep: bool = False,
    options: Any = None,
    preamble: str = "",
    *,
    axis: int | None = None,
) -> Any:
    """A fragment that reduces its tiles to one number, equal in all threads: ``total = dot(x, y)``.

    ``map_expr`` may use any element of the vectors, by ``x[i]`` and ``x[i - 1]``; ``i`` counts through the tile.

    Parameters
    ----------
    dtype_out, neutral, reduce_expr, map_expr, arguments, name, keep, options, preamble : PyCUDA's own.
    axis : with 0 or 1 the tiles are of rank 2 and the result is a tile: a number for each column, or for each row.

    Raises
    ------
    SignatureError : an argument is no number and no vector, or the vectors are none.
    """
    place = caller_place()
    dtype = dtype_of(dtype_out, "dtype_out", place)
    if axis not in (None, 0, 1):
        raise DialectError("axis= is that of a tile of rank 2", table=[Row("axis", "None, 0 or 1", repr(axis))]).at(
            fragment=name, source=place
        )
    given = read_arguments(f"const {dtype.cxx}* in" if arguments is None else arguments, place)
    vectors = [argument for argument in given if argument.is_vector]
    if not vectors:
        raise SignatureError("a reduction needs a vector among its arguments").at(fragment=name, source=place)
    dims = ("N",) if axis is None else ("M", "N")
    parameters = [Parameter(a.name, Tile(a.dtype, dims) if a.is_vector else Scalar(a.dtype)) for a in given]
    if axis is not None:
        if any(argument.name == RESULT for argument in given):
            raise SignatureError(f"an argument has the name of the result, `{RESULT}`").at(fragment=name, source=place)
        parameters.append(Parameter(RESULT, Tile(dtype, (dims[1 - axis],)), OUT))
    signature = Signature(name, tuple(parameters), Scalar(dtype) if axis is None else None)
    lines = _text(given, dtype, str(neutral), reduce_expr, map_expr or f"{vectors[0].name}[i]", preamble, axis, place)
    given_options = {"flags": clang_flags(options), "include_dirs": pycuda_headers(), "no_extern_c": True}
    return declare_text(name, "\n".join(lines), _SYMBOL, signature, given_options, place)


def _text(
    given: Sequence[Argument],
    dtype: DType,
    neutral: str,
    reduce_expr: str,
    map_expr: str,
    preamble: str,
    axis: int | None,
    place: Place,
) -> Iterator[str]:
    for header in sorted({d.header for d in (dtype, *(a.dtype for a in given)) if d.header}):
        yield f"#include <{header}>"
    yield "#include <tle_raw/pycuda.h>"
    yield at_its_line(preamble, place)
    parameters = [f"const {a.type}* {a.name}" if a.is_vector else f"{a.type} {a.name}" for a in given]
    parameters += [f"{dtype.cxx}* tle_raw_out"] if axis is not None else []
    yield f"__device__ {dtype.cxx if axis is None else 'void'} {_SYMBOL}({', '.join(parameters)}) {{"
    yield f"  const auto tle_raw_map = [&](long i) -> {dtype.cxx} {{ return"
    yield at_its_line(map_expr, place)
    yield "; };"
    yield f"  const auto tle_raw_reduce = [&]({dtype.cxx} a, {dtype.cxx} b) -> {dtype.cxx} {{ return"
    yield at_its_line(reduce_expr, place)
    yield "; };"
    yield f"  const {dtype.cxx} tle_raw_neutral ="
    yield at_its_line(neutral, place)
    yield ";"
    last = "tle_raw_neutral, tle_raw_map, tle_raw_reduce);"
    if axis is None:
        yield f"  return tle::pycuda::reduce_block<{dtype.cxx}>(TLE_N, {last}"
    elif axis == 1:
        yield f"  tle::pycuda::reduce_rows<{dtype.cxx}>(tle_raw_out, TLE_M, TLE_N, TLE_N, 1, {last}"
    else:
        yield f"  tle::pycuda::reduce_rows<{dtype.cxx}>(tle_raw_out, TLE_N, TLE_M, 1, TLE_N, {last}"
    yield "}"
