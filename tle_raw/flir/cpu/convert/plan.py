"""Decide which tiles are stored: the ones that cost much and are used more than once, or whose time has come.

A *sink* is an operation that makes work happen: a store, a reduction, a product, a loop that carries a tile.
Everything between sinks is computed inside of them, element by element.
"""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.convert import lazy, types
from tle_raw.flir.cpu.convert.told import has_pointers
from tle_raw.flir.cpu.mlir_values import Operation, Value
from tle_raw.regions.clusters import holds_clusters

# Costs in units of a simple instruction. Integer arithmetic never reaches the thresholds by itself: addresses and
# masks are better computed again than stored.
_LOAD, _FUNCTION, _DIVISION, _STORED = 100, 20, 5, 1
STORE_WHEN_SHARED = 12
STORE_WHEN_BROADCAST = 20
REDUCED_LANES = 64  # a reduction's pass takes so many elements at a time
_INDEX_DIVISIONS = {"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"}
_FUNCTIONS_THAT_ARE_CHEAP = {"math.absf", "math.absi", "math.fma", "math.copysign", "math.sqrt"}


class ConversionPlan:
    """What ``analyse`` found out about one function."""

    def __init__(self) -> None:
        self.stored: set[Any] = set()  # values of tiles that are stored where they are defined
        self.sinks: dict[Any, set[Any]] = {}  # value -> (operation) of every sink that it reaches
        self.has_pointers = False  # into buffers
        self.specialised = 0  # how often its warps are
        self.hands_out_barriers = False  # to regions, or named ones
        self.reduced: set[Any] = set()  # stored values that may be stored by the reduction that comes next

    def add(self, other: ConversionPlan) -> None:
        """Join the plan of a function that this one calls."""
        self.stored |= other.stored
        self.sinks.update(other.sinks)
        self.reduced |= other.reduced
        self.has_pointers |= other.has_pointers
        self.specialised += other.specialised
        self.hands_out_barriers |= other.hands_out_barriers


def analyse(function: Any) -> ConversionPlan:
    """Plan a function of Triton's IR."""
    operations = list(walk(function.regions[0]))
    order = {op: number for number, op in enumerate(operations)}
    writes = [number for number, op in enumerate(operations) if _writes_memory(op)]
    buffer_writes = [number for number, op in enumerate(operations) if _writes_buffers(op)]
    specialised = sum(op.name == _SPECIALISE for op in operations)
    if specialised or any(
        map(group_symbol, operations)
    ):  # others write while a partition, or a program of a group, waits
        turns = [number for number, op in enumerate(operations) if _lets_others_run(op)]
        writes, buffer_writes = sorted({*writes, *turns}), sorted({*buffer_writes, *turns})
    joined = has_pointers(operations)  # what is the user's memory elsewhere may be a buffer's here
    writes = buffer_writes if joined else writes
    cost = _costs(operations)
    plan = ConversionPlan()
    plan.has_pointers, plan.specialised = joined, specialised
    plan.hands_out_barriers = any(op.name == "ttg.local_load" and _NOTE in op.attributes for op in operations)
    for op in reversed(operations):
        for result in op.results:
            if types.is_tile(result.type):
                plan.sinks[result] = _sinks(result, plan)
                changes = buffer_writes if op.name in _BUFFER_LOADS else writes
                if lazy.is_lazy(op) and _is_stored(op, result, plan, cost, order, changes, joined):
                    plan.stored.add(result)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    if types.is_tile(argument.type):
                        plan.sinks[argument] = _sinks(argument, plan)
    plan.reduced = {value for value in plan.stored if _is_reduced_next(value, plan)}
    return plan


def walk(region: Any) -> Any:
    """All operations of a region, with those of the regions inside."""
    for block in region.blocks:
        for view in block.operations:
            op = view.operation
            yield op
            for inner in op.regions:
                yield from walk(inner)


def group_symbol(op: Operation) -> str:
    """The name of a function of programs that run together, see ``regions/clusters``; "" of another operation."""
    symbol = str(op.attributes["symbol"].value) if op.name == "tt.extern_elementwise" else ""
    return symbol if holds_clusters(symbol) else ""


def _sinks(value: Value, plan: ConversionPlan) -> set[Any]:
    found: set[Any] = set()
    for use in value.uses:
        op = use.owner.operation
        if not lazy.is_lazy(op):
            found.add(op)
            continue
        for result in op.results:
            if result in plan.stored:
                found.add(op)
            else:
                found |= plan.sinks.get(result, set())
    return found


def _costs(operations: list[Any]) -> dict[Any, int]:
    cost: dict[Any, int] = {}
    for op in operations:
        if not lazy.is_lazy(op):
            continue
        total = _own_cost(op.name) + sum(cost.get(o, _STORED) for o in op.operands if types.is_tile(o.type))
        for result in op.results:
            cost[result] = min(total, 1_000_000)
    return cost


def _own_cost(name: str) -> int:
    if name == "tt.load" or name in _BUFFER_LOADS:
        return _LOAD
    if (name.startswith("math.") and name not in _FUNCTIONS_THAT_ARE_CHEAP) or name == "tt.extern_elementwise":
        return _FUNCTION
    if name in ("tt.map_elementwise", "tt.fp_to_fp"):
        return _DIVISION
    if "div" in name or "rem" in name:
        return _DIVISION
    return 0 if name in ("tt.splat", "tt.broadcast", "tt.expand_dims", "arith.constant") else 1


