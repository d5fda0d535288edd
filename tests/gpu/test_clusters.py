"""Blocks of a cluster in each other's shared memory, and barriers of clusters and grids, against torch."""

from __future__ import annotations

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw.language as tle
from tests.frontends.distributed import block_kernels as kernels
from tests.gpu.device import COMPILE_ONLY, DEVICE, HOPPER, ON_CPU
from tle_raw.errors import MeshError

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (ON_CPU or COMPILE_ONLY or HOPPER), reason="clusters need sm_90"),
]

SIZES = [2, 4, 8]
CLUSTERS = 2 if ON_CPU else 300
WIDTH = 64 if ON_CPU else 512


def same(got, expected):
    assert COMPILE_ONLY or torch.equal(got, expected)


def line(blocks: int):
    return tle.device_mesh({"block_cluster": [("x", blocks)]})


def numbers(shape, dtype):
    if dtype.is_floating_point:
        return torch.randn(shape, device=DEVICE).to(dtype)
    top = min(torch.iinfo(dtype).max, 2**30)
    return torch.randint(-top, top, shape, device=DEVICE).to(dtype)


DTYPES = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
]


@pytest.mark.parametrize("blocks", SIZES)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def test_loads_from_the_neighbour(dtype, blocks):
    x = numbers((CLUSTERS, blocks, WIDTH), dtype)
    o = torch.empty_like(x)
    kernels.next_tile[(CLUSTERS * blocks,)](x, o, mesh=line(blocks), BLOCKS=blocks, N=WIDTH)
    same(o, x.roll(-1, 1))


@pytest.mark.parametrize("blocks", SIZES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8, torch.int64], ids=str)
def test_pointers_into_other_blocks(dtype, blocks):
    x = numbers((CLUSTERS, blocks, WIDTH), dtype)
    o = torch.empty(CLUSTERS, blocks, 2, WIDTH, device=DEVICE, dtype=dtype)
    count = torch.empty(CLUSTERS, blocks, device=DEVICE, dtype=torch.int32)
    kernels.pointed[(CLUSTERS * blocks,)](x, o, count, mesh=line(blocks), BLOCKS=blocks, N=WIDTH)
    masked = x[:, :1].clone()
    masked[..., ::3] = 7
    same(o, torch.stack([x.roll(-1, 1), masked.expand_as(x)], 2))
    wanted = torch.zeros_like(count)
    wanted[:, 0] = blocks * WIDTH
    same(count, wanted)


@pytest.mark.parametrize("blocks", SIZES)
@pytest.mark.parametrize("count", [37, 511])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8, torch.int64], ids=str)
def test_masked_stores_into_the_neighbour(dtype, count, blocks):
    count = min(count, WIDTH - 1)
    x = numbers((CLUSTERS, blocks, WIDTH), dtype)
    o = torch.empty_like(x)
    kernels.shifted[(CLUSTERS * blocks,)](x, o, count, mesh=line(blocks), BLOCKS=blocks, N=WIDTH)
    wanted = torch.full_like(x, 2)
    wanted[..., WIDTH - count :] = x.roll(1, 1)[..., :count].flip(-1)
    same(o, wanted)


