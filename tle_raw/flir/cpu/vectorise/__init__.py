"""Rewrite the work on tiles as loops over vectors.

A ``linalg.generic`` is written as loops over chunks of its iterations, and its body on vectors that hold one chunk.
``analysis`` finds out how each value differs between the lanes, ``choose`` picks the chunks, ``body`` writes the
operations, ``memory`` the accesses, and ``per_lane`` what has no vector form. Generics that cannot be written so stay,
for ``convert-linalg-to-loops``.
"""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.vectorise.dense import copy_as_generic, fill_as_generic
from tle_raw.flir.cpu.vectorise.generic import vectorise_generic
from tle_raw.flir.cpu.vectorise.memory import Memory
from tle_raw.flir.cpu.vectorise.operations import walk

__all__ = ["vectorise"]


def vectorise(module: Any, *, vector_bytes: int) -> None:
    """Rewrite every ``linalg.generic``, ``linalg.fill`` and ``linalg.copy`` of a module in place.

    Parameters
    ----------
    module : a verified module in the Linalg form.
    vector_bytes : width of the host's vector registers: 64 for AVX-512, 32 for AVX2, 16 otherwise.
    """
    with module.context, mlir().Location.unknown():
        for view in module.body.operations:
            if view.operation.name == "func.func":
                _vectorise_function(view.operation, vector_bytes)


def _vectorise_function(function: Any, vector_bytes: int) -> None:
    memory = Memory(vector_bytes, function)
    for op in _all(function, "linalg.fill"):
        fill_as_generic(op)
    for op in _all(function, "linalg.copy"):
        copy_as_generic(op)
    for op in _all(function, "linalg.generic"):
        vectorise_generic(op, memory, vector_bytes)


def _all(function: Any, name: str) -> list[Any]:
    return [op for op in walk(function) if op.name == name]
