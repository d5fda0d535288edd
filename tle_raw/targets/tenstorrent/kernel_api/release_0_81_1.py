"""Release 0.81.1 of 23 October 2026, read from the headers in the wheel ``ttnn``: names are the operations' own."""

from __future__ import annotations

from tle_raw.targets.tenstorrent.kernel_api.operations import BINARY, COMPARED_WITH_NUMBER, ROUNDING
from tle_raw.targets.tenstorrent.kernel_api.release import Release, called, of_compute

_ONES = {
    "compute_kernel_hw_startup": "compute_kernel_hw_startup.h",
    "binop_with_scalar_tile_init": "eltwise_unary/binop_with_scalar.h",
    "rounding_op_tile_init": "eltwise_unary/rounding.h",
    "transpose_init": "transpose.h",
    "transpose_tile": "transpose.h",
    "where_tile": "eltwise_unary/where.h",
    "copy_dest_values": "copy_dest_values.h",
    "typecast_tile": "eltwise_unary/typecast.h",
}
_BY_START = {
    "matmul_": "matmul.h",
    "copy_": "tile_move_copy.h",
    "unary_bcast": "bcast.h",
    "reduce_": "reduce.h",
    "reconfig_": "reconfig_data_format.h",
    "pack_": "pack.h",
    "binary_m": "binary_max_min.h",
    "add_int_": "add_int_sfpu.h",
    "sub_int_": "sub_int_sfpu.h",
    "mul_int_": "mul_int_sfpu.h",
    "clamp_": "eltwise_unary/clamp.h",
    "fill_": "eltwise_unary/fill.h",
    **{f"{verb}_int_": "binary_comp.h" for verb in ("lt", "gt", "le", "ge")},
    **{f"{verb}_binary_": "eltwise_binary_sfpu.h" for verb in BINARY},
    **{f"unary_{verb}_": "eltwise_unary/comp.h" for verb in COMPARED_WITH_NUMBER},
    **{f"{name}_tile": "eltwise_unary/rounding.h" for name in ROUNDING},
    **{f"{verb}_unary_": "eltwise_unary/binop_with_scalar.h" for verb in ("add", "sub", "mul", "div", "rsub")},
    **{f"{name}_tile": "eltwise_unary/relu.h" for name in ("relu", "relu_max", "relu_min", "leaky_relu")},
    **{f"{name}_tile": "eltwise_unary/comp.h" for name in ["gtz", "gez", "ltz", "lez", "eqz", "nez"]},
    **{f"{name}_tile": "eltwise_unary/erf_erfc.h" for name in ("erf", "erfc")},
    **{
        f"{name}_tile": "eltwise_unary/trigonometry.h"
        for name in ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"]
    },
    **{
        f"{name}_tile": f"eltwise_unary/{name}.h"
        for name in ["exp", "recip", "sqrt", "rsqrt", "gelu", "identity", "negative", "log1p"]
    },
    **{f"{verb}_bcast_": "bcast.h" for verb in ("add", "sub", "mul")},
    **{f"{verb}_tiles_bcast_": "bcast.h" for verb in ("add", "sub", "mul")},
}
_ELEMENTWISE = tuple(
    f"{verb}_{end}"
    for verb in ("add", "sub", "mul")
    for end in ("init", "tiles", "reuse_dest_init", "reuse_dest_tiles")
)


def header_of(name: str) -> str:
    """Where an operation of a compute kernel stands; everything else is in the API's old common header."""
    known = name.removesuffix("_init") if name not in _ONES else name
    if known in _ONES:
        return _ONES[known]
    if name in _ELEMENTWISE:
        return "eltwise_binary.h"
    starts = [start for start in _BY_START if name.startswith(start)]
    return _BY_START[max(starts, key=len)] if starts else "compute_kernel_api.h"


# The defaults of these two are approximations that are wrong in the third digit.
EXACT = {name: called(name, "false") for verb in ("gelu", "erf") for name in (f"{verb}_tile", f"{verb}_tile_init")}

RELEASE = Release("0.81.1", headers={name: header_of(name) for name in of_compute()}, spellings=EXACT)
