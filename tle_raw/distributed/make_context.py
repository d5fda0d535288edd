"""``tle_raw.distributed.context``: memory that the GPUs of one host share, as one argument of a kernel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tle_raw.distributed.agreement import among_processes, within_process
from tle_raw.distributed.driver import Device
from tle_raw.distributed.exchange import Exchange, TorchExchange, exchange_of
from tle_raw.distributed.member import Context
from tle_raw.distributed.regions import open_by_torch, open_from_processes, open_in_process
from tle_raw.errors import ContextError, Row
from tle_raw.frontends.distributed import context_layout
from tle_raw.frontends.distributed.context_layout import MOST_MEMBERS, Layout


def context(
    group: Any = None,
    *,
    bytes: int,
    device: int | None = None,
    memory: str = "auto",
    blocks: int = 1024,
    slots: int = 1024,
    time_limit: float = 30.0,
    multicast: bool = False,
) -> Context:
    """This process's member of a context of one GPU in each of several processes. All of them call it.

    Parameters
    ----------
    group : a process group of ``torch.distributed``; None is the default one. Without torch a ``FileExchange``, or any
        object with ``rank``, ``world`` and ``all_gather(bytes) -> list[bytes]``.
    bytes : for tensors, on each GPU.
    device : its number in this process; None is torch's current one, or the rank without torch's groups.
    memory : ``"torch"`` is its symmetric memory, ``"ipc"`` are CUDA's inter-process handles, and ``"auto"`` is the
        first one for groups of torch.
    blocks : the most programs of a launch that meet programs of other GPUs.
    slots : signals for ``tle.signal``.
    time_limit : seconds after which a wait in a kernel ends in a PeerError; 0 is never.
    multicast : let torch map NVLink's multicast, where there is one.

    Raises
    ------
    ContextError : sizes or releases that differ, GPUs of different machines, memory that cannot be reached or is used
        up. ToolchainError : no driver.
    """
    exchange = exchange_of(group)
    layout = _layout(exchange.world, bytes, blocks, slots)
    kind = memory if memory != "auto" else "torch" if isinstance(exchange, TorchExchange) else "ipc"
    _check_memory(kind, exchange, multicast)
    agreement = among_processes(exchange)
    agreement.agree("layout", json.dumps([context_layout.VERSION, vars(layout), kind, multicast]))
    agreement.agree("machine", _machine())
    own = Device(_device_number(device, exchange))
    if kind == "torch":
        region = open_by_torch(layout.region_bytes, own, exchange, multicast)  # type: ignore[arg-type]
    else:
        region = open_from_processes(layout.region_bytes, own, exchange)
    return Context(layout, region, agreement, time_limit)


def contexts(
    devices: Sequence[int], *, bytes: int, blocks: int = 1024, slots: int = 1024, time_limit: float = 30.0
) -> list[Context]:
    """The members of a context of several GPUs that this one process drives, in the order of ``devices``.

    Each kernel is launched on all of them, one after the other, before any of them is waited for, also by an
    allocation or by loading code; ``Context.load`` is called for each before the first launch. The rest is as for
    ``context``.
    """
    if len(set(devices)) != len(devices) or not devices:
        raise ContextError(
            "a context has each GPU once", table=[Row("devices", "different numbers", str(list(devices)))]
        )
    layout = _layout(len(devices), bytes, blocks, slots)
    agreements = within_process(len(devices))
    regions = open_in_process(layout.region_bytes, [Device(number) for number in devices])
    return [Context(layout, *both, time_limit) for both in zip(regions, agreements, strict=True)]


def _layout(world: int, size: int, blocks: int, slots: int) -> Layout:
    numbers = {"bytes": size, "blocks": blocks, "slots": slots}
    for name, value in numbers.items():
        if not isinstance(value, int) or value < 1:
            raise ContextError("a context's sizes are numbers", table=[Row(name, "1 or more", repr(value))])
    if world > MOST_MEMBERS:
        raise ContextError(
            "the group has too many members", table=[Row("members", f"{MOST_MEMBERS} at most", str(world))]
        )
    return Layout(world, size, blocks, slots)


def _check_memory(kind: str, exchange: Exchange, multicast: bool) -> None:
    if kind not in ("torch", "ipc"):
        raise ContextError("unknown memory", table=[Row("memory", "auto, torch or ipc", kind)])
    if kind == "torch" and not isinstance(exchange, TorchExchange):
        raise ContextError(
            "torch's symmetric memory is for groups of torch",
            table=[Row("group", "a group of torch.distributed", type(exchange).__name__)],
        )
    if multicast and kind != "torch":
        raise ContextError("multicast is mapped by torch alone", table=[Row("memory", "torch", kind)])


def _machine() -> str:
    """What tells machines apart: the number of this start of the system."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _device_number(device: int | None, exchange: Exchange) -> int:
    if device is not None:
        return device
    if isinstance(exchange, TorchExchange):
        import torch

        return int(torch.cuda.current_device())
    return exchange.rank