def _is_stored(
    op: Operation,
    result: Value,
    plan: ConversionPlan,
    cost: dict[Any, int],
    order: dict[Any, int],
    writes: list[int],
    joined: bool,
) -> bool:
    sinks = plan.sinks[result]
    if not sinks:
        return False
    if (op.name == "tt.load" or op.name in _BUFFER_LOADS) and _must_load_now(op, sinks, order, writes, joined):
        return True
    again = len(sinks) > 1 or any(_is_repeated(op, sink) for sink in sinks)
    if again and cost[result] >= STORE_WHEN_SHARED:
        return True
    return cost[result] >= STORE_WHEN_BROADCAST and _is_broadcast(result)


def _is_reduced_next(value: Value, plan: ConversionPlan) -> bool:
    """Whether the next work is a reduction of this tile along its last axis: one pass can store it and reduce it."""
    op = value.owner.operation
    if len(op.results) != 1 or types.is_pointer(types.element_of(value.type)) or _divides(value, plan):
        return False
    operations = [view.operation for view in op.block.operations]
    for following in operations[operations.index(op) + 1 :]:
        if following.name == "tt.reduce":
            shape = types.shape_of(value.type)
            is_last = following.attributes["axis"].value == len(shape) - 1 and shape[-1] >= REDUCED_LANES
            return is_last and list(following.operands) == [value]
        # Only what makes no work of its own may stand in between.
        waits = lazy.is_lazy(following) and not any(result in plan.stored for result in following.results)
        if not waits and not _is_scalar_arithmetic(following):
            return False
    return False


def _is_scalar_arithmetic(op: Operation) -> bool:
    known = op.name.startswith(("arith.", "math.")) or op.name in ("tt.addptr", "tt.get_program_id")
    return known and not any(types.is_tile(value.type) for value in (*op.results, *op.operands))


def _divides(value: Value, plan: ConversionPlan) -> bool:
    """Whether indices are divided: what is known of them is tested once in front of a pass, which a reduction cuts."""
    waiting, seen = [value], set()
    while waiting:
        op = lazy.definition(waiting.pop())
        if op is None or op in seen or not lazy.is_lazy(op):
            continue
        seen.add(op)
        if op.name in _INDEX_DIVISIONS:
            return True
        waiting += [o for o in op.operands if types.is_tile(o.type) and (o not in plan.stored)]
    return False


def _is_broadcast(result: Value) -> bool:
    return any(use.owner.operation.name == "tt.broadcast" for use in result.uses)


def _is_repeated(op: Operation, sink: Any) -> bool:
    """Whether the sink runs more often than the definition: it stands in a loop that the definition is outside of."""
    return bool(op.block != sink.block)


def _must_load_now(op: Operation, sinks: set[Any], order: dict[Any, int], writes: list[int], joined: bool) -> bool:
    """A load may wait for its sink as long as nothing can change the memory in between.

    ``joined`` says that the kernel points into buffers: then loads and stores may be of them.
    """
    start = order[op]
    for sink in sinks:
        if sink.block != op.block:
            return True
        if any(start < write < order[sink] for write in writes):
            return True
        if op.name in _BUFFER_LOADS:
            if _writes_buffers(sink) and (joined or sink.name != "tt.store"):
                return True
        elif sink.name == "tt.store":
            target, source = sink.operands[0], op.operands[0]
            if not (lazy.is_affine(target) and lazy.is_affine(source)):
                return True
        elif _writes_buffers(sink) if joined else _writes_memory(sink):
            return True
    return False


_WRITERS = {
    "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_store", "tt.atomic_load", "tt.atomic_poll",
    "tt.descriptor_store", "tt.descriptor_reduce", "tt.descriptor_scatter", "gpu.barrier", "ttg.barrier",
}  # fmt: skip
# Of shared buffers, which are no memory of the user's.
_BUFFER_LOADS = {"ttg.local_load", "ttng.tmem_load"}
_BUFFER_WRITERS = {
    "ttg.local_store", "ttg.local_alloc", "ttg.local_dealloc", "ttg.async_copy_global_to_local", "ttng.tmem_store",
    "ttng.tmem_alloc", "ttng.tc_gen5_mma",
}  # fmt: skip


_SPECIALISE, _NOTE = "ttg.warp_specialize", "tle.note"


def _lets_others_run(op: Operation) -> bool:
    """Whether other partitions may run before the operation is over."""
    if op.name == "tt.load":
        return "isVolatile" in op.attributes and bool(op.attributes["isVolatile"].value)
    return op.name in ("ttng.wait_barrier", _SPECIALISE)


def _writes_memory(op: Operation) -> bool:
    """Whether an operation by itself (not what stands inside of it) writes memory or orders accesses."""
    if op.name in _WRITERS:
        return True
    if op.name in ("tt.extern_elementwise", "tt.elementwise_inline_asm"):
        return "pure" in op.attributes and not op.attributes["pure"].value
    return bool(op.name == "tt.call")


def _writes_buffers(op: Operation) -> bool:
    """Whether an operation may write a shared buffer: some by themselves, and code of others by its address."""
    return op.name in _BUFFER_WRITERS or _writes_memory(op)
