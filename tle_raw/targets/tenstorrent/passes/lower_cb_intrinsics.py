"""Stage D, third: the protocol of the circular buffers and of the network on chip.

Who fills a buffer reserves its pages, fills them and pushes them; who reads it waits for them, and pops them when they
have been read for the last time. A block's pages go together, so that they lie one behind the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tle_raw.targets.tenstorrent.ir import Buffer, Call, Expr, For, If, Int, Let, Module, Op, Query, Var
from tle_raw.targets.tenstorrent.options import Options
from tle_raw.targets.tenstorrent.tiles import POINTER, GiveBack, HeldProduct, TileLoop, Transfer


def lower_cb_intrinsics(module: Module, options: Options) -> Module:
    """The module with reserve, push, wait and pop."""
    kernels = {
        role: replace(kernel, body=_Protocol(module, role).body(kernel.body, frozenset()))
        for role, kernel in module.kernels.items()
    }
    return replace(module, kernels=kernels)


class _Protocol:
    def __init__(self, module: Module, role: str) -> None:
        self.module, self.role = module, role
        self.names: dict[str, int] = {}

    def body(self, body: tuple[Any, ...], waited: frozenset[str]) -> tuple[Any, ...]:
        """``waited``: buffers whose value is known to be there."""
        found: list[Any] = []
        for statement in body:
            if isinstance(statement, For):
                kept = waited - _touched(statement.body)
                found.append(replace(statement, body=self.body(statement.body, kept)))
                waited = kept
            elif isinstance(statement, If):
                then, otherwise = (self.body(arm, waited) for arm in (statement.then, statement.otherwise))
                found.append(replace(statement, then=then, otherwise=otherwise))
                waited -= _touched((*statement.then, *statement.otherwise))
            else:
                made, waited = self._one(statement, waited)
                found += made
        return tuple(found)

    def _one(self, statement: Any, waited: frozenset[str]) -> tuple[list[Any], frozenset[str]]:
        if isinstance(statement, TileLoop):
            needed = [name for name in statement.uses if name not in waited]
            reserve, push = (self._call(word, statement.target) for word in ("cb_reserve_back", "cb_push_back"))
            calls = [self._call("cb_wait_front", name) for name in needed]
            return [*calls, reserve, statement, push], waited | frozenset(needed)
        if isinstance(statement, HeldProduct):
            needed = [name for name in statement.uses if name not in waited]
            return [*(self._call("cb_wait_front", n) for n in needed), statement], waited | frozenset(needed)
        if isinstance(statement, Transfer):
            return self._transfer(statement, waited)
        if isinstance(statement, GiveBack):
            name = statement.buffer
            wait = [] if name in waited else [self._call("cb_wait_front", name)]
            return [*wait, self._call("cb_pop_front", name)], waited - {name}
        return [statement], waited

    def _transfer(self, transfer: Transfer, waited: frozenset[str]) -> tuple[list[Any], frozenset[str]]:
        name = transfer.buffer
        pointer, calls = self._named(transfer)
        barrier = [Call(transfer.barrier)] if transfer.barrier else []
        if self.role == "reader":
            address = [Let(pointer, Query("get_write_ptr", (Buffer(name),)))] if transfer.barrier else []
            reserve, push = self._call("cb_reserve_back", name), self._call("cb_push_back", name)
            return [reserve, *address, *calls, *barrier, push], waited
        wait = [] if name in waited else [self._call("cb_wait_front", name)]
        address = [Let(pointer, Query("get_read_ptr", (Buffer(name),)))]
        return [*wait, *address, *calls, *barrier], waited | {name}

    def _named(self, transfer: Transfer) -> tuple[str, tuple[Any, ...]]:
        """The calls with the pointer's name, and with names that no other transfer of the kernel has."""
        number = self.names[transfer.buffer] = self.names.get(transfer.buffer, 0) + 1
        ending = "" if number == 1 else f"_{number}"
        pointer, first = f"{transfer.buffer}_at{ending}", f"{transfer.buffer}_first"
        names = {POINTER: pointer, first: f"{first}{ending}"}
        return pointer, tuple(_renamed(call, names) for call in transfer.calls)

    def _call(self, operation: str, name: str) -> Call:
        return Call(operation, (Buffer(name), Int(self.module.circular_buffers[name].block)))


def _touched(body: tuple[Any, ...]) -> frozenset[str]:
    """The buffers of which a body makes or gives back a value."""
    found: set[str] = set()
    for statement in body:
        if isinstance(statement, TileLoop):
            found.add(statement.target)
        elif isinstance(statement, (GiveBack, Transfer)):
            found.add(statement.buffer)
        for name in ("body", "then", "otherwise"):
            found |= _touched(getattr(statement, name, ()))
    return frozenset(found)


def _renamed(statement: Any, names: dict[str, str]) -> Any:
    if isinstance(statement, For):
        return replace(statement, body=tuple(_renamed(s, names) for s in statement.body))
    if isinstance(statement, Let):
        return replace(statement, name=names.get(statement.name, statement.name))
    return replace(statement, arguments=tuple(_expression(a, names) for a in statement.arguments))


def _expression(argument: Any, names: dict[str, str]) -> Expr:
    if isinstance(argument, Var):
        return Var(names.get(argument.name, argument.name))
    if isinstance(argument, Op):
        return Op(argument.sign, _expression(argument.a, names), _expression(argument.b, names))
    return argument  # type: ignore[no-any-return]
