"""Shared buffers and barriers as arguments of fragments: ``Buffer[...]`` and ``Barrier`` parameters.

A region takes what a buffer holds as a tile, and gives the tile back to it: in Triton's IR a load stands before the
region and a store behind it, which is what it means on every target. On a GPU a linked region then works in the buffer
itself (``tle_raw/flir/nvidia/buffers_in_place.py``). A barrier crosses in the same way, as a buffer of one word; in it
the region counts on every target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row, SharedBufferError
from tle_raw.fragments.argument import BARRIER_KIND, BUFFER, Argument
from tle_raw.fragments.bound import TILE, BoundSignature
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.fragments.parameter_types import ANY_LAYOUT, BARRIER, READY_BARRIER, ROW_MAJOR, layout_of
from tle_raw.fragments.signature import Signature
from tle_raw.frontends.gpu import content, operations
from tle_raw.frontends.gpu.barrier_value import COUNTING, barrier, check_kind
from tle_raw.frontends.gpu.barriers import check_barrier
from tle_raw.frontends.gpu.checks import check_buffer, check_in_shared_memory, check_whole_tensor, is_buffer
from tle_raw.frontends.gpu.layouts.nv_mma import nv_mma_shared_layout
from tle_raw.frontends.gpu.layouts.shared_layout import shared_layout
from tle_raw.frontends.gpu.layouts.swizzled import swizzled_shared_layout
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.tma_copy import is_descriptor
from tle_raw.frontends.raw.descriptors import describe_descriptor, pass_descriptor
from tle_raw.frontends.raw.shared_values import shared_value
from tle_raw.regions.stages import compiled_target
from tle_raw.regions.values import describe, describe_dtype

GPU = "cuda"  # the target where a layout means something


def describe_argument(value: Any, parameter: str, layout: str) -> Argument:
    """``describe``, for buffers and barriers too. ``layout`` is what the parameter takes, "" where it is a tile's."""
    value = core._unwrap_if_constexpr(value)
    if isinstance(value, barrier):
        return _describe_barrier(value, layout)
    if is_descriptor(value):
        return describe_descriptor(value)
    if not is_buffer(value):
        return describe(value)
    buffer = check_buffer("call", parameter, value)
    check_in_shared_memory("call", parameter, buffer)
    check_whole_tensor("call", buffer.type)
    if buffer.dtype.is_bool():
        raise SharedBufferError(
            "a fragment takes no buffer of bools",
            table=[Row(parameter, "a buffer of numbers", str(buffer))],
            hint="allocate it with dtype=tl.int8",
        )
    return Argument(
        BUFFER, describe_dtype(buffer.dtype), tuple(buffer.type.shape), layout=_layout(buffer, parameter, layout)
    )


def _describe_barrier(value: barrier, layout: str) -> Argument:
    """For a parameter of any other type it is a buffer of one word."""
    one = check_barrier("call", value)
    check_kind("call", one, COUNTING)
    if layout == BARRIER:
        state = READY_BARRIER if one.type.ready else BARRIER
        return Argument(BARRIER_KIND, DTYPES["i64"], (1,), layout=state, arrivals=one.type.arrive_count)
    return Argument(BUFFER, DTYPES["i64"], (1,), layout=f"tle::{ROW_MAJOR}" if layout == ANY_LAYOUT else ROW_MAJOR)


def is_shared(value: Any) -> bool:
    """Whether it is a buffer or a barrier: memory that a region works on where it is."""
    return is_buffer(value) or isinstance(value, barrier)


def layouts_of(signature: Signature | None) -> dict[str, str]:
    """The layout that each parameter of buffers takes."""
    return {p.name: layout_of(p.type) for p in signature.parameters} if signature else {}


def with_contents(args: Sequence[Any], semantic: Any) -> list[Any]:
    """A call's arguments, with its content in the place of each buffer: for functions of tensors without effects."""
    plain = [core._unwrap_if_constexpr(value) for value in args]
    return [
        content.load(value, **_tracing(value, semantic)) if is_buffer(value) else given
        for value, given in zip(plain, args)
    ]


def check_no_barriers(dialect: str, args: Sequence[Any]) -> None:
    """Languages whose functions are typed by the call know tiles, arrays and numbers.

    Raises
    ------
    ArgumentTypeError : one of the arguments is a barrier.
    """
    for number, value in enumerate(map(core._unwrap_if_constexpr, args)):
        if isinstance(value, barrier):
            raise ArgumentTypeError(
                f"the dialect '{dialect}' has no barriers: its functions take tiles, arrays and numbers",
                table=[Row(f"argument {number}", "a tile, a buffer, an array or a number", str(value))],
                hint="wait in the kernel before the call, tle.gpu.barrier_wait(bar, use), and arrive behind it, "
                "tle.gpu.barrier_arrive(bar, 1, use)",
            )


