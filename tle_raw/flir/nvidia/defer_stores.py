"""Tiles that a loop stores by descriptors are copied out of memory of their own, while the loop goes on.

Triton waits behind each store until the copy engine has read the tile, and its pass that puts the wait off runs in a
pipeline that kernels with products in the background do not go through. Here such a loop has a ring of one slot or two
for its tiles, and waits where a slot is written again::

    %ring = ttg.local_alloc                      // in front of the loop
    ttng.async_tma_store_wait {pendings = 1}     // the store before the last one has been read
    ttg.local_store %tile, %ring[1]
    ttng.fence_async_shared
    ttng.async_tma_copy_local_to_global
    ttng.async_tma_store_wait {pendings = 0}     // behind the loop

It is two slots where an even number of equal tiles is stored in each iteration and the block's memory allows for it.
A loop that stores by descriptors in branches, combines, or has atomic operations, which may tell others of what was
stored, stays as it is.

What it pays depends on how much of a tile's time its end is. Of the products that
``samples/benchmarks/struct_speed.py`` measures, that of 4096³ in fp8 ends 0.8 to 1.1 % sooner on an H200, with short
loops over K; those in bf16, where power is the limit, end when they did, to within 0.4 %.
``TLE_RAW_DISABLE_PASSES=defer-stores`` compiles without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tle_raw.flir.nvidia.barrier_walk import AFTER, BEFORE, LOOPS
from tle_raw.flir.nvidia.buffer_types import PREFIX, buffer_bytes, element_bits, layout_aliases
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.partitions import PARTITIONS, SPECIALIZE
from tle_raw.flir.nvidia.within_warps import is_within_warps
from tle_raw.linker.machine_code.shared_memory_limits import LIMITS
from tle_raw.linker.mlir.generic_operation import read_generic
from tle_raw.linker.mlir.generic_tree import Block, Operation

COPY, WAIT = "ttng.async_tma_copy_local_to_global", "ttng.async_tma_store_wait"
_ALLOC, _FENCE = "ttg.local_alloc", "ttng.fence_async_shared"
_OTHERS = ("ttng.async_tma_reduce", "ttng.async_tma_scatter", "tt.atomic_")
_EXCHANGES = ("ttg.convert_layout", "tt.scan", "tt.gather", "tt.histogram", "tt.cat")
_REDUCTION, _MOST_WARPS = "tt.reduce", 16  # each warp of a partition has its part of the result
_TENSOR = re.compile(r"tensor<((?:\d+x)*)([^,>]+)")
_RESERVE = 2048  # bytes for barriers, and for what partitions are handed over
_MOST = 2


@dataclass(frozen=True)
class _Store:
    """The operations of one store: its tile's memory, the fence, the copy, the wait."""

    alloc: Operation
    copy: Operation
    wait: Operation


def stores_tiles(text: str) -> bool:
    """Whether TritonGPU text stores any tile by a descriptor."""
    return COPY in text


def defer_stores(
    lines: Sequence[str], operations: Sequence[Operation], capability: int, *, says_reads: bool
) -> tuple[str, int]:
    """TritonGPU text in generic form, "" where it stays as it is, and how many stores no longer wait at once.

    Parameters
    ----------
    operations : all that ``lines`` hold.
    says_reads : a wait is for all that the copy engine does, unless it says that what it reads is enough.
    """
    found = {loop: stores for loop in operations if loop.name in LOOPS and (stores := _stores(loop))}
    aliases = layout_aliases(lines)
    room = LIMITS.get(capability, 0) - _RESERVE - _taken(operations, found, aliases)
    sizes = {loop: buffer_bytes(stores[0].alloc.results[0].type, aliases) for loop, stores in found.items()}
    room -= sum(sizes.values())
    if not found or room < 0:
        return "", 0
    edits = LineEdits(lines)
    for number, (loop, stores) in enumerate(found.items()):
        slots = _MOST if len(stores) % _MOST == 0 and room >= (_MOST - 1) * sizes[loop] else 1
        room -= (slots - 1) * sizes[loop]
        wait = f'"{WAIT}"() <{{pendings = {slots - 1} : i32{", read_only" if says_reads else ""}}}> : () -> ()'
        _defer(edits, lines, loop, stores, slots, wait, f"%tle_stores_{number}")
    return edits.text(), sum(map(len, found.values()))


