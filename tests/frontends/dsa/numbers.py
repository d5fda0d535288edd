"""What the programs of ``kernels`` compute, in float64 or integers: on the CPU, a GPU and in Triton's interpreter."""

from __future__ import annotations

import torch

from tests.frontends.dsa import kernels

FLOATS = (torch.float16, torch.bfloat16, torch.float32)
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)
CLOSE = {torch.float16: 4e-3, torch.bfloat16: 4e-2, torch.float32: 1e-5}


def close(result, exact, dtype=torch.float32):
    """As near as the dtype's rounding leaves it, for numbers of about 1."""
    scale = exact.abs().clamp(min=1)
    assert ((result.double() - exact).abs() / scale).max() <= CLOSE[dtype], (result.double() - exact).abs().max()


def check_chain(dtype, device="cpu", m=45, n=107, block=(16, 32)):
    is_float = dtype.is_floating_point
    x = torch.rand(m, n).to(dtype) if is_float else torch.randint(0, 5, (m, n), dtype=dtype)
    y = (torch.rand(m, n) + 1).to(dtype) if is_float else torch.randint(1, 6, (m, n), dtype=dtype)
    out = torch.full((m + 1, n), 7, dtype=dtype, device=device)
    grid = (-(-m // block[0]), -(-n // block[1]))
    kernels.chain[grid](x.to(device), y.to(device), out, m, n, n, XB=block[0], YB=block[1])
    out = out.cpu()
    assert (out[m] == 7).all()
    if is_float:
        a, b = x.double(), y.double()
        close(out[:m], ((a + b) * b - a) / b, dtype)
    else:
        assert torch.equal(out[:m], torch.div((x + y) * y - x, y, rounding_mode="trunc"))


def check_clamp(dtype, device="cpu", n=1001):
    x, low, high = ((torch.randn(n) * 10 + shift).to(dtype) for shift in (0, -5, 5))
    out = torch.zeros(n + 1, dtype=dtype, device=device)
    kernels.clamp[(-(-n // 128),)](x.to(device), low.to(device), high.to(device), out, n, B=128)
    assert torch.equal(out[:n].cpu(), torch.minimum(torch.maximum(x, low), high)) and out[n] == 0


def check_flow(device="cpu", n=777):
    x = torch.randn(n)
    out = torch.zeros(n + 1, device=device)
    kernels.flow[(-(-n // 256),)](x.to(device), out, n, B=256)
    close(out[:n].cpu(), x.double().exp() * 0.5 + x.double())
    assert out[n] == 0


def check_rows(kind, device="cpu", m=19, n=57):
    x = torch.randn(m, n)
    out = torch.zeros(64, device=device)
    kernels.rows[(1,)](x.to(device), out, m, n, n, KIND=kind, B=64)
    close(out[:n].cpu(), x.double().sum(0))
    assert (out[n:] == 0).all()


def check_parts(device="cpu", size=16, at=5):
    x = torch.randn(size, size)
    out = torch.zeros(size, size, device=device)
    kernels.parts[(1,)](x.to(device), out, at, B=size)
    exact = x.clone()
    half = size // 2
    exact[0::2, :half] *= x[1::2, at : at + half]
    exact[1::2, at + 1 : at + half : 2] = 0
    assert torch.equal(out.cpu(), exact)


def check_slices(device="cpu", size=16, row=3, column=1):
    x = torch.randn(size, size)
    out, element = torch.zeros(size, size, device=device), torch.zeros(1, device=device)
    kernels.slices[(1,)](x.to(device), out, element, row, column, B=size)
    exact = x.clone()
    part = x[row : row + size // 2 : 2, 1 : 1 + size // 2]
    exact[: size // 4, column : column + size : 2] = part[:, : len(range(column, size, 2))]
    assert torch.equal(out.cpu(), exact) and element.item() == exact[row, column]


def check_product(device="cpu", m=32, n=64, k=16):
    a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
    out = torch.zeros(m, n, device=device)
    kernels.product[(1,)](a.to(device), b.to(device), out, M=m, N=n, K=k, ON_GPU=device != "cpu")
    close(out.cpu(), a.double() @ b.double())


def check_carried(device="cpu", n=50, steps=5):
    x = torch.rand(n)
    out = torch.zeros(64, device=device)
    kernels.carried[(1,)](x.to(device), out, n, steps, B=64)
    one, two = x.double(), torch.ones(n).double()
    for _ in range(steps):
        one, two = one + two, one * 2
    close(out[:n].cpu(), one)
    assert (out[n:] == 0).all()
