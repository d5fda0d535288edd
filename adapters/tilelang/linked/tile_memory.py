"""Puts a tile of the caller in the place of a piece of global memory, before TileLang lowers the PrimFunc.

The named buffer becomes one of the tile's own shape, touched from zero on. TileLang takes it for global memory, and
loads and stores of its elements are right for any memory; what is right for global memory only is kept away from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tle_raw.adapters.tilelang.named_tiles import NamedTile
from tle_raw.adapters.tilelang.program import variables_of
from tle_raw.adapters.tilelang.tir_types import Call, Node, PrimFunc

# Copies that wait for nothing, and vectors wider than shared memory has.
NO_ASYNC = {"tirx.use_async_copy": False}
NO_WIDE = {"tl.disable_vectorize_256": True}
_COPY, _REGION = "tl.tileop.copy", "tl.region"
# What hands an address on, or loads past the address: neither asks which memory it is.
_ADDRESSES = ("tirx.address_of", "tl.access_ptr", "tirx.tvm_access_ptr", "tl.__ldg")


def with_tile_memory(prim_func: PrimFunc, tiles: Mapping[str, NamedTile]) -> Any:
    """A PrimFunc whose named buffers are the caller's tiles; sizes that only they give become scalar parameters."""
    from tvm import tirx

    buffers = {
        name: tirx.decl_buffer(list(tile.dims), tile.buffer.dtype, str(tile.buffer.name))
        for name, tile in tiles.items()
    }
    rewrite = _Rewrite([(tile, buffers[name]) for name, tile in tiles.items()])
    kinds = ["tirx.BufferLoad", "tirx.BufferStore", "tirx.Call"]
    body = tirx.stmt_functor.ir_transform(prim_func.body, None, rewrite, kinds)
    known = dict(prim_func.buffer_map.items())
    buffer_map = {p: buffers.get(str(b.name), b) for p, b in known.items()}
    lost = _told(known.values()) - _told(buffer_map.values()) - set(prim_func.params)
    parameters = [*prim_func.params, *sorted(lost, key=lambda v: str(v.name))]
    return tirx.PrimFunc(parameters, body, prim_func.ret_type, buffer_map, prim_func.attrs)


def _told(buffers: Any) -> set[Any]:
    """The variables in the shapes and strides of buffers."""
    return {v for buffer in buffers for e in (*buffer.shape, *buffer.strides) for v in variables_of(e)}


class _Rewrite:
    """Called after the node's children were rewritten."""

    def __init__(self, tiles: list[tuple[NamedTile, Any]]) -> None:
        self._tiles = tiles

    def __call__(self, node: Node) -> Any:
        from tvm import tirx

        if isinstance(node, tirx.Call):
            return self._call(node)
        for tile, new in self._tiles:
            if node.buffer.data.same_as(tile.buffer.data):
                indices = self._inside(tile, node.indices)
                if isinstance(node, tirx.BufferLoad):
                    return tirx.BufferLoad(new, indices)
                return _at_the_line_of(node, tirx.BufferStore(new, node.value, indices))
        return None

    def _inside(self, tile: NamedTile, indices: Any) -> list[Any]:
        from tvm import arith

        analyzer = arith.Analyzer()
        return [analyzer.simplify(indices[d] - tile.origin[d]) for d in tile.kept]

    def _call(self, call: Call) -> Any:
        from tvm import tirx

        if str(call.op.name) == _REGION:
            tile = self._of(call)
            if tile is None:
                return None
            extents = [call.args[2 + d] for d in tile.kept]
            return tirx.Call(call.dtype, call.op, [*call.args[:2], *extents], call.annotations)
        if str(call.op.name) == _COPY and any(self._of(argument) for argument in call.args[:2]):
            annotations = {
                **dict(call.annotations),
                "prefer_instruction": tirx.StringImm("sync"),
                "disable_tma": tirx.IntImm("bool", 1),
            }
            return tirx.Call(call.dtype, call.op, list(call.args), annotations)
        return None

    def _of(self, region: Any) -> NamedTile | None:
        load = region.args[0]
        return next((tile for tile, new in self._tiles if load.buffer.same_as(new)), None)


def _at_the_line_of(old: Any, new: Any) -> Any:
    from tilelang import ir

    span = ir.get_stmt_span(old)
    if span is not None:
        ir.set_stmt_span(new, span)
    return new


def taken_addresses(function: Any) -> Iterator[int]:
    """The parameters of a lowered function, by position, that it touches otherwise than by loads and stores."""
    from tvm import tirx

    found: list[Any] = []

    def visit(node: Node) -> None:
        if not isinstance(node, tirx.Call):
            return
        takes = str(node.op.name) in _ADDRESSES
        for argument in node.args:
            if isinstance(argument, tirx.Var):
                found.append(argument)
            elif takes and isinstance(argument, tirx.BufferLoad):
                found.append(argument.buffer.data)

    tirx.stmt_functor.post_order_visit(function.body, visit)
    for position, parameter in enumerate(function.params):
        if any(parameter.same_as(variable) for variable in found):
            yield position
