"""What a kernel that is not run gives back: tensors of the right shapes that hold nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Launched(BaseException):
    """Raised where a script would run a kernel, or ask for its code; no script catches it by mistake."""


def empty_results(prim_func: Any, asked: Any, arguments: Sequence[Any]) -> Any:
    """The outputs ``out_idx`` of a call with these arguments, or None where none is asked for.

    Raises
    ------
    Launched : their shapes are not known.
    """
    import torch
    from tilelang.engine.param import KernelParam

    count = len(prim_func.params)
    wanted = sorted(int(i) % count for i in ([asked] if isinstance(asked, int) else asked or ()))
    sizes = _sizes(prim_func, [i for i in range(count) if i not in wanted], arguments)
    made = []
    for i in wanted:
        buffer = prim_func.buffer_map[prim_func.params[i]]
        shape = [_size(extent, sizes) for extent in buffer.shape]
        made.append(torch.zeros(shape, dtype=KernelParam.from_buffer(buffer).torch_dtype()))
    return made[0] if len(made) == 1 else made or None


def _sizes(prim_func: Any, inputs: Sequence[int], arguments: Sequence[Any]) -> dict[Any, int]:
    """The open sizes that the arguments tell."""
    found: dict[Any, int] = {}
    for i, value in zip(inputs, arguments):
        buffer = prim_func.buffer_map.get(prim_func.params[i], None)
        shape = getattr(value, "shape", None)
        if buffer is not None and shape is not None and len(shape) == len(buffer.shape):
            found.update({e: int(n) for e, n in zip(buffer.shape, shape) if type(e).__name__ in ("Var", "SizeVar")})
    return found


def _size(extent: Any, sizes: dict[Any, int]) -> int:
    from tvm import arith
    from tvm.tirx.stmt_functor import substitute

    if isinstance(extent, int):
        return extent
    known = arith.Analyzer().simplify(substitute(extent, sizes))
    if type(known).__name__ != "IntImm":
        raise Launched
    return int(known.value)
