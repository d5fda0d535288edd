"""Write a region's port markers into the kernel that is being traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triton.language import core

from tle_raw.errors import Row, ShapeError
from tle_raw.fragments.bound import CONST, ELEMENT, POINTER, SCALAR, TILE, BoundParameter
from tle_raw.fragments.dtypes import DType
from tle_raw.regions import ports, small_floats
from tle_raw.regions.ports import RegionRecord
from tle_raw.regions.values import to_handle_type
from tle_raw.triton_types import Semantic


def emit_region(record: RegionRecord, values: dict[str, Any], semantic: Semantic) -> list[core.tensor]:
    """Write a block-level region; returns its results: the updated tiles in signature order, then the scalar."""
    bound, builder = record.bound, semantic.builder
    crossing = {p.name: _open_port(i, p, values, semantic) for i, p in enumerate(bound.parameters) if p.kind == TILE}
    operands = [_crossing_value(p, values, semantic).handle for p in bound.crossing if p.kind != TILE] or [
        builder.get_int32(0)
    ]
    result_type = to_handle_type(bound.result) if bound.result else core.int32
    result = _marker(ports.CALL, operands, result_type.to_ir(builder), semantic, record.to_text())
    results = [
        _close_port(i, p, crossing[p.name], semantic)
        for i, p in enumerate(bound.parameters)
        if p.kind == TILE and p.effect != "In"
    ]
    return [*results, core.tensor(result, result_type)] if bound.result else results


def emit_element(record: RegionRecord, values: dict[str, Any], semantic: Semantic) -> core.tensor:
    """Write an elementwise region: one operation, applied to each element in registers."""
    bound = record.bound
    operands = [_crossing_value(p, values, semantic) for p in bound.crossing]
    operands = _broadcast(operands, semantic)
    dtype = bound.result or next(p.dtype for p in bound.parameters if p.kind == ELEMENT and p.effect != "In")
    assert dtype is not None
    scalar_type = to_handle_type(dtype)
    block = next((o.type for o in operands if o.type.is_block()), None)
    type_ = block.with_element_ty(scalar_type) if block is not None else scalar_type
    # Without pointers an elementwise function is arithmetic: Triton may merge, move and rematerialise it.
    pure = all(p.kind != POINTER for p in bound.crossing)
    handles = [o.handle for o in operands]
    handle = _marker(ports.ELEMENT, handles, type_.to_ir(semantic.builder), semantic, record.to_text(), pure)
    return core.tensor(handle, type_)


def emit_border(side: str, name: str, semantic: Semantic) -> None:
    """Mark where a traced region begins or ends: a barrier may have to stand there."""
    builder = semantic.builder
    _marker(f"{ports.BOUNDARY}.{side}", [builder.get_int32(0)], core.int32.to_ir(builder), semantic, name)


def _marker(
    symbol: str, operands: Sequence[Any], type_: Any, semantic: Semantic, record: str = "", pure: bool = False
) -> Any:
    return semantic.builder.create_extern_elementwise(record, "", symbol, list(operands), type_, pure)


def _open_port(index: int, parameter: BoundParameter, values: dict[str, Any], semantic: Semantic) -> Any:
    assert parameter.dtype is not None
    if parameter.effect == "Out":
        _check_size(parameter)
        tile = semantic.full(list(parameter.dims), 0, _memory_dtype(parameter.dtype))
        return _marker(f"{ports.NEW}.{index}", [tile.handle], tile.handle.get_type(), semantic)
    tile = values[parameter.name]
    if parameter.is_descriptor:
        handles = [each.handle for each in tile]
        return _marker(f"{ports.DESCRIPTOR}.{index}", handles, handles[0].get_type(), semantic)
    if parameter.dtype.name == "i1":
        tile = semantic.cast(tile, core.int8)  # zero extension: a bool in memory is exactly 0 or 1
    return _marker(f"{ports.IN}.{index}", [tile.handle], tile.handle.get_type(), semantic)


def _check_size(parameter: BoundParameter) -> None:
    if parameter.size > core.TRITON_MAX_TENSOR_NUMEL:
        row = Row(parameter.name, f"at most {core.TRITON_MAX_TENSOR_NUMEL} elements", f"{list(parameter.dims)}")
        raise ShapeError("a block tensor of Triton cannot have so many elements", table=[row])


def _close_port(index: int, parameter: BoundParameter, port: Any, semantic: Semantic) -> core.tensor:
    assert parameter.dtype is not None
    handle = _marker(f"{ports.OUT}.{index}", [port], port.get_type(), semantic)
    tile = core.tensor(handle, core.block_type(_memory_dtype(parameter.dtype), list(parameter.dims)))
    if parameter.dtype.name == "i1":
        return semantic.not_equal(tile, semantic.to_tensor(core.constexpr(0)))
    return tile


def _memory_dtype(dtype: DType) -> core.dtype:
    """The dtype in shared memory: a bool takes a byte."""
    return core.int8 if dtype.name == "i1" else to_handle_type(dtype)


def _crossing_value(parameter: BoundParameter, values: dict[str, Any], semantic: Semantic) -> core.tensor:
    """A scalar, pointer or element operand; a constant takes the parameter's dtype."""
    assert parameter.kind != CONST and parameter.dtype is not None
    value = values[parameter.name] if parameter.effect != "Out" else core.constexpr(0)
    plain = core._unwrap_if_constexpr(value)
    if not isinstance(plain, core.tensor) and parameter.kind in (SCALAR, ELEMENT):
        return small_floats.number(semantic, plain, to_handle_type(parameter.dtype))
    return plain


def _broadcast(operands: list[core.tensor], semantic: Semantic) -> list[core.tensor]:
    """All blocks to one shape, by Triton's own rules; scalars are splat to it."""
    blocks = [o for o in operands if o.type.is_block()]
    if not blocks or len(operands) == 1:
        return operands
    shape_of = blocks[0]
    for block in blocks[1:]:
        shape_of, _ = semantic.broadcast_impl_value(shape_of, block)
    return [semantic.broadcast_impl_value(o, shape_of)[0] for o in operands]
