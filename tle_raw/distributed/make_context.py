"""``tle_raw.distributed.context``: memory that GPUs share, of one host or of several, as one argument of a kernel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tle_raw.distributed.agreement import among_processes, within_process
from tle_raw.distributed.driver import Device
from tle_raw.distributed.exchange import Exchange, TorchExchange, exchange_of
from tle_raw.distributed.member import Context
from tle_raw.distributed.regions import Region, open_by_nvshmem, open_by_torch, open_from_processes, open_in_process
from tle_raw.errors import ContextError, Row
from tle_raw.fragments.nvshmem_library import set_up_modules
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
    nodes: int | None = None,
    stage_bytes: int = 1 << 14,
) -> Context:
    """This process's member of a context of one GPU in each of several processes. All of them call it.

    Parameters
    ----------
    group : a process group of ``torch.distributed``; None is the default one. Without torch a ``FileExchange``, or any
        object with ``rank``, ``world`` and ``all_gather(bytes) -> list[bytes]``.
    bytes : for tensors, on each GPU.
    device : its number in this process; None is torch's current one, or the rank without torch's groups.
    memory : ``"torch"`` is its symmetric memory, ``"ipc"`` are CUDA's inter-process handles, and ``"auto"`` is the
        first one for groups of torch. ``"nvshmem"`` is NVSHMEM's symmetric heap: kernels reach GPUs of the own node by
        pointers, and those of other nodes by NVSHMEM's device library.
    blocks : the most programs of a launch that meet programs of other GPUs.
    slots : signals for ``tle.signal``.
    time_limit : seconds after which a wait in a kernel ends in a PeerError; 0 is never.
    multicast : let torch map NVLink's multicast, where there is one.
    nodes : of ``"nvshmem"``, how many nodes the GPUs are of, the first ones of the first; None is as many as there are
        machines. A kernel's mesh has as many.
    stage_bytes : of ``"nvshmem"``, for each of the ``blocks``: rows of tiles that fit go to other nodes in one piece.

    Raises
    ------
    ContextError : sizes or releases that differ, GPUs of different machines, memory that cannot be reached or is used
        up, NVSHMEM that runs with other processes. ToolchainError : no driver, or no NVSHMEM.
    """
    exchange = exchange_of(group)
    kind = memory if memory != "auto" else "torch" if isinstance(exchange, TorchExchange) else "ipc"
    _check_memory(kind, exchange, multicast, nodes)
    agreement = among_processes(exchange)
    if kind == "nvshmem":
        nodes = _checked_nodes(nodes, exchange)
        layout = _layout(exchange.world, bytes, blocks, slots, nodes, stage_bytes if nodes > 1 else 0)
    else:
        layout = _layout(exchange.world, bytes, blocks, slots)
    agreement.agree("layout", json.dumps([context_layout.VERSION, vars(layout), kind, multicast]))
    own = Device(_device_number(device, exchange))
    if kind == "nvshmem":
        set_up_modules()
        region = open_by_nvshmem(layout.region_bytes, own, exchange)
        _check_node(region, layout)
        return Context(layout, region, agreement, time_limit)
    agreement.agree("machine", _machine())
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


def _layout(world: int, size: int, blocks: int, slots: int, nodes: int = 1, stage_bytes: int = 0) -> Layout:
    numbers = {"bytes": size, "blocks": blocks, "slots": slots}
    for name, value in numbers.items():
        if not isinstance(value, int) or value < 1:
            raise ContextError("a context's sizes are numbers", table=[Row(name, "1 or more", repr(value))])
    if world > MOST_MEMBERS:
        raise ContextError(
            "the group has too many members", table=[Row("members", f"{MOST_MEMBERS} at most", str(world))]
        )
    return Layout(world, size, blocks, slots, nodes, stage_bytes)


def _checked_nodes(nodes: int | None, exchange: Exchange) -> int:
    """How many nodes the processes run on; raises ContextError for such as are not alike, or not in order."""
    machines = exchange.all_gather(_machine().encode())
    each = exchange.world // len(set(machines))
    wanted = [machine for machine in dict.fromkeys(machines) for _ in range(each)]
    if nodes is None:
        if machines != wanted:
            counts = ", ".join(str(machines.count(machine)) for machine in dict.fromkeys(machines))
            raise ContextError(
                "nodes have as many processes each, numbered one node after the other",
                table=[Row("processes of a node", f"{each} on each, in order", counts)],
            )
        return len(set(machines))
    if not isinstance(nodes, int) or nodes < 1 or exchange.world % nodes:
        raise ContextError(
            "processes are divided among nodes",
            table=[Row("nodes", f"a number that divides {exchange.world}", repr(nodes))],
        )
    return nodes


def _check_node(region: Region, layout: Layout) -> None:
    """Devices of one node share memory; raises ContextError where no pointer leads."""
    size = layout.world // layout.nodes
    first = region.rank // size * size
    for rank in range(first, first + size):
        if not region.heaps[rank]:
            raise ContextError(
                f"no pointer leads from device {region.rank} to device {rank} of its node",
                table=[Row("nodes", "as many that devices of one share memory", str(layout.nodes))],
                hint="`nodes=` says how many there are; `nvidia-smi topo -p2p r` shows which GPUs share memory",
            )


def _check_memory(kind: str, exchange: Exchange, multicast: bool, nodes: int | None) -> None:
    if kind not in ("torch", "ipc", "nvshmem"):
        raise ContextError("unknown memory", table=[Row("memory", "auto, torch, ipc or nvshmem", kind)])
    if nodes not in (None, 1) and kind != "nvshmem":
        raise ContextError("several nodes are reached by NVSHMEM", table=[Row("memory", "nvshmem", kind)])
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
