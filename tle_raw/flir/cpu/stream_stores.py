"""Stores that go past the caches, when a launch writes more than they hold.

An ordinary store reads its cache line from memory before it changes it; a non-temporal one of a whole line does not,
but leaves nothing in the cache for who comes next. So each store stands twice, and the launcher says by a flag which
one runs. Only whole lines are worth it: the address must be aligned, and no lane masked off. These stores come in no
order: kernels that synchronise programs, or run code of others, are left alone. So are arrays that the kernel reads.

What it pays was not measured alone: ``samples/benchmarks/cpu_operators.py`` measures arrays of 1 GiB with all passes
(RESULTS.md). ``TLE_RAW_DISABLE_PASSES=stream-stores`` compiles without it.
"""

from __future__ import annotations

import math
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.vectorise import build
from tle_raw.flir.cpu.vectorise.operations import walk

CACHE_LINE = 64
LAUNCH = "tle_launch"
FLAGS, STREAMS = 3, 2  # field of the context, and the bit that asks for these stores
_IDS_FROM_END = 9
_CALLS = ("func.call", "llvm.call")
_ORDERED = ("llvm.fence", "llvm.atomicrmw", "llvm.cmpxchg", "llvm.inline_asm")
_LOADS = {"llvm.load": 0, "llvm.intr.masked.load": 0, "llvm.intr.masked.gather": 0}
_STORES = {"llvm.store": 1, "llvm.intr.masked.store": 1}


def stream_stores(module: Any) -> dict[str, Any] | None:
    """Give a vectorised kernel its second stores, in place.

    Returns
    -------
    What the launcher decides by: ``arguments``, the numbers of the kernel's arguments that are written so, and
    ``bytes``, what a program writes at least. None if nothing is.
    """
    with module.context, mlir().Location.unknown():
        functions = {str(view.operation.attributes["sym_name"].value): view.operation for view in _functions(module)}
        launch = functions.pop(LAUNCH, None)
        kernels = [f for f in functions.values() if _is_kernel(f)]
        if launch is None or len(kernels) != 1 or _is_ordered(kernels[0]):
            return None
        entry = kernels[0].regions[0].blocks[0]
        found = _streamed(kernels[0], entry)
        if not found:
            return None
        written = _least_bytes(entry, {op for op, _ in found})
        streams = _flag(entry)
        for op, _ in found:
            _write_twice(op, streams)
        _mind_prefetches(kernels[0], streams, entry)
        _fence(launch)
        return {"arguments": sorted({number for _, number in found}), "bytes": written}


def _functions(module: Any) -> list[Any]:
    return [view for view in module.body.operations if view.operation.name == "func.func"]


def _is_kernel(function: Any) -> bool:
    blocks = function.regions[0].blocks
    return bool(blocks) and len(blocks[0].arguments) >= _IDS_FROM_END


def _is_ordered(function: Any) -> bool:
    """Whether other threads may wait for what the kernel has written."""
    return any(op.name in _CALLS + _ORDERED or _is_atomic(op) for op in walk(function))


def _is_atomic(op: Any) -> bool:
    return op.name in ("llvm.load", "llvm.store") and op.attributes["ordering"].value != 0


def _streamed(function: Any, entry: Any) -> list[tuple[Any, int]]:
    """The stores of whole cache lines into arguments that the kernel does not read, and the arguments' numbers."""
    operations = list(walk(function))
    read = {_argument(op.operands[_LOADS[op.name]], entry) for op in operations if op.name in _LOADS}
    if None in read:
        return []
    wide = [op for op in operations if op.name in _STORES and _bytes_of(op) and _bytes_of(op) % CACHE_LINE == 0]
    numbered = [(op, _argument(op.operands[1], entry)) for op in wide if "volatile_" not in op.attributes]
    return [(op, number) for op, number in numbered if number is not None and number not in read]


def _argument(pointer: Any, entry: Any) -> int | None:
    """The kernel's argument that an address is counted from."""
    ir = mlir()
    while not isinstance(pointer.owner, ir.Block):
        op = pointer.owner.operation
        if op.name not in ("llvm.getelementptr", "vector.broadcast"):
            return None
        pointer = op.operands[0]
    return int(pointer.arg_number) if pointer.owner == entry else None


def _bytes_of(store: Any) -> int:
    kind = store.operands[0].type
    if not isinstance(kind, mlir().VectorType):
        return 0
    elements: int = math.prod(kind.shape)
    return elements * (build.element_bytes(kind.element_type) or 0)


