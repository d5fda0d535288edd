"""What two GPUs of two nodes do by NVSHMEM: each case takes this process's member of a context of two nodes."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
import torch

import tle_raw
from tests.frontends.distributed import node_kernels as kernels
from tle_raw.distributed import Context, device_mesh
from tle_raw.errors import ContextError, MeshError, PeerError

MESH = device_mesh({"node": 2, "device": 1})
ALONG = {"mesh": MESH, "AXIS": "node", "NODES": 2, "DEVICES": 1}
DTYPES = ("float32", "bfloat16", "float16", "int8", "int32", "int64", "float64", "bool")


def _values(rank: int, shape: tuple[int, ...], name: str) -> torch.Tensor:
    random = torch.randn(shape, generator=torch.Generator().manual_seed(rank)) * 50
    return (random > 0) if name == "bool" else random.to(getattr(torch, name))


def tiles(own: Context) -> None:
    """Tiles of every dtype, in rows that are sent whole (64 columns) and number by number (2 columns)."""
    by_number = ("float32", "float16", "int8", "int64", "bool")
    for rows, columns, stride, block in ((21, 37, 41, 64), (200, 64, 64, 64), (13, 2, 3, 2)):
        for name in by_number if block == 2 else DTYPES:
            own.reset()
            x, into = (own.empty((rows, stride), getattr(torch, name)) for _ in range(2))
            x.copy_(_values(own.rank, (rows, stride), name))
            into.zero_()
            got, back = (torch.zeros(rows, columns, dtype=x.dtype, device=x.device) for _ in range(2))
            own.meet()
            kernels.exchange[(-(-rows // 8),)](own, x, into, got, back, rows, columns, stride, **ALONG, M=8, N=block)
            own.check()
            theirs = _values(1 - own.rank, (rows, stride), name)[:, :columns]
            assert torch.equal(got.cpu(), theirs), f"{name}: what was put"
            assert torch.equal(back.cpu(), theirs), f"{name}: what was got"
            clear_signals(own, -(-rows // 8))


def clear_signals(own: Context, slots: int) -> None:
    own.meet()
    for slot in range(slots):
        kernels.set_own[(1,)](own, slot, 0)
    own.meet()


def scattered(own: Context) -> None:
    n = 100
    order = torch.randperm(n, generator=torch.Generator().manual_seed(7)).int().cuda()
    x, into = own.empty(n, torch.float32), own.empty(n, torch.float32)
    x.copy_(_values(own.rank, (n,), "float32"))
    own.meet()
    kernels.scatter[(1,)](own, x, into, order, n, **ALONG, N=128)
    own.check()
    assert torch.equal(into[order.long()].cpu(), _values(1 - own.rank, (n,), "float32"))


def many_rounds(own: Context) -> None:
    """40 times in a launch every block puts its part, meets, and sees what came."""
    n, block = 30_001, 512
    x, out = own.empty(4 * n, torch.int32), torch.full((n,), -1, dtype=torch.int32, device="cuda")
    for _ in range(3):
        kernels.rounds[(-(-n // block),)](own, x, out, n, 40, MESH, 2, N=block)
        own.check()
        assert not out.any(), f"{int((out != 0).sum())} of {n} were wrong"
        out.fill_(-1)


def barriers_along(own: Context) -> None:
    x, out = own.empty(1, torch.float32), torch.zeros(2, device="cuda")
    kernels.meet_along[(1,)](own, x, out, **ALONG)
    own.check()
    assert out.tolist() == [1 - own.rank, 101 - own.rank]


def pointers(own: Context) -> None:
    """GPUs of one host reach each other by pointers, though the context has two nodes."""
    x, out = own.empty(1, torch.float32), torch.zeros(1, device="cuda")
    x.fill_(7.0 + own.rank)
    kernels.reach[(1,)](own, x, out, 1 - own.rank, MESH)
    own.check()
    assert out.item() == 8 - own.rank


def other_nodes(own: Context) -> None:
    with pytest.raises(MeshError, match="other nodes"):
        kernels.only_meet[(1,)](own, device_mesh({"device": 2}))
    with pytest.raises(MeshError, match="other devices"):
        kernels.only_meet[(1,)](own, device_mesh({"node": 2, "device": 2}))


def nobody_comes(own: Context) -> None:
    """A wait for another node ends with an error, too; the context is of no use any more."""
    own.time_limit = 1.0
    own.meet()
    if own.rank == 0:
        kernels.only_meet[(1,)](own, MESH)
        with pytest.raises(PeerError, match="waited at a barrier for device 1"):
            own.check()
    else:
        time.sleep(3)
        print("nobody_comes: right", flush=True)
        os._exit(0)


def what_is_linked(own: Context) -> None:
    """The library's functions are in the kernel, and its report says so."""
    x, into = own.empty(64, torch.float32), own.empty(64, torch.float32)
    order = torch.arange(64, dtype=torch.int32, device="cuda")
    compiled = kernels.scatter[(1,)](own, x, into, order, 64, **ALONG, N=128)
    own.check()
    names = {name for region in tle_raw.report(compiled).regions for name in [region.name]}
    assert {"nvshmem_put", "nvshmem_quiet", "nvshmem_add"} <= names, names


def flagtree(own: Context) -> None:
    """FlagTree's ``library="nvshmem"``: a CUDA file that calls NVSHMEM sends this device's number to the next one."""
    from tests.compat.flagtree_shift import shift_kernel

    x = own.empty(2, torch.int32)
    x.fill_(-1)
    own.meet()
    shift_kernel[(1,)](x)
    own.meet()
    assert x.tolist() == [1 - own.rank, 2], x.tolist()


def another_group(exchange: Any, context: Any, device: int) -> None:
    """A context of one process, where NVSHMEM was started with two."""

    class Alone:
        rank, world = 0, 1

        def all_gather(self, data: bytes) -> list[bytes]:
            return [data]

    with pytest.raises(ContextError, match="NVSHMEM runs with other processes"):
        context(Alone(), bytes=1 << 20, device=device, memory="nvshmem")
