"""Functions of libdevice in traced regions: both of Triton's targets have them, its interpreter takes NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from triton.language import core


def call_libdevice(
    builder: Any, symbol: str, operands: Sequence[core.tensor], result: core.dtype | None = None
) -> core.tensor:
    """One call of ``__nv_…``, of scalars or for each element of blocks of one shape.

    Parameters
    ----------
    result : the type of the result, where that is not the first operand's.
    """
    type_ = result or operands[0].type
    handles = [o.handle for o in operands]
    made = builder.create_extern_elementwise("libdevice", "", symbol, handles, type_.to_ir(builder), True)
    return core.tensor(made, type_)


def by_numpy(function: Callable[..., Any], operands: Sequence[core.tensor]) -> core.tensor:
    """What a function of arrays gives in the interpreter, in the type of the first operand."""
    from triton.runtime.interpreter import TensorHandle

    arrays: list[Any] = [o.handle.data for o in operands]
    type_ = operands[0].type
    return core.tensor(TensorHandle(function(*arrays).astype(arrays[0].dtype), type_.scalar), type_)
