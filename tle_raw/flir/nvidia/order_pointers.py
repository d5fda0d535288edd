"""Accesses by pointers into shared buffers, once Triton's passes are done with layouts and loops.

* Block barriers stand where ``pointer_order`` wants them.
* A buffer that such a pointer points into has its memory from the kernel's beginning to its end, because Triton's
  allocator sees no use of it in the pointer; of one that the kernel frees, up to there, with barriers on both sides.
* The operations are marked, in a way that Triton's lowering carries into the text of its instructions and that no
  kernel can ask for: the instructions are ``ld.global``, ``st.global`` and ``atom.global`` until
  ``linker/llvm/shared_accesses.py`` reads the marks.

A load is marked as volatile and cached, which no instruction is at once; a store as streamed and kept. An atomic
operation is one of the block without order, which is all that its memory can mean; to tell it from the kernel's own of
this kind, those become the GPU's, which asks for more. What goes to another block's memory is cached elsewhere, kept
less, or one of the block that acquires. Triton must not join additions of neighbours in memory, for
which there is no instruction: their addresses go through a move that it does not look into.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from tle_raw.flir.nvidia.barrier_walk import AFTER, BEFORE, Barrier
from tle_raw.flir.nvidia.hide_accesses import show_accesses
from tle_raw.flir.nvidia.insertions import FENCE_TEXT
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.pointer_order import decide_order, used_in_background
from tle_raw.flir.nvidia.replace_ports import LIVES, Spelling
from tle_raw.flir.nvidia.shared_pointers import ACCESSES, LOADS, STORES, Buffers, SharedPointers, read_pointers
from tle_raw.linker.mlir.generic_operation import GenericOperation, read_generic
from tle_raw.linker.mlir.generic_tree import Operation

DEALLOC = "ttg.local_dealloc"
_FADD = "5"
_BLOCK, _RELAXED, _ACQUIRE = ("scope", "2"), ("sem", "1"), ("sem", "2")
_GPU = ("scope", "1")
_OF_BLOCK, _LOADS_AND_STORES = f"{_BLOCK[0]} = {_BLOCK[1]}", (*LOADS, *STORES)
_HOPPER = 90
_SCOPES = ("tt.func", "ttg.warp_specialize")
_ENDS = ("tt.return", "ttg.warp_return", "ttg.warp_yield")


def order_pointers(text: str, spelling: Spelling, capability: int) -> tuple[str, int]:
    """TritonGPU text in generic form, ready for Triton's lowering; how many accesses there are."""
    lines = show_accesses(text)
    pointers = read_pointers(lines)
    accesses = list(pointers.accesses())
    if not accesses:
        return text, 0
    return order_edits(lines, pointers, decide_order(pointers), spelling, capability).text(), len(accesses)


def order_edits(
    lines: list[str], pointers: SharedPointers, barriers: Collection[Barrier], spelling: Spelling, capability: int
) -> LineEdits:
    """The edits of a kernel's lines by which its accesses are in order, where these barriers order them."""
    accesses = list(pointers.accesses())
    edits = LineEdits(lines)
    for line, side in barriers:
        edits.insert(line, side, spelling.barrier)
    _fence(pointers, accesses, edits, capability)
    _keep_alive(pointers, accesses, edits, spelling)
    for operation in pointers.named(*ACCESSES):
        edits.replace(operation.line, _marked(lines[operation.line], operation, pointers))
    return edits


def _fence(pointers: SharedPointers, accesses: Sequence[Operation], edits: LineEdits, capability: int) -> None:
    """Copies and products in the background see what threads wrote behind a fence."""
    background = used_in_background(pointers) if capability >= _HOPPER else frozenset()
    for access in accesses:
        if access.name not in LOADS and background & pointers.of(access.operands[0]):
            edits.insert(access.line, AFTER, FENCE_TEXT)


# --- memory -------------------------------------------------------------------------------------------------------


def _keep_alive(pointers: SharedPointers, accesses: Sequence[Operation], edits: LineEdits, spelling: Spelling) -> None:
    buffers: Buffers = frozenset().union(*(pointers.of(access.operands[0]) for access in accesses))
    freed = [each for each in pointers.named(DEALLOC) if LIVES not in each.details]
    ends = {buffer: [each for each in freed if buffer in pointers.of(each.operands[0])] for buffer in buffers}
    for buffer in sorted(buffers, key=lambda buffer: buffer.definition.line if buffer.definition else -1):
        alloc = buffer.definition
        assert alloc is not None
        if ends[buffer]:
            edits.insert(alloc.line, BEFORE, spelling.barrier)
            for end in ends[buffer]:
                edits.insert(end.line, BEFORE, spelling.barrier)
            continue
        live_throughout(alloc, edits)


