"""Shares parallel loops and linalg operations among the threads of the block.

All threads of a block run a region. What a thread computes for itself, each does alone; a parallel loop that writes
memory of the block (a tile, global memory, memory space 3) is one loop of the whole block: its iterations are dealt
out to the threads, with a barrier before and after. So all threads must reach it, as they must reach a barrier.
A parallel loop that writes only what the thread allocated for itself stays a loop of each thread; so does one whose
place depends on the thread, inside a loop over the thread's rows or on a view that starts at its index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tle_raw.adapters.mlir.bindings import Binding
from tle_raw.adapters.mlir.build_index import IndexBuilder
from tle_raw.adapters.mlir.locations import location_of
from tle_raw.adapters.mlir.memory_roots import PRIVATE, SHARED, kind, nested, written
from tle_raw.adapters.mlir.thread_dependence import depends_on_thread
from tle_raw.errors import Context, UnsupportedFeatureError

_LOOPS = frozenset(("scf.parallel", "scf.forall", "affine.parallel"))
_SHARED_MARK = "tle_raw.shared"


def share_loops(module: Any, binding: Binding, to_parallel: Callable[[], None]) -> None:
    """Deal out what the block does together. ``to_parallel`` turns linalg and other loops into scf.parallel.

    Raises
    ------
    UnsupportedFeatureError : a loop that writes both kinds of memory, or that gives a value and writes memory.
    """
    for copy in [op for op in nested(module.operation) if op.name == "memref.copy"]:
        _copy_loop(copy, binding)
    found = [operation for function in module.body.operations for operation in _outermost(function.operation)]
    for operation in found:
        if not depends_on_thread(operation):
            _mark(operation, binding)
    _check_calls(module)
    if found:
        to_parallel()
    for function in module.body.operations:
        for mark in [op for op in nested(function) if _SHARED_MARK in op.attributes]:
            _deal_out(mark, binding)


def is_collective(operation: Any) -> bool:
    """Whether the block does an operation together."""
    name = operation.name
    has_memory = name.startswith("linalg.") and name not in ("linalg.yield", "linalg.index")
    return name in _LOOPS or has_memory


def _outermost(operation: Any) -> list[Any]:
    """Collective operations that stand in no other."""
    if is_collective(operation):
        return [operation]
    return [
        found
        for region in operation.regions
        for block in region.blocks
        for inner in block.operations
        for found in _outermost(inner.operation)
    ]


def _mark(operation: Any, binding: Binding) -> None:
    """Put a loop of one iteration around what is shared, for the passes lose attributes of what is inside."""
    kinds = written(operation)
    if SHARED not in kinds:
        return
    if PRIVATE in kinds:
        raise UnsupportedFeatureError(
            f"`{operation.name}` writes shared memory and memory of the thread at once",
            hint="allocate the memory in memory space 3, or split the operation",
            context=Context(source=location_of(operation)),
        )
    if len(operation.results):
        raise UnsupportedFeatureError(
            f"`{operation.name}` gives a value and writes memory: it cannot be shared among the threads",
            hint="write the memory in a loop of its own",
            context=Context(source=location_of(operation)),
        )
    build = IndexBuilder(binding, before=operation)
    mark = build.parallel([build.constant(0)], [build.constant(1)], [build.constant(1)])
    mark.attributes[_SHARED_MARK] = binding.ir.UnitAttr.get(context=mark.context)
    operation.move_before(list(mark.regions[0].blocks[0].operations)[-1])


def _copy_loop(copy: Any, binding: Binding) -> None:
    """A copy as a parallel loop."""
    build = IndexBuilder(binding, before=copy)
    source, target = copy.operands
    rank = source.type.rank
    dims = [build.dim(source, d) for d in range(rank)] or [build.constant(1)]
    loop = build.parallel([build.constant(0)] * len(dims), dims, [build.constant(1)] * len(dims))
    inside = IndexBuilder(binding, before=list(loop.regions[0].blocks[0].operations)[-1])
    places = list(loop.regions[0].blocks[0].arguments)[:rank]
    value = inside.make("memref.load", [source, *places], [source.type.element_type])
    inside.make("memref.store", [value, target, *places], [])
    copy.erase()


def _deal_out(mark: Any, binding: Binding) -> None:
    """Replace a marked loop by what it holds, dealt out; as a whole it is the first thread's."""
    body = mark.regions[0].blocks[0]
    loops = [op for operation in list(body.operations)[:-1] for op in _outermost(operation.operation)]
    if not loops or not all(op.name == "scf.parallel" and not len(op.results) for op in loops) or _writes_outside(mark):
        del mark.attributes[_SHARED_MARK]
        _deal_loop(mark, binding)
        return
    for operation in list(body.operations)[:-1]:
        operation.operation.move_before(mark)
    mark.erase()
    for loop in loops:
        _deal_loop(loop, binding)


