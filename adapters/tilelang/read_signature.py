"""The typed signature that a PrimFunc states: pointers, scalars, and the tiles that the user named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.adapters.tilelang.dtypes import dtype_of
from tle_raw.adapters.tilelang.linked.descriptors import DESCRIPTORS
from tle_raw.adapters.tilelang.named_barriers import NamedBarrier
from tle_raw.adapters.tilelang.named_buffers import NamedBuffer
from tle_raw.adapters.tilelang.named_tiles import NamedTile
from tle_raw.adapters.tilelang.narrow import per_byte
from tle_raw.adapters.tilelang.program import Program, is_call
from tle_raw.adapters.tilelang.regions import constant, is_global
from tle_raw.adapters.tilelang.tir_types import Node, Variable
from tle_raw.errors import SignatureError
from tle_raw.fragments.dtypes import parse_dtype
from tle_raw.fragments.parameter_types import (
    ANY_LAYOUT,
    DESCRIPTOR,
    IN,
    INOUT,
    Barrier,
    Buffer,
    Descriptor,
    Parameter,
    Pointer,
    Scalar,
    Tile,
)
from tle_raw.fragments.signature import Signature


def read_signature(
    program: Program,
    tiles: Mapping[str, NamedTile],
    places: Mapping[str, int | str],
    tma: bool = False,
    barriers: Mapping[str, NamedBarrier] | None = None,
    buffers: Mapping[str, NamedBuffer] | None = None,
    loads: Sequence[Any] = (),
) -> Signature:
    """The parameters as the PrimFunc has them, then the sizes and strides that its buffers leave open, then the block
    indices that the caller gives, then the barriers and the buffers that the caller has, then the memory of the TMA
    descriptors, or on the traced route a tensor descriptor for each of the ``loads``.

    Raises
    ------
    SignatureError : a dtype that crosses no boundary.
    """
    written = written_memory(program.body)
    parameters = []
    for name in program.order:
        if name in tiles:
            tile = tiles[name]
            if per_byte(tile.buffer.dtype) > 1:
                raise SignatureError(
                    f"the elements of the tile `{name}` are of four bits ({tile.buffer.dtype}), and a byte holds two",
                    hint=f"leave `{name}` out of tiles=: it is then a pointer to the bytes that hold them",
                )
            parameters.append(Parameter(name, Tile(dtype_of(tile.buffer.dtype), tile.dims), tile.effect))
        elif name in program.buffers:
            buffer = program.buffers[name]
            effect = INOUT if any(buffer.data.same_as(w) for w in written) else IN
            parameters.append(Parameter(name, Pointer(dtype_of(buffer.dtype)), effect))
        else:
            parameters.append(Parameter(name, _scalar(name, program.scalars[name])))
    parameters += [Parameter(name, Scalar(dtype_of(v.dtype))) for name, v in program.dims.items()]
    parameters += [Parameter(p, Scalar(dtype_of("int32"))) for p in places.values() if isinstance(p, str)]
    for name, barrier in (barriers or {}).items():
        parameters.append(Parameter(name, Barrier(arrivals=barrier.arrivals), barrier.effect))
    for name, given in (buffers or {}).items():
        parameters.append(Parameter(name, Buffer(given.dtype, given.dims, layout=ANY_LAYOUT), IN))
    if tma:
        if any(p.name == DESCRIPTORS for p in parameters):
            raise SignatureError(f"the PrimFunc has a parameter `{DESCRIPTORS}`, which tma=True adds", hint="rename it")
        parameters.append(Parameter(DESCRIPTORS, Pointer(parse_dtype("u8"))))
    for load in loads:
        block = Descriptor(dtype_of(load.target.dtype), load.tile, DESCRIPTOR)
        parameters.append(Parameter(load.descriptor, block))
    return Signature(program.name, tuple(parameters))


def _scalar(name: str, variable: Variable) -> Scalar | Pointer:
    if str(variable.dtype) == "handle":
        raise SignatureError(
            f"the parameter `{name}` is a bare pointer: nothing says what it points to",
            hint="declare it as T.Tensor((n,), dtype), with n = T.dynamic('n')",
        )
    return Scalar(dtype_of(variable.dtype))


def is_read_again(body: Any) -> bool:
    """Whether the body reads global memory that it writes: then the order of its threads matters."""
    from tvm.tirx.stmt_functor import post_order_visit

    written = written_memory(body)
    targets: list[Any] = []
    loads: list[Any] = []

    def visit(node: Any) -> None:
        if type(node).__name__ == "BufferLoad":
            loads.append(node)
        elif is_call(node, "tl.access_ptr") or (is_call(node, "tl.region") and constant(node.args[1]) == 2):
            targets.append(node.args[0])

    post_order_visit(body, visit)
    reads = [load for load in loads if not any(load.same_as(t) for t in targets)]
    return any(load.buffer.data.same_as(memory) for load in reads for memory in written)


def written_memory(body: Any) -> list[Any]:
    """The memory of the global buffers that the body may write."""
    from tvm.tirx.stmt_functor import post_order_visit

    found: list[Any] = []

    def visit(node: Node) -> None:
        kind = type(node).__name__
        if kind == "BufferStore" and is_global(node.buffer):
            found.append(node.buffer.data)
        elif kind == "Call" and str(node.op.name) == "tl.region" and constant(node.args[1]) != 1:
            found.append(node.args[0].buffer.data)
        elif kind == "Call" and "atomic" in str(node.op.name):
            target = node.args[0]
            target = target.args[0] if type(target).__name__ == "Call" else target
            if type(target).__name__ == "BufferLoad":
                found.append(target.buffer.data)

    post_order_visit(body, visit)
    return found