def live_throughout(alloc: Operation, edits: LineEdits) -> None:
    """It is allocated first of all, and given back last; within a partition of warps, of all that this does."""
    inside = alloc
    while inside.above is not None and not inside.above.name.startswith(_SCOPES):
        inside = inside.above
    if inside.above is None:
        return
    region = next(region for region in inside.above.regions if inside.parent in region)
    first = region[0].operations[0]
    line, result = edits.lines[alloc.line], alloc.results[0]
    if not alloc.operands and first is not alloc:
        edits.replace(alloc.line, [])
        edits.before.setdefault(first.line, []).insert(0, line)
    for block in region:
        if block.operations[-1].name in _ENDS:
            dealloc = f'"{DEALLOC}"({result.name}) : ({result.type}) -> ()'
            edits.insert(block.operations[-1].line, BEFORE, dealloc)


# --- marks --------------------------------------------------------------------------------------------------------


def _marked(line: str, access: Operation, pointers: SharedPointers) -> list[str]:
    """Marked as one of shared memory; in a way of its own where that is another block's."""
    if access.operands[0] not in pointers.buffers:
        may_be_of_block = access.name not in _LOADS_AND_STORES and _OF_BLOCK in line
        return [str(_of_the_gpu(read_generic(line), bool(pointers.remote))) if may_be_of_block else line]
    operation, is_remote = read_generic(line), access.operands[0] in pointers.remote
    if access.name in LOADS:
        cached = _cached(operation, "ca", "2") if is_remote else _cached(operation, "cg", "3")
        return [str(_with(cached, {"isVolatile": "true"}))]
    if access.name in STORES:
        kept = ("evict_first", "2") if is_remote else ("evict_last", "3")
        return [str(_cached(operation, "cs", "5", *kept))]
    of_block = _with(operation, dict((_BLOCK, _ACQUIRE if is_remote else _RELAXED)), " : i32")
    is_joined = _number(operation, "atomic_rmw_op") == _FADD and operation.types[0].startswith("tensor<")
    return _hidden_address(of_block) if is_joined else [str(of_block)]


def _of_the_gpu(operation: GenericOperation, has_remote: bool) -> GenericOperation:
    marks = (_RELAXED[1], _ACQUIRE[1]) if has_remote else (_RELAXED[1],)
    of_block = _number(operation, _BLOCK[0]) == _BLOCK[1] and _number(operation, _RELAXED[0]) in marks
    return _with(operation, dict((_GPU,)), " : i32") if of_block else operation


def _number(operation: GenericOperation, name: str) -> str:
    return operation.property(name).partition(":")[0].strip()


def _cached(
    operation: GenericOperation, modifier: str, number: str, policy: str = "evict_normal", policy_number: str = "1"
) -> GenericOperation:
    """With a cache modifier and an eviction policy: from Triton 3.9 on they are one attribute."""
    if operation.property("cache"):
        return _with(operation, {"cache": number, "evict": policy_number}, " : i32")
    given = f"#tt.cache_policy<cache_modifier = {modifier}, eviction_policy = {policy}>"
    return _with(operation, {"cachePolicy": given})


def _with(operation: GenericOperation, values: dict[str, str], type_: str = "") -> GenericOperation:
    """With other values of properties, or with more of them."""
    return operation._replace(properties=_with_entries(operation.properties, tuple(values.items()), type_))


@lru_cache(maxsize=256)  # accesses of a kernel have few
def _with_entries(properties: str, entries: tuple[tuple[str, str], ...], type_: str) -> str:
    for name, value in entries:
        entry = re.compile(rf"(^|, ){name} = [^,<>]*(?:<[^<>]*>)?[^,<>]*")
        properties, found = entry.subn(rf"\g<1>{name} = {value}{type_}", properties, count=1)
        if not found:
            properties = ", ".join(filter(None, (properties, f"{name} = {value}{type_}")))
    return properties


def _hidden_address(operation: GenericOperation) -> list[str]:
    pointer, pointers, loc = operation.operands[0], operation.types[0], operation.location
    numbers = re.sub(r"!tt\.ptr<[^<>]*>", "i64", pointers)
    name = f"%tle_address_{operation.results.strip('%') or pointer.strip('%')}".replace("#", "_")
    move = '<{asm_string = "mov.b64 $0, $1;", constraints = "=l,l", packed_element = 1 : i32, pure = true}>'
    return [
        f'{name}_n = "tt.ptr_to_int"({pointer}) : ({pointers}) -> {numbers}{loc}',
        f'{name}_m = "tt.elementwise_inline_asm"({name}_n) {move} : ({numbers}) -> {numbers}{loc}',
        f'{name}_p = "tt.int_to_ptr"({name}_m) : ({numbers}) -> {pointers}{loc}',
        str(operation._replace(operands=(f"{name}_p", *operation.operands[1:]))),
    ]
