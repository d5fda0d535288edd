"""What the functions of TLE's language read from their arguments at compile time."""

from __future__ import annotations

from typing import Any, TypeGuard

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row


def plain(value: Any) -> Any:
    """Without ``constexpr``. A tuple stays as it is: Triton could not unwrap one that holds a text or None."""
    return value if isinstance(value, core.tuple) else core._unwrap_if_constexpr(value)


def items(value: Any) -> list[Any] | None:
    """The plain items of a tuple or list; None for anything else."""
    value = plain(value)
    if isinstance(value, core.tuple):
        return [plain(v) for v in value.values]
    return [plain(v) for v in value] if isinstance(value, (tuple, list)) else None


def is_integer(value: Any) -> TypeGuard[int]:
    """Whether it is a compile-time integer; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_scalar_integer(value: Any) -> TypeGuard[core.tensor]:
    """Whether it is a scalar of integers that the kernel computes."""
    return isinstance(value, core.tensor) and not value.type.is_block() and bool(value.dtype.is_int())


def describe_value(value: Any) -> str:
    """A value's type, for an error's table."""
    value = plain(value)
    if isinstance(value, core.tensor):
        return str(value.type)
    if items(value) is not None:
        return f"[{', '.join(describe_value(v) for v in items(value) or ())}]"
    return repr(value) if value is None or isinstance(value, (bool, int, float, str)) else type(value).__name__


def check_block(function: str, name: str, value: Any) -> core.tensor:
    """The argument as a block tensor.

    Raises
    ------
    ArgumentTypeError : it is a scalar, or no tensor at all.
    """
    value = plain(value)
    if not isinstance(value, core.tensor) or not value.type.is_block():
        raise ArgumentTypeError(
            f"tle.{function} takes a block tensor",
            table=[Row(name, "a block tensor", describe_value(value))],
        )
    return value
