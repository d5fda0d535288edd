"""The translation unit for NVRTC: the user's code, and a plain C function that calls it with one C++ type a port."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.adapters.cpp.options import Options
from tle_raw.adapters.cpp.source_lines import LABEL, line_directive
from tle_raw.adapters.cuda.ports import local
from tle_raw.adapters.cuda.symbol import Callee
from tle_raw.adapters.cuda.wrapper import call_text, define_lines, name_text
from tle_raw.fragments.adapter import Source
from tle_raw.fragments.bound import ELEMENT, POINTER, TILE, BoundParameter, BoundSignature
from tle_raw.fragments.dtypes import DType

# 16-bit floats are structs to NVRTC, and would cross as arrays of bytes.
_CROSSING = {"half": "unsigned short", "bfloat": "unsigned short"}


def plain_unit(source: Source, symbol: str, bound: BoundSignature, callee: Callee, options: Options) -> str:
    """C++ text that defines ``symbol``: pointers are generic, an element that is updated comes by its address."""
    lines = [f'#line 1 "{LABEL}"', *_prologue(bound), *define_lines(options)]
    lines += ['extern "C" {'] if options.extern_c else []
    directive = line_directive(source.location.line, source.location.file)
    lines += [f'#include "{options.file}"' if options.file else f"{directive}\n{source.text}"]
    lines += [f'\n#line 1 "{LABEL}"', *(["}"] if options.extern_c else [])]
    return "\n".join([*lines, *_function(symbol, bound, callee)]) + "\n"


def _prologue(bound: BoundSignature) -> Iterator[str]:
    yield "#define TLE_RAW_FLAT_BLOCK 1"
    dtypes = [p.dtype for p in bound.parameters if p.dtype] + ([bound.result] if bound.result else [])
    dtypes += [value for _, value in bound.names if isinstance(value, DType)]
    for header in sorted({dtype.header for dtype in dtypes if dtype.header}):
        yield f"#include <{header}>"
    yield "#include <tle_raw/nvrtc_arguments.h>"
    for name, value in bound.names:
        yield f"#define TLE_{name} {name_text(value)}"


def _function(symbol: str, bound: BoundSignature, callee: Callee) -> Iterator[str]:
    result = bound.result
    returned = _crossing(result) if result else "void"
    parameters = ", ".join(f"{_type(p)} tle_raw_{i}" for i, p in enumerate(bound.crossing))
    yield f'extern "C" __device__ {returned} {symbol}({parameters}) {{'
    for index, parameter in enumerate(bound.crossing):
        yield _argument(parameter, index)
    call = call_text(bound, callee)
    if result is None:
        yield f"  {call};"
    else:
        yield f"  auto tle_raw_result = {call};"
        yield (
            f"  static_assert(tle::detail::equal<typename tle::detail::result_value<decltype({call})>::type, "
            f'{result.cxx}>, "the result has another type");'
        )
        yield f"  return tle::detail::bits_as<{returned}>(tle_raw_result);"
    yield "}"


def _crossing(dtype: DType) -> str:
    return _CROSSING.get(dtype.llvm, dtype.cxx)


def _type(parameter: BoundParameter) -> str:
    assert parameter.dtype is not None
    is_updated = parameter.kind == ELEMENT and parameter.effect != "In"
    return f"{parameter.dtype.cxx}*" if parameter.kind in (TILE, POINTER) or is_updated else _crossing(parameter.dtype)


def _argument(parameter: BoundParameter, index: int) -> str:
    assert parameter.dtype is not None
    cxx, name, crossed = parameter.dtype.cxx, local(index), f"tle_raw_{index}"
    if parameter.kind == TILE:
        types = ", ".join([cxx, *map(str, parameter.dims)])
        return f"  tle::detail::tile_argument<{types}> {name}{{{crossed}}};"
    if parameter.kind == POINTER:
        return f"  tle::detail::pointer_argument<{cxx}> {name}{{{crossed}}};"
    if parameter.kind == ELEMENT and parameter.effect != "In":
        return f"  tle::detail::element_argument<{cxx}> {name}{{*{crossed}}};"
    return f"  tle::detail::value_argument<{cxx}> {name}{{tle::detail::bits_as<{cxx}>({crossed})}};"
