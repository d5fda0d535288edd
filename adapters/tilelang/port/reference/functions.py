"""Functions of values that TIR calls, by name, as NumPy has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_UNARY: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
    "nearbyint": np.rint, "fabs": np.abs, "abs": np.abs, "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite, "bitwise_not": np.invert, "popcount": np.bitwise_count,
    "rsqrt": lambda x: 1 / np.sqrt(x), "exp10": lambda x: 10.0**x, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip
_BINARY: dict[str, Callable[..., Any]] = {
    "fmod": np.fmod, "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign, "nextafter": np.nextafter,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "shift_left": np.left_shift, "shift_right": np.right_shift, "pow": np.power,
}  # fmt: skip


def _erf(x: Any) -> Any:
    import torch

    return torch.erf(torch.from_numpy(np.array(x, dtype=np.float64))).numpy()


FUNCTIONS: dict[str, Callable[..., Any]] = {f"tirx.{n}": f for n, f in {**_UNARY, **_BINARY, "erf": _erf}.items()}
FUNCTIONS |= {f"tl.__{n}": _UNARY[n] for n in ("exp", "log", "log2", "log10", "sin", "cos", "tan", "exp10")}
FUNCTIONS |= {
    "tl.ieee_fsqrt": lambda x, *_: np.sqrt(x),
    "tl.ieee_frsqrt": lambda x, *_: 1 / np.sqrt(x),
    "tl.fast_rcp": lambda x, *_: 1 / x,
    "tl.ieee_frcp": lambda x, *_: 1 / x,
    "tl.ieee_add": lambda a, b, *_: a + b,
    "tl.ieee_sub": lambda a, b, *_: a - b,
    "tl.ieee_mul": lambda a, b, *_: a * b,
    "tl.fmul": lambda a, b, *_: a * b,
    "tl.ieee_fdiv": lambda a, b, *_: a / b,
    "tl.pow_of_int": np.power,
    "tl.clamp": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "tl.max_nan": np.maximum,
    "tl.min_nan": np.minimum,
    "tirx.likely": lambda x: x,
    "tl.__ldg": lambda x: x,
    **dict.fromkeys(("tirx.fma", "tl.fma", "tl.ieee_fmaf"), lambda a, b, c, *_: a * b + c),
}
REDUCTIONS: dict[str, tuple[Any, Any]] = {  # how two are made one, and what is done before
    "sum": (np.add, None),
    "max": (np.fmax, None),
    "min": (np.fmin, None),
    "abssum": (np.add, np.abs),
    "absmax": (np.fmax, np.abs),
    "bitand": (np.bitwise_and, None),
    "bitor": (np.bitwise_or, None),
    "bitxor": (np.bitwise_xor, None),
}
