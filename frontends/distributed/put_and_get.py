"""``tle.put`` and ``tle.get``: a tile to another device's memory, and from it.

Devices of the own node are reached by pointers, those of others by NVSHMEM.
"""

from __future__ import annotations

from math import prod
from typing import Any

import triton.language as tl
from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.distributed.device_language import device_remote, peer_number
from tle_raw.frontends.distributed.existing_peer import pointer_of_peer
from tle_raw.frontends.distributed.node_transfers import get_tile, put_tile
from tle_raw.frontends.distributed.signals import signal as send_signal
from tle_raw.frontends.distributed.traced_call import calls_nvshmem, checked_context, has_nodes
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.frontends.lite.kernel_function import kernel_function
from tle_raw.frontends.lite.traced_call import call_kernel_function

_SHORTEST = 64  # bytes of a row that a piece of its own is worth


@kernel_function
def put(
    pointer: Any,
    value: Any,
    peer: Any,
    context: Any,
    mask: Any = None,
    signal: Any = None,
    signal_value: Any = 1,
    signal_op: Any = "add",
    _semantic: Any = None,
    _generator: Any = None,
) -> None:
    """Store a tile where a peer has what ``pointer`` points to here, and tell the peer, if it is to know.

    Parameters
    ----------
    pointer : a pointer, or a tensor of pointers, into this device's tensors of the context.
    value : what is stored, as in ``tl.store``; ``mask`` too.
    peer : the other device's number in the context.
    context : the kernel's argument that came from ``tle_raw.distributed.context``.
    signal : the slot of the peer's that is changed when all threads of the program have stored; None is no signal.
    signal_value, signal_op : as ``value`` and ``op`` of ``tle.signal``.

    Raises
    ------
    ArgumentTypeError : what is no pointer, no context or no integer.
    """
    if calls_nvshmem(context, _generator):
        _check_pointer("put", pointer)
        number = peer_number("put", "peer", peer, None, _semantic, _generator)
        given = _fitting(value, pointer.dtype.element_ty, pointer, _semantic)
        arguments = (pointer, given, _mask(mask, pointer, _semantic), number, context, *_rows(pointer))
        call_kernel_function(put_tile, *arguments, semantic=_semantic, generator=_generator)
    else:
        there = _there(pointer, peer, context, _semantic, _generator)
        tl.store(there, value, mask=mask, _semantic=_semantic)
    if plain(signal) is not None:
        send_signal(context, peer, signal, signal_value, signal_op, _semantic=_semantic, _generator=_generator)


@kernel_function
def get(
    pointer: Any,
    peer: Any,
    context: Any,
    mask: Any = None,
    other: Any = None,
    _semantic: Any = None,
    _generator: Any = None,
) -> core.tensor:
    """The tile that a peer has where ``pointer`` points to here.

    Parameters
    ----------
    pointer : a pointer, or a tensor of pointers, into this device's tensors of the context.
    peer : the other device's number in the context.
    context : the kernel's argument that came from ``tle_raw.distributed.context``.
    mask, other : as in ``tl.load``.

    Raises
    ------
    ArgumentTypeError : what is no pointer, no context or no integer.
    """
    if not calls_nvshmem(context, _generator):
        there = _there(pointer, peer, context, _semantic, _generator)
        return tl.load(there, mask=mask, other=other, _semantic=_semantic)
    _check_pointer("get", pointer)
    number = peer_number("get", "peer", peer, None, _semantic, _generator)
    missing = _fitting(0 if plain(other) is None else other, pointer.dtype.element_ty, pointer, _semantic)
    arguments = (pointer, _mask(mask, pointer, _semantic), missing, number, context, *_rows(pointer))
    return call_kernel_function(get_tile, *arguments, semantic=_semantic, generator=_generator)


def _there(pointer: Any, peer: Any, context: Any, semantic: Any, generator: Any) -> core.tensor:
    """The same place of a peer that shares memory with this device, as those of simulated nodes do, too."""
    if not has_nodes(context):
        return device_remote(pointer, peer, context, {}, semantic, generator)
    _check_pointer("put", pointer)
    number = peer_number("put", "peer", peer, None, semantic, generator)
    return pointer_of_peer(pointer, number, checked_context("put", context), semantic, generator)


def _rows(pointer: core.tensor) -> tuple[int, int]:
    """How many rows a tile has that may be sent whole, and how long they are; zeros where they are too short for it."""
    if not pointer.type.is_block():
        return 0, 0
    *outer, columns = (int(plain(size)) for size in pointer.shape)
    bits = max(pointer.dtype.element_ty.primitive_bitwidth, 8)
    return (prod(outer), columns) if columns * bits // 8 >= _SHORTEST else (0, 0)


def _check_pointer(function: str, pointer: Any) -> None:
    if not (isinstance(pointer, core.tensor) and pointer.dtype.is_ptr()):
        raise ArgumentTypeError(
            f"tle.{function}: of another device's memory there are pointers",
            table=[Row("pointer", "a pointer, or a tensor of pointers, into the context's tensors",
                       describe_value(pointer))],
        )  # fmt: skip


def _fitting(value: Any, dtype: core.dtype, pointer: core.tensor, semantic: Any) -> core.tensor:
    given = semantic.cast(semantic.to_tensor(plain(value)), dtype)
    return semantic.broadcast_impl_shape(given, pointer.shape) if pointer.type.is_block() else given


def _mask(mask: Any, pointer: core.tensor, semantic: Any) -> core.tensor:
    return _fitting(True if plain(mask) is None else mask, core.int1, pointer, semantic)