def _flag(entry: Any) -> Any:
    ir = mlir()
    i64, flag = ir.IntegerType.get_signless(64), ir.IntegerType.get_signless(1)
    context = entry.arguments[len(entry.arguments) - 1]
    with ir.InsertionPoint.at_block_begin(entry):
        field = build.advance(context, build.constant(i64, FLAGS), i64)
        plain = {"ordering": build.alignment(0, 64), "alignment": build.alignment(8, 64)}
        flags = build.operation("llvm.load", [i64], [field], **plain)
        bit = build.operation("arith.andi", [i64], [flags, build.constant(i64, STREAMS)])
        unequal = ir.IntegerAttr.get(i64, 1)
        return build.operation("arith.cmpi", [flag], [bit, build.constant(i64, 0)], predicate=unequal)


def _write_twice(store: Any, streams: Any) -> None:
    from torch_mlir.dialects import scf

    ir = mlir()
    i64, flag = ir.IntegerType.get_signless(64), ir.IntegerType.get_signless(1)
    value, pointer, *mask = store.operands
    with store.location, ir.InsertionPoint(store):
        number = build.operation("llvm.ptrtoint", [i64], [pointer])
        rest = build.operation("arith.andi", [i64], [number, build.constant(i64, CACHE_LINE - 1)])
        equal = ir.IntegerAttr.get(i64, 0)
        aligned = build.operation("arith.cmpi", [flag], [rest, build.constant(i64, 0)], predicate=equal)
        choice = scf.IfOp(build.operation("arith.andi", [flag], [streams, aligned]), has_else=True)
        with ir.InsertionPoint(choice.else_block):
            end = scf.YieldOp([])
        with ir.InsertionPoint(choice.then_block):
            whole = scf.IfOp(build.all_lanes(mask[0]), has_else=True) if mask else None
            if whole is not None:
                with ir.InsertionPoint(whole.else_block):
                    store.clone()
                    scf.YieldOp([])
                with ir.InsertionPoint(whole.then_block):
                    _past_the_caches(value, pointer)
                    scf.YieldOp([])
            else:
                _past_the_caches(value, pointer)
            scf.YieldOp([])
    store.move_before(end.operation)


def _past_the_caches(value: Any, pointer: Any) -> None:
    plain = {"ordering": build.alignment(0, 64), "alignment": build.alignment(CACHE_LINE, 64)}
    build.operation("llvm.store", [], [value, pointer], nontemporal=mlir().UnitAttr.get(), **plain)


def _mind_prefetches(function: Any, streams: Any, entry: Any) -> None:
    """A line that is written whole must not be read first: the prefetch asks for one that is there."""
    ir = mlir()
    context = entry.arguments[len(entry.arguments) - 1]
    for op in [op for op in walk(function) if op.name == "llvm.intr.prefetch" and op.attributes["rw"].value]:
        with op.location, ir.InsertionPoint(op):
            pointer = op.operands[0]
            op.operands[0] = build.operation("arith.select", [pointer.type], [streams, context, pointer])


def _fence(launch: Any) -> None:
    """What was written is seen by everybody when a thread's programs are done."""
    ir = mlir()
    block = launch.regions[0].blocks[0]
    with ir.InsertionPoint(list(block.operations)[-1].operation):
        build.operation("llvm.fence", [], [], ordering=build.alignment(7, 64), syncscope=ir.StringAttr.get(""))


def _least_bytes(block: Any, stores: set[Any]) -> int:
    """What the stores of a block write at least: a loop of unknown length runs once, of two branches the lesser one."""
    total = 0
    for view in block.operations:
        op = view.operation
        inside = [_least_bytes(inner, stores) for region in op.regions for inner in region.blocks]
        if op in stores:
            total += _bytes_of(op)
        elif op.name == "scf.for":
            total += inside[0] * _trips(op)
        elif op.name == "scf.if" and len(inside) > 1:
            total += min(inside)
    return total


def _trips(loop: Any) -> int:
    lower, upper, step = (_constant(value) for value in list(loop.operands)[:3])
    return 1 if lower is None or upper is None or not step else max(0, -((lower - upper) // step))


def _constant(value: Any) -> int | None:
    if isinstance(value.owner, mlir().Block) or value.owner.operation.name != "arith.constant":
        return None
    return int(value.owner.operation.attributes["value"].value)
