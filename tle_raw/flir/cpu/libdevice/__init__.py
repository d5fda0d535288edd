"""CUDA's libdevice on the CPU: what ``tt.extern_elementwise`` of a symbol ``__nv_...`` computes.

``tl.extra.libdevice.<name>`` is a stub that Triton replaces by the backend's own function of that name. The CPU
backend has no dialect of device functions of its own: it takes CUDA's, whose symbols are known here ::

    def get_module_map(self) -> dict[str, ModuleType]:
        from triton.language.extra.cuda import libdevice
        return {"triton.language.extra.libdevice": libdevice}

What has an operation in ``arith`` or ``math`` becomes that operation, and is made fast after vectorisation by
``math_functions``. The rest is arithmetic without branches, or calls of libm, which are made for each lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle_raw.errors import LoweringError


def known(symbol: str) -> bool:
    """Whether ``emit`` can build this function."""
    return symbol.startswith("__nv_") and symbol in _functions()


def emit(symbol: str, operands: Sequence[Any], result_type: Any) -> Any:
    """Build the function's code at the current insertion point, on scalars; its result comes back.

    Parameters
    ----------
    symbol : the name in libdevice, ``__nv_expf``.
    operands : values of f32, f64, i32 or i64.
    result_type : what the caller takes the result for; another one than the function's own is an error.

    Raises
    ------
    LoweringError : the function is not known, or takes or returns other types.
    """
    from tle_raw.flir.cpu.math_functions.lanes import Lanes

    if not known(symbol):
        raise LoweringError(f"`{symbol}` is no function of libdevice that the CPU target knows")
    function = _functions()[symbol]
    expected = f"({', '.join(function.operands)}) -> {function.result}"
    got = f"({', '.join(str(o.type) for o in operands)}) -> {result_type}"
    if expected != got:
        raise LoweringError(f"`{symbol}` is {expected}, and was called as {got}")
    return function.body(*[Lanes(operand) for operand in operands]).value


def _functions() -> dict[str, Any]:
    from tle_raw.flir.cpu.libdevice.functions import (
        FUNCTIONS,  # the MLIR bindings are imported when a kernel needs them
    )

    return FUNCTIONS
