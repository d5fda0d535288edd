"""``tle.put`` and ``tle.get``: a tile to another device's memory, and from it."""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.language import core

from tle_raw.frontends.distributed.device_language import device_remote
from tle_raw.frontends.distributed.signals import signal as send_signal
from tle_raw.frontends.lite.arguments import plain
from tle_raw.frontends.lite.kernel_function import kernel_function


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
    there = device_remote(pointer, peer, context, {}, _semantic, _generator)
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
    there = device_remote(pointer, peer, context, {}, _semantic, _generator)
    return tl.load(there, mask=mask, other=other, _semantic=_semantic)
