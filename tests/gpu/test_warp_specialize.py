"""Specialised warps: products, rings between partitions, partitions at paces of their own, against float64.

A kernel that hangs would hold the GPU for ever: after five minutes of one test the process ends (``hang_guard``).
"""

from __future__ import annotations

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.frontends.gpu import partition_kernels as kernels
from tests.frontends.gpu import scheduler_kernels, three_warps_kernels
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU, TIMES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("hang_guard"),
    pytest.mark.skipif(ON_CPU, reason="specialised warps are for GPUs"),
    pytest.mark.skipif(not HOPPER, reason="the kernels use the copy engine and wgmma: sm_90"),
]


def close(got, expected, share=1e-4):
    scale = expected.abs().max().item() if expected.numel() else 0.0
    difference = (got.double() - expected).abs().max().item() if expected.numel() else 0.0
    assert COMPILE_ONLY or difference <= share * scale, difference


@pytest.mark.parametrize("producers", [1, 2, 4])
@pytest.mark.parametrize("ahead", [0, 1])
@pytest.mark.parametrize("warps", [4, 8])
def test_a_gemm_whose_copies_have_warps_of_their_own(warps, ahead, producers):
    for k in (0, 1, 2, 3, 4, 33):
        a = torch.randn(256, max(k, 1) * 64, device=DEVICE).to(torch.bfloat16)
        b = torch.randn(384, max(k, 1) * 64, device=DEVICE).to(torch.bfloat16)
        c = torch.full((256, 384), float("nan"), device=DEVICE)
        tiles = TensorDescriptor.from_tensor(a, [128, 64]), TensorDescriptor.from_tensor(b, [128, 64])
        kernels.gemm[(2, 3)](*tiles, c, k, 128, 128, 64, 3, ahead, producers, num_warps=warps)
        close(c, a.double() @ b.double().T if k else torch.zeros_like(c).double())


def expected_ring(x, n, block):
    rows = torch.zeros(n * block, dtype=torch.float64, device=x.device)
    rows[: min(x.numel(), n * block)] = x.double()[: n * block]
    rows = rows.view(n, block)
    return rows - rows.amax(1, keepdim=True) if n else rows


def expected_sums(x, n):
    total = x.sum()
    for _ in range(n):
        x = x + x.sum() * 0.00001
    return torch.cat([x, total[None]])


@pytest.mark.parametrize("how", ["store", "copy", "point"])
@pytest.mark.parametrize("workers", [(1, 1), (1, 8), (2, 4), (4, 2), (8, 1)])
def test_rows_through_a_ring_of_two_workers(workers, how):
    block = 512
    for n, cut in ((0, 0), (1, 0), (2, 5), (7, 1), (50, 511)):
        x = torch.randn(max(n, 1) * block - cut, device=DEVICE)
        if x.numel() < block:
            x = torch.cat([x, torch.zeros(block - x.numel(), device=DEVICE)])
        o = torch.full((max(n, 1) * block,), float("nan"), device=DEVICE)
        y = torch.full((block + 1,), float("nan"), device=DEVICE)
        kernels.through_ring[(1,)](x, o, y, n, x.numel(), block, 3, *workers, how, num_warps=4)
        close(o[: n * block].view(n, block), expected_ring(x, n, block), 1e-6)
        close(y, expected_sums(x.double()[:block], n), 1e-3)


@pytest.mark.parametrize("producers", [1, 2, 4, 8])
def test_what_threads_of_one_partition_store_tensor_cores_of_another_read(producers):
    for k in (1, 2, 5, 40):
        a, b = (torch.randn(128, k * 64, device=DEVICE).to(torch.float16) for _ in range(2))
        for _ in range(10):
            c = torch.full((128, 128), float("nan"), device=DEVICE)
            kernels.multiply_stored[(1,)](a, b, c, k, 128, 64, 2, producers, num_warps=4)
            close(c, a.double() @ b.double().T)


@pytest.mark.parametrize("warps", [4, 8])
def test_partitions_meet_among_themselves(warps):
    """Barriers of one partition count its warps alone: at other paces they would never be complete."""
    x = torch.randn(256, device=DEVICE)
    for n, times in ((0, 1), (1, 3), (50, 2), (333, 5)):
        o = torch.full((times, 4), float("nan"), device=DEVICE)
        kernels.paces[(1,)](x, o, n, times, num_warps=warps)
        sums = [x.double().repeat(5)[:count].sum() for count in (n, 3 * n, n + 1, 2 * n)]
        close(o, torch.stack(sums).expand(times, 4), 1e-3)


