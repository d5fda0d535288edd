"""``"try_cancel"`` of the tile scheduler: a program takes over the work of one that has not begun.

On sm_100 ``clusterlaunchcontrol.try_cancel`` asks the GPU for such a program: its number is written into shared memory,
counted by a barrier. Where none is left the answer says so, and from then on nobody may ask again. Elsewhere no program
is ever taken over, which the instruction may answer as well: each program has its own tile.
"""

from __future__ import annotations

from typing import Any

from triton.language import core

from tle_raw.frontends.gpu import alloc as buffers
from tle_raw.frontends.gpu import barriers, operations
from tle_raw.frontends.gpu.barrier_value import barrier
from tle_raw.frontends.gpu.buffered_tensor import BufferType
from tle_raw.frontends.gpu.capability import BLACKWELL, capability_of
from tle_raw.frontends.gpu.layouts.swizzled import swizzled_shared_layout
from tle_raw.frontends.gpu.operations import perform
from tle_raw.frontends.gpu.storage_kind import smem
from tle_raw.regions.stages import compiled_target

# One thread of all that come here asks: the one that finds the turn's ticket, and makes the next one's of it. What
# threads read of the answer before is over for the engine that writes the next one.
_ASK = (
    "{ .reg .pred p, q; .reg .b32 found; mov.u32 found, 0; bar.warp.sync -1; elect.sync _|p, -1; "
    "fence.proxy.async.shared::cta; @p atom.shared::cta.cas.b32 found, [$2], $4, $5; setp.eq.and.u32 q, found, $4, p; "
    "@q mbarrier.arrive.expect_tx.shared::cta.b64 _, [$3], 16; "
    "@q clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [$1], [$3]; "
    "mov.u32 $0, 0; }"
)
_ANSWER = (
    "{ .reg .pred p; .reg .b64 low, high; .reg .b128 answer; ld.shared::cta.v2.b64 {low, high}, [$1]; "
    "mov.b128 answer, {low, high}; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, answer; mov.u32 $0, $2; "
    "@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 $0, answer; fence.proxy.async.shared::cta; }"
)
_WORDS = 4  # of an answer


def takes_over(semantic: Any, generator: Any) -> bool:
    """Whether programs of the kernel that is traced can be taken over."""
    return generator is not None and compiled_target() == "cuda" and capability_of(semantic) >= BLACKWELL.start


def answers(semantic: Any, generator: Any) -> tuple[Any, Any, Any]:
    """Memory for the answers, the ticket of the turn that may ask, and the barrier that an answer completes."""
    traced = {"_semantic": semantic, "_generator": generator}
    answer = buffers.alloc([_WORDS], core.int32, nv_mma_shared_layout=False, **traced)
    ticket = buffers.alloc([1], core.int32, nv_mma_shared_layout=False, init_value=0, **traced)
    return answer, ticket, barriers.alloc_barrier(1, **traced)


def taken_over(parts: tuple[Any, Any, Any], turn: core.tensor, end: core.tensor, semantic: Any, generator: Any) -> Any:
    """The number of a program that this one takes over; ``end`` where there is none."""
    answer, ticket, done = parts
    at, mark, bar = (_address(each, semantic, generator) for each in (answer, ticket, done))
    semantic.debug_barrier()  # all have read the answer of before
    following = semantic.add(turn, semantic.to_tensor(1), False)
    _assembly(_ASK, "=r,r,r,r,r,r", [at, mark, bar, turn, following], semantic)
    barriers.barrier_wait(done, turn, _semantic=semantic, _generator=generator)
    return _assembly(_ANSWER, "=r,r,r", [at, end], semantic)


def _assembly(text: str, constraints: str, values: list[core.tensor], semantic: Any) -> core.tensor:
    return core.inline_asm_elementwise(
        core.constexpr(text), core.constexpr(constraints), values, core.int32, False, 1, _semantic=semantic
    )


def _address(value: Any, semantic: Any, generator: Any) -> core.tensor:
    """Of a buffer's or a barrier's memory, in shared memory."""
    type_ = value.type
    if isinstance(value, barrier):
        layout = swizzled_shared_layout.make_default(1)
        type_ = BufferType(core.int64, (1,), (1,), (1,), layout, smem.name, generator.context)
    handle = perform(operations.LOCAL_TOLD, semantic, generator, type_, value.handle, operations.ADDRESS)
    return semantic.cast(core.tensor(handle, core.int64), core.int32)
