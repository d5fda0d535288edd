"""A copy that adds a buffer to global memory, or combines it otherwise, reads the buffer where it lies.

Triton would load the tile into registers and store it into another buffer for the copy engine. The kernel's IR holds a
noted ``ttg.local_load`` and a ``tt.descriptor_reduce`` of its value; here they become ``ttng.async_tma_reduce`` on the
buffer, and a wait until the copy engine has read it. A fence before it makes the copy engine see what threads stored.
The descriptor's type gets the buffer's layout, as in ``join_tma_copies``.

In the gradients of attention that ``samples/benchmarks/struct_attention_backward.py`` measures each of two warps adds
tiles of 64 × 64 f32. By way of registers, 128 a thread, such a warp spills 1400 bytes and takes 16 KB more of shared
memory, which the block does not have for two.
``TLE_RAW_DISABLE_PASSES=reduce-in-place`` compiles without it.
"""

from __future__ import annotations

from dataclasses import replace

from tle_raw.flir.nvidia.buffer_types import layout_aliases
from tle_raw.flir.nvidia.join_tma_copies import CONVERT, laid_out
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.linker.mlir.generic_operation import GenericOperation, generic_name, read_generic
from tle_raw.linker.mlir.text import find_lines

LOAD, REDUCE, NOTE = "ttg.local_load", "tt.descriptor_reduce", "tle.note"
_NOTED = '"reduce"'


def reduce_in_place(text: str, *, read_only: bool) -> tuple[str, int]:
    """TritonGPU text in generic form, and how many copies read their buffers.

    Parameters
    ----------
    read_only : this Triton's waits may be for the reading of the buffer alone, and say so.
    """
    if f"{NOTE} = {_NOTED}" not in text:
        return text, 0
    types: dict[str, str] = {}
    changed, found = _rewritten(text, types, read_only)
    for plain, wanted in types.items():
        changed = changed.replace(plain, wanted)
    return changed, found


def _rewritten(text: str, types: dict[str, str], read_only: bool) -> tuple[str, int]:
    """The text, where copies take the place of the loads and what became of their values."""
    loads: dict[str, GenericOperation] = {}
    lines, found = text.splitlines(), 0
    aliases, edits = layout_aliases(lines), LineEdits(lines)
    for number in find_lines(text, *(f'"{name}"' for name in (LOAD, CONVERT, REDUCE))):
        line, made = lines[number], list[str]()
        name = generic_name(line)
        if name == LOAD and NOTE in line and (load := read_generic(line)).attribute(NOTE) == _NOTED:
            loads[load.results] = load
        elif name == CONVERT and loads and (convert := read_generic(line)).operands[0] in loads:
            loads[convert.results] = loads[convert.operands[0]]
        elif name == REDUCE and loads and (reduce := read_generic(line)).operands[1] in loads:
            made = _reduction(reduce, loads[reduce.operands[1]], types, aliases, read_only)
            found += 1
        else:
            continue
        edits.replace(number, made)
    return edits.text(), found


def _reduction(
    reduce: GenericOperation, load: GenericOperation, types: dict[str, str], aliases: dict[str, str], read_only: bool
) -> list[str]:
    descriptor, buffer = reduce.types[0], load.types[0]
    laid_out(descriptor, buffer, types, aliases)
    operands, given = (
        (*reduce.operands[:1], *reduce.operands[2:], load.operands[0]),
        (*reduce.types[:1], *reduce.types[2:]),
    )
    waited = "pendings = 0 : i32" + (", read_only" if read_only else "")
    made = (
        GenericOperation("ttng.fence_async_shared", properties="bCluster = false"),
        GenericOperation("ttng.async_tma_reduce", operands, (*given, buffer), properties=reduce.properties),
        GenericOperation("ttng.async_tma_store_wait", properties=waited),
    )
    return [str(replace(each, indent=reduce.indent, location=reduce.location)) for each in made]
