"""Loads from buffers that stand for numbers of the buffers': how ``tle.gpu.local_ptr`` asks for them."""

from __future__ import annotations

from collections.abc import Iterable

from tle_raw.flir.cpu.mlir_values import Operation

TOLD, ADDRESS, NUMBER = "tle.told", "address", "tle_told"


def is_told(op: Operation) -> bool:
    """Whether a load from a buffer stands for a number of the buffer's."""
    return op.name == "ttg.local_load" and TOLD in op.attributes


def is_number(op: Operation) -> bool:
    """Whether an operation passes on what such a load gave."""
    return op.name == "tt.extern_elementwise" and str(op.attributes["symbol"].value) == NUMBER


def is_asked(op: Operation) -> bool:
    """Whether a view of a buffer is there for such loads alone: any buffer has it, whatever its shape."""
    users = [use.owner.operation for use in op.results[0].uses]
    return bool(users) and all(map(is_told, users))


def has_pointers(operations: Iterable[Operation]) -> bool:
    """Whether a function points into buffers: its loads and stores of the user's memory may be of them."""
    return any(map(is_told, operations))
