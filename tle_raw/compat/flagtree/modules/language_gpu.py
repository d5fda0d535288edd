"""``triton.experimental.tle.language.gpu``: TLE-Struct, with names and forms of calls that later branches dropped."""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.compat.flagtree import old_calls
from tle_raw.compat.flagtree.loops import pipeline_loop
from tle_raw.compat.flagtree.modules import language_gpu_types as types
from tle_raw.compat.flagtree.not_here import look_up
from tle_raw.frontends.gpu import language as ours
from tle_raw.frontends.lite.code_generator import visited

_LOOPS = ("pipeline", "range")

globals().update({name: getattr(ours, name) for name in ours.__all__ if name != "local_ptr"})
globals().update({name: getattr(types, name) for name in types.__all__})
local_ptr = old_calls.local_ptr
# FlagTree's names before buffers had methods.
to_tensor, store_tensor = ours.local_load, ours.local_store

__all__ = sorted({*ours.__all__, *types.__all__, *_LOOPS, "local_ptr", "store_tensor", "to_tensor", "types"})


def __getattr__(name: str) -> Any:
    """Triton tells ``tl.range`` by identity: ``pipeline`` and ``range`` are it where the head of a loop is traced."""
    if name in _LOOPS:
        return core.range if visited("visit_For") is not None else pipeline_loop
    return look_up("tle.gpu", name)
