"""The methods of buffers and barriers: functions on them, as Triton gives its own to tensors."""

from __future__ import annotations

from tle_raw.frontends.gpu import barriers, content, views
from tle_raw.frontends.gpu.barrier_value import barrier
from tle_raw.frontends.gpu.buffered_tensor import buffered_tensor
from tle_raw.frontends.gpu.gpu_function import gpu_function

BODIES = (
    *(views.slot, views.subslice, views.reshape, views.permute, views.trans),
    *(content.load, content.store, content.free),
)


def add_methods() -> None:
    """Give buffers and barriers theirs."""
    for body in BODIES:
        setattr(buffered_tensor, body.__name__, gpu_function(body))
    buffered_tensor.__getitem__ = buffered_tensor.slot
    barrier.slot = gpu_function(barriers.slot)
    barrier.__getitem__ = barrier.slot
