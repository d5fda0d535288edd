"""What two GPUs do together, for members that are in one process or in two: each case takes this process's members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from tests.frontends.distributed import meeting_kernels as kernels
from tle_raw.distributed import Context, device_mesh
from tle_raw.distributed.collectives import Collectives
from tle_raw.errors import MeshError, PeerError

MESH = device_mesh({"device": 2})
SIZES = ((1, "float32"), (777, "bfloat16"), (1 << 20, "float16"), (1_500_001, "float32"))
Members = Sequence[Context]


def launch(
    members: Members, kernel: Any, grid: int, arguments: Callable[[int], tuple[Any, ...]], **options: Any
) -> None:
    """On all members, which have the kernel loaded before the first of them runs it."""
    for context in members:
        context.load(kernel, context, *arguments(context.rank), grid=(grid,), **options)
    for context in members:
        with torch.cuda.device(context.device):
            kernel[(grid,)](context, *arguments(context.rank), **options)


def by_rank(members: Members, make: Callable[[Context], Any]) -> dict[int, Any]:
    return {context.rank: make(context) for context in members}


def wait(members: Members) -> None:
    for context in members:
        context.check()


def many_rounds(members: Members) -> None:
    """Every block meets its like on the other GPU 40 times in a launch, and sees what was written each time."""
    mesh, n, block = device_mesh({"device": [("x", 2), ("y", 1)]}), 130_001, 1024
    x = by_rank(members, lambda c: c.empty(n, torch.int32))
    out = by_rank(members, lambda c: torch.full((n,), -1, dtype=torch.int32, device=c.device))
    grid = -(-n // block)
    for _ in range(3):
        launch(members, kernels.add_in_rounds, grid, lambda r: (x[r], out[r], n, 40, mesh, 2, 1, block), num_warps=8)
        wait(members)
        for rank, found in out.items():
            assert not found.any(), f"rank {rank}: {int((found != 0).sum())} of {n} elements were wrong"
            found.fill_(-1)


def ring(members: Members) -> None:
    n, block, rounds = 20_000, 512, 31
    x = by_rank(members, lambda c: c.empty(2 * n, torch.int32))
    start = by_rank(members, lambda c: torch.arange(n, dtype=torch.int32, device=c.device) * (c.rank + 1))
    out = {rank: tensor.clone() for rank, tensor in start.items()}
    grid = -(-n // block)
    launch(members, kernels.pass_round, grid, lambda r: (x[r], out[r], n, rounds, 2, MESH, block))
    wait(members)
    for rank, found in out.items():
        expected = torch.arange(n, dtype=torch.int32) * ((rank - rounds) % 2 + 1) + rounds
        assert torch.equal(found.cpu(), expected)


def signals_that_are_set(members: Members) -> None:
    n = 1000
    x = by_rank(members, lambda c: c.empty(1024, torch.float32))
    out = by_rank(members, lambda c: torch.zeros(1024, device=c.device))
    for context in members:
        if context.rank == 0:
            context.load(kernels.say_that_it_is_there, context, x[0], n, 2, 1024, grid=(1,))
            with torch.cuda.device(context.device):
                kernels.say_that_it_is_there[(1,)](context, x[0], n, 2, 1024)
    launch(members, kernels.take_from_first, 1, lambda r: (x[r], out[r], n, 1024))
    wait(members)
    i = torch.arange(1024)
    for found in out.values():
        assert torch.equal(found.cpu(), torch.where(i < n, i * 0.5, -1.0))


def _values(rank: int, n: int, dtype: torch.dtype, turn: int) -> torch.Tensor:
    return torch.randn(n, generator=torch.Generator().manual_seed(100 * turn + rank)).to(dtype)


def _run(members: Members, all_of: dict[int, Collectives], call: Callable[[int], Any]) -> None:
    for only_load in (True, False):
        for context in members:
            all_of[context.rank].only_load = only_load
            call(context.rank)


def _plain_empty(context: Context, n: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(n, dtype=dtype, device=context.device)


def _close(found: torch.Tensor, expected: torch.Tensor, dtype: torch.dtype) -> None:
    tolerance = {torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}[dtype]
    torch.testing.assert_close(found.cpu().double(), expected, rtol=tolerance, atol=tolerance)


def collectives(members: Members, sizes: Sequence[tuple[int, str]] = SIZES) -> None:
    """All operations, all ways, against float64; all members have the same bits of a sum."""
    for limits in ({"tiny": 0, "small": 0}, {"tiny": 0, "small": 1 << 20}, {"tiny": 1 << 18, "small": 0}):
        _collectives(members, by_rank(members, lambda c, limits=limits: Collectives(c, **limits)), sizes)
        for context in members:
            context.reset()


def _collectives(members: Members, of: dict[int, Collectives], sizes: Sequence[tuple[int, str]]) -> None:
    for turn, (n, name) in enumerate(sizes):
        dtype = getattr(torch, name)
        values = [_values(rank, 2 * n, dtype, turn) for rank in range(2)]
        total = values[0].double() + values[1].double()
        x, out = (by_rank(members, lambda c, n=n, dtype=dtype: c.empty(2 * n, dtype)) for _ in range(2))
        # What lies in the context is read by the others, what does not is written to them.
        make = Context.empty if turn % 2 else _plain_empty
        share = by_rank(members, lambda c, n=n, dtype=dtype, make=make: make(c, n, dtype))
        for rank in x:
            x[rank].copy_(values[rank])
        _run(members, of, lambda r, x=x, out=out: of[r].all_reduce(x[r], out[r]))
        wait(members)
        for found in out.values():
            _close(found, total, dtype)
        _run(members, of, lambda r, x=x, share=share: of[r].reduce_scatter(x[r], share[r]))
        wait(members)
        for rank, found in share.items():
            _close(found, total[rank * n : (rank + 1) * n], dtype)
        _run(members, of, lambda r, share=share, out=out: of[r].all_gather(share[r], out[r]))
        wait(members)
        for found in out.values():
            _close(found, total, dtype)
        _run(members, of, lambda r, x=x: of[r].all_reduce(x[r]))
        wait(members)
        for rank, found in x.items():
            _close(found, total, dtype)
            assert torch.equal(found, out[rank]), "the members have other bits"


def two_steps_again_and_again(members: Members) -> None:
    """The sum in two steps in f32, filled anew 20 times without the host between: exact each time.

    A probe once found 1.2e-4 off: a launch of its own without barriers, for loading, wrote into a peer that had
    filled its tensor already. Here the kernel that fills runs before the barrier that begins each sum.
    """
    n = 4_000_000
    of = by_rank(members, lambda c: Collectives(c, tiny=0, small=0))
    values = [_values(rank, n, torch.float32, 9) for rank in range(2)]
    source = by_rank(members, lambda c: values[c.rank].to(c.device))
    x = by_rank(members, lambda c: c.empty(n, torch.float32))
    kept = by_rank(members, lambda c: torch.empty(20, dtype=torch.float64, device=c.device))
    expected = values[0] + values[1]
    right = {rank: expected.to(t.device) for rank, t in source.items()}
    _run(members, of, lambda r: of[r].all_reduce(x[r]))
    for turn in range(20):
        for rank in x:
            x[rank].copy_(source[rank])
        for rank in x:  # on all of this process, before anything that may wait for one of them, as an allocation does
            of[rank].all_reduce(x[rank])
        for rank in x:
            kept[rank][turn] = (x[rank] - right[rank]).abs().max()
    wait(members)
    for found in kept.values():
        assert not found.any(), found.tolist()


def nobody_comes_to_a_barrier(members: Members, alone: int) -> None:
    """The kernel ends, its error names who waited for whom and where, and later launches are refused."""
    for context in members:
        if context.rank == alone:
            context.time_limit = 0.3
            with torch.cuda.device(context.device):
                kernels.only_meet[(40,)](context, MESH)
            with pytest.raises(PeerError, match=f"device {1 - alone}, which did not come") as caught:
                context.check()
            assert (caught.value.rank, caught.value.awaited) == (alone, 1 - alone)
            assert caught.value.place.startswith("only_meet:")
            with pytest.raises(PeerError):
                kernels.only_meet[(1,)](context, MESH)


def nobody_signals(members: Members) -> None:
    for context in members:
        context.time_limit = 0.3
        with torch.cuda.device(context.device):
            kernels.only_wait[(3,)](context, 17, 1)
        with pytest.raises(PeerError, match="waited for signal 17"):
            context.check()


def another_mesh(members: Members) -> None:
    """A mesh among the arguments is looked at before the launch; of a constant of the kernel's it is a fault."""
    for context in members:
        with torch.cuda.device(context.device):
            with pytest.raises(MeshError, match="mesh has other devices"):
                kernels.only_meet[(1,)](context, device_mesh({"device": 4}))
            context.check()
            kernels.meet_as_four[(1,)](context)
        with pytest.raises(PeerError, match="mesh has other devices"):
            context.check()
