"""The methods of buffers and barriers: functions on them, as Triton gives its own to tensors."""

from __future__ import annotations

from tle_raw.frontends.gpu import barriers, views
from tle_raw.frontends.gpu.barrier_value import barrier
from tle_raw.frontends.gpu.buffered_tensor import buffered_tensor
from tle_raw.frontends.gpu.gpu_function import gpu_function

METHODS = ("slot", "subslice", "reshape", "permute", "trans", "load", "store", "free")


def add_methods() -> None:
    """Give buffers and barriers theirs."""
    for name in METHODS:
        setattr(buffered_tensor, name, gpu_function(getattr(views, name)))
    buffered_tensor.__getitem__ = buffered_tensor.slot
    barrier.slot = gpu_function(barriers.slot)
    barrier.__getitem__ = barrier.slot