def load_buffers(bound: BoundSignature, values: Mapping[str, Any], semantic: Any) -> dict[str, Any]:
    """The arguments, with a buffer's content in its place where the region reads it.

    Barriers come first: where copies are followed, the region is taken to wait for those that the barrier counts.
    """
    loaded = dict(values)
    for p in bound.parameters:
        if p.is_descriptor:
            loaded[p.name] = pass_descriptor(_buffer(values, p.name), p.name, semantic)
    taken = [p for p in bound.parameters if p.buffer and not p.is_descriptor and p.effect != "Out"]
    read = {p.name: _buffer(values, p.name) for p in taken}
    for name, value in sorted(read.items(), key=lambda item: not isinstance(item[1], barrier)):
        loaded[name] = _load(value, semantic)
    return loaded


def load_shared(value: Any) -> core.tensor:
    """What a buffer, or a barrier's word, holds in Triton's interpreter."""
    return _load(core._unwrap_if_constexpr(value), None)


def store_shared(value: Any, tensor: core.tensor) -> None:
    """The inverse of ``load_shared``."""
    _store(core._unwrap_if_constexpr(value), tensor, None)


def in_place(values: Mapping[str, Any], semantic: Any) -> dict[str, Any]:
    """The arguments, with buffers and barriers as a traced region takes them that has a barrier."""
    plain = {name: core._unwrap_if_constexpr(value) for name, value in values.items()}
    return {
        name: shared_value(value, _tracing(value, semantic)) if is_shared(value) else values[name]
        for name, value in plain.items()
    }


def _load_word(value: barrier, _semantic: Any = None, _generator: Any = None) -> core.tensor:
    handle = perform(operations.BARRIER_WORD, _semantic, _generator, value.handle, BARRIER)
    return core.tensor(handle, core.block_type(core.int64, [1]))


def store_buffers(bound: BoundSignature, values: Mapping[str, Any], results: Sequence[Any], semantic: Any) -> list[Any]:
    """The region's results without those that belong into buffers, which are stored there."""
    tiles = [p for p in bound.parameters if p.effect != "In" and p.kind == TILE]
    kept = []
    for p, result in zip(tiles, results):
        if p.buffer:
            _store(_buffer(values, p.name), result, semantic)
        else:
            kept.append(result)
    return [*kept, *results[len(tiles) :]]


def _load(value: Any, semantic: Any) -> core.tensor:
    load = _load_word if isinstance(value, barrier) else content.load
    return load(value, **_tracing(value, semantic))


def _store(value: Any, tensor: core.tensor, semantic: Any) -> None:
    tracing = _tracing(value, semantic)
    if isinstance(value, barrier):
        update, generator = operations.BARRIER_UPDATE, tracing.get("_generator")
        perform(update, tracing["_semantic"], generator, value.handle, tensor.handle)
    else:
        content.store(value, tensor, **tracing)


def _buffer(values: Mapping[str, Any], name: str) -> Any:
    return core._unwrap_if_constexpr(values[name])


@dataclass(frozen=True)
class _Tracer:
    """What operations on buffers ask Triton's code generator for, which fragments do not see from Triton 3.7 on."""

    context: Any


def _tracing(buffer: Any, semantic: Any) -> dict[str, Any]:
    """How a method of buffers is called; Triton's interpreter passes a region no ``semantic``."""
    if semantic is not None:
        return {"_semantic": semantic, "_generator": _Tracer(buffer.handle.get_context())}
    from triton.runtime.interpreter import interpreter_semantic

    return {"_semantic": interpreter_semantic}


def _layout(buffer: Any, parameter: str, taken: str) -> str:
    """How the elements lie, as C++ names it; row by row wherever layouts mean nothing."""
    row_major = f"tle::{ROW_MAJOR}" if taken == ANY_LAYOUT else ROW_MAJOR
    if compiled_target() != GPU:
        return row_major
    if buffer.type.is_part and taken:
        raise SharedBufferError(
            "a fragment takes a buffer or a slot of one, not a part of its rows or columns",
            table=[Row(parameter, f"{list(buffer.type.whole)}", f"{list(buffer.type.memory)} of it")],
        )
    return row_major if buffer.layout.is_plain and not buffer.type.is_part else _in_cpp(buffer.layout, parameter, taken)


def _in_cpp(layout: shared_layout, parameter: str, taken: str) -> str:
    if isinstance(layout, nv_mma_shared_layout) and (layout.rank == 2 or not layout.transposed):
        name = f"tle::nvmma<{layout.swizzle}>"
        return f"tle::transposed<{name}>" if layout.transposed else name
    if isinstance(layout, swizzled_shared_layout):
        name = f"tle::swizzled<{layout.vectorSize}, {layout.perPhase}, {layout.maxPhase}>"
        if layout.order == tuple(reversed(range(layout.rank))):
            return name
        if layout.order == (0, 1):
            return f"tle::transposed<{name}>"
    if taken == ANY_LAYOUT:
        raise SharedBufferError(
            "a fragment cannot take a buffer of this layout",
            table=[Row(parameter, "rows or columns, swizzled or not", layout.text)],
        )
    return layout.text
