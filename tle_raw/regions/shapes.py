"""Shapes of Triton's trace-time values."""

from __future__ import annotations

from triton.language import core


def shape_of(value: core.tensor) -> tuple[int, ...]:
    """() for a scalar."""
    return shape_of_type(value.type)


def shape_of_type(type_: core.dtype) -> tuple[int, ...]:
    """() for a scalar's."""
    return tuple(int(core._unwrap_if_constexpr(d)) for d in type_.shape) if type_.is_block() else ()
