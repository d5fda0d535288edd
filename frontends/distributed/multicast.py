"""``tle.sum_of_all`` and ``tle.store_to_all``: one place in all devices' memory at once.

Where the context has an address of NVLink's multicast (``context(..., multicast=True)``), the switch adds or copies
(``multimem``, from sm_90 on); elsewhere the devices are read or written one after the other.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.language import core

from tle_raw.errors import ArgumentTypeError, Row
from tle_raw.frontends.distributed import context_layout as layout
from tle_raw.frontends.distributed.device_memory import peer_pointer, rank_of, region_of, world_of
from tle_raw.frontends.distributed.traced_call import checked_context
from tle_raw.frontends.gpu.capability import capability_of
from tle_raw.frontends.lite.arguments import describe_value, plain
from tle_raw.frontends.lite.kernel_function import kernel_function
from tle_raw.frontends.lite.traced_call import call_kernel_function
from tle_raw.regions.stages import compiled_target

_MULTICAST = tl.constexpr(layout.MULTICAST)
_OLDEST = 90  # sm_90


@kernel_function
def sum_of_all(pointer: Any, context: Any, mask: Any = None, _semantic: Any = None, _generator: Any = None) -> Any:
    """The sum of what all devices have where ``pointer`` points to here, in f32.

    Behind a barrier of all devices; one comes after it, before they write there again.

    Parameters
    ----------
    pointer : a tensor of pointers to f32, into this device's tensors of the context.
    context : the kernel's argument that came from ``tle_raw.distributed.context``.
    mask : elements that are left out are 0.

    Raises
    ------
    ArgumentTypeError : other pointers, no context.
    """
    pointer, mask = _checked("sum_of_all", pointer, mask, _semantic)
    arguments = (pointer, checked_context("sum_of_all", context), mask, _has_multicast(_semantic))
    return call_kernel_function(_sum_of_all, *arguments, semantic=_semantic, generator=_generator)


@kernel_function
def store_to_all(
    pointer: Any, value: Any, context: Any, mask: Any = None, _semantic: Any = None, _generator: Any = None
) -> None:
    """Store a tile of f32 where ``pointer`` points to here, on all devices.

    Parameters
    ----------
    pointer : a tensor of pointers to f32, into this device's tensors of the context.
    value : what is stored; ``mask`` as in ``tl.store``.
    context : the kernel's argument that came from ``tle_raw.distributed.context``.

    Raises
    ------
    ArgumentTypeError : other pointers, no context.
    """
    pointer, mask = _checked("store_to_all", pointer, mask, _semantic)
    stored = _semantic.cast(_semantic.to_tensor(plain(value)), core.float32)
    value = _semantic.broadcast_impl_shape(stored, pointer.shape)
    arguments = (pointer, value, checked_context("store_to_all", context), mask, _has_multicast(_semantic))
    call_kernel_function(_store_to_all, *arguments, semantic=_semantic, generator=_generator)


def _checked(name: str, pointer: Any, mask: Any, semantic: Any) -> tuple[core.tensor, core.tensor]:
    is_tile = isinstance(pointer, core.tensor) and pointer.type.is_block()
    if not is_tile or pointer.dtype != core.pointer_type(core.float32):
        raise ArgumentTypeError(
            f"tle.{name} takes tiles of f32",
            table=[Row("pointer", "a tensor of pointers to f32", describe_value(pointer))],
        )
    given = semantic.to_tensor(True if plain(mask) is None else plain(mask))
    return pointer, semantic.broadcast_impl_shape(semantic.cast(given, core.int1), pointer.shape)


def _has_multicast(semantic: Any) -> bool:
    """Whether the target has the instructions."""
    return compiled_target() == "cuda" and capability_of(semantic) >= _OLDEST


@triton.jit
def _at_all(pointer, context):  # type: ignore[no-untyped-def]
    return pointer.to(tl.int64) - region_of(context, rank_of(context)) + tl.load(context + _MULTICAST)


@triton.jit  # type: ignore[untyped-decorator]
def _sum_of_all(pointer, context, mask, can: tl.constexpr):  # type: ignore[no-untyped-def]
    total = tl.zeros(pointer.shape, tl.float32)
    one_by_one = True
    if can:
        one_by_one = tl.load(context + _MULTICAST) == 0
        if not one_by_one:
            total = tl.inline_asm_elementwise(
                "{ .reg .pred p; setp.ne.b32 p, $2, 0; mov.b32 $0, 0;"
                " @p multimem.ld_reduce.relaxed.sys.global.add.f32 $0, [$1]; }",
                "=&f,l,r",
                [_at_all(pointer, context), mask.to(tl.int32)],
                dtype=tl.float32,
                is_pure=False,
                pack=1,
            )
    if one_by_one:
        for peer in range(world_of(context)):
            total += tl.load(peer_pointer(pointer, peer, context), mask=mask, other=0.0)
    return total


@triton.jit  # type: ignore[untyped-decorator]
def _store_to_all(pointer, value, context, mask, can: tl.constexpr):  # type: ignore[no-untyped-def]
    one_by_one = True
    if can:
        one_by_one = tl.load(context + _MULTICAST) == 0
        if not one_by_one:
            tl.inline_asm_elementwise(
                "{ .reg .pred p; setp.ne.b32 p, $3, 0; mov.b32 $0, 0;"
                " @p multimem.st.relaxed.sys.global.f32 [$1], $2; }",
                "=&r,l,f,r",
                [_at_all(pointer, context), value, mask.to(tl.int32)],
                dtype=tl.int32,
                is_pure=False,
                pack=1,
            )
    if one_by_one:
        for peer in range(world_of(context)):
            tl.store(peer_pointer(pointer, peer, context), value, mask=mask)
