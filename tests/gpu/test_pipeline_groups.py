"""Loops whose groups run in stages, against float64: products, a load that needs another one, attention, many runs."""

from __future__ import annotations

import pytest
import torch
import triton

from tests.frontends.lite import pipeline_kernels as kernels
from tests.frontends.lite import test_range_with_others as others
from tests.gpu.device import COMPILE_ONLY, DEVICE, ON_CPU, TIMES, check_close, check_norm, numbers, poisoned, random

pytestmark = pytest.mark.gpu

STAGES = [(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 0, 2), (0, 1, 3), (0, 0, 4)]


def product(a, b, stages, orders=(0, 1, 2), block=64, **options):
    (m, k), n = a.shape, b.shape[1]
    o = poisoned(torch.empty(m, n, device=DEVICE))
    grid = (triton.cdiv(m, block), triton.cdiv(n, block))
    kernels.product[grid](a, b, o, m, n, k, B=block, STAGES=stages, ORDERS=orders, **options)
    return o


@pytest.mark.parametrize("size", [(1, 1, 1), (64, 64, 64), (129, 96, 333), (512, 256, 1024)])
@pytest.mark.parametrize("stages", STAGES)
def test_products(stages, size):
    m, n, k = size
    a, b = random("f16", (m, k), 1), random("f16", (k, n), 2)
    check_norm(product(a, b, stages), numbers(a) @ numbers(b), 1e-5)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("dtype, most", [("f32", 2e-3), ("bf16", 1e-5), ("f16", 1e-5)])
def test_products_of_every_dtype(dtype, most, warps):
    a, b = random(dtype, (160, 224), 1), random(dtype, (224, 96), 2)
    for orders in ((0, 1, 2), (1, 0, 2)):
        check_norm(product(a, b, (0, 0, 2), orders, block=32, num_warps=warps), numbers(a) @ numbers(b), most)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 40])
@pytest.mark.parametrize("stages", [(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 2), (0, 2, 4), (0, 1, 4)])
def test_a_load_that_needs_another(stages, rows, is_async):
    x, width = random("f32", (5000,), 1), 3001
    index = torch.randint(0, 5000, (rows, width), dtype=torch.int32, device=DEVICE)
    o = poisoned(torch.empty(rows, width, device=DEVICE))
    grid = (triton.cdiv(width, 512),)
    kernels.gathered[grid](x, index, o, rows, width, B=512, STAGES=stages, ASYNC=is_async)
    check_close(o, numbers(x)[index.cpu().numpy()].cumsum(0), 1e-4, 1e-4)


@pytest.mark.parametrize("blocks", [1, 2, 3, 16])
@pytest.mark.parametrize("stages", [(0, 0, 0, 0), (0, 0, 1, 1), (0, 0, 1, 2), (0, 1, 2, 4), (0, 0, 2, 3)])
def test_products_in_two_stages(stages, blocks):
    q, kv = random("f16", (64, 64), 1), random("f16", (2 * blocks, 64, 64), 2)
    o = poisoned(torch.empty(64, 64, device=DEVICE))
    kernels.attention[(1,)](q, kv, o, blocks, B=64, STAGES=stages)
    keys, values = kv[:blocks].double().reshape(-1, 64), kv[blocks:].double().reshape(-1, 64)
    check_close(o, numbers(torch.softmax(q.double() @ keys.T, 1) @ values), 2e-2, 2e-2)


@pytest.mark.skipif(ON_CPU, reason="TMA is a GPU's")
@pytest.mark.parametrize("stages", [(0, 1), (0, 2), (0, 3)])
def test_descriptors(stages):
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=DEVICE))
    x = random("f16", (9, 64, 64))
    o = poisoned(torch.empty(64, 64, device=DEVICE))
    kernels.by_descriptor[(1,)](x, o, 9, B=64, STAGES=stages)
    wide = x.double()
    check_norm(o, numbers((wide @ wide.transpose(1, 2)).sum(0)), 1e-5)


@pytest.mark.parametrize("stages", [(0, 1), (0, 2)])
@pytest.mark.parametrize("name", ["unrolled", "inner", "outer", "twice"])
def test_loops_of_every_kind(name, stages):
    x = random("f32", (9, 1024))
    wide, rows = numbers(x), {"inner": 12, "outer": 9}.get(name, 1)
    o = poisoned(torch.empty(rows, 1024, device=DEVICE))
    constants = {} if name == "twice" else {"STAGES": stages}
    getattr(kernels, name)[(1,)](x, o, 9, B=1024, **constants)
    if name == "unrolled":
        expected = (wide * numbers(torch.arange(9))[:, None]).sum(0)[None]
    elif name == "twice":
        expected = 2 * wide.sum(0)[None]
    elif name == "outer":
        expected = wide.cumsum(0)
    else:
        values = wide.copy()
        values[1::2] = 1
        sums = [values[4:].sum(0) - wide[turn:4].sum(0) for turn in range(3)]
        expected = numbers(torch.tensor([*map(list, sums), *map(list, values)], dtype=torch.float64))
    check_close(o, expected, 1e-4, 1e-4)


@pytest.mark.parametrize("rows", [1, 2, 3, 30])
@pytest.mark.parametrize("stages", [(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 2), (0, 2, 3)])
def test_a_region_that_produces(stages, rows):
    x = random("f32", (rows, 1024))
    o = poisoned(x)
    others.producer[(1,)](x, o, rows, B=1024, STAGES=stages)
    doubled = 2 * numbers(x)
    turned = doubled[:, ::-1]
    check_close(o, ((turned + doubled) * turned).cumsum(0), 1e-3, 1e-3)


def test_regions_in_the_last_stage():
    x = random("f32", (30, 1024))
    o = poisoned(x)
    others.regions[(1,)](x, o, 30, B=1024)
    turned = numbers(x)[:, ::-1]
    check_close(o, (turned * numbers(torch.arange(30))[:, None] + turned * turned).cumsum(0), 1e-3, 1e-2)


def test_every_run_gives_the_same_bits():
    """A ring that is too small, or a wait too short, shows now and then."""
    a, b = random("f16", (256, 2048), 1), random("f16", (2048, 256), 2)
    first = product(a, b, (0, 1, 3))
    for _ in range(TIMES):
        assert COMPILE_ONLY or torch.equal(product(a, b, (0, 1, 3)), first)
