"""``tle.dsa``: local memories of domain-specific accelerators, inside kernels."""

from typing import Any

from tle_raw.frontends.dsa import ascend
from tle_raw.frontends.dsa.alloc import alloc
from tle_raw.frontends.dsa.arithmetic import add, div, max, min, mul, sub
from tle_raw.frontends.dsa.bridge import to_buffer, to_tensor
from tle_raw.frontends.dsa.copy import copy
from tle_raw.frontends.dsa.hint import hint
from tle_raw.frontends.dsa.local_buffer import local_buffer
from tle_raw.frontends.dsa.loops import NAMES, look_up_loop
from tle_raw.frontends.dsa.slices import extract_element, extract_slice, insert_slice
from tle_raw.frontends.dsa.subview import subview

__all__ = [
    "add",
    "alloc",
    "ascend",
    "copy",
    "div",
    "extract_element",
    "extract_slice",
    "hint",
    "insert_slice",
    "local_buffer",
    "max",
    "min",
    "mul",
    "sub",
    "subview",
    "to_buffer",
    "to_tensor",
    *NAMES,
]


def __getattr__(name: str) -> Any:
    """The loops: Triton's own where the head of one is traced, which it tells by identity."""
    if name in NAMES:
        return look_up_loop()
    raise AttributeError(f"tle.dsa.{name}: this release of tle_raw has no such function")
