"""Memory of every member of a context, as each of them reaches it: four ways to get it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tle_raw.distributed import nvshmem_host
from tle_raw.distributed.driver import Device
from tle_raw.distributed.exchange import Exchange, TorchExchange


@dataclass
class Region:
    """A member's own memory and the addresses of all members' memory, as its device reaches them.

    ``multicast`` is an address that stands for all of them at once; 0 is none. A member that no pointer reaches has the
    address 0. ``close`` gives all back; no kernel of any member may use them any more.
    """

    device: Device
    heaps: list[int]
    rank: int
    multicast: int = 0
    opened: list[int] = field(default_factory=list)
    owner: Any = None  # what keeps the memory alive; without one it was allocated here
    free_together: Callable[[int], None] | None = None  # gives the own memory back where all members do so at once

    @property
    def own(self) -> int:
        return self.heaps[self.rank]

    def close(self, alone: bool = False) -> None:
        """Give all back; ``alone`` what the other members need not give back at the same time: they may be gone."""
        for address in self.opened:
            self.device.close(address)
        if self.free_together is not None and not alone:
            self.free_together(self.own)
        elif self.owner is None and self.free_together is None:
            self.device.free(self.own)
        self.opened, self.owner = [], None


def open_from_processes(size: int, device: Device, exchange: Exchange) -> Region:
    """Each process allocates, and opens what the others have allocated, by CUDA's inter-process handles."""
    own = device.allocate(size)
    handles = exchange.all_gather(device.export(own))
    others = {rank: device.open(handle) for rank, handle in enumerate(handles) if rank != exchange.rank}
    heaps = [own if rank == exchange.rank else others[rank] for rank in range(exchange.world)]
    return Region(device, heaps, exchange.rank, opened=list(others.values()))


def open_by_torch(size: int, device: Device, exchange: TorchExchange, multicast: bool) -> Region:
    """torch's symmetric memory. NVLink's multicast is switched off in torch unless it is asked for."""
    if not multicast:
        os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
    import torch
    import torch.distributed as dist
    import torch.distributed._symmetric_memory as symmetric_memory

    group = exchange.group if exchange.group is not None else dist.group.WORLD
    memory = symmetric_memory.empty(size, dtype=torch.uint8, device=torch.device("cuda", device.number))
    handle = symmetric_memory.rendezvous(memory, group=group.group_name)
    memory.zero_()
    torch.cuda.synchronize(device.number)
    offset = memory.data_ptr() - int(handle.buffer_ptrs[exchange.rank])
    heaps = [int(address) + offset for address in handle.buffer_ptrs]
    of_all = int(getattr(handle, "multicast_ptr", 0) or 0) if multicast else 0
    return Region(device, heaps, exchange.rank, of_all + offset if of_all else 0, owner=(memory, handle))


def open_by_nvshmem(size: int, device: Device, exchange: Exchange) -> Region:
    """NVSHMEM's symmetric heap, whose memory kernels reach on other hosts, too: by its device library.

    Raises
    ------
    ToolchainError, ContextError : NVSHMEM is not there, does not start, or has no memory left.
    """
    with device.current():
        nvshmem_host.start(exchange, 2 * size + (64 << 20))
        own = nvshmem_host.allocate(size)
        device.clear(own, size)
        nvshmem_host.meet()
        heaps = [own if r == exchange.rank else nvshmem_host.address_on(own, r) for r in range(exchange.world)]

    def free(address: int) -> None:
        with device.current():
            nvshmem_host.free(address)

    return Region(device, heaps, exchange.rank, free_together=free)


def open_in_process(size: int, devices: Sequence[Device]) -> list[Region]:
    """One process drives all devices, which use each other's memory directly."""
    for device in devices:
        for other in devices:
            if other.number != device.number:
                device.reach(other)
    heaps = [device.allocate(size) for device in devices]
    return [Region(device, list(heaps), rank) for rank, device in enumerate(devices)]
