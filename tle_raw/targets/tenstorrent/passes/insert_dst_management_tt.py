"""Stage D, fifth: who may use DST when, and which of its tiles are a step's registers.

DST holds 16 KB for each of two sides: 8 tiles of 16 bits an element or 4 of 32. As many tiles of a block as fit are
computed under one ``tile_regs_acquire``: each takes as many of DST's as its steps have registers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tle_raw.targets.tenstorrent.integers import plus, times
from tle_raw.targets.tenstorrent.ir import Buffer, Call, ComputeConfig, Expr, For, Int, Module, Op, Var
from tle_raw.targets.tenstorrent.lower_elements import is_wide
from tle_raw.targets.tenstorrent.options import Options
from tle_raw.targets.tenstorrent.tiles import (
    BATCH,
    INNER,
    TILE_COLUMN,
    TILE_ROW,
    HeldProduct,
    Hold,
    Register,
    Step,
    TileLoop,
)
from tle_raw.targets.tenstorrent.webs import rewritten


def insert_dst_management_tt(module: Module, options: Options) -> Module:
    """The module whose compute kernel acquires, commits, waits, packs and releases."""
    compute = ComputeConfig(is_wide(module), 4 if is_wide(module) else 8)

    def change(statement: Any) -> tuple[Any, ...]:
        if isinstance(statement, Hold):
            return (*statement.prologue, Call("tile_regs_acquire"))
        if isinstance(statement, HeldProduct):
            return _over_tiles(statement, tuple(c for step in statement.steps for c in _held_step(step, statement)))
        if isinstance(statement, TileLoop) and statement.held:
            return _held(statement)
        return _lowered(statement, compute.dst_tiles) if isinstance(statement, TileLoop) else (statement,)

    kernel = module.kernels["compute"]
    kernels = {**module.kernels, "compute": replace(kernel, body=rewritten(kernel.body, change))}
    return replace(module, kernels=kernels, compute=compute)


def _lowered(loop: TileLoop, limit: int) -> tuple[Any, ...]:
    by_columns = loop.columns > 1
    together = _divisor(loop.columns if by_columns else loop.rows, limit // loop.registers)
    names: dict[str, Expr] = {}
    for name, extent, batched in (
        (TILE_ROW, loop.rows, not by_columns),
        (TILE_COLUMN, loop.columns, by_columns),
    ):
        groups = extent // together if batched else extent
        first = Var(name) if groups > 1 else Int(0)
        if not batched or together == 1:
            names[name] = first
        else:
            names[name] = plus(times(first, together), Var(BATCH))
    body: list[Any] = [Call("tile_regs_acquire")]
    for step in loop.steps:
        body += step.setup
        body += _batch(_step(step, loop, names, together), together)
        body += step.undo
    body += [Call("tile_regs_commit"), Call("tile_regs_wait")]
    pack = Call("pack_tile", (_register(0, loop, together), Buffer(loop.target)), (), loop.location)
    body += [*_batch((pack,), together), Call("tile_regs_release")]
    statements = tuple(body)
    for name, extent, batched in ((TILE_COLUMN, loop.columns, by_columns), (TILE_ROW, loop.rows, not by_columns)):
        groups = extent // together if batched else extent
        if groups > 1:
            statements = (For(name, Int(0), Int(groups), statements),)
    return (*loop.prologue, *statements, *loop.after)


def _held(loop: TileLoop) -> tuple[Any, ...]:
    """Tiles that DST holds since before a loop: what is left to do on each, then all are packed."""
    body: list[Any] = []
    for step in loop.steps:
        body += [*step.setup, *_held_step(step, loop), *step.undo]
    pack = Call("pack_tile", (_place(loop), Buffer(loop.target)), (), loop.location)
    ending = (*_over_tiles(loop, (pack,)), Call("tile_regs_release"))
    done = _over_tiles(loop, tuple(body)) if body else ()
    return (*loop.prologue, *done, Call("tile_regs_commit"), Call("tile_regs_wait"), *ending, *loop.after)


def _place(loop: TileLoop | HeldProduct) -> Expr:
    row = Var(TILE_ROW) if loop.rows > 1 else Int(0)
    return plus(times(row, loop.columns), Var(TILE_COLUMN) if loop.columns > 1 else Int(0))


def _held_step(step: Step, loop: TileLoop | HeldProduct) -> tuple[Any, ...]:
    """Register 0 is the tile's own, the others come behind those of all tiles."""
    names: dict[str, Expr] = {
        name: Int(0) for name, n in ((TILE_ROW, loop.rows), (TILE_COLUMN, loop.columns)) if n == 1
    }
    places = {0: _place(loop)}
    arguments = []
    for argument in step.arguments:
        if isinstance(argument, Register):
            arguments.append(places.get(argument.number, Int(loop.rows * loop.columns + argument.number - 1)))
        else:
            arguments.append(_argument(argument, names))
    call = Call(step.operation, tuple(arguments), step.template, loop.location)
    return (call,) if step.count == 1 else (For(INNER, Int(0), Int(step.count), (call,)),)


def _over_tiles(loop: TileLoop | HeldProduct, body: tuple[Any, ...]) -> tuple[Any, ...]:
    for name, count in ((TILE_COLUMN, loop.columns), (TILE_ROW, loop.rows)):
        if count > 1:
            body = (For(name, Int(0), Int(count), body),)
    return body


def _divisor(count: int, limit: int) -> int:
    return max(n for n in range(1, max(limit, 1) + 1) if count % n == 0)


def _batch(statements: tuple[Any, ...], together: int) -> tuple[Any, ...]:
    return statements if together == 1 else (For(BATCH, Int(0), Int(together), statements),)


def _register(number: int, loop: TileLoop, together: int) -> Expr:
    return Int(number) if together == 1 else plus(times(Var(BATCH), loop.registers), Int(number))


def _step(step: Step, loop: TileLoop, names: dict[str, Expr], together: int) -> tuple[Any, ...]:
    arguments = tuple(
        _register(a.number, loop, together) if isinstance(a, Register) else _argument(a, names) for a in step.arguments
    )
    call = Call(step.operation, arguments, step.template, loop.location)
    return (call,) if step.count == 1 else (For(INNER, Int(0), Int(step.count), (call,)),)


def _argument(argument: Any, names: dict[str, Expr]) -> Any:
    if isinstance(argument, Var):
        return names.get(argument.name, argument)
    if isinstance(argument, Op):
        a, b = (_argument(part, names) for part in (argument.a, argument.b))
        if argument.sign == "*" and isinstance(b, Int):
            return times(a, b.value)
        return plus(a, b) if argument.sign == "+" else Op(argument.sign, a, b)
    return argument
