"""Each warp of a partition arrives at a barrier by itself, where one thread would arrive for all of them.

That one thread comes after all that the partition's warps did, so they would meet before each arrival. Here each warp
waits for its own threads alone, and one of them arrives; the barrier counts so many arrivals more. A barrier that
partitions of different sizes arrive at counts as many for each as the largest has warps.

It is for sm_90: from sm_100 on Triton may run a worker with fewer warps than asked for, later than this.

Barriers that copies complete stay as they are, as do those at which anybody arrives outside of partitions, those of
which it is not known where they were allocated, and those that a region takes, unless it only waits (``In[Barrier]``).

Of the four block barriers in each step of a group that multiplies in the attention of
``samples/benchmarks/struct_attention.py`` the two named ones of the kernel are left.
``TLE_RAW_DISABLE_PASSES=arrive-by-warps`` compiles without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.partitions import PARTITIONS, SPECIALIZE, warps_of_workers
from tle_raw.flir.nvidia.replace_ports import Spelling
from tle_raw.flir.nvidia.shared_pointers import SharedPointers, follow_buffers
from tle_raw.linker.mlir.generic_operation import read_generic
from tle_raw.linker.mlir.generic_tree import Operation, Value
from tle_raw.regions.ports import IN

ARRIVAL = "// tle.arrival"  # ends the assembly of such an arrival
_ARRIVE, _INIT = "ttng.arrive_barrier", "ttng.init_barrier"
_HARMLESS = (
    *("ttg.local_alloc", "ttg.local_dealloc", "ttg.memdesc_index", "ttng.inval_barrier", "ttng.wait_barrier"),
    *("scf.", SPECIALIZE),
)
_COUNT = re.compile(r"count = (\d+) : i32")
_ADDRESS = "tti.experimental_memdesc_to_i"
_BARRIER = 'tle.note = "barrier"'  # of what stands for a barrier that is passed to a region
_MOST = (1 << 20) - 1  # arrivals that an mbarrier counts
_ASSEMBLY = (
    "{{ .reg .pred p; bar.warp.sync -1; elect.sync _|p, -1; @p mbarrier.arrive.shared::cta.b64 _, [$1], {}; "
    "mov.u32 $0, 0; }} " + ARRIVAL
)


def arrive_by_warps(text: str, num_warps: int, spelling: Spelling) -> tuple[str, int]:
    """TritonGPU text in generic form, and how many arrivals are made by warps.

    Parameters
    ----------
    num_warps : of the default partition.
    """
    lines = text.splitlines()
    pointers = follow_buffers(lines)
    edits, found = LineEdits(lines), 0
    for uses in _barriers(pointers).values():
        arrivals = {each: _warps(each, num_warps) for each in uses if each.name == _ARRIVE}
        largest = max(arrivals.values(), default=0)
        inits = [each for each in uses if each.name == _INIT]
        if largest < 2 or not all(arrivals.values()) or not all(map(_is_understood, uses)):
            continue
        if any(_count(lines[each.line]) * largest > _MOST for each in inits):
            continue
        for each in inits:
            more = _count(lines[each.line]) * largest
            edits.replace(each.line, [_COUNT.sub(f"count = {more} : i32", lines[each.line], count=1)])
        for each, warps in arrivals.items():
            count = _count(lines[each.line]) * largest // warps
            edits.replace(each.line, _arrival(lines[each.line], count, spelling, found))
            found += 1
    return edits.text(), found


def _barriers(pointers: SharedPointers) -> Mapping[Value, list[Operation]]:
    """The operations on each allocation of barriers whose values belong to nothing else."""
    found: dict[Value, list[Operation]] = {}
    mixed: set[Value] = set()
    for operation in pointers.walk():
        for value in {*operation.operands, *operation.results}:
            roots = pointers.of(value)
            if len(roots) > 1:
                mixed |= roots
            for root in roots:
                uses = found.setdefault(root, [])
                if operation not in uses[-1:]:
                    uses.append(operation)
    return {root: uses for root, uses in found.items() if root not in mixed and _is_barrier(uses)}


def _is_barrier(uses: Iterable[Operation]) -> bool:
    return any(each.name == _INIT for each in uses)


def _is_understood(use: Operation) -> bool:
    if use.name == _ARRIVE:
        return len(use.operands) == 1 or _is_true(use.operands[1])
    return use.name == _INIT or use.name.startswith(_HARMLESS) or _is_waited_for_by_a_region(use)


def _is_waited_for_by_a_region(use: Operation) -> bool:
    """Whether a region is given the barrier, and does not give it back: it does not arrive there.

    Its address, which stands beside that, is used by nobody yet.
    """
    users = [user for value in use.results for user in value.uses]
    if use.name.startswith(_ADDRESS):
        return all(map(_is_unused_splat, users))
    if use.name != "ttg.local_load" or _BARRIER not in use.details:
        return _is_unused_splat(use)
    return bool(users) and all(f'symbol = "{IN}.' in user.details and not user.results[0].uses for user in users)


def _is_unused_splat(operation: Operation) -> bool:
    return operation.name == "tt.splat" and not operation.results[0].uses


def _is_true(value: Value) -> bool:
    constant = value.definition
    return constant is not None and constant.name == "arith.constant" and "value = true" in constant.details


def _warps(operation: Operation, num_warps: int) -> int:
    """Of the partition in which an operation stands; 0 outside."""
    inner: Operation = operation
    for above in operation.ancestors():
        if above.name == PARTITIONS:
            number = next(n for n, region in enumerate(above.regions) if inner.parent in region)
            around = above.above
            counts = warps_of_workers(around.details) if around is not None else []
            return counts[number] if counts else 0
        if above.name == SPECIALIZE:
            return num_warps
        inner = above
    return 0


def _count(line: str) -> int:
    found = _COUNT.search(line)
    return int(found[1]) if found else 1


def _arrival(line: str, count: int, spelling: Spelling, number: int) -> list[str]:
    operation = read_generic(line)
    barrier, type_ = operation.operands[0], operation.types[0]
    name, wide = f"%tle_arrival_{number}", spelling.address_type
    made = [f'{name}_w = "{spelling.address}"({barrier}) : ({type_}) -> {wide}']
    word = f"{name}_w"
    if wide != "i32":
        word = f"{name}_a"
        made.append(f'{word} = "arith.trunci"({name}_w) : ({wide}) -> i32')
    record = f'asm_string = "{_ASSEMBLY.format(count)}", constraints = "=r,r", packed_element = 1 : i32, pure = false'
    made.append(f'{name} = "tt.elementwise_inline_asm"({word}) <{{{record}}}> : (i32) -> i32')
    return [f"{operation.indent}{part}{operation.location}" for part in made]