def _writes_outside(mark: Any) -> bool:
    """Whether something is written around the loops inside, as the sums of a reduction are."""
    body = mark.regions[0].blocks[0]
    return any(_writes_but_in_loops(operation.operation) for operation in list(body.operations)[:-1])


def _writes_but_in_loops(operation: Any) -> bool:
    if operation.name == "scf.parallel":
        return False
    inner = [op.operation for region in operation.regions for block in region.blocks for op in block.operations]
    return any(map(_writes_but_in_loops, inner)) if inner else bool(written(operation))


def _deal_loop(loop: Any, binding: Binding) -> None:
    """Thread t takes iterations t, t + n, t + 2n, … of the linearised loop."""
    rank = len(list(loop.regions[0].blocks[0].arguments))
    bounds = list(loop.operands)
    lower, upper, step = bounds[:rank], bounds[rank : 2 * rank], bounds[2 * rank : 3 * rank]
    build = IndexBuilder(binding, before=loop)
    if not _after_barrier(loop):
        build.make("gpu.barrier", [], [])
    counts = [build.count(*each) for each in zip(lower, upper, step)]
    total = counts[0]
    for count in counts[1:]:
        total = build.mul(total, count)
    new = build.loop(build.thread(), total, build.threads())
    inside = IndexBuilder(binding, before=list(new.regions[0].blocks[0].operations)[-1])
    rest = next(iter(new.regions[0].blocks[0].arguments))
    places: list[Any] = []
    for index in reversed(range(rank)):
        digit = rest if index == 0 else inside.remainder(rest, counts[index])
        places.insert(0, inside.add(lower[index], inside.mul(digit, step[index])))
        if index:
            rest = inside.quotient(rest, counts[index])
    body = loop.regions[0].blocks[0]
    for argument, place in zip(list(body.arguments), places):
        argument.replace_all_uses_with(place)
    for operation in list(body.operations)[:-1]:
        operation.operation.move_before(list(new.regions[0].blocks[0].operations)[-1])
    loop.erase()
    build = IndexBuilder(binding, after=new)
    build.make("gpu.barrier", [], [])


def _after_barrier(operation: Any) -> bool:
    """Whether nothing happened since the last barrier."""
    for previous in reversed(list(operation.block.operations)[: _position(operation)]):
        if previous.operation.name == "gpu.barrier":
            return True
        if not previous.operation.name.startswith(("arith.", "index.", "math.")) or len(previous.regions):
            return False
    return False


def _position(operation: Any) -> int:
    return next(i for i, op in enumerate(operation.block.operations) if op.operation == operation.operation)


def _check_calls(module: Any) -> None:
    """A function that works with the whole block cannot be handed memory of one thread, nor be called in a loop."""
    collective = {
        function.operation.attributes["sym_name"].value
        for function in module.body.operations
        if any(_SHARED_MARK in op.attributes for op in nested(function))
    }
    for function in module.body.operations:
        for call in (op for op in nested(function) if op.name == "func.call"):
            name = call.attributes["callee"].value
            if name not in collective:
                continue
            private = [v for v in call.operands if "memref" in str(v.type)[:6] and kind(v) == PRIVATE]
            if private or _in_shared_loop(call):
                raise UnsupportedFeatureError(
                    f"`{name}` works with all threads of the block, and is called "
                    + ("with memory of one thread" if private else "inside a loop that the threads share"),
                    hint="call it where all threads are, with memory in memory space 3",
                    context=Context(source=location_of(call)),
                )


def _in_shared_loop(operation: Any) -> bool:
    current = operation.parent
    while current is not None:
        if is_collective(current.operation):
            return True
        current = current.operation.parent
    return False
