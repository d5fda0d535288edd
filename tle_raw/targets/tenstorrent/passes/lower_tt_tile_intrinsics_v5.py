"""Stage C, second: operations on blocks become operations on their tiles, which the card has.

``T.gemm`` becomes ``matmul_tiles`` over the depth, reductions ``reduce_tile``, chains of element-wise functions steps
on registers, chosen in ``operations.py`` by dtype. What moves data stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tle_raw.errors import TLEError
from tle_raw.targets.tenstorrent.blocks import Each, Local, Multiply, Reduce, Turn, used
from tle_raw.targets.tenstorrent.held_products import hold_products
from tle_raw.targets.tenstorrent.integers import plus, times
from tle_raw.targets.tenstorrent.ir import Buffer, Call, Expr, Int, Module, Var, Word
from tle_raw.targets.tenstorrent.lower_elements import Elements, copy_step
from tle_raw.targets.tenstorrent.options import Options
from tle_raw.targets.tenstorrent.tiles import INNER, TILE_COLUMN, TILE_ROW, Register, Step, TileLoop
from tle_raw.targets.tenstorrent.webs import rewritten

_ROW, _COLUMN, _INNER = Var(TILE_ROW), Var(TILE_COLUMN), Var(INNER)
_FIRST = Register(0)


def lower_tt_tile_intrinsics_v5(module: Module, options: Options) -> Module:
    """The module with ``TileLoop`` where blocks were computed."""

    def change(statement: Any) -> tuple[Any, ...]:
        lower = _LOWER.get(type(statement))
        if lower is None:
            return (statement,)
        try:
            return (replace(lower(module, statement), location=statement.location, node=statement.node),)
        except TLEError as e:
            raise e.at(source=statement.location) from None

    module = hold_products(module, _multiply)
    return replace(module, body=rewritten(module.body, change))


def tile_of(row: Expr, column: Expr, columns: int) -> Expr:
    """The place of a tile in a matrix of tiles."""
    return plus(times(row, columns), column)


def _each(module: Module, each: Each) -> TileLoop:
    elements = Elements(module, module.locals[each.target])
    steps = elements.steps(each.value)
    return _loop(module, each, steps, elements.most)


def _multiply(module: Module, multiply: Multiply) -> TileLoop:
    a, b, target = (module.locals[name] for name in (multiply.a, multiply.b, multiply.target))
    steps = [] if multiply.fresh else [copy_step(module, target, tile_of(_ROW, _COLUMN, target.tile_columns), _FIRST)]
    depth = a.tile_columns
    inner: Expr = _INNER if depth > 1 else Int(0)
    left = tile_of(_ROW, inner, a.tile_columns)
    right = tile_of(_COLUMN, inner, b.tile_columns) if multiply.turn_b else tile_of(inner, _COLUMN, b.tile_columns)
    init = Call("matmul_init", (Buffer(a.name), Buffer(b.name), Int(int(multiply.turn_b))))
    arguments = (Buffer(a.name), Buffer(b.name), left, right, _FIRST)
    steps.append(Step("matmul_tiles", arguments, (), init, "matrix", (), (a.name, b.name), depth))
    return _loop(module, multiply, steps, 1)


def _reduce(module: Module, reduce: Reduce) -> TileLoop:
    source = module.locals[reduce.source]
    along = reduce.axis if reduce.axis is not None else (0 if source.form == "column" else 1)
    pool = Word(f"PoolType::{reduce.kind.upper()}")
    dim = Word("ReduceDim::REDUCE_ROW" if along == 1 else "ReduceDim::REDUCE_COL")
    count = source.tile_columns if along == 1 else source.tile_rows
    inner: Expr = _INNER if count > 1 else Int(0)
    place = tile_of(_ROW, inner, source.tile_columns) if along == 1 else tile_of(inner, _COLUMN, source.tile_columns)
    names = (Buffer(source.name), Buffer(reduce.scaler))
    init = Call("reduce_init", (*names, Buffer(reduce.target)), (pool, dim))
    step = Step(
        *("reduce_tile", (*names, place, Int(0), _FIRST), (pool, dim), init, "matrix", ()),
        (source.name, reduce.scaler),
        count,
        (Call("reduce_uninit"),),
    )
    return _loop(module, reduce, [step], 1)


def _turn(module: Module, turn: Turn) -> TileLoop:
    source = module.locals[turn.source]
    init = Call("transpose_init", (Buffer(source.name),))
    place = tile_of(_COLUMN, _ROW, source.tile_columns)
    step = Step("transpose_tile", (Buffer(source.name), place, _FIRST), (), init, "matrix", (), (source.name,))
    return _loop(module, turn, [step], 1)


def _loop(module: Module, statement: Any, steps: list[Step], registers: int) -> TileLoop:
    target: Local = module.locals[statement.target]
    return TileLoop(target.name, target.tile_rows, target.tile_columns, tuple(steps), used(statement), registers)


_LOWER: dict[type, Any] = {Each: _each, Multiply: _multiply, Reduce: _reduce, Turn: _turn}
