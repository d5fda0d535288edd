"""What one piece of a library's code was compiled for, as text: equal for calls that get the same code."""

from __future__ import annotations

from tle_raw.fragments.bound import BoundSignature
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.parameter_types import READY_BARRIER


def code_key(bound: BoundSignature) -> str:
    """``M=4, N=64``, with what else of a call changes the code."""
    names = [f"{name}={value.name if isinstance(value, DType) else value}" for name, value in bound.names]
    layouts = [f"{p.name}: {p.cxx_layout}" for p in bound.parameters if p.cxx_layout]
    ready = [f"{p.name}: ready barrier" for p in bound.parameters if p.buffer == READY_BARRIER]
    return ", ".join([*names, *layouts, *ready])
