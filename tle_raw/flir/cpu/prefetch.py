"""Fetch what the next row or program will read, and what this one will write, while this one computes.

A kernel that goes over its row several times (a softmax: largest, powers, sum, quotients) waits for memory in one pass
and leaves it idle in the others. A *round* is one iteration of the loop around such passes, or one program. The address
that a vector load will have in the next round is computed in the pass of this round that computes most, over the same
range, and its cache lines asked for; so is memory that a later pass of this round writes. A prefetch is a hint: an
address out of any array does no harm.

What it pays was not measured alone. On two cores, softmax of 4096 rows of 4096 f32 went from 2.15 to 1.44
times the time of a copy, and layer norm from 1.78 to 1.37 (``samples/benchmarks/cpu_operators.py``; RESULTS.md at
9e82c91, before, and at 120060f), with this pass and others.
``TLE_RAW_DISABLE_PASSES=prefetch`` compiles without it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.vectorise import build
from tle_raw.flir.cpu.vectorise.operations import DIVISIONS, walk

CACHE_LINE = 64
# What one access touches in a round must leave room for the rest in a core's own cache.
MOST_BYTES = 1 << 18
# Where an access's address stands among its operands.
_ADDRESS = {"llvm.load": 0, "llvm.intr.masked.load": 0, "llvm.store": 1, "llvm.intr.masked.store": 1}
_IDS = 6  # a kernel's last arguments: three program ids and the grid, then areas of memory and the context
_PURE = {"llvm.getelementptr", "llvm.inttoptr", "llvm.ptrtoint"}
# Operations that a function or a division is worth.
_WORK = {"arith.divf": 8}
_FUNCTION = 12
_TO_LEVEL_2, _TO_LEVEL_1 = 2, 3  # where a prefetch brings its line


def prefetch_next(module: Any) -> None:
    """Add prefetches to the kernels of a vectorised module, in place."""
    with module.context, mlir().Location.unknown():
        for view in module.body.operations:
            function = view.operation
            blocks = list(function.regions[0].blocks) if function.name == "func.func" else []
            ids = _ids(list(blocks[0].arguments)) if blocks else []
            if len(ids) == _IDS:
                _Kernel(blocks[0], ids[:3], ids[3:]).visit(blocks[0])


def _ids(arguments: list[Any]) -> list[Any]:
    while arguments and str(arguments[-1].type) == "!llvm.ptr":
        arguments.pop()
    return [value for value in arguments[-_IDS:] if str(value.type) == "i32"]


@dataclass(frozen=True)
class _Pass:
    """A path of loops inside of each other, outermost first, the last one with no loop inside."""

    loops: tuple[Any, ...]
    unconditional: bool

    @property
    def body(self) -> Any:
        return self.loops[-1].regions[0].blocks[0]

    @property
    def work(self) -> int:
        operations = [view.operation for view in self.body.operations]
        return sum(_FUNCTION if op.name.startswith("math.") else _WORK.get(op.name, 1) for op in operations)

    def covers(self, other: _Pass) -> bool:
        """Whether both walk over the same ranges, but for a first step that a reduction takes by itself."""
        return len(self.loops) == len(other.loops) and all(map(_similar, self.loops, other.loops))


class _Kernel:
    """Finds the rounds of one kernel; an access belongs to the innermost round in which it moves."""

    def __init__(self, entry: Any, program: list[Any], grid: list[Any]) -> None:
        self.entry, self.program, self.grid = entry, program, grid
        self.elsewhere = entry.arguments[len(entry.arguments) - 1]
        self._after: list[Any] = []
        self._done: set[Any] = set()
        self._written: set[Any] = set()

    def visit(self, block: Any) -> None:
        passes = list(_passes(block, (), True))
        for loop in {each.loops[0]: None for each in passes if len(each.loops) > 1}:
            self.visit(loop.regions[0].blocks[0])
        if len(passes) > 1:
            for number, each in enumerate(passes):
                for op in _accesses(each.body):
                    if op not in self._done:
                        self._fetch(op, block, passes, number)

    def _fetch(self, op: Any, block: Any, passes: Sequence[_Pass], number: int) -> None:
        is_load, source = len(op.results) > 0, passes[number]
        candidates = [p for p in (passes if is_load else passes[:number]) if p.unconditional and p.covers(source)]
        if not candidates:
            return
        target = max(candidates, key=lambda p: p.work)
        moved = {a.regions[0].blocks[0].arguments[0]: _index_of(b) for a, b in zip(source.loops, target.loops)}
        address = _Address(op.operands[_ADDRESS[op.name]], block, moved)
        size = _bytes_of(op)
        if not address.is_known or not address.leaves & set(self._moving(block)) or not _may_fit(target, size):
            return
        self._done.add(op)
        key = (target.loops[-1], is_load, address.key)
        if key not in self._written:
            self._written.add(key)
            self._write(address, size, is_load, target, block)

    def _moving(self, block: Any) -> list[Any]:
        """What differs from round to round."""
        return self.program if block == self.entry else [block.arguments[0]]

    def _write(self, address: _Address, size: int, is_load: bool, target: _Pass, block: Any) -> None:
        ir = mlir()
        with ir.InsertionPoint(target.loops[0]):
            after = dict(zip(self._moving(block), self._next(block))) if is_load else {}
            fits = _bounds_check(target, size)
        with ir.InsertionPoint(target.body.operations[0]):
            pointer = address.written(after)
            if fits is not None:
                pointer = build.operation("arith.select", [pointer.type], [fits, pointer, self.elsewhere])
            for start in range(0, size, CACHE_LINE):
                _prefetch(_advanced(pointer, start), is_load)

    def _next(self, block: Any) -> list[Any]:
        if block == self.entry:
            return self._following_program()
        # After a loop's last iteration comes the next program's first.
        ir = mlir()
        index = block.arguments[0]
        loop = block.owner.operation
        following = build.operation("arith.addi", [index.type], [index, loop.operands[2]])
        start = _Address(loop.operands[0], self.entry, {})
        if not start.is_known or not start.leaves & set(self.program):
            return [following]
        first = start.written(dict(zip(self.program, self._following_program())))
        flag, i64 = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(64)
        below = ir.IntegerAttr.get(i64, 2)
        goes_on = build.operation("arith.cmpi", [flag], [following, loop.operands[1]], predicate=below)
        return [build.operation("arith.select", [index.type], [goes_on, following, first])]

    def _following_program(self) -> list[Any]:
        if not self._after:
            with mlir().InsertionPoint.at_block_begin(self.entry):
                self._after = _next_program(self.program, self.grid)
        return self._after


def _next_program(program: Sequence[Any], grid: Sequence[Any]) -> list[Any]:
    """The ids one further, x counting fastest."""
    ir = mlir()
    i32, flag, i64 = (ir.IntegerType.get_signless(bits) for bits in (32, 1, 64))
    zero, carry = build.constant(i32, 0), build.constant(i32, 1)
    result = []
    for number, count in zip(program, grid):
        sum_ = build.operation("arith.addi", [i32], [number, carry])
        full = build.operation("arith.cmpi", [flag], [sum_, count], predicate=ir.IntegerAttr.get(i64, 0))
        result.append(build.operation("arith.select", [i32], [full, zero, sum_]))
        carry = build.operation("arith.extui", [i32], [full])
    return result


class _Address:
    """What an address is computed from, as seen from a round's block.

    ``key`` is equal for equal addresses, ``leaves`` holds what is not computed in the round, ``moved`` has the indices
    of the loops of another pass for those of the access's own.
    """

    def __init__(self, value: Any, block: Any, moved: dict[Any, Any]) -> None:
        self.value, self.block, self.moved = value, block, moved
        self.is_known, self.leaves = True, set[Any]()
        self.key = self._key(value)

    def _key(self, value: Any) -> Any:
        if value in self.moved or not self._is_inside(value):
            self.leaves.add(value)
            return self.moved.get(value, value)
        op = _definition(value)
        if op is None and value in list(self.block.arguments):
            self.leaves.add(value)
            return value
        if op is None or not _is_pure(op):
            self.is_known = False
            return None
        attributes = tuple((name, str(op.attributes[name])) for name in op.attributes)
        return op.name, attributes, str(value.type), tuple(self._key(operand) for operand in op.operands)

    def _is_inside(self, value: Any) -> bool:
        """Whether it is defined in the round."""
        block = value.owner if isinstance(value.owner, mlir().Block) else value.owner.operation.block
        while block != self.block:
            op = block.owner.operation
            if op.name == "func.func":
                return False
            block = op.block
        return True

    def written(self, replaced: dict[Any, Any]) -> Any:
        """Computed once more, at the insertion point."""
        known = {**self.moved, **replaced}

        def copied(value: Any) -> Any:
            if value in known:
                return known[value]
            if value in self.leaves:
                return value
            op = _definition(value)
            operands = [copied(operand) for operand in op.operands]
            clone = op.clone()
            for number, operand in enumerate(operands):
                clone.operands[number] = operand
            known[value] = clone.results[0]
            return known[value]

        return copied(self.value)


def _definition(value: Any) -> Any:
    return None if isinstance(value.owner, mlir().Block) else value.owner.operation


def _is_pure(op: Any) -> bool:
    """Whether the operation may run once more, with other operands, where it would not run by itself."""
    if op.name in DIVISIONS and (_constant(op.operands[1]) or 0) <= 0:
        return False
    return (op.name.startswith("arith.") or op.name in _PURE) and len(op.results) == 1


def _passes(block: Any, outer: tuple[Any, ...], unconditional: bool) -> Iterator[_Pass]:
    for view in block.operations:
        op = view.operation
        if op.name == "scf.for":
            loops = (*outer, op)
            inner = list(_passes(op.regions[0].blocks[0], loops, unconditional))
            yield from inner or [_Pass(loops, unconditional)]
        elif op.name == "scf.if":
            for region in op.regions:
                for inside in region.blocks:
                    yield from _passes(inside, outer, False)


def _accesses(body: Any) -> list[Any]:
    """The vector accesses of a loop's body to the user's memory, as wide as a cache line at least."""
    operations = [op for view in body.operations for op in [view.operation, *walk(view.operation)]]
    return [op for op in operations if op.name in _ADDRESS and _bytes_of(op) >= CACHE_LINE]


def _bytes_of(op: Any) -> int:
    kind = op.results[0].type if len(op.results) else op.operands[0].type
    if not isinstance(kind, mlir().VectorType):
        return 0
    elements: int = kind.shape[0]
    return elements * (build.element_bytes(kind.element_type) or 0)


def _index_of(loop: Any) -> Any:
    return loop.regions[0].blocks[0].arguments[0]


def _bounds(loop: Any) -> list[Any]:
    return list(loop.operands)[:3]


def _constant(value: Any) -> int | None:
    op = _definition(value)
    return op.attributes["value"].value if op is not None and op.name == "arith.constant" else None


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) or (a.type == b.type and _constant(a) is not None and _constant(a) == _constant(b))


def _similar(a: Any, b: Any) -> bool:
    (first, *rest), (other, *others) = _bounds(a), _bounds(b)
    return all(map(_same, rest, others)) and (_same(first, other) or _a_step_apart(first, other, rest[1]))


def _a_step_apart(first: Any, other: Any, step: Any) -> bool:
    start, other_start, width = map(_constant, (first, other, step))
    if start is None or other_start is None or width is None:
        return False
    return abs(start - other_start) <= width


def _trips(loop: Any) -> int | None:
    lower, upper, step = map(_constant, _bounds(loop))
    return None if lower is None or upper is None or not step else max(0, -((lower - upper) // step))


def _may_fit(target: _Pass, size: int) -> bool:
    """Whether a round's accesses are known to be few, or will be when the kernel runs."""
    unknown = [loop for loop in target.loops if _trips(loop) is None]
    few = _known_trips(target) * size <= MOST_BYTES
    return few and len(unknown) <= 1 and all(_constant(_bounds(loop)[2]) for loop in unknown)


