"""Triton's builder of ``ttg`` and ``ttng`` operations, at the place where a kernel is being traced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from triton._C.libtriton import gluon_ir

from tle_raw.triton_types import Semantic


def new_builder(context: Any) -> Any:
    """A builder without a place: it makes types and attributes."""
    return gluon_ir.GluonOpBuilder(context)


def identity(handle: Any) -> int:
    """Of an SSA value: Triton makes other objects of the same one. 0 in Triton's interpreter."""
    return int(handle.id()) if hasattr(handle, "id") else 0


@contextmanager
def builder_here(semantic: Semantic, context: Any) -> Iterator[Any]:
    """A builder that writes where ``semantic`` does; afterwards that one goes on behind what was written."""
    builder, location = new_builder(context), semantic.builder.get_loc()
    builder.restore_insertion_point(semantic.builder.get_insertion_point())
    builder.set_loc(location)
    try:
        yield builder
    finally:
        semantic.builder.restore_insertion_point(builder.get_insertion_point())
        semantic.builder.set_loc(location)  # which the place brought one of its own
