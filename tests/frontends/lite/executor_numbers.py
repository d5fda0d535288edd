"""Launches of the kernels whose loops have several executors, against float64: on any device."""

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.frontends.lite import executor_kernels as kernels

SEED = 20261124


def close(got, expected, share=1e-3):
    difference = (got.double() - expected).abs().max().item() if expected.numel() else 0.0
    assert difference <= share * max(1.0, expected.abs().max().item() if expected.numel() else 0.0), difference


def product(device, sizes, slots, split=True, blocks=(64, 64, 32), warps=4):
    M, N, K = sizes
    generator = torch.Generator().manual_seed(SEED)
    a = torch.randn(M, max(K, 1), generator=generator).half().to(device)
    b = torch.randn(max(K, 1), N, generator=generator).half().to(device)
    c = torch.full((M, N), float("nan"), device=device)
    grid = (-(-M // blocks[0]), -(-N // blocks[1]))
    kernels.product[grid](
        a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0), *blocks, slots, split, num_warps=warps
    )  # fmt: skip
    return c, a[:, :K].double() @ b[:K].double()


def product_of_tiles(device, sizes, slots, programs, blocks=(64, 64, 32), warps=4):
    M, N, K = sizes
    generator = torch.Generator().manual_seed(SEED)
    a = torch.randn(M, K, generator=generator).to(torch.bfloat16).to(device)
    b = torch.randn(N, K, generator=generator).to(torch.bfloat16).to(device)
    c = torch.full((M, N), float("nan"), device=device)
    tiles = (
        TensorDescriptor.from_tensor(a, [blocks[0], blocks[2]]),
        TensorDescriptor.from_tensor(b, [blocks[1], blocks[2]]),
    )
    kernels.product_of_tiles[(programs,)](*tiles, c, M, N, K, c.stride(0), *blocks, slots, warps, num_warps=warps)
    return c, a.double() @ b.double().T


def gathered(device, rows, slots, block=128):
    generator = torch.Generator().manual_seed(SEED)
    x = torch.randn(50, block, generator=generator).to(device)
    index = torch.randint(0, 50, (max(rows, 1),), generator=generator).int().to(device)
    scale = torch.randn(max(rows, 1), generator=generator).to(device)
    o = torch.full((max(rows, 1), block), float("nan"), device=device)
    total = torch.full((block,), float("nan"), device=device)
    kernels.gathered[(1,)](x, index, scale, o, total, rows, block, slots, num_warps=4)
    taken = x.double()[index.long()[:rows]] * scale.double()[:rows, None]
    hits = torch.zeros(block, dtype=torch.float64, device=device)
    for at in index[:rows].tolist():
        hits[at] += 1
    return (o[:rows], total), (taken, taken.sum(0) + hits)


def dequantised(device, K, rows=64, columns=64, step=32):
    generator = torch.Generator().manual_seed(SEED)
    q = torch.randint(-128, 128, (rows, K), generator=generator).to(torch.int8).to(device)
    scale = (torch.rand(rows, generator=generator) / 64).to(device)
    b = torch.randn(K, columns, generator=generator).half().to(device)
    c = torch.full((rows, columns), float("nan"), device=device)
    kernels.dequantised[(1,)](q, scale, b, c, K, rows, columns, step, num_warps=4)
    a = (q.float() * scale[:, None]).half().double()
    last = a[:, K - step :].sum(1, keepdim=True)  # the sum of all differences
    return c, a @ b.double() + last


def rows_less_their_maxima(kernel, device, rows, slots, block=128):
    x = torch.randn(max(rows, 1), block, generator=torch.Generator().manual_seed(SEED)).to(device)
    o = torch.full_like(x, float("nan"))
    kernel[(1,)](x, o, rows, block, slots, num_warps=4)
    return o[:rows], (x.double() - x.double().amax(1, keepdim=True))[:rows]


def attention(device, n, slots, block=64, depth=64, warps=4):
    generator = torch.Generator().manual_seed(SEED)
    q, k, v = (torch.randn(n, depth, generator=generator).half().to(device) for _ in range(3))
    o = torch.full((n, depth), float("nan"), device=device)
    kernels.attention[(n // block,)](q, k, v, o, n, depth**-0.5, block, depth, slots, num_warps=warps)
    weights = torch.softmax(q.double() @ k.double().T * depth**-0.5, 1)
    return o, weights @ v.double()


def chained(device, rows, n=50, block=64):
    generator = torch.Generator().manual_seed(SEED)
    x, y = (torch.randn(max(rows, 1), block, generator=generator).to(device) for _ in range(2))
    o = torch.full((block,), float("nan"), device=device)
    kernels.chained[(1,)](x, y, o, rows, n, block, num_warps=4)
    masked = torch.where(torch.arange(block, device=device) < n, x.double(), -3.0)[:rows]
    total, lasts = masked.sum(0), y.double()[:rows] + 3
    last = lasts[-1] if rows else torch.zeros(block, dtype=torch.float64, device=device)
    return o, 2 * total + lasts.sum(0) * total + 10 * last
