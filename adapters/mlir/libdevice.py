"""The libdevice function of each operation of the math dialect; half precision is computed in single."""

from __future__ import annotations

# The names that upstream's convert-math-to-nvvm takes, so that both ways give the same code.
FUNCTIONS = {
    "absf": "fabs", "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan",
    "atan2": "atan2", "atanh": "atanh", "cbrt": "cbrt", "ceil": "ceil", "copysign": "copysign", "cos": "cos",
    "cosh": "cosh", "erf": "erf", "erfc": "erfc", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "floor": "floor",
    "fma": "fma", "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2", "powf": "pow",
    "round": "round", "roundeven": "rint", "rsqrt": "rsqrt", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt",
    "tan": "tan", "tanh": "tanh",
}  # fmt: skip
# Single precision that gives up accuracy, where the operation says that it may.
FAST = frozenset(("cos", "exp", "log", "log10", "log2", "pow", "sin", "tan"))
# One LLVM intrinsic each, which NVPTX has instructions for.
INTRINSICS = {"trunc": "trunc", "ctpop": "ctpop"}
COUNTS = {"ctlz": "ctlz", "cttz": "cttz"}
TESTS = {"isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite"}


def function_name(base: str, dtype: str, fastmath: str = "") -> str:
    """``__nv_expf`` for exp of f32."""
    if dtype == "f64":
        return f"__nv_{base}"
    fast = "fast_" if base in FAST and any(flag in ("afn", "fast") for flag in fastmath.split(",")) else ""
    return f"__nv_{fast}{base}f"
