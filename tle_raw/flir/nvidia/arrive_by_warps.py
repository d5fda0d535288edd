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

``knobs.racecheck`` lets each thread arrive instead: compute-sanitizer's racecheck takes an arrival for that of the one
thread that makes it, and reports what the others did before as a race (``tests/gpu/worker_state.py``). Then barriers
that copies complete take part: who announces their bytes arrives for the threads that others arrive with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tle_raw.flir.nvidia.barrier_walk import BEFORE
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.partitions import PARTITIONS, SPECIALIZE, warps_of_workers
from tle_raw.flir.nvidia.replace_ports import Spelling
from tle_raw.flir.nvidia.shared_pointers import SharedPointers
from tle_raw.linker.mlir.generic_operation import read_generic
from tle_raw.linker.mlir.generic_tree import Operation, Value
from tle_raw.regions.ports import IN

ARRIVAL = "// tle.arrival"  # ends the assembly of such an arrival
_ARRIVE, _INIT, _EXPECT = "ttng.arrive_barrier", "ttng.init_barrier", "ttng.barrier_expect"
_COPY = "ttng.async_tma_copy_global_to_local"
_HARMLESS = (
    *("ttg.local_alloc", "ttg.local_dealloc", "ttg.memdesc_index", "ttng.inval_barrier", "ttng.wait_barrier"),
    *("scf.", SPECIALIZE),
)
_COUNT = re.compile(r"count = (\d+) : i32")
_ADDRESS = "tti.experimental_memdesc_to_i"
_BARRIER = 'tle.note = "barrier"'  # of what stands for a barrier that is passed to a region
_MOST = (1 << 20) - 1  # arrivals that an mbarrier counts
LANES = 32
_BY_WARP = (
    "{{ .reg .pred p; bar.warp.sync -1; elect.sync _|p, -1; @p mbarrier.arrive.shared::cta.b64 _, [$1], {}; "
    "mov.u32 $0, 0; }} " + ARRIVAL
)
_BY_THREAD = "{{ mbarrier.arrive.shared::cta.b64 _, [$1], {}; mov.u32 $0, 0; }} " + ARRIVAL


def arrive_by_warps(
    lines: Sequence[str], pointers: SharedPointers, num_warps: int, spelling: Spelling, *, by_threads: bool = False
) -> tuple[str, int]:
    """TritonGPU text in generic form, and how many arrivals are made by warps.

    Parameters
    ----------
    lines, pointers : of a module in generic form, and where its buffers go.
    num_warps : of the default partition.
    by_threads : each thread arrives, and not one of each warp.
    """
    assembly, lanes = (_BY_THREAD, LANES) if by_threads else (_BY_WARP, 1)
    edits, found = LineEdits(lines), 0
    for uses in _barriers(pointers).values():
        arrivals = {each: _warps(each, num_warps) for each in uses if each.name == _ARRIVE}
        largest = max(arrivals.values(), default=0)
        inits = [each for each in uses if each.name == _INIT]
        if (
            largest * lanes < 2
            or not all(arrivals.values())
            or not all(_is_understood(each, by_threads) for each in uses)
        ):
            continue
        if any(_count(lines[each.line]) * largest * lanes > _MOST for each in inits):
            continue
        for each in inits:
            more = _count(lines[each.line]) * largest * lanes
            edits.replace(each.line, [_COUNT.sub(f"count = {more} : i32", lines[each.line], count=1)])
        for each, warps in arrivals.items():
            count = _count(lines[each.line]) * largest // warps
            edits.replace(each.line, _arrival(lines[each.line], assembly.format(count), spelling, found))
            found += 1
        for each in uses:
            if each.name == _EXPECT:
                edits.insert(each.line, BEFORE, _more_arrivals(lines[each.line], largest * lanes - 1))
    return edits.text(), found


def _barriers(pointers: SharedPointers) -> Mapping[Value, list[Operation]]:
    """The operations on each allocation of barriers whose values belong to nothing else."""
    found: dict[Value, set[Operation]] = {}
    mixed: set[Value] = set()
    for value, roots in pointers.buffers.items():
        if len(roots) > 1:
            mixed |= roots
        for root in roots:
            uses = found.setdefault(root, set())
            uses.update(value.uses)
            if value.definition is not None:
                uses.add(value.definition)
    barriers = {root: uses for root, uses in found.items() if root not in mixed and _is_barrier(uses)}
    return {root: sorted(uses, key=lambda each: each.line) for root, uses in barriers.items()}


def _is_barrier(uses: Iterable[Operation]) -> bool:
    return any(each.name == _INIT for each in uses)


def _is_understood(use: Operation, with_copies: bool) -> bool:
    if with_copies and use.name in (_EXPECT, _COPY):
        return True
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


def _more_arrivals(line: str, count: int) -> str:
    """In front of who announces bytes, with one arrival: as many as the barrier counts for it now."""
    expect = read_generic(line)
    operands, types = ", ".join(expect.operands), ", ".join(expect.types)
    return f'"{_ARRIVE}"({operands}) <{{count = {count} : i32}}> : ({types}) -> ()'


def _arrival(line: str, assembly: str, spelling: Spelling, number: int) -> list[str]:
    operation = read_generic(line)
    barrier, type_ = operation.operands[0], operation.types[0]
    name, wide = f"%tle_arrival_{number}", spelling.address_type
    made = [f'{name}_w = "{spelling.address}"({barrier}) : ({type_}) -> {wide}']
    word = f"{name}_w"
    if wide != "i32":
        word = f"{name}_a"
        made.append(f'{word} = "arith.trunci"({name}_w) : ({wide}) -> i32')
    record = f'asm_string = "{assembly}", constraints = "=r,r", packed_element = 1 : i32, pure = false'
    made.append(f'{name} = "tt.elementwise_inline_asm"({word}) <{{{record}}}> : (i32) -> i32')
    return [f"{operation.indent}{part}{operation.location}" for part in made]
