"""PyCUDA's ReductionKernel: a reduction of tiles by a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tle_raw.adapters.cpp.source_lines import at_its_line
from tle_raw.adapters.pycuda.arguments import PycudaArgument, dtype_of, read_arguments
from tle_raw.adapters.pycuda.declare import Recipe, caller_location, declare_text, generated_options
from tle_raw.errors import DialectError, Row, SignatureError, SourceLocation
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.parameter_types import OUT, Parameter, Scalar, Tile
from tle_raw.fragments.signature import Signature

if TYPE_CHECKING:
    from tle_raw.fragments.fragment import Fragment

_SYMBOL, RESULT, COUNT = "tle_raw_reduction", "out", "n"


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
) -> Fragment:
    """A fragment that reduces its tiles to one number, equal in all threads: ``total = dot(x, y)``.

    As a whole kernel it takes ``out``, its arguments as arrays, and ``n``: each block writes the number of its share.

    ``map_expr`` may use any element of the vectors, by ``x[i]`` and ``x[i - 1]``; ``i`` counts through the tile.

    Parameters
    ----------
    dtype_out, neutral, reduce_expr, map_expr, arguments, name, keep, options, preamble : PyCUDA's own.
    axis : with 0 or 1 the tiles are of rank 2 and the result is a tile: a number for each column, or for each row.

    Raises
    ------
    SignatureError : an argument is no number and no vector, or the vectors are none.
    """
    location = caller_location()
    dtype = dtype_of(dtype_out, "dtype_out", location)
    if axis not in (None, 0, 1):
        raise DialectError("axis= is that of a tile of rank 2", table=[Row("axis", "None, 0 or 1", repr(axis))]).at(
            fragment=name, source=location
        )
    given = read_arguments(f"const {dtype.cxx}* in" if arguments is None else arguments, location)
    vectors = [argument for argument in given if argument.is_vector]
    if not vectors:
        raise SignatureError("a reduction needs a vector among its arguments").at(fragment=name, source=location)
    compound = next((argument for argument in given if argument.is_compound), None)
    if compound:
        raise SignatureError(
            f"the reduction's argument `{compound.name}` has elements of several numbers",
            table=[Row(compound.name, "a pointer to numbers", f"{compound.type}*")],
            hint="reduce each part on its own, with x[2 * i] and x[2 * i + 1] in map_expr",
        ).at(fragment=name, source=location)
    dims = ("N",) if axis is None else ("M", "N")
    parameters = [Parameter(a.name, Tile(a.dtype, dims) if a.is_vector else Scalar(a.dtype)) for a in given]
    if axis is not None:
        if any(argument.name == RESULT for argument in given):
            raise SignatureError(f"an argument has the name of the result, `{RESULT}`").at(
                fragment=name, source=location
            )
        parameters.append(Parameter(RESULT, Tile(dtype, (dims[1 - axis],)), OUT))
    signature = Signature(name, tuple(parameters), Scalar(dtype) if axis is None else None)
    texts = Texts(given, dtype, str(neutral), reduce_expr, map_expr or f"{vectors[0].name}[i]", preamble, location)

    def whole() -> Any:
        return declare_text(name, "\n".join(_over_memory(texts)), _SYMBOL, None, generated_options(options), location)

    recipe = Recipe(whole) if axis is None else None
    text = "\n".join(_of_tiles(texts, axis))
    return declare_text(name, text, _SYMBOL, signature, generated_options(options), location, recipe)


@dataclass(frozen=True)
class Texts:
    """What one ReductionKernel is made of."""

    arguments: Sequence[PycudaArgument]
    dtype: DType
    neutral: str
    reduce_expr: str
    map_expr: str
    preamble: str
    location: SourceLocation


def _of_tiles(texts: Texts, axis: int | None) -> Iterator[str]:
    cxx = texts.dtype.cxx
    parameters = [f"const {a.type}* {a.name}" if a.is_vector else f"{a.type} {a.name}" for a in texts.arguments]
    parameters += [f"{cxx}* tle_raw_out"] if axis is not None else []
    yield from _prologue(texts)
    yield f"__device__ {cxx if axis is None else 'void'} {_SYMBOL}({', '.join(parameters)}) {{"
    yield from _steps(texts)
    last = "tle_raw_neutral, tle_raw_map, tle_raw_reduce);"
    if axis is None:
        yield f"  return tle::pycuda::reduce_block<{cxx}>(TLE_N, {last}"
    elif axis == 1:
        yield f"  tle::pycuda::reduce_rows<{cxx}>(tle_raw_out, TLE_M, TLE_N, TLE_N, 1, {last}"
    else:
        yield f"  tle::pycuda::reduce_rows<{cxx}>(tle_raw_out, TLE_N, TLE_M, 1, TLE_N, {last}"
    yield "}"


def _over_memory(texts: Texts) -> Iterator[str]:
    """Each block reduces its share of ``n`` elements to a number of its own."""
    taken = next((a.name for a in texts.arguments if a.name in (RESULT, COUNT)), "")
    if taken:
        raise SignatureError(f"an argument has the name `{taken}`, which is the whole kernel's own").at(
            source=texts.location
        )
    cxx = texts.dtype.cxx
    parameters = [f"const {a.type}* {a.name}" if a.is_vector else f"{a.type} {a.name}" for a in texts.arguments]
    yield from _prologue(texts)
    yield f"__global__ void {_SYMBOL}({', '.join([f'{cxx}* {RESULT}', *parameters, f'unsigned long {COUNT}'])}) {{"
    yield from _steps(texts)
    yield "  const long tle_raw_blocks = tle::pycuda::blocks(), tle_raw_block = tle::pycuda::block();"
    yield f"  const long tle_raw_share = ({COUNT} + tle_raw_blocks - 1) / tle_raw_blocks;"
    yield "  const long tle_raw_first = tle_raw_share * tle_raw_block;"
    yield f"  const long tle_raw_left = (long){COUNT} - tle_raw_first;"
    yield "  const auto tle_raw_own = [&](long i) { return tle_raw_map(tle_raw_first + i); };"
    yield f"  const {cxx} tle_raw_total = tle::pycuda::reduce_block<{cxx}>("
    yield "    tle_raw_left < tle_raw_share ? tle_raw_left : tle_raw_share,"
    yield "    tle_raw_neutral, tle_raw_own, tle_raw_reduce);"
    yield f"  if (tle::pycuda::thread() == 0) {RESULT}[tle_raw_block] = tle_raw_total;"
    yield "}"


def _prologue(texts: Texts) -> Iterator[str]:
    for header in sorted({d.header for d in (texts.dtype, *(a.dtype for a in texts.arguments)) if d.header}):
        yield f"#include <{header}>"
    yield "#include <tle_raw/pycuda.h>"
    yield at_its_line(texts.preamble, texts.location)


def _steps(texts: Texts) -> Iterator[str]:
    cxx = texts.dtype.cxx
    yield f"  const auto tle_raw_map = [&](long i) -> {cxx} {{ return"
    yield at_its_line(texts.map_expr, texts.location)
    yield "; };"
    yield f"  const auto tle_raw_reduce = [&]({cxx} a, {cxx} b) -> {cxx} {{ return"
    yield at_its_line(texts.reduce_expr, texts.location)
    yield "; };"
    yield f"  const {cxx} tle_raw_neutral ="
    yield at_its_line(texts.neutral, texts.location)
    yield ";"