def _known_trips(target: _Pass) -> int:
    return math.prod(max(1, _trips(loop) or 1) for loop in target.loops)


def _bounds_check(target: _Pass, size: int) -> Any:
    """The condition that a loop of unknown length is short enough; None if there is no such loop."""
    ir = mlir()
    for loop in target.loops:
        if _trips(loop) is None:
            lower, upper, step = _bounds(loop)
            most = (MOST_BYTES // (size * _known_trips(target))) * (_constant(step) or 0)
            length = build.operation("arith.subi", [upper.type], [upper, lower])
            flag, i64 = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(64)
            at_most = ir.IntegerAttr.get(i64, 3)
            bound = build.constant(upper.type, most)
            return build.operation("arith.cmpi", [flag], [length, bound], predicate=at_most)
    return None


def _advanced(pointer: Any, start: int) -> Any:
    if not start:
        return pointer
    i8, i64 = (mlir().IntegerType.get_signless(bits) for bits in (8, 64))
    return build.advance(pointer, build.constant(i64, start), i8)


def _prefetch(pointer: Any, is_load: bool) -> None:
    ir = mlir()

    def number(value: int) -> Any:
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)

    hint = _TO_LEVEL_2 if is_load else _TO_LEVEL_1
    build.operation(
        "llvm.intr.prefetch", [], [pointer], rw=number(0 if is_load else 1), hint=number(hint), cache=number(1)
    )
