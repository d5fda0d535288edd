"""Tensor descriptors made on the host: on the CPU they are a pointer, shape and strides."""

from __future__ import annotations

import re
from typing import Any

from triton.tools.tensor_descriptor import TensorDescriptor

from tle_raw.errors import LaunchError

_TYPE = re.compile(r"tensordesc<([^[>]*)\[([^\]]*)\]")
# From 3.7 on a descriptor also says whether loads round to tf32.
ROUNDS = "round_f32_to_tf32" in TensorDescriptor.__dataclass_fields__


def is_descriptor(type: Any) -> bool:
    return isinstance(type, str) and type.startswith("tensordesc")


def expanded_types(type: Any) -> Any:
    """A descriptor's type as the types of its parts; tuples are looked into, everything else stays."""
    if isinstance(type, (tuple, list)):
        return tuple(expanded_types(element) for element in type)
    if not is_descriptor(type):
        return type
    match = _TYPE.match(type)
    if match is None:
        raise LaunchError(f"kernels on the CPU cannot take a descriptor of the type {type}")
    rank = match[2].count(",") + 1
    # The lowering of a descriptor needs its own shape and strides, and the language passes them beside it.
    flags = ("i1", "i1") if ROUNDS else ("i1",)
    return ("*" + match[1], *["i64"] * (2 * rank), *flags, *["i32"] * rank, *["i64"] * rank)


def expand_descriptor(value: Any) -> Any:
    """A descriptor as the tuple of its parts; the inverse order of ``expanded_types`` is Triton's."""
    if isinstance(value, tuple):
        return tuple(expand_descriptor(element) for element in value)
    if not hasattr(value, "block_shape"):
        return value
    flags = (value.padding == "nan", value.round_f32_to_tf32) if ROUNDS else (value.padding == "nan",)
    return (value.base, *value.shape, *value.strides, *flags, *value.shape, *value.strides)
