"""A PrimFunc's numbers, block after block: statements in order, each for all lanes of its parallel loops at once."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tle_raw.adapters.tilelang.port.reference.expressions import is_variable
from tle_raw.adapters.tilelang.port.reference.numbers import Unevaluated, converted
from tle_raw.adapters.tilelang.port.reference.tile_operations import UPDATES, TileOperations
from tle_raw.adapters.tilelang.program import Program, statements
from tle_raw.adapters.tilelang.regions import is_parallel

_NOTHING = (
    "tirx.tvm_storage_sync", "tl.sync_warp", "tl.no_set_max_nreg", "tl.set_max_nreg", "tl.conflict_hint", "tl.pdl_sync",
    "tl.pdl_trigger", "tirx.assume", "tl.annotate_producer_reg_dealloc", "tl.annotate_consumer_reg_alloc",
    "tirx.ptx_commit_group", "tirx.ptx_wait_group",
)  # fmt: skip


@dataclass(frozen=True)
class Evaluated:
    """The global buffers after it, by name; ``written`` says which elements were. ``is_whole``: every block ran."""

    buffers: dict[str, Any]
    written: dict[str, Any]
    is_whole: bool


def evaluate(program: Program, values: Mapping[str, Any], dims: Mapping[str, int], limit: float = 60.0) -> Evaluated:
    """Run a PrimFunc on NumPy arrays: floats as float64, by the names of its parameters; sizes that it leaves open.

    Arrays are changed in place. What ``limit`` seconds do not suffice for is left out.

    Raises
    ------
    Unevaluated : it holds what is not known here.
    """
    machine = _Machine(program, values, dims)
    end, is_whole = time.monotonic() + limit, True
    extents = [int(machine.value(axis.extent)) for axis in program.grid]
    with np.errstate(all="ignore"):
        for place in itertools.product(*(range(extent) for extent in reversed(extents))):
            if not is_whole:
                break
            machine.start_block(dict(zip((axis.variable for axis in program.grid), reversed(place))))
            machine.run(program.body)
            is_whole = time.monotonic() < end
        else:
            is_whole = True
    if not is_whole and machine.updates:
        raise Unevaluated("blocks that update the same elements, all of which take too long")
    return Evaluated(machine.named, machine.written, is_whole)


class _Machine(TileOperations):
    """Statements."""

    def run(self, body: Any) -> None:
        for statement in statements(body):
            kind = type(statement).__name__
            handler = getattr(self, f"_{kind}", None)
            if handler is None:
                raise Unevaluated(f"the statement {kind}")
            handler(statement)

    def _For(self, loop: Any) -> None:
        if loop.thread_binding is not None:
            raise Unevaluated("a loop over threads")
        first, count = int(self.scalar(loop.min)), int(self.scalar(loop.extent))
        if is_parallel(loop):
            self.lanes.append((loop.loop_var, count))
            before = dict(self.variables)
            for axis, (variable, extent) in enumerate(self.lanes):
                shape = [1] * len(self.lanes)
                shape[axis] = extent
                start = first if variable.same_as(loop.loop_var) else 0
                self.variables[variable] = (np.arange(extent) + start).astype(str(variable.dtype)).reshape(shape)
            masks = self.masks
            self.masks = [np.asarray(mask)[..., None] for mask in masks]
            values = {v: np.asarray(x)[..., None] for v, x in before.items() if np.ndim(x) and not self._is_lane(v)}
            self.variables |= values
            if count:
                self.run(loop.body)
            self.variables, self.masks = before, masks
            self.lanes.pop()
            return
        for number in range(count):
            self.variables[loop.loop_var] = np.int32(first + number)
            try:
                self.run(loop.body)
            except _Break:
                break

    def _is_lane(self, variable: Any) -> bool:
        return any(lane.same_as(variable) for lane, _ in self.lanes)

    def _While(self, loop: Any) -> None:
        if self.lanes:
            raise Unevaluated("a while loop in a parallel one")
        while bool(self.value(loop.condition)):
            self.run(loop.body)

    def _IfThenElse(self, branch: Any) -> None:
        held = self.value(branch.condition)
        if np.ndim(held) == 0:
            if bool(held):
                self.run(branch.then_case)
            elif branch.else_case is not None:
                self.run(branch.else_case)
            return
        for side, body in ((held, branch.then_case), (~held, branch.else_case)):
            if body is not None:
                self.masks.append(side)
                self.run(body)
                self.masks.pop()

    def _BufferStore(self, store: Any) -> None:
        if self.lanes and is_variable(store.buffer):
            self._assign(store.buffer, self.value(store.value))
            return
        update = self._own_update(store)
        if update is not None:
            self.update(store.buffer, store.indices, self.value(update[1]), update[0])
        else:
            self.put(store.buffer, store.indices, self.value(store.value))

    def _assign(self, buffer: Any, value: Any) -> None:
        """Each lane has a variable of its own (``T.alloc_var``), until its loop ends."""
        value = converted(value, str(buffer.dtype), "")
        if self.masks:
            value = np.where(self._masked(np.ones((), bool)), value, self._variable(buffer))
        self.variables[buffer.data] = value

    def _own_update(self, store: Any) -> tuple[Any, Any] | None:
        """``x[i] = x[i] + …`` where several lanes meet in one element: each of them counts."""
        operation = {"Add": np.add, "Max": np.fmax, "Min": np.fmin}.get(type(store.value).__name__)
        if operation is None or not self.lanes:
            return None
        from tvm.ir import structural_equal
        from tvm.tirx import BufferLoad

        shape = np.broadcast_shapes(*(np.shape(self.value(i)) for i in store.indices))
        if int(np.prod(shape)) == int(np.prod([extent for _, extent in self.lanes])):
            return None
        own = BufferLoad(store.buffer, store.indices)
        for mine, other in ((store.value.a, store.value.b), (store.value.b, store.value.a)):
            if structural_equal(mine, own):
                return operation, other
        return None

    def _Bind(self, bind: Any) -> None:
        self.variables[bind.var] = self.value(bind.value)

    def _AttrStmt(self, statement: Any) -> None:
        self.run(statement.body)

    def _SBlockRealize(self, realize: Any) -> None:
        self._SBlock(realize.block)

    def _SBlock(self, block: Any) -> None:
        for buffer in block.alloc_buffers:
            self.memory.pop(buffer.data, None)
        self.run(block.body)

    def _AllocBuffer(self, statement: Any) -> None:
        self.memory.pop(statement.buffer.data, None)
        if hasattr(statement, "body"):
            self.run(statement.body)

    def _DeclBuffer(self, statement: Any) -> None:
        if hasattr(statement, "body"):
            self.run(statement.body)

    def _Evaluate(self, statement: Any) -> None:
        call = statement.value
        if type(call).__name__ != "Call":
            return
        name = str(getattr(call.op, "name", call.op))
        operation = name.removeprefix("tl.tileop.").replace(".", "_")
        tile = getattr(self, f"tile_{operation}", None) if name.startswith("tl.tileop.") else None
        if tile is not None:
            if self.lanes:
                raise Unevaluated(f"{name} in a parallel loop")
            tile(call)
        elif name.startswith("tl.atomic_") and name.endswith("_elem_op"):
            self._atomic(name, call)
        elif name == "tl.reducer_update":
            target = call.args[0]
            self.update(target.buffer, target.indices, self.value(call.args[1]), self._reducer(target.buffer))
        elif name == "tl.loop_break":
            raise _Break
        elif name not in _NOTHING:
            raise Unevaluated(f"the operation {name}")

    def _atomic(self, name: str, call: Any) -> None:
        kind = name.removeprefix("tl.atomic_").removesuffix("_elem_op")
        target = call.args[0]
        target = target.args[0] if type(target).__name__ == "Call" else target
        if kind not in UPDATES or type(target).__name__ != "BufferLoad":
            raise Unevaluated(f"the operation {name}")
        if not self.lanes and self.program.threads and int(np.prod(self.program.threads)) != 1:
            raise Unevaluated("an atomic update by every thread")
        self.update(target.buffer, target.indices, self.value(call.args[1]), UPDATES[kind])


class _Break(Exception):
    """``T.loop_break``."""
