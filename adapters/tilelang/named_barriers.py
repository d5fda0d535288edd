"""The buffers of ``barriers=[…]``: a barrier of the Triton kernel takes the place of one of ``T.alloc_barrier``.

The region then neither makes it nor ends it: it waits for phases that others complete, and arrives for others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.tilelang.named_locals import named_local
from tle_raw.adapters.tilelang.program import Program, is_call
from tle_raw.adapters.tilelang.regions import constant
from tle_raw.adapters.tilelang.tir_types import Buffer
from tle_raw.errors import Row, SignatureError
from tle_raw.fragments.parameter_types import IN, INOUT

SCOPE = "shared.barrier"
WAIT, ARRIVE = "tl.mbarrier_wait_parity", "tirx.ptx_arrive_barrier"
_COUNTS = "barrier_init"


@dataclass(frozen=True)
class NamedBarrier:
    """``arrivals`` complete a phase; ``effect`` is ``In`` where the kernel only waits. Of several it is the first."""

    name: str
    buffer: Buffer
    arrivals: int
    effect: str


def find_named_barriers(program: Program, names: Sequence[str], several: bool = False) -> dict[str, NamedBarrier]:
    """The named barriers, as the kernel allocates them. ``several`` in one buffer, all alike, follow each other.

    Raises
    ------
    SignatureError : no such barrier, one name of two, or several in one buffer.
    """
    return {name: _find(program, name, several) for name in names}


def _find(program: Program, name: str, several: bool) -> NamedBarrier:
    hint = f"`{name} = T.alloc_barrier(1)` in the kernel allocates one"
    buffer = named_local(program, "barriers=", name, (SCOPE,), "barrier", hint)
    begun: dict[Any, Any] = dict(program.annotations.get(_COUNTS, {}))
    counts: Sequence[Any] = next((v for k, v in begun.items() if k.same_as(buffer.data)), ())
    number = constant(buffer.shape[0])
    alike = len({constant(count) for count in counts}) == 1 and len(buffer.shape) == 1 and len(counts) == number
    if not alike or (number != 1 and not several):
        raise SignatureError(
            f"`{name}` of barriers= is several barriers in one buffer",
            table=[Row(name, "one barrier", f"{buffer.shape[0]}")],
            hint="allocate each by itself: one parameter takes one barrier of the Triton kernel",
        )
    only_waits = all(is_call(call, WAIT) for call in _calls(program.body, buffer))
    return NamedBarrier(name, buffer, constant(counts[0]) or 0, IN if only_waits else INOUT)


def _calls(body: Any, barrier: Buffer) -> Iterator[Any]:
    """The calls that take the barrier."""
    from tvm.tirx.stmt_functor import post_order_visit

    found: list[Any] = []
    post_order_visit(body, lambda node: found.append(node) if type(node).__name__ == "Call" else None)
    for call in found:
        loads = [argument for argument in call.args if type(argument).__name__ == "BufferLoad"]
        if any(load.buffer.data.same_as(barrier.data) for load in loads):
            yield call
