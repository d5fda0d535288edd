"""Buffers that products in the background read keep their memory until the kernel waits for the products.

Triton sees the last use of such a buffer where a product begins. Without a loop around it the memory would be free from
there on: a buffer that is allocated before the wait could get it, and be written while the product still reads. So the
wait becomes a use: ``ttg.local_dealloc``, of which Triton's allocator takes the latest.

Registers that a product reads are free for ptxas where it begins, too. Within straight code ptxas sees the wait; from
one iteration of a loop to the next it does not, and the next operand was seen to be written over the one that a product
still read (on an H200). So the last wait of an iteration leaves no such product under way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tle_raw.flir.nvidia.barrier_slots import ALLOC, BarrierText
from tle_raw.linker.mlir.structure import Path, is_loop, paths, read_structure
from tle_raw.linker.mlir.text import find_lines, indent_of, location_of, operation_name, value_names

_WGMMA, _WGMMA_WAIT = "ttng.warp_group_dot", "ttng.warp_group_dot_wait"
_TENSOR, _COMMIT, _WAIT = "ttng.tc_gen5_mma", "ttng.tc_gen5_commit", "ttng.wait_barrier"
_VIEWS = ("ttg.memdesc_index", "ttg.memdesc_subslice", "ttg.memdesc_trans", "ttg.memdesc_reinterpret")
_REGISTERS = "#ttg.dot_op<{opIdx = 0"  # of an operand of wgmma
_PENDINGS = re.compile(r"pendings = (\d+)")


def keep_operands(text: str) -> tuple[str, int]:
    """TritonGPU text, and how many buffers are kept until how many waits, multiplied."""
    if not any(name in text for name in (_WGMMA, _TENSOR)):
        return text, 0
    lines = text.splitlines()
    products = {n for n in find_lines(text, _WGMMA, _TENSOR) if operation_name(lines[n]) in (_WGMMA, _TENSOR)}
    if not products:
        return text, 0
    known, places = BarrierText(lines), paths(read_structure(lines))
    read = {number: list(_operands(known, number)) for number in products}
    waits = list(_waits(text, lines, places))
    made = list(lines)
    found = 0
    for wait in _too_early(lines, products, waits, places):
        made[wait] = _PENDINGS.sub("pendings = 0", lines[wait], count=1)
        found += 1
    for wait in waits:
        since = max(
            (w for w in waits if w < wait and _waits_for_all(lines[w]) and places[w] == places[wait]), default=-1
        )
        allocated = {root for number in products if since < number < wait for root in read[number]}
        for root in sorted(allocated):
            if places.get(root) == places[wait]:
                made[wait] += "\n" + _use(lines[root], lines[wait])
                found += 1
    return "\n".join(made), found


def _too_early(lines: Sequence[str], products: set[int], waits: Sequence[int], places: Mapping[int, Path]) -> set[int]:
    """The waits at the end of a loop's iterations that leave a product under way which reads registers."""
    found = set()
    for number in sorted(products):
        place = places.get(number, ())
        if _REGISTERS not in lines[number] or not place or not is_loop(lines[place[-1][0]]):
            continue
        behind = [wait for wait in waits if wait > number and places[wait] == place]
        begun = [sum(number < other < wait and places.get(other) == place for other in products) for wait in behind]
        if behind and not any(_pendings(lines[wait]) <= newer for wait, newer in zip(behind, begun)):
            found.add(behind[-1])
    return found


def _pendings(line: str) -> int:
    found = _PENDINGS.search(line)
    return int(found[1]) if found else 0


def _operands(text: BarrierText, number: int) -> Iterator[int]:
    """The lines of the allocations whose memory a product reads."""
    line = text.lines[number]
    names = value_names(line)[1 if line.lstrip().startswith("%") else 0 :][:2]
    for name in names:
        used = text.definition(name, number)
        while used >= 0 and operation_name(text.lines[used]) in _VIEWS:
            used = text.definition(value_names(text.lines[used])[1], used)
        if used >= 0 and operation_name(text.lines[used]) == ALLOC:
            yield used


def _waits(text: str, lines: Sequence[str], places: Mapping[int, Path]) -> Iterator[int]:
    """The lines of waits for products; in tensor memory the wait at the barrier that they arrive at."""
    barrier = ""
    for number in find_lines(text, _WGMMA_WAIT, _COMMIT, _WAIT):
        line = lines[number]
        kind = operation_name(line)
        if kind == _WGMMA_WAIT and number in places:
            yield number
        elif kind == _COMMIT:
            barrier = value_names(line)[0]
        elif kind == _WAIT and barrier and barrier in value_names(line) and number in places:
            barrier = ""
            yield number


def _waits_for_all(line: str) -> bool:
    return _pendings(line) == 0


def _use(alloc: str, wait: str) -> str:
    """A use of an allocation, beside a wait."""
    name, type_ = value_names(alloc)[0], alloc.rpartition("-> ")[2].partition(" loc(")[0].strip()
    indent, location = indent_of(wait), location_of(wait)
    return f'{indent}"ttg.local_dealloc"({name}) : ({type_}) -> (){location}'