def _stores(loop: Operation) -> list[_Store]:
    """Those of a loop's own iterations, in order; none where any is not understood."""
    copies = [each for each in loop.walk() if each.name == COPY]
    if any(each.name.startswith(_OTHERS) for each in loop.walk()):
        return []
    blocks = [block for region in loop.regions for block in region]
    found = [store for block in blocks for store in _in_block(block)]
    if len(found) != len(copies) or len({each.alloc.results[0].type for each in found}) != 1:
        return []
    return found


def _in_block(block: Block) -> Iterator[_Store]:
    made: dict[str, Operation] = {}
    copy: Operation | None = None
    for each in block.operations:
        if each.name == _ALLOC and len(each.operands) == 1:
            made[each.results[0].name] = each
        elif each.name == COPY:
            copy = each
        elif each.name == WAIT and copy is not None and "pendings = 0" in each.details:
            alloc = made.get(copy.operands[-1].name)
            if alloc is not None and _is_used_once(alloc, block):
                yield _Store(alloc, copy, each)
            copy = None


def _is_used_once(alloc: Operation, block: Block) -> bool:
    uses = [each for one in block.operations for each in one.walk() if alloc.results[0] in each.operands]
    return len(uses) == 1


def _taken(
    operations: Sequence[Operation], found: Mapping[Operation, Sequence[_Store]], aliases: dict[str, str]
) -> int:
    """The bytes that all else may take, as if nothing shared memory."""
    deferred = {store.alloc for stores in found.values() for store in stores}
    allocs = (each for each in operations if each.name == _ALLOC and each not in deferred)
    buffers = sum(buffer_bytes(each.results[0].type, aliases) for each in allocs)
    most: dict[int, int] = {}  # each partition has memory of its own
    for each in operations:
        if (size := _exchanged(each)) and not is_within_warps(each, aliases):
            partition = _partition(each)
            most[partition] = max(most.get(partition, 0), size)
    return buffers + sum(most.values())


def _partition(operation: Operation) -> int:
    """The identity of the block of the partition in which an operation stands; 0 outside."""
    inner = operation
    for above in operation.ancestors():
        if above.name in (PARTITIONS, SPECIALIZE):
            return id(inner.parent)
        inner = above
    return 0


def _exchanged(operation: Operation) -> int:
    """The bytes, at most, through which threads exchange a tensor's elements."""
    if operation.name == _REDUCTION:
        return _MOST_WARPS * sum(_tensor_bytes(each.type) for each in operation.results)
    return _tensor_bytes(operation.operands[0].type) if operation.name.startswith(_EXCHANGES) else 0


def _tensor_bytes(type_: str) -> int:
    match = _TENSOR.match(type_)
    return prod(int(d) for d in match[1].split("x")[:-1]) * element_bits(match[2]) // 8 if match else 0


def _defer(
    edits: LineEdits,
    lines: Sequence[str],
    loop: Operation,
    stores: Sequence[_Store],
    slots: int,
    wait: str,
    name: str,
) -> None:
    tile = stores[0].alloc.results[0].type
    one = tile[:-1] + ", mutable>"
    ring = one.replace(PREFIX, f"{PREFIX}{slots}x", 1)
    edits.insert(loop.line, BEFORE, f'{name} = "{_ALLOC}"() : () -> {ring}')
    for index in range(slots):
        number = f"{name}_number_{index}"
        edits.insert(loop.line, BEFORE, f'{number} = "arith.constant"() <{{value = {index} : i32}}> : () -> i32')
        view = f'{name}_slot_{index} = "ttg.memdesc_index"({name}, {number}) : ({ring}, i32) -> {one}'
        edits.insert(loop.line, BEFORE, view)
    for index, store in enumerate(stores):
        slot = f"{name}_slot_{index % slots}"
        alloc = read_generic(lines[store.alloc.line])
        made = [wait, f'"ttg.local_store"({alloc.operands[0]}, {slot}) : ({alloc.types[0]}, {one}) -> ()']
        edits.replace(store.alloc.line, [f"{alloc.indent}{each}{alloc.location}" for each in made])
        copy = read_generic(lines[store.copy.line])
        head, _, tail = lines[store.copy.line].partition(f", {copy.operands[-1]})")
        edits.replace(store.copy.line, [f"{head}, {slot}){tail}".replace(f", {tile}) ->", f", {one}) ->")])
        edits.replace(store.wait.line, [])
    edits.insert(loop.end, AFTER, f'"{WAIT}"() <{{pendings = 0 : i32}}> : () -> ()')
    edits.insert(loop.end, AFTER, f'"ttg.local_dealloc"({name}) : ({ring}) -> ()')
