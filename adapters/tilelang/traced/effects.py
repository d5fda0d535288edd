"""Which memory statements read and write: a loop carries only the block tensors whose old value can be seen again.

A buffer that a loop fills anew each time, as the stages of a pipeline, must not become a carried value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tle_raw.adapters.tilelang.named_tiles import NamedTile
from tle_raw.adapters.tilelang.program import statements
from tle_raw.adapters.tilelang.regions import constant, is_global, is_parallel, linear_form, nearness, region_of
from tle_raw.adapters.tilelang.tir_types import Buffer, Call, Node

READS_AND_WRITES = 3


@dataclass
class Effects:
    """``seen``: memory whose value from before is read; ``filled``: memory that is written as a whole for certain."""

    written: list[Any] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    filled: list[Any] = field(default_factory=list)

    def read(self, memory: Any) -> None:
        if not holds(self.filled, memory):
            _put(self.seen, memory)

    def write(self, memory: Any, whole: bool) -> None:
        _put(self.written, memory)
        if whole:
            _put(self.filled, memory)
        else:
            self.read(memory)


def holds(memories: Iterable[Any], memory: Any) -> bool:
    return any(m.same_as(memory) for m in memories)


def _put(memories: list[Any], memory: Any) -> None:
    if not holds(memories, memory):
        memories.append(memory)


class Walk:
    """Walks statements in order. ``named`` are the caller's tiles: global buffers that are block tensors here."""

    def __init__(self, named: dict[str, NamedTile]) -> None:
        self.named = named
        self.effects = Effects()
        self.parallel: list[Any] = []

    def block(self, sequence: Sequence[Any]) -> Walk:
        for statement in sequence:
            self.statement(statement)
        return self

    def statement(self, node: Node) -> None:
        kind = type(node).__name__
        if kind == "SeqStmt":
            self.block(list(statements(node)))
        elif kind == "For":
            self._loop(node)
        elif kind == "While":
            self.expression(node.condition)
            self._maybe(node.body)
        elif kind == "IfThenElse":
            self._branch(node)
        elif kind == "BufferStore":
            for index in node.indices:
                self.expression(index)
            self.expression(node.value)
            if self.is_block(node.buffer):
                self.effects.write(node.buffer.data, self._fills(node.buffer, node.indices))
        elif kind in ("Evaluate", "Bind"):
            self.expression(node.value)
        elif kind == "SBlockRealize":
            self.statement(node.block)
        elif hasattr(node, "body"):
            self.statement(node.body)

    def expression(self, root: Any) -> None:
        if type(root).__name__ == "Call" and str(root.op.name).startswith("tl.tileop."):
            self._tile_operation(root)
            return
        self._loads(root)
        if type(root).__name__ == "Call" and str(root.op.name) == "tl.reducer_update":
            self.effects.write(root.args[0].buffer.data, whole=False)

    def _tile_operation(self, call: Call) -> None:
        regions = [a for a in call.args if type(a).__name__ == "Call" and str(a.op.name) == "tl.region"]
        for argument in call.args:
            if argument not in regions:
                self._loads(argument)
        boxes = [(region_of(r), constant(r.args[1])) for r in regions]
        keeps = _keeps_old(call)
        for box, access in boxes:
            for index in box.origin:
                self._loads(index)
            if self.is_block(box.buffer) and (access in (1, READS_AND_WRITES) or (access == 2 and keeps)):
                self.effects.read(box.buffer.data)
        for box, access in boxes:
            if self.is_block(box.buffer) and access != 1:
                self.effects.write(box.buffer.data, self._is_whole(box) and not _falls_short(call))

    def _loads(self, root: Any) -> None:
        from tvm.tirx.stmt_functor import post_order_visit

        def visit(node: Node) -> None:
            if type(node).__name__ == "BufferLoad" and self.is_block(node.buffer):
                self.effects.read(node.buffer.data)

        if not isinstance(root, int):
            post_order_visit(root, visit)

    def _loop(self, loop: Node) -> None:
        self.expression(loop.extent)
        if is_parallel(loop):
            self.parallel.append(loop)
            self.statement(loop.body)
            self.parallel.pop()
        elif (constant(loop.extent) or 0) > 0:
            self.statement(loop.body)
        else:
            self._maybe(loop.body)

    def _maybe(self, body: Any) -> None:
        """A body that may not run fills nothing for certain."""
        filled = list(self.effects.filled)
        self.statement(body)
        for memory in self.effects.filled:
            if not holds(filled, memory) and holds(self.effects.written, memory):
                _put(self.effects.seen, memory)
        self.effects.filled = filled

    def _branch(self, node: Node) -> None:
        self.expression(node.condition)
        before = list(self.effects.filled)
        self.statement(node.then_case)
        first, self.effects.filled = self.effects.filled, list(before)
        if node.else_case is not None:
            self.statement(node.else_case)
        second = self.effects.filled
        both = [m for m in first if holds(second, m)]
        for memory in (*first, *second):
            if not holds(both, memory) and not holds(before, memory):
                _put(self.effects.seen, memory)
        self.effects.filled = both

    def is_block(self, buffer: Buffer) -> bool:
        return not is_global(buffer) or any(t.buffer.data.same_as(buffer.data) for t in self.named.values())

    def _is_whole(self, box: Any) -> bool:
        origin_is_zero = all(constant(o) == 0 for o in box.origin)
        sizes = [(constant(e), constant(s)) for e, s in zip(box.extents, box.buffer.shape)]
        return is_global(box.buffer) or (origin_is_zero and all(e == s and e is not None for e, s in sizes))

    def _fills(self, buffer: Buffer, indices: Sequence[Any]) -> bool:
        """A store in a nest that reaches every element."""
        if is_global(buffer):
            return False
        variables = [loop.loop_var for loop in self.parallel]
        walked = []
        for index, extent in zip(indices, buffer.shape):
            if constant(index) == 0 and constant(extent) == 1:
                continue
            form = linear_form(index, variables)
            if form is None or len(form[0]) != 1 or constant(form[1]) != 0:
                return False
            ((variable, factor),) = form[0].items()
            loop = next(p for p in self.parallel if p.loop_var.same_as(variable))
            if constant(factor) != 1 or constant(loop.extent) != constant(extent):
                return False
            walked.append(variable)
        return len({str(v.name) for v in walked}) == len(walked)


def _falls_short(call: Call) -> bool:
    """Whether a copy leaves a part of its target alone: its loops go over the smaller box, or that is not known."""
    if str(call.op.name) not in ("tl.tileop.copy", "tl.tileop.async_copy"):
        return False
    source, target = region_of(call.args[0]), region_of(call.args[1])
    sizes = [[n for n in map(constant, box.extents) if n != 1] for box in (source, target)]
    return sizes[0] != sizes[1] and nearness(source.buffer) >= nearness(target.buffer)


def _keeps_old(call: Call) -> bool:
    """Whether an operation whose output region says "written" also reads it."""
    name = str(call.op.name)
    if name == "tl.tileop.reduce":
        return constant(call.args[4]) == 0
    return name.startswith("tl.tileop.atomic")