@pytest.mark.parametrize("blocks", SIZES)
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.float16], ids=str)
def test_atomics_in_all_blocks(dtype, blocks):
    bins, grid = 64, CLUSTERS * blocks
    x = torch.randint(-3, 4, (grid, WIDTH), device=DEVICE).to(dtype)  # sums are exact in float16, too
    sums = torch.empty(grid, bins, device=DEVICE, dtype=dtype)
    tops = torch.empty(grid, bins, device=DEVICE, dtype=torch.int32)
    tickets = torch.empty(grid, blocks, WIDTH, device=DEVICE, dtype=torch.int32)
    kernels.counted[(grid,)](x, sums, tops, tickets, mesh=line(blocks), BLOCKS=blocks, N=WIDTH, BINS=bins)
    own = x.double().view(CLUSTERS, blocks, WIDTH // bins, bins).sum((1, 2))
    same(sums.double().view(CLUSTERS, blocks, bins), own[:, None].expand(-1, blocks, -1))
    keys = (torch.arange(WIDTH) * 7919 % 1009).to(DEVICE) + torch.arange(grid, device=DEVICE)[:, None]
    highest = keys.view(CLUSTERS, blocks, WIDTH // bins, bins).amax((1, 2))
    same(tops.long().view(CLUSTERS, blocks, bins), highest[:, None].expand(-1, blocks, -1).long())
    # Each ticket of a counter once: nothing was counted twice.
    drawn = tickets.view(CLUSTERS, blocks, blocks, WIDTH).transpose(1, 2).reshape(grid, -1).sort(-1).values
    same(drawn, torch.arange(blocks * WIDTH, device=DEVICE, dtype=torch.int32).expand(grid, -1))


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("rounds", [1, 2, 25])
def test_a_part_of_a_cluster_meets(rounds, row):
    whole = tle.device_mesh({"block_cluster": [("x", 2), ("y", 2)]})
    clusters, n = CLUSTERS, 128
    o = torch.empty(clusters * 4, n, device=DEVICE, dtype=torch.int32)
    kernels.met_in_part[(clusters * 4,)](o, rounds, part=whole[row], whole=whole, ROW=row, N=n)
    value = (torch.arange(n)[None] + torch.arange(clusters * 4)[:, None]).to(DEVICE).long()
    for _ in range(rounds):
        value = (value + 3 * value.view(-1, 2, n).flip(1).reshape(-1, n)) % 10007
    same(o.view(clusters, 2, 2, n)[:, row].long(), value.view(clusters, 2, 2, n)[:, row])


@pytest.mark.parametrize("blocks", SIZES)
@pytest.mark.parametrize("warps", [1, 8])
@pytest.mark.parametrize("rounds", [1, 9])
def test_copies_go_around(rounds, warps, blocks):
    x = torch.randn(CLUSTERS, blocks, 16, 64, device=DEVICE)
    o = torch.empty_like(x)
    kernels.sent_around[(CLUSTERS * blocks,)](
        x, o, rounds, mesh=line(blocks), BLOCKS=blocks, ROWS=16, N=64, num_warps=warps
    )
    same(o, x.roll(rounds, 1) * 2**rounds)


@pytest.mark.parametrize("shape", [(2, 1), (4, 1), (8, 1), (2, 2), (2, 4)])
@pytest.mark.parametrize("steps", [1, 3, 10])
def test_tiles_for_several_blocks(steps, shape):
    down, across = shape
    mesh = tle.device_mesh({"block_cluster": [("x", down), ("y", across)]})
    blocks, clusters = down * across, CLUSTERS // 4 or 1
    x = torch.randn(clusters * steps * 64, 64, device=DEVICE).to(torch.float16)
    o = torch.empty(clusters, blocks, 64, 64, device=DEVICE)
    desc = TensorDescriptor.from_tensor(x, [64 // down, 64])
    kernels.shared_tiles[(clusters * blocks,)](
        desc, o, steps, mesh=mesh, along="x", MEMBERS=down, BLOCKS=blocks, ROWS=64, N=64, SLOTS=2
    )
    weights = torch.arange(1, steps + 1, device=DEVICE).double()
    wanted = (x.double().view(clusters, steps, 64, 64) * weights[:, None, None]).sum(1)
    if not COMPILE_ONLY:
        torch.testing.assert_close(o.double(), wanted[:, None].expand(-1, blocks, -1, -1), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("blocks", SIZES)
@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("rounds", [1, 33])
def test_barriers_of_the_neighbour(rounds, warps, blocks):
    x = torch.randint(0, 1000, (CLUSTERS, blocks, 256), device=DEVICE).float()
    o = torch.empty_like(x)
    kernels.handed_on[(CLUSTERS * blocks,)](x, o, rounds, mesh=line(blocks), BLOCKS=blocks, N=256, num_warps=warps)
    same(o, x.roll(rounds, 1) + rounds)


@pytest.mark.parametrize("blocks", [4, 32, 128])
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_all_blocks_meet(rounds, blocks):
    mesh = tle.device_mesh({"block": blocks})
    for _ in range(3):
        x = torch.randint(0, 1000, (rounds + 1, blocks), device=DEVICE)
        o = torch.empty(blocks, device=DEVICE, dtype=torch.int64)
        wanted = x[0].clone()
        kernels.met_in_grid[(blocks,)](x, o, rounds, mesh=mesh, BLOCKS=blocks)
        for _ in range(rounds):
            wanted = (wanted.sum() + torch.arange(blocks, device=DEVICE)) % 10007
        same(o, wanted.roll(-1))


@pytest.mark.parametrize("leave", [False, True], ids=["meet", "leave"])
@pytest.mark.parametrize("K", [64, 200, 1000])
def test_warps_that_copy_for_two_blocks(K, leave):
    mesh, clusters = tle.device_mesh({"block_cluster": 2}), CLUSTERS
    a, b = torch.randn(clusters * 128, K, device=DEVICE).half(), torch.randn(128, K, device=DEVICE).half()
    c = torch.empty(clusters * 128, 128, device=DEVICE)
    descs = TensorDescriptor.from_tensor(a, [64, 64]), TensorDescriptor.from_tensor(b, [64, 64])
    kernels.matmul_partitions[(clusters * 2,)](*descs, c, K, mesh=mesh, LEAVE=leave)
    if not COMPILE_ONLY:
        torch.testing.assert_close(c.double(), a.double() @ b.double().T, rtol=1e-4, atol=1e-3 * K**0.5)


def test_places_along_axes():
    mesh = tle.device_mesh({"block": 3, "block_cluster": [("x", 2), ("y", 4)]})
    o = torch.empty(48, 3, device=DEVICE, dtype=torch.int32)
    kernels.coordinates[(48,)](o, mesh=mesh, names=("block", "x", "y"), AXES=3)
    number = torch.arange(48, device=DEVICE, dtype=torch.int32)
    same(o, torch.stack((number // 8 % 3, number % 8 // 4, number % 4), 1))


@pytest.mark.skipif(COMPILE_ONLY or ON_CPU, reason="of launches on a GPU")
def test_a_grid_of_no_whole_clusters_is_refused():
    x = torch.randn(6, 512, device=DEVICE)
    with pytest.raises(MeshError, match="whole number of clusters"):
        kernels.next_tile[(6,)](x, torch.empty_like(x), mesh=line(4), BLOCKS=4, N=512)
    with pytest.raises(MeshError, match="all blocks of the launch meet"):
        numbers_ = torch.zeros(2, 8, device=DEVICE, dtype=torch.int64)
        kernels.met_in_grid[(16,)](numbers_, numbers_, 1, mesh=tle.device_mesh({"block": 8}), BLOCKS=8)
    torch.cuda.synchronize()
