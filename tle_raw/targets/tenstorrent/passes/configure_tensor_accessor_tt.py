"""Stage D, second: accessors are bound, and blocks become pages that are moved one by one.

A block's place in its tensor becomes a number of a page: ``(matrix * rows + row) * columns + column``, in tiles.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from tle_raw.errors import TLEError
from tle_raw.targets.tenstorrent.blocks import COLUMN, ROW, TILE, Choose, Local, ReadBlock, Scaler, WriteBlock
from tle_raw.targets.tenstorrent.integers import divided, lower, plus, substituted, times
from tle_raw.targets.tenstorrent.ir import Accessor, Bits, Buffer, Call, Expr, For, Int, Let, Module, Tensor, Var, Word
from tle_raw.targets.tenstorrent.options import Options
from tle_raw.targets.tenstorrent.tiles import POINTER, TILE_COLUMN, TILE_ROW, Transfer
from tle_raw.targets.tenstorrent.webs import rewritten
from tle_raw.tile_program import Apply, Name, Number


def configure_tensor_accessor_tt(module: Module, options: Options) -> Module:
    """The module whose reader and writer move pages."""
    attributes = {
        key: {**value, "bound": True} if key.startswith("tt.tensor_accessor.") else value
        for key, value in module.attributes.items()
    }

    def change(statement: Any) -> tuple[Any, ...]:
        lower_one = _LOWER.get(type(statement))
        if lower_one is None:
            return (statement,)
        try:
            return (lower_one(module, statement),)
        except TLEError as e:
            raise e.at(source=statement.location) from None

    kernels = {role: replace(kernel, body=rewritten(kernel.body, change)) for role, kernel in module.kernels.items()}
    return replace(module, kernels=kernels, attributes=attributes)


def _moved(module: Module, statement: Any, local: Local, operation: str, barrier: str) -> Transfer:
    tensor = module.tensors[statement.tensor]
    first = f"{local.name}_first"
    buffer = module.circular_buffers[local.name]
    page = plus(Var(first), plus(times(_row(local), tensor.tile_columns), _column(local)))
    at = plus(Var(POINTER), times(_place(local), buffer.page_bytes))
    call = Call(operation, (page, Accessor(tensor.name), at), (), statement.location)
    calls = (Let(first, _first_page(tensor, statement.origin)), *_over_tiles(local, call))
    return Transfer(local.name, local.tiles, calls, barrier, statement.location, statement.node)


def _read(module: Module, read: ReadBlock) -> Transfer:
    return _moved(module, read, module.locals[read.target], "noc_async_read_tile", "noc_async_read_barrier")


def _write(module: Module, write: WriteBlock) -> Transfer:
    return _moved(module, write, module.locals[write.source], "noc_async_write_tile", "noc_async_write_barrier")


def _choose(module: Module, choose: Choose) -> Transfer:
    """Conditions see an element's row and column in its block; within a tile these are ``r`` and ``c``."""
    local = module.locals[choose.target]
    row = _element(local, TILE_ROW, "r", local.tile_rows)
    column = _element(local, TILE_COLUMN, "c", local.tile_columns)
    if len(local.shape) == 1:
        row = column = row if local.form == "column" else column
    places = {ROW: row, COLUMN: column}
    condition = lower(substituted(choose.condition, lambda name: places.get(name.name, name)))
    arguments = (Buffer(local.name), _place(local), condition, Bits(choose.yes), Bits(choose.no))
    calls = _over_tiles(local, Call("write_choice_tile", arguments, (), choose.location))
    return Transfer(local.name, local.tiles, calls, "", choose.location, choose.node)


def _scaler(module: Module, scaler: Scaler) -> Transfer:
    format_ = module.circular_buffers[scaler.target].data_format
    arguments = (Buffer(scaler.target), Bits(1.0), Word(f"DataFormat::{format_}"))
    return Transfer(scaler.target, 1, (Call("write_scaler_tile", arguments),), "", None, scaler.node)


def _element(local: Local, tile: str, element: str, tiles: int) -> Any:
    within = Name(element)
    if tiles == 1:
        return within
    return Apply("add", (Apply("mul", (Name(tile), Number(TILE)), "int32"), within), "int32")


def _row(local: Local) -> Expr:
    return Var(TILE_ROW) if local.tile_rows > 1 else Int(0)


def _column(local: Local) -> Expr:
    return Var(TILE_COLUMN) if local.tile_columns > 1 else Int(0)


def _place(local: Local) -> Expr:
    return plus(times(_row(local), local.tile_columns), _column(local))


def _over_tiles(local: Local, call: Call) -> tuple[Any, ...]:
    """A call for each tile, row after row."""
    body: tuple[Any, ...] = (call,)
    if local.tile_columns > 1:
        body = (For(TILE_COLUMN, Int(0), Int(local.tile_columns), body),)
    if local.tile_rows > 1:
        body = (For(TILE_ROW, Int(0), Int(local.tile_rows), body),)
    return body


def _first_page(tensor: Tensor, origin: tuple[Any, ...]) -> Expr:
    """The page of a block's first tile."""
    others = [dim for dim in range(len(tensor.shape)) if dim not in (tensor.row_dim, tensor.column_dim)]
    matrix: Any = Number(0)
    for place, other in enumerate(others):
        size = prod(tensor.shape[inner] for inner in others[place + 1 :])
        matrix = Apply("add", (matrix, Apply("mul", (origin[other], Number(size)), "int32")), "int32")
    page = times(lower(matrix), tensor.tile_rows * tensor.tile_columns)
    for dim, pages in ((tensor.row_dim, tensor.tile_columns), (tensor.column_dim, 1)):
        if dim is not None:
            page = plus(page, times(lower(_in_tiles(origin[dim])), pages))
    return page


def _in_tiles(origin: Any) -> Any:
    found = divided(origin, TILE)
    assert found is not None, "infer_tt_layout_v5 has seen that blocks begin where tiles do"
    return found


_LOWER: dict[type, Any] = {ReadBlock: _read, WriteBlock: _write, Choose: _choose, Scaler: _scaler}
