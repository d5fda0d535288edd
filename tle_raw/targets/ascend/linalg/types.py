"""Types of Triton's, read from their text."""

from __future__ import annotations

import re
from typing import Any

_SHAPED = re.compile(r"^(?:tensor|!ttg\.memdesc)<((?:\d+x)*)(!tt\.ptr<[^>]*>|[^,>]+)")
_POINTER = re.compile(r"^!tt\.ptr<([^,>]+)")


def is_tensor(type_: Any) -> bool:
    return str(type_).startswith("tensor<")


def is_buffer(type_: Any) -> bool:
    return str(type_).startswith("!ttg.memdesc<")


def is_pointer(type_: Any) -> bool:
    """One, or a tensor of them."""
    return "!tt.ptr<" in str(type_)


def shape_of(type_: Any) -> tuple[int, ...]:
    """() for a scalar."""
    match = _SHAPED.match(str(type_))
    return tuple(int(dim) for dim in match[1].split("x")[:-1]) if match else ()


def element_of(type_: Any) -> str:
    """Of a tensor, a buffer or a pointer; a scalar's own."""
    match = _SHAPED.match(str(type_))
    text = match[2] if match else str(type_)
    pointee = _POINTER.match(text)
    return pointee[1] if pointee else text
