"""Loads and stores of vectors: contiguous where the lanes' addresses are, otherwise shuffled, gathered or scattered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.vectorise import build
from tle_raw.flir.cpu.vectorise.lanes import LaneFacts
from tle_raw.flir.cpu.vectorise.operations import static_strides
from tle_raw.flir.cpu.vectorise.scopes import Scope
from tle_raw.flir.cpu.vectorise.values import VectorisedValue, WrittenValues

# Shorter runs of contiguous elements are not worth a vector access each.
_SHORTEST_RUN = 4
# A span of memory that is loaded whole and then shuffled may hold this many times what is wanted.
_WIDEST_SPAN = 4


@dataclass(frozen=True)
class LaneAccess:
    """One access: through a pointer, or to a buffer at indices. ``steps`` counts elements."""

    element: Any
    size: int
    steps: tuple[int, ...] | None
    pointer: VectorisedValue | None = None
    buffer: Any = None
    indices: tuple[VectorisedValue, ...] = ()

    @property
    def operands(self) -> tuple[VectorisedValue, ...]:
        return (self.pointer,) if self.pointer is not None else self.indices

    @property
    def uniform(self) -> bool:
        return self.steps is not None and not any(self.steps)

    @property
    def contiguous(self) -> bool:
        return self.steps is not None and self.steps == tuple(range(len(self.steps)))

    @property
    def permuted(self) -> bool:
        """The lanes are contiguous in another order."""
        return self.steps is not None and sorted(self.steps) == list(
            range(min(self.steps), min(self.steps) + len(self.steps))
        )

    @property
    def runs(self) -> list[int] | None:
        """The lanes are contiguous in runs, as rows of a block are."""
        return None if self.steps is None else runs_of(self.steps)

    @property
    def span(self) -> int | None:
        """Elements from the first to the last in memory."""
        return None if self.steps is None else max(self.steps) - min(self.steps) + 1


def runs_of(steps: Sequence[int]) -> list[int] | None:
    """Where the runs start, if the elements form runs of one length that is worth it; in the order of memory."""
    ordered = sorted(steps)
    starts = [step for i, step in enumerate(ordered) if i == 0 or step != ordered[i - 1] + 1]
    length = len(steps) // len(starts)
    expected = [start + i for start in starts for i in range(length)]
    is_power = len(starts) & (len(starts) - 1) == 0
    return starts if length >= _SHORTEST_RUN and is_power and ordered == expected else None


def pointer_steps(lanes: LaneFacts, size: int) -> tuple[int, ...] | None:
    """A pointer's steps in elements."""
    if lanes.steps is None or any(step % size for step in lanes.steps):
        return None
    return tuple(step // size for step in lanes.steps)


def buffer_steps(memref_type: Any, indices: Sequence[LaneFacts], count: int) -> tuple[int, ...] | None:
    """The steps of a buffer's elements at these indices."""
    strides = static_strides(memref_type)
    if strides is None or any(index.steps is None for index in indices):
        return None
    total = [0] * count
    for stride, index in zip(strides, indices):
        assert index.steps is not None
        total = [t + stride * step for t, step in zip(total, index.steps)]
    return tuple(total)


class Memory:
    """Writes accesses for one width of vector registers.

    Parameters
    ----------
    vector_bytes : width of the host's vector registers.
    function : the function that the code stands in; a slot on its stack takes accesses that are masked off.
    """

    def __init__(self, vector_bytes: int, function: Any) -> None:
        self._vector_bytes = vector_bytes
        self._function = function
        self._slot: Any = None

    # -- what is accessed

    @staticmethod
    def can_reach(op: Any) -> bool:
        is_load = len(op.results) == 1
        element = op.results[0].type if is_load else op.operands[0].type
        if build.element_bytes(element) is None:
            return False
        if op.name.startswith("llvm."):
            return True
        return static_strides(op.operands[0 if is_load else 1].type) is not None

    @staticmethod
    def access(op: Any, body: WrittenValues) -> LaneAccess:
        operands = list(op.operands)
        is_load = len(op.results) == 1
        element = op.results[0].type if is_load else operands.pop(0).type
        size = build.element_bytes(element)
        assert size is not None
        if op.name.startswith("llvm."):
            pointer = body[operands[0]]
            return LaneAccess(element, size, pointer_steps(pointer.lanes, size), pointer=pointer)
        return Memory.buffer_access(operands[0], [body[v] for v in operands[1:]], body.count)

    @staticmethod
    def buffer_access(buffer: Any, indices: Sequence[VectorisedValue], count: int) -> LaneAccess:
        element = buffer.type.element_type
        size = build.element_bytes(element)
        assert size is not None
        steps = buffer_steps(buffer.type, [v.lanes for v in indices], count)
        return LaneAccess(element, size, steps, buffer=buffer, indices=tuple(indices))

    # -- loads

    def load(
        self, access: LaneAccess, mask: VectorisedValue | None, other: VectorisedValue | None, scope: Scope, count: int
    ) -> tuple[VectorisedValue, bool]:
        """Write a load in a scope; also says whether lanes that are masked off hold ``other``."""
        if access.uniform:
            return self._load_one(access, mask, scope, count), False
        active = mask.vector() if mask is not None else None
        if active is None:
            other = None
        span = access.span
        vector: Any
        merged = False
        if access.contiguous or (access.permuted and active is not None):
            rest = other.vector() if other is not None else None
            vector, merged = self._load_contiguous(access, active, rest, scope, count), rest is not None
        elif active is None and access.runs is not None:
            vector = self._load_runs(access, scope, count)
        elif span is not None and active is None and span <= _WIDEST_SPAN * count:
            vector = self._load_span(access, scope, span)
        else:
            rest = other.vector() if other is not None else None
            vector, merged = self._gather(access, active, rest, scope, count)
        return VectorisedValue(access.element, LaneFacts(), scope, count, vector=lambda: vector), merged

    def _load_one(self, access: LaneAccess, mask: VectorisedValue | None, scope: Scope, count: int) -> VectorisedValue:
        """One element for all lanes, read only when a lane wants it."""
        from torch_mlir.dialects import scf

        operands = self._scalars(access)
        active = mask.vector() if mask is not None else None
        with scope.point():
            if active is None:
                loaded = self._scalar_load(access, operands)
            else:
                branch = scf.IfOp(build.any_lane(active), [access.element], has_else=True)
                with mlir().InsertionPoint(branch.then_block):
                    scf.YieldOp([self._scalar_load(access, operands)])
                with mlir().InsertionPoint(branch.else_block):
                    scf.YieldOp([build.zero(access.element)])
                loaded = branch.results[0]
        return VectorisedValue(access.element, LaneFacts((0,) * count), scope, count, scalar=lambda: loaded)

    def _load_contiguous(self, access: LaneAccess, active: Any, rest: Any, scope: Scope, count: int) -> Any:
        steps = access.steps
        assert steps is not None
        first = min(steps)
        order = [step - first for step in steps]
        in_order = order == list(range(count))
        operands = self._scalars(access)
        with scope.point():
            result = build.vector_type(count, access.element)
            if active is None:
                return self._vector_load(access, operands, first, result)
            inverse = [order.index(i) for i in range(count)]
            if rest is None:
                rest = build.splat(build.zero(access.element), count)
            if not in_order:
                active, rest = build.shuffle(active, inverse), build.shuffle(rest, inverse)
            loaded = self._guarded_load(access, operands, first, active, rest)
            return loaded if in_order else build.shuffle(loaded, order)

    def _load_span(self, access: LaneAccess, scope: Scope, span: int) -> Any:
        steps = access.steps
        assert steps is not None
        first = min(steps)
        operands = self._scalars(access)
        with scope.point():
            loaded = self._vector_load(access, operands, first, build.vector_type(span, access.element))
            return build.shuffle(loaded, [step - first for step in steps])

    def _load_runs(self, access: LaneAccess, scope: Scope, count: int) -> Any:
        steps, starts = access.steps, access.runs
        assert steps is not None
        assert starts is not None
        operands = self._scalars(access)
        in_memory = sorted(range(count), key=lambda lane: steps[lane])
        with scope.point():
            part = build.vector_type(count // len(starts), access.element)
            whole = build.join([self._vector_load(access, operands, start, part) for start in starts])
            return build.shuffle(whole, [in_memory.index(lane) for lane in range(count)])

    def _store_runs(self, access: LaneAccess, vector: Any, scope: Scope, count: int) -> None:
        steps, starts = access.steps, access.runs
        assert steps is not None
        assert starts is not None
        operands = self._scalars(access)
        in_memory = sorted(range(count), key=lambda lane: steps[lane])
        length = count // len(starts)
        with scope.point():
            for number, start in enumerate(starts):
                part = build.shuffle(vector, in_memory[number * length : (number + 1) * length])
                self._vector_store(access, operands, start, part)

    def _gather(self, access: LaneAccess, active: Any, rest: Any, scope: Scope, count: int) -> tuple[Any, bool]:
        addresses, origin = self._addresses(access, scope, count, active)
        ir = mlir()
        with scope.point():
            one = ir.IntegerType.get_signless(1)
            merged = active is not None and rest is not None
            # Without an instruction for it LLVM would branch on every lane of the mask.
            if active is not None and not (self._can_gather(access.size) and access.pointer is not None):
                addresses = self._divert(access, addresses, active, count)
                active, merged = None, False
            if active is None:
                active = build.splat(build.constant(one, 1), count)
            if rest is None or not merged:
                rest = build.splat(build.zero(access.element), count)
            result = build.vector_type(count, access.element)
            if access.pointer is not None:
                aligned = build.alignment(access.size, 32)
                return build.operation(
                    "llvm.intr.masked.gather", [result], [addresses, active, rest], alignment=aligned
                ), merged
            return build.operation("vector.gather", [result], [access.buffer, *origin, addresses, active, rest]), merged

    # -- stores

    def store(
        self, access: LaneAccess, value: VectorisedValue, mask: VectorisedValue | None, scope: Scope, count: int
    ) -> None:
        """Write a store in a scope."""
        if access.uniform and (mask is None or value.lanes.uniform):
            self._store_one(access, value, mask, scope, count)
            return
        vector = value.vector()
        active = mask.vector() if mask is not None else None
        if access.permuted:
            self._store_contiguous(access, vector, active, scope, count)
        elif active is None and access.runs is not None:
            self._store_runs(access, vector, scope, count)
        else:
            self._scatter(access, vector, active, scope, count)

    def _store_one(
        self, access: LaneAccess, value: VectorisedValue, mask: VectorisedValue | None, scope: Scope, count: int
    ) -> None:
        """All lanes write one element: the last one's value stays."""
        from torch_mlir.dialects import scf

        operands = self._scalars(access)
        stored = value.scalar() if value.lanes.uniform else value.vector()
        active = mask.vector() if mask is not None else None
        with scope.point():
            if not value.lanes.uniform:
                stored = build.extract(stored, count - 1)
            if active is None:
                self._scalar_store(access, operands, stored)
                return
            branch = scf.IfOp(build.any_lane(active))
            with mlir().InsertionPoint(branch.then_block):
                self._scalar_store(access, operands, stored)
                scf.YieldOp([])

    def _store_contiguous(self, access: LaneAccess, vector: Any, active: Any, scope: Scope, count: int) -> None:
        steps = access.steps
        assert steps is not None
        first = min(steps)
        order = [step - first for step in steps]
        operands = self._scalars(access)
        with scope.point():
            if order != list(range(count)):
                inverse = [order.index(i) for i in range(count)]
                vector = build.shuffle(vector, inverse)
                active = build.shuffle(active, inverse) if active is not None else None
            if active is None:
                self._vector_store(access, operands, first, vector)
            else:
                self._guarded_store(access, operands, first, active, vector)

    # Without masked moves LLVM branches on every lane: most masks are full, and then there is no need for one.

    def _guarded_load(self, access: LaneAccess, operands: list[Any], first: int, active: Any, rest: Any) -> Any:
        from torch_mlir.dialects import scf

        if self._can_mask(access.size):
            return self._masked_load(access, operands, first, active, rest)
        branch = scf.IfOp(build.all_lanes(active), [rest.type], has_else=True)
        with mlir().InsertionPoint(branch.then_block):
            scf.YieldOp([self._vector_load(access, operands, first, rest.type)])
        with mlir().InsertionPoint(branch.else_block):
            scf.YieldOp([self._masked_load(access, operands, first, active, rest)])
        return branch.results[0]

    def _guarded_store(self, access: LaneAccess, operands: list[Any], first: int, active: Any, vector: Any) -> None:
        from torch_mlir.dialects import scf

        if self._can_mask(access.size):
            self._masked_store(access, operands, first, active, vector)
            return
        branch = scf.IfOp(build.all_lanes(active), has_else=True)
        with mlir().InsertionPoint(branch.then_block):
            self._vector_store(access, operands, first, vector)
            scf.YieldOp([])
        with mlir().InsertionPoint(branch.else_block):
            self._masked_store(access, operands, first, active, vector)
            scf.YieldOp([])

    def _scatter(self, access: LaneAccess, vector: Any, active: Any, scope: Scope, count: int) -> None:
        addresses, origin = self._addresses(access, scope, count, active)
        ir = mlir()
        with scope.point():
            if active is not None and access.pointer is not None and not self._can_scatter(access.size):
                addresses = self._divert(access, addresses, active, count)
                active = None
            if active is None:
                active = build.splat(build.constant(ir.IntegerType.get_signless(1), 1), count)
            if access.pointer is not None:
                aligned = build.alignment(access.size, 32)
                build.operation("llvm.intr.masked.scatter", [], [vector, addresses, active], alignment=aligned)
            else:
                build.operation("vector.scatter", [], [access.buffer, *origin, addresses, active, vector])

    # -- addresses

    def _scalars(self, access: LaneAccess) -> list[Any]:
        return [v.scalar() for v in access.operands]

    def _addresses(self, access: LaneAccess, scope: Scope, count: int, active: Any) -> tuple[Any, list[Any]]:
        """A vector of pointers; or one of indices into a buffer's elements, and where these are counted from."""
        if access.pointer is not None:
            return access.pointer.vector(), []
        if access.steps is not None and active is None:
            origin = self._scalars(access)
            with scope.point():
                return build.integers(mlir().IndexType.get(), access.steps), origin
        vectors = [v.vector() for v in access.indices]
        strides = static_strides(access.buffer.type)
        assert strides is not None
        with scope.point():
            total = build.splat(build.index(0), count)
            for stride, vector in zip(strides, vectors):
                factor = build.splat(build.index(stride), count)
                scaled = build.operation("arith.muli", [vector.type], [vector, factor])
                total = build.operation("arith.addi", [total.type], [total, scaled])
            return total, [build.index(0) for _ in vectors]

    def _divert(self, access: LaneAccess, addresses: Any, active: Any, count: int) -> Any:
        """Send the lanes that are masked off to a place where nobody minds them.

        For a buffer, which is only read so, that is its first element.
        """
        if access.pointer is None:
            elsewhere = build.splat(build.index(0), count)
        else:
            elsewhere = build.splat(self._stack_slot(), count)
        return build.operation("arith.select", [addresses.type], [active, addresses, elsewhere])

    def _stack_slot(self) -> Any:
        if self._slot is None:
            ir = mlir()
            with ir.InsertionPoint.at_block_begin(self._function.regions[0].blocks[0]):
                i64 = ir.IntegerType.get_signless(64)
                pointer = ir.Type.parse("!llvm.ptr")
                self._slot = build.operation(
                    "llvm.alloca",
                    [pointer],
                    [build.constant(i64, 1)],
                    elem_type=ir.TypeAttr.get(i64),
                    alignment=build.alignment(8, 64),
                )
        return self._slot

    def _can_gather(self, size: int) -> bool:
        return size >= 4 and self._vector_bytes >= 32

    def _can_mask(self, size: int) -> bool:
        return self._vector_bytes >= (32 if size >= 4 else 64)

    def _can_scatter(self, size: int) -> bool:
        return size >= 4 and self._vector_bytes >= 64

    # -- single operations

    def _at(self, access: LaneAccess, operands: list[Any], offset: int) -> list[Any]:
        """The operands of an access some elements further on."""
        if offset == 0:
            return operands
        ir = mlir()
        if access.pointer is not None:
            step = build.constant(ir.IntegerType.get_signless(64), offset)
            return [build.advance(operands[0], step, access.element)]
        step = build.index(offset)
        return [*operands[:-1], build.operation("arith.addi", [step.type], [operands[-1], step])]

    def _scalar_load(self, access: LaneAccess, operands: list[Any]) -> Any:
        if access.pointer is None:
            return build.operation("memref.load", [access.element], [access.buffer, *operands])
        aligned = build.alignment(access.size, 64)
        return build.operation(
            "llvm.load", [access.element], operands, ordering=build.alignment(0, 64), alignment=aligned
        )

    def _scalar_store(self, access: LaneAccess, operands: list[Any], value: Any) -> None:
        if access.pointer is None:
            build.operation("memref.store", [], [value, access.buffer, *operands])
        else:
            aligned = build.alignment(access.size, 64)
            build.operation("llvm.store", [], [value, *operands], ordering=build.alignment(0, 64), alignment=aligned)

    def _vector_load(self, access: LaneAccess, operands: list[Any], first: int, result: Any) -> Any:
        operands = self._at(access, operands, first)
        if access.pointer is None:
            return build.operation("vector.load", [result], [access.buffer, *operands])
        aligned = build.alignment(access.size, 64)
        return build.operation("llvm.load", [result], operands, ordering=build.alignment(0, 64), alignment=aligned)

    def _vector_store(self, access: LaneAccess, operands: list[Any], first: int, vector: Any) -> None:
        operands = self._at(access, operands, first)
        if access.pointer is None:
            build.operation("vector.store", [], [vector, access.buffer, *operands])
        else:
            aligned = build.alignment(access.size, 64)
            build.operation("llvm.store", [], [vector, *operands], ordering=build.alignment(0, 64), alignment=aligned)

    def _masked_load(self, access: LaneAccess, operands: list[Any], first: int, active: Any, rest: Any) -> Any:
        operands = self._at(access, operands, first)
        if access.pointer is None:
            return build.operation("vector.maskedload", [rest.type], [access.buffer, *operands, active, rest])
        aligned = build.alignment(access.size, 32)
        return build.operation("llvm.intr.masked.load", [rest.type], [*operands, active, rest], alignment=aligned)

    def _masked_store(self, access: LaneAccess, operands: list[Any], first: int, active: Any, vector: Any) -> None:
        operands = self._at(access, operands, first)
        if access.pointer is None:
            build.operation("vector.maskedstore", [], [access.buffer, *operands, active, vector])
        else:
            aligned = build.alignment(access.size, 32)
            build.operation("llvm.intr.masked.store", [], [vector, *operands, active], alignment=aligned)
