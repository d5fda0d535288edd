"""Where block barriers stand: cuTile orders the memory accesses of a block by tokens, Triton those of a thread only.

An access needs a barrier before it if its token leads back to another one, no barrier stood between them since, and
one of the two writes. The barriers between a region and the code around it are FLIR's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tle_raw.adapters.cutile.ir_types import Block, Operation
from tle_raw.adapters.cutile.traced.types import is_token

READS = ("tile_load", "load_pointer")
WRITES = (
    "tile_store",
    "store_pointer",
    "tile_atomic_rmw",
    "tile_atomic_cas",
    "tile_atomic_red_view",
    "grid_dependency_control_wait",
    "grid_dependency_control_launch_dependents",
)

Accesses = frozenset[int]  # the identities of their operations
NONE: Accesses = frozenset()


def operations_behind_barriers(block: Block) -> frozenset[int]:
    """The operations, by identity, that a barrier stands before.

    These are the fewest that a walk in program order finds: each is put where the first unordered access stands.
    """
    before: set[int] = set()
    sources = _token_sources(block)
    while True:
        walk = _Walk(sources, before)
        walk.block(block, NONE)
        if walk.unordered is None:
            return frozenset(before)
        before.add(walk.unordered)


@dataclass
class _Sources:
    """For each token the accesses that it leads back to, and which of all accesses write."""

    of_token: dict[str, Accesses] = field(default_factory=dict)
    writes: set[int] = field(default_factory=set)


def _token_sources(block: Block) -> _Sources:
    """Loops carry tokens around: repeated until nothing is added."""
    found = _Sources()
    while _add_sources(block, found, _Jumps()):
        pass
    return found


@dataclass
class _Jumps:
    """What the jumps of the loop around give their tokens to."""

    body: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    is_for: bool = True
    branch: list[Any] = field(default_factory=list)


def _add_sources(block: Block, found: _Sources, jumps: _Jumps) -> bool:
    changed = False
    for op in block:
        changed |= _add_sources_of(op, found, jumps)
    return changed


def _add_sources_of(op: Operation, found: _Sources, jumps: _Jumps) -> bool:
    if op.op in READS or op.op in WRITES:
        if op.op in WRITES:
            found.writes.add(id(op))
        token = [v for v in op.result_vars if is_token(v)]
        return bool(token) and _add(found, token[0], _of(found, op.token) | {id(op)})
    if op.op == "join_tokens":
        return _add(found, op.result_var, frozenset().union(*(_of(found, t) for t in op.tokens)))
    if op.op == "tile_printf" and op.token is not None:
        return _pass_on(found, [v for v in op.result_vars if is_token(v)], [op.token])
    if op.op == "loop":
        inner = _Jumps(list(op.body_vars), list(op.result_vars), op.is_for_loop)
        changed = _pass_on(found, op.body_vars, op.initial_values)
        if op.is_for_loop:
            changed |= _pass_on(found, op.result_vars, op.initial_values)
        return changed | _add_sources(op.body, found, inner)
    if op.op == "ifelse":
        inner = _Jumps(jumps.body, jumps.results, jumps.is_for, list(op.result_vars))
        return _add_sources(op.then_block, found, inner) | _add_sources(op.else_block, found, inner)
    if op.op == "continue":
        changed = _pass_on(found, jumps.body, op.values)
        return changed | (_pass_on(found, jumps.results, op.values) if jumps.is_for else False)
    if op.op == "break":
        return _pass_on(found, jumps.results, op.values)
    if op.op == "end_branch":
        return _pass_on(found, jumps.branch, op.outputs)
    return False


def _pass_on(found: _Sources, targets: Iterable[Any], values: Iterable[Any]) -> bool:
    added = [_add(found, t, _of(found, v)) for t, v in zip(targets, values) if is_token(t)]
    return any(added)


def _of(found: _Sources, token: Any) -> Accesses:
    return NONE if token is None else found.of_token.get(token.name, NONE)


def _add(found: _Sources, token: Any, accesses: Accesses) -> bool:
    before = found.of_token.get(token.name, NONE)
    found.of_token[token.name] = before | accesses
    return not accesses <= before


class _Walk:
    """Follows control flow with the accesses since the last barrier, on any path; notes the first unordered one."""

    def __init__(self, sources: _Sources, barriers: set[int]) -> None:
        self.sources, self.barriers = sources, barriers
        self.unordered: int | None = None
        self._continues: Accesses = NONE
        self._breaks: Accesses = NONE

    def block(self, block: Block, pending: Accesses) -> Accesses:
        for op in block:
            pending = self._operation(op, pending)
        return pending

    def _operation(self, op: Operation, pending: Accesses) -> Accesses:
        if op.op in READS or op.op in WRITES:
            return self._access(op, pending)
        if op.op == "loop":
            return self._loop(op, pending)
        if op.op == "ifelse":
            return self.block(op.then_block, pending) | self.block(op.else_block, pending)
        if op.op == "continue":
            self._continues |= pending
        elif op.op == "break":
            self._breaks |= pending
        return pending

    def _access(self, op: Operation, pending: Accesses) -> Accesses:
        if id(op) in self.barriers:
            pending = NONE
        reached = _of(self.sources, op.token) & pending
        writes = self.sources.writes
        if self.unordered is None and any(id(op) in writes or other in writes for other in reached):
            self.unordered = id(op)
        return pending | {id(op)}

    def _loop(self, op: Operation, pending: Accesses) -> Accesses:
        outer = self._continues, self._breaks
        entry = pending
        while True:
            self._continues = self._breaks = NONE
            self.block(op.body, entry)
            again = entry | self._continues
            if again == entry:
                break
            entry = again
        left = pending | self._continues if op.is_for_loop else self._breaks
        self._continues, self._breaks = outer
        return left
