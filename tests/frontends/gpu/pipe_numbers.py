"""What kernels with pipes compute, against float64: by the interpreter, on CPUs and on GPUs.

Each function launches on tensors of a device and gives pairs of what came and what should have come.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.frontends.gpu import pipe_kernels as kernels

Pairs = Iterator[tuple[torch.Tensor, torch.Tensor]]


def unwritten(*shape: int, device: str = "cpu") -> torch.Tensor:
    return torch.full(shape, float("nan"), device=device)


def rows(n: int, block: int, cut: int, device: str) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Elements of n rows, the last of which is cut, and what they are less the rows' largest element."""
    x = torch.randn(max(n, 1) * block, device=device)
    whole = x.double().view(-1, block)[:n].clone()
    if cut and n:
        whole[-1, -cut:] = 0
    less = whole - whole.amax(1, keepdim=True) if n else whole
    return x, less, max(n, 1) * block - cut


def one_loop(device: str, how: str, slots: int, n: int, block: int = 128, cut: int = 0, **options) -> Pairs:
    x, less, size = rows(n, block, cut, device)
    o = unwritten(max(n, 1) * block, device=device)
    kernels.one_loop[(1,)](x, o, n, size, block, slots, how, **options)
    yield o[: n * block].view(n, block), less


def by_cursor(device: str, slots: int, n: int, block: int = 64, **options) -> Pairs:
    x = torch.randn(max(n, 1), block, device=device)
    o = unwritten(max(n, 1), block, device=device)
    kernels.by_cursor[(1,)](x, o, n, block, slots, **options)
    yield o[:n], 2 * x.double()[:n] + (torch.arange(n, device=device) % slots)[:, None]


def one_behind(device: str, slots: int, n: int, block: int = 64, **options) -> Pairs:
    x = torch.randn(max(n, 1), block, device=device)
    o = torch.zeros_like(x)
    kernels.one_behind[(1,)](x, o, n, block, slots, **options)
    yield o[:n], x.double()[:n] + 1


def by_pointers(device: str, slots: int, n: int, block: int = 64, **options) -> Pairs:
    x = torch.randn(n, block, device=device)
    o = unwritten(n, block, device=device)
    kernels.by_pointers[(1,)](x, o, n, block, slots, **options)
    yield o, torch.cat([x[:1], x[1:].flip(1)]).double()


def by_fragment(device: str, slots: int, n: int, height: int = 16, width: int = 32, **options) -> Pairs:
    x = torch.randn(max(n, 1), height, width, device=device)
    o = torch.zeros_like(x)
    kernels.by_fragment[(1,)](x, o, n, height, width, slots, **options)
    yield o[:n], 3 * x.double()[:n]


def two_readers_in_turn(device: str, slots: int, n: int, block: int = 64, **options) -> Pairs:
    x = torch.randn(max(n, 1), block, device=device)
    o = unwritten(max(n, 1), block, device=device)
    kernels.two_readers_in_turn[(1,)](x, o, n, block, slots, **options)
    yield o[:n], (x.double()[:n] + torch.arange(n, device=device)[:, None]) * x.double()[:n]


def once(device: str, slots: int, block: int = 64, **options) -> Pairs:
    x, o = torch.randn(slots, block, device=device), unwritten(slots, block, device=device)
    kernels.once[(1,)](x, o, block, slots, **options)
    yield o, 3 * x.double()


def tiles_by_descriptor(device: str, slots: int, n: int, height: int = 16, width: int = 32, **options) -> Pairs:
    x = torch.randn(max(n, 1), height, width, device=device)
    o = unwritten(height, width, device=device)
    kernels.tiles_by_descriptor[(1,)](x, o, n, height, width, slots, **options)
    factors = torch.arange(1, n + 1, device=device).double()[:, None, None]
    yield o, (x.double()[:n] * factors).sum(0)


def gemm(device: str, k: int, slots: int, ahead: int, producers: int, tile=(128, 128, 64), **options) -> Pairs:
    height, width, depth = tile
    a = torch.randn(2 * height, max(k, 1) * depth, device=device).to(torch.float16)
    b = torch.randn(3 * width, max(k, 1) * depth, device=device).to(torch.float16)
    c = unwritten(2 * height, 3 * width, device=device)
    tiles = TensorDescriptor.from_tensor(a, [height, depth]), TensorDescriptor.from_tensor(b, [width, depth])
    kernels.gemm[(2, 3)](*tiles, c, k, height, width, depth, slots, ahead, producers, **options)
    yield c, a.double() @ b.double().T if k else torch.zeros_like(c).double()


def gemm_by_pointers(device: str, k: int, slots: int, producers: int, how: str, side: int = 64, **options) -> Pairs:
    a, b = (torch.randn(side, max(k, 1) * 64, device=device).to(torch.float16) for _ in range(2))
    c = unwritten(side, side, device=device)
    kernels.gemm_by_pointers[(1,)](a, b, c, k, side, 64, slots, producers, how, **options)
    yield c, a.double() @ b.double().T if k else torch.zeros_like(c).double()


def rows_to_two(device: str, how: str, slots: int, n: int, workers: tuple[int, int], block=256, **options) -> Pairs:
    x, less, _ = rows(n, block, 0, device)
    o, p = (unwritten(max(n, 1) * block, device=device) for _ in range(2))
    kernels.rows_to_two[(1,)](x, o, p, n, block, slots, *workers, how, **options)
    yield o[: n * block].view(n, block), less
    yield p[: n * block].view(n, block), 2 * less


def mixed(device: str, slots: int, n: int, producers: int, height: int = 32, width: int = 32, **options) -> Pairs:
    x, s = torch.randn(max(n, 1) * height, width, device=device), torch.randn(max(n, 1), width, device=device)
    o = unwritten(height, width, device=device)
    kernels.mixed[(1,)](
        TensorDescriptor.from_tensor(x, [height, width]), s, o, n, height, width, slots, producers, **options
    )
    tiles = x.double().view(-1, height, width)[:n] * s.double()[:n, None, :]
    yield o, tiles.sum(0) + sum(range(n))


def once_across(device: str, slots: int, producers: int, block: int = 256, **options) -> Pairs:
    x, o = torch.randn(slots, block, device=device), unwritten(slots, block, device=device)
    kernels.once_across[(1,)](x, o, block, slots, producers, **options)
    yield o, 3 * x.double()


def check(pairs: Pairs, share: float = 1e-5) -> None:
    """Differences count against the largest element."""
    for got, expected in pairs:
        assert got.shape == expected.shape
        if expected.numel():
            scale = max(expected.abs().max().item(), 1.0)
            difference = (got.double() - expected).abs().max().item()
            assert difference <= share * scale, difference
