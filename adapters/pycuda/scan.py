"""PyCUDA's scan kernels: a scan of a tile by a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tle_raw.adapters.cpp.source_lines import at_its_line
from tle_raw.adapters.pycuda.arguments import dtype_of
from tle_raw.adapters.pycuda.declare import caller_location, declare_text, generated_options
from tle_raw.errors import DialectError
from tle_raw.fragments.parameter_types import INOUT, Parameter, Tile
from tle_raw.fragments.signature import Signature

if TYPE_CHECKING:
    from tle_raw.fragments.fragment import Fragment

_SYMBOL = "tle_raw_scan"


def InclusiveScanKernel(
    dtype: Any,
    scan_expr: str,
    neutral: Any = None,
    name_prefix: str = "scan",
    options: Any = None,
    preamble: str = "",
    devices: Any = None,
) -> Fragment:
    """A fragment ``y = scan(x)``: each element with all before it. ``scan_expr`` joins ``a`` with ``b`` behind it."""
    return _scan(dtype, scan_expr, neutral, name_prefix, options, preamble, exclusive=False)


def ExclusiveScanKernel(
    dtype: Any,
    scan_expr: str,
    neutral: Any = None,
    name_prefix: str = "scan",
    options: Any = None,
    preamble: str = "",
    devices: Any = None,
) -> Fragment:
    """A fragment ``y = scan(x)``: all elements before each one; the first becomes ``neutral``.

    Raises
    ------
    DialectError : there is no neutral element.
    """
    if neutral is None:
        raise DialectError("an exclusive scan needs a neutral element", hint='neutral="0"').at(
            fragment=name_prefix, source=caller_location()
        )
    return _scan(dtype, scan_expr, neutral, name_prefix, options, preamble, exclusive=True)


def _scan(
    dtype: Any, scan_expr: str, neutral: Any, name: str, options: Any, preamble: str, exclusive: bool
) -> Fragment:
    location = caller_location()
    own = dtype_of(dtype, "dtype", location)
    text = "\n".join(
        [
            f"#include <{own.header}>" if own.header else "",
            "#include <tle_raw/pycuda.h>",
            at_its_line(preamble, location),
            f"__device__ void {_SYMBOL}({own.cxx}* tle_raw_data) {{",
            f"  const auto tle_raw_join = [&]({own.cxx} a, {own.cxx} b) -> {own.cxx} {{ return",
            at_its_line(scan_expr, location),
            "; };",
            f"  const {own.cxx} tle_raw_neutral =",
            at_its_line(str(neutral), location) if neutral is not None else f"{own.cxx}{{}}",
            ";",
            f"  tle::pycuda::scan_block<{own.cxx}>(tle_raw_data, TLE_N, tle_raw_neutral, {str(exclusive).lower()}, "
            f"tle_raw_join);",
            "}",
        ]
    )
    signature = Signature(name, (Parameter("data", Tile(own, ("N",)), INOUT),))
    return declare_text(name, text, _SYMBOL, signature, generated_options(options), location)
