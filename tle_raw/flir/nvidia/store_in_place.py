"""A copy out of a buffer, or one that combines it with what global memory holds, reads the buffer where it lies.

Triton would load the tile into registers and store it into another buffer for the copy engine. The kernel's IR holds a
noted ``ttg.local_load``, and a ``tt.descriptor_store`` or ``tt.descriptor_reduce`` of its value; here they become
``ttng.async_tma_copy_local_to_global`` or ``ttng.async_tma_reduce`` on the buffer, and a wait until the copy engine has
read it, so that the kernel may write into the buffer again. A fence before it makes the copy engine see what threads
stored. The descriptor's type gets the buffer's layout, as in ``join_tma_copies``.

What is combined takes this way everywhere: it waits at once in either case. A store in a loop does not: by way of a
tile of its own it goes on beside the next iterations (``defer_stores``, or Triton's software pipeliner), and here the
loop would wait for each. So a loop's stores read the buffer only where that tile does not fit into the block's memory
beside the buffers that live there: such a kernel could not run at all. And a copy is left alone where anything that may
write shared memory stands between the load and the store.

In the gradients of attention that ``samples/benchmarks/struct_attention_backward.py`` measures each of two warps adds
tiles of 64 × 64 f32. By way of registers, 128 a thread, such a warp spills 1400 bytes and takes 16 KB more of shared
memory, which the block does not have for two.
``TLE_RAW_DISABLE_PASSES=store-in-place`` compiles without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tle_raw.flir.nvidia.barrier_walk import LOOPS
from tle_raw.flir.nvidia.buffer_types import buffer_bytes, layout_aliases
from tle_raw.flir.nvidia.copy_order import Lifetimes
from tle_raw.flir.nvidia.join_tma_copies import CONVERT, laid_out
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.multiply_in_place import writes_nothing
from tle_raw.flir.nvidia.shared_pointers import SharedPointers, follow_buffers
from tle_raw.linker.machine_code.shared_memory_limits import LIMITS
from tle_raw.linker.mlir.generic_operation import GenericOperation, generic_name, read_generic
from tle_raw.linker.mlir.generic_tree import Operation

LOAD, NOTE = "ttg.local_load", "tle.note"
_NOTED = f'{NOTE} = "out"'
_STORE = "tt.descriptor_store"
_MADE = {_STORE: "ttng.async_tma_copy_local_to_global", "tt.descriptor_reduce": "ttng.async_tma_reduce"}


def store_in_place(text: str, capability: int, *, read_only: bool) -> tuple[str, int]:
    """TritonGPU text in generic form, and how many copies read their buffers.

    Parameters
    ----------
    read_only : this Triton's waits may be for the reading of the buffer alone, and say so. That is so behind what is
        combined; behind a store the wait is that of Triton's own.
    """
    if _NOTED not in text:
        return text, 0
    lines = text.splitlines()
    pointers, aliases, edits = follow_buffers(lines), layout_aliases(lines), LineEdits(lines)
    room = _Room(pointers, aliases, LIMITS.get(capability, 0))
    types: dict[str, str] = {}
    taken: set[Operation] = set()
    for copy, load in _copies(pointers):
        if (copy.name == _STORE and _is_in_loop(copy) and room.has(copy, load)) or not _is_unwritten(lines, load, copy):
            continue
        taken.add(copy)
        edits.replace(copy.line, _copy(read_generic(lines[copy.line]), read_generic(lines[load.line]), read_only))
        laid_out(copy.operands[0].type, load.operands[0].type, types, aliases)
    _remove_loads(pointers, taken, edits, lines)
    changed = edits.text()
    for plain, wanted in types.items():
        changed = changed.replace(plain, wanted)
    return changed, len(taken)


def _copies(pointers: SharedPointers) -> Iterator[tuple[Operation, Operation]]:
    """The copies whose tiles noted loads of buffers are, with those."""
    for each in pointers.walk():
        if each.name in _MADE:
            load = each.operands[1].definition
            while load is not None and load.name == CONVERT:
                load = load.operands[0].definition
            if load is not None and _is_noted(load):
                yield each, load


def _is_noted(operation: Operation) -> bool:
    return operation.name == LOAD and _NOTED in operation.details


def _is_in_loop(operation: Operation) -> bool:
    return any(above.name in LOOPS for above in operation.ancestors())


def _is_unwritten(lines: Sequence[str], load: Operation, copy: Operation) -> bool:
    """Whether the buffer still holds at the copy what was loaded."""
    between = lines[load.line + 1 : copy.line]  # other copies among them, of a load that Triton made of two
    return load.parent is copy.parent and all(writes_nothing(line) or generic_name(line) in _MADE for line in between)


def _copy(copy: GenericOperation, load: GenericOperation, read_only: bool) -> list[str]:
    operands = (*copy.operands[:1], *copy.operands[2:], load.operands[0])
    types = (*copy.types[:1], *copy.types[2:], load.types[0])
    waited = "pendings = 0 : i32" + (", read_only" if read_only and copy.name != _STORE else "")
    made = (
        GenericOperation("ttng.fence_async_shared", properties="bCluster = false"),
        GenericOperation(_MADE[copy.name], operands, types, properties=copy.properties),
        GenericOperation("ttng.async_tma_store_wait", properties=waited),
    )
    return [str(each._replace(indent=copy.indent, location=copy.location)) for each in made]


def _remove_loads(pointers: SharedPointers, taken: set[Operation], edits: LineEdits, lines: Sequence[str]) -> None:
    """Those that nobody needs any more, with conversions of their values; the others lose their notes."""
    unused = set(taken)
    for each in reversed(pointers.walk()):
        if not _is_noted(each) and each.name != CONVERT:
            continue
        if each.results[0].uses and unused.issuperset(each.results[0].uses):
            unused.add(each)
            edits.replace(each.line, [])
        elif each.name == LOAD:
            edits.replace(each.line, [str(read_generic(lines[each.line]).without_attribute(NOTE))])


class _Room:
    """What the block's memory has room for, beside the buffers that live at a place."""

    def __init__(self, pointers: SharedPointers, aliases: Mapping[str, str], limit: int) -> None:
        self._pointers, self._aliases, self._limit = pointers, aliases, limit
        self._alive: Lifetimes | None = None

    def has(self, copy: Operation, load: Operation) -> bool:
        """Whether it has room for a tile of its own for a copy."""
        self._alive = self._alive or Lifetimes(self._pointers, self._pointers.walk())
        buffers = [load.operands[0].type, *(buffer.type for buffer in self._alive.at(copy.line))]
        return sum(buffer_bytes(each, self._aliases) for each in buffers) <= self._limit
