"""What a region does to memory, in operations that a reader of Triton IR knows: for IR that nobody compiles.

``torch.compile`` makes a kernel's Triton IR to see which arguments it writes. It knows loads and stores, and takes
every other operation for arithmetic, port markers too: a region that writes through a pointer would be overlooked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from triton.language import core

from tle_raw.errors import ToolchainError
from tle_raw.fragments.bound import POINTER, BoundParameter
from tle_raw.fragments.fragment import Fragment
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.llvm.written_parameters import written_parameters
from tle_raw.regions.ports import RegionRecord
from tle_raw.target import Target
from tle_raw.targets.current import current_target
from tle_raw.triton_types import Semantic

EFFECTS_TARGET = Target("cuda", 90)
EMULATION_MACRO = "TLE_RAW_TEAM"


def emit_effects(fragment: Fragment, record: RegionRecord, values: dict[str, Any], semantic: Semantic) -> RegionRecord:
    """Write a load for each pointer, and a store where the fragment writes; what is left of the region has none.

    A result that depended on a pointer in the IR would make a store to a place that it names look like one to it.
    """
    pointers = [p for p in record.bound.crossing if p.kind == POINTER]
    written = written_pointers(fragment, record) if pointers else frozenset()
    for pointer in pointers:
        _touch(values[pointer.name], pointer.name in written, semantic)
    parameters = tuple(p for p in record.bound.parameters if p.kind != POINTER)
    return replace(record, bound=replace(record.bound, parameters=parameters), compiled=False)


def written_pointers(fragment: Fragment, record: RegionRecord) -> frozenset[str]:
    """The pointer parameters that the fragment may write through; all, where it cannot be known better."""
    pointers = [p for p in record.bound.crossing if p.kind == POINTER]
    return frozenset(p.name for p in pointers) - _only_read(fragment, record)


def _only_read(fragment: Fragment, record: RegionRecord) -> frozenset[str]:
    """What LLVM has proven of the fragment's code for GPUs, which code for the CPU shares, if nothing tells apart."""
    if not fragment.writes_through_arguments_only:
        return frozenset()
    target = current_target()
    if target.backend != "cuda":
        if fragment.mentions(EMULATION_MACRO):
            return frozenset()
        target = EFFECTS_TARGET
    try:
        compiled = fragment.compile_bound(record.bound, target)
    except ToolchainError:
        return frozenset()
    written = written_parameters(read_module(compiled.text), compiled.entry)
    return frozenset(p.name for p, w in zip(record.bound.crossing, written) if _is_only_read(p, w))


def _is_only_read(parameter: BoundParameter, written: bool) -> bool:
    return parameter.kind == POINTER and parameter.effect == "In" and not written


def _touch(pointer: Any, written: bool, semantic: Semantic) -> None:
    if not isinstance(pointer, core.tensor):
        return  # a null pointer
    value = core.load(pointer, _semantic=semantic)
    if written:
        core.store(pointer, value, _semantic=semantic)
