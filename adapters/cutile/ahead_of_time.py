"""Compile a whole kernel for a target that is not there, specialised as a launch with such arguments would be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tle_raw.adapters.common.compile_ahead import ALIGNED, compile_specialised
from tle_raw.errors import DialectError
from tle_raw.fragments.dtypes import parse_dtype
from tle_raw.target import parse_target


def compile_ahead(kernel: Any, arguments: Sequence[Any], constants: Sequence[int], target: str, options: Any) -> Any:
    """``arguments`` are those of the Triton kernel; ``constants`` the places of its constexprs among them.

    Raises
    ------
    DialectError : the target is no GPU.
    """
    parsed = parse_target(target)
    if parsed.backend != "cuda":
        raise DialectError(f"kernels are compiled ahead for cuda targets, not for {target}", hint="launch it there")
    known: dict[tuple[int, ...], Any] = {(place,): arguments[place] for place in constants}
    types = [
        "constexpr" if place in constants else _type(value, (place,), known) for place, value in enumerate(arguments)
    ]
    aligned = {
        path: ALIGNED
        for place, value in enumerate(arguments)
        for path in _multiples(value, (place,))
        if place not in constants and path not in known
    }
    return compile_specialised(kernel, dict(zip(kernel.arg_names, types)), known, aligned, parsed, options)


def _type(value: Any, path: tuple[int, ...], known: dict[tuple[int, ...], Any]) -> Any:
    """Triton's name of an argument's type; a 1 becomes a constant, as at a launch."""
    if isinstance(value, tuple):
        return tuple(_type(item, (*path, i), known) for i, item in enumerate(value))
    if hasattr(value, "block_shape"):  # a tensor descriptor
        return f"tensordesc<{_type(value.base, path, known).removeprefix('*')}{list(value.block_shape)}>"
    if hasattr(value, "dtype"):
        return f"*{parse_dtype(str(value.dtype).removeprefix('torch.')).in_signature}"
    if isinstance(value, bool):
        return "u1"
    if isinstance(value, float):
        return "fp32"
    if value == 1:
        known[path] = value
        return "constexpr"
    return "i32" if -(2**31) <= value < 2**31 else "i64"


def _multiples(value: Any, path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """What is a multiple of 16: sizes, strides, and addresses, which allocators align."""
    if isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from _multiples(item, (*path, i))
    elif hasattr(value, "dtype") or (type(value) is int and value % 16 == 0):
        yield path