def test_partitions_of_several_sizes_meet_at_one_barrier():
    for n in (1, 2, 777):
        o = torch.zeros(n, dtype=torch.int32, device=DEVICE)
        kernels.met_by_all[(1,)](o, n, num_warps=4)
        assert COMPILE_ONLY or (o == 3).all()
    o = torch.zeros(6, dtype=torch.int32, device=DEVICE)
    kernels.met_before[(1,)](o, 5, num_warps=4)
    assert COMPILE_ONLY or o.tolist() == [0, 0, 0, 0, 0, 2]


@pytest.mark.parametrize("kind", ["static", "dynamic"])
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_tiles_that_one_partition_fetches(slots, kind):
    for programs, total in ((1, 5), (132, 1), (132, 5000), (500, 499), (3, 0)):
        o = torch.zeros(total + 1, dtype=torch.int32, device=DEVICE)
        counter = torch.zeros(1, dtype=torch.int32, device=DEVICE)
        for launch in range(1, 4):
            scheduler_kernels.counted_twice[(programs,)](o, counter, total, kind, slots, num_warps=4)
            assert COMPILE_ONLY or ((o[:total] == 2 * launch).all() and counter.item() == 0 == o[total].item())


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_partitions_that_take_turns_at_named_barriers(warps):
    for n in (0, 1, 2, 1001):
        o = torch.zeros(1, dtype=torch.int32, device=DEVICE)
        kernels.in_turns[(1,)](o, n, warps, num_warps=4)
        expected = 0
        for _ in range(n):
            expected = ((expected * 3 + 1) * 3 + 2) % 2**32
        assert COMPILE_ONLY or o.item() % 2**32 == expected


def test_thousands_of_launches_of_all_sizes():
    """No hang, and the same bits each time a size comes again."""
    generator = torch.Generator().manual_seed(0)
    seen = {}
    a = torch.randn(128, 40 * 64, device=DEVICE).to(torch.bfloat16)
    b = torch.randn(128, 40 * 64, device=DEVICE).to(torch.bfloat16)
    tiles = TensorDescriptor.from_tensor(a, [128, 64]), TensorDescriptor.from_tensor(b, [128, 64])
    for _ in range(TIMES):
        k = int(torch.randint(0, 41, (1,), generator=generator))
        c = torch.full((128, 128), float("nan"), device=DEVICE)
        kernels.gemm[(1, 1)](*tiles, c, k, 128, 128, 64, 3, 1, 1, num_warps=4)
        again = seen.setdefault(k, c)
        assert COMPILE_ONLY or torch.equal(again, c)
    for k, c in seen.items():
        close(c, a[:, : k * 64].double() @ b[:, : k * 64].double().T)


@pytest.mark.parametrize("warps", [1, 2, 3, 4, 8])
def test_a_fragment_has_the_threads_of_its_worker(warps):
    for _ in range(max(TIMES // 100, 1)):
        x, y = (torch.randn(5 * three_warps_kernels.SIZE, device=DEVICE) for _ in range(2))
        counts, others = (torch.zeros(2, dtype=torch.int32, device=DEVICE) for _ in range(2))
        wanted = three_warps_kernels.expected(x, 5), three_warps_kernels.expected(y, 5)
        constants = {"rows": 5, "B": three_warps_kernels.SIZE, "FRAGMENT": three_warps_kernels.turned, "WARPS": warps}
        three_warps_kernels.three[(1,)](x, y, counts, others, **constants, num_warps=4)
        close(x, wanted[0], 1e-6)
        close(y, wanted[1], 1e-6)
        assert COMPILE_ONLY or others.tolist() == [5 * 32 * warps, 32 * warps]


@pytest.mark.parametrize("warps", [2, 4])
def test_functions_that_share_the_launchs_warps_get_block_tensors(warps):
    x, o = torch.randn(1024, device=DEVICE), torch.full((1024,), float("nan"), device=DEVICE)
    kernels.shared_warps[(1,)](x, o, 3.0, 512, warps, num_warps=2 * warps)
    halves = x.double().view(2, 512)
    close(o.view(2, 512), halves * 3 - halves.flip(0).amax(1, keepdim=True), 1e-6)
