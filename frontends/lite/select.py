"""Choosing between two tensors without a change of any bit."""

from __future__ import annotations

from triton.language import core

from tle_raw.triton_types import Semantic


def select(semantic: Semantic, condition: core.tensor, yes: core.tensor, no: core.tensor) -> core.tensor:
    """``yes`` where the condition holds, else ``no``; NaN, -0.0 and pointers stay what they are.

    The two have one type; the condition is a scalar i1, or a block of their shape.
    """
    return core.tensor(semantic.builder.create_select(condition.handle, yes.handle, no.handle), yes.type)
