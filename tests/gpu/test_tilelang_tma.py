"""TileLang regions that load by TMA, with warps that only load: right numbers, alone and among Triton's own code."""

from __future__ import annotations

import pytest
import torch

import tle_raw
from tests.gpu.device import COMPILE_ONLY, DEVICE, check_norm, numbers, poisoned
from tle_raw.errors import LaunchError

pytest.importorskip("tilelang")

from tests.adapters.tilelang.linked import kernels, tma_kernels
from tests.adapters.tilelang.linked import tma_regions as regions

pytestmark = pytest.mark.gpu
on_device = pytest.mark.skipif(COMPILE_ONLY, reason="nothing is launched")


def halves(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).half().to(DEVICE)


def operands(m: int, n: int, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return halves(m, k, seed=m), halves(k, n, seed=n), poisoned(halves(m, n, seed=0))


@pytest.mark.parametrize(
    "tile, threads", [((128, 128, 64), 128), ((128, 256, 64), 256), ((64, 128, 32), 128), ((256, 128, 64), 256)]
)
def test_a_product_by_warps_that_load_and_warps_that_compute(tile, threads):
    a, b, c = operands(512, 768, 320)
    whole = tle_raw.fragment(kernels.gemm(512, 768, 320, tile, threads), route="linked").as_kernel()
    compiled = whole(a, b, c)
    check_norm(c, numbers(a) @ numbers(b), 1e-3)
    assert tle_raw.report(compiled).regions[0].route == "linked, with TMA"


@pytest.mark.parametrize("m, n, k", [(128, 128, 64), (1, 8, 8), (100, 72, 200), (333, 1000, 24)])
def test_sizes_that_are_known_at_the_launch(m, n, k):
    a, b = halves(m, k, seed=1), halves(n, k, seed=2)
    c = poisoned(halves(m, n, seed=3))
    tle_raw.fragment(tma_kernels.dynamic_gemm(), route="linked").as_kernel()(a, b, c)
    check_norm(c, numbers(a) @ numbers(b).T, 1e-3)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    shape = (2, 512, 3, 64)
    q, k, v = (halves(*shape, seed=seed) for seed in (4, 5, 6))
    out = poisoned(q)
    tle_raw.fragment(kernels.attention(2, 3, 512, 64, causal, (128, 64), 256), route="linked").as_kernel()(q, k, v, out)
    query, key, value = (x.double().transpose(1, 2) for x in (q, k, v))
    scores = query @ key.transpose(2, 3) / 8
    if causal:
        scores.masked_fill_(~torch.ones(512, 512, device=q.device).tril().bool(), float("-inf"))
    check_norm(out, numbers((torch.softmax(scores, -1) @ value).transpose(1, 2)), 2e-3)


def test_copies_and_barriers_of_the_users_own():
    a = halves(256, 256, seed=7)
    b = poisoned(a)
    tle_raw.fragment(tma_kernels.explicit_tma(), route="linked").as_kernel()(a, b)
    check_norm(b, 2 * numbers(a), 1e-6)


@pytest.mark.parametrize("programs", [1, 5, 24])
def test_a_tile_goes_on_in_triton_and_the_region_runs_again(programs):
    a, b, _ = operands(regions.M, regions.N, regions.K)
    a *= 0.05
    out = poisoned(torch.empty(regions.M, regions.N, device=DEVICE))
    tma = regions.product.descriptors(a, b)
    regions.persistent_gelu[(programs,)](a, b, out, tma, regions.M // 128, regions.N // 128, regions.N, num_warps=8)
    expected = torch.nn.functional.gelu(a.double() @ b.double())
    check_norm(out, numbers(expected), 2e-3)


@pytest.mark.parametrize("programs", [1, 5, 12])
def test_registers_are_handed_back(programs):
    a, b, c = operands(regions.M, regions.N, regions.K)
    out = poisoned(c.float())
    tma = regions.wide_product.descriptors(a, b, c)
    regions.persistent_squares[(programs,)](
        a, b, c, out, tma, regions.M // 128, regions.N // 256, regions.N, num_warps=16
    )
    product = numbers(a) @ numbers(b)
    check_norm(c, product, 1e-3)
    check_norm(out, product**2, 2e-3)


@pytest.mark.parametrize("m", [128, 200])
def test_copies_see_what_triton_wrote(m):
    n, k = 128, 96
    a, b, c = halves(m, k, seed=8), halves(n, k, seed=9), poisoned(halves(m, n, seed=10))
    twice = poisoned(a)
    tma = regions.any_product.descriptors(twice, b, c)
    regions.doubled_first[(1, -(-m // 128))](a, twice, b, c, m, n, k, tma, 32, num_warps=8)
    check_norm(c, 2 * (numbers(a) @ numbers(b).T), 1e-3)


@on_device
def test_the_same_arrays_have_the_same_descriptors():
    a, b, c = operands(regions.M, regions.N, regions.K)
    first = regions.wide_product.descriptors(a, b, c)
    again, other = regions.wide_product.descriptors(a, b, c), regions.wide_product.descriptors(a.clone(), b, c)
    assert first.data_ptr() == again.data_ptr() != other.data_ptr() and first.data_ptr() % 128 == 0


@on_device
def test_a_graph_holds_descriptors_that_were_made_before():
    a, b, c = operands(512, 768, 320)
    whole = tle_raw.fragment(kernels.gemm(512, 768, 320, (128, 128, 64)), route="linked").as_kernel()
    whole(a, b, c)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        whole(a, b, c)
    a.copy_(halves(512, 320, seed=11))
    graph.replay()
    check_norm(c, numbers(a) @ numbers(b), 1e-3)
    fresh = a.clone()
    with pytest.raises(LaunchError, match="captured"), torch.cuda.graph(torch.cuda.CUDAGraph()):
        whole(fresh, b, c)


@on_device
def test_an_array_that_tma_cannot_copy():
    _, b, c = operands(512, 768, 320)
    a = halves(512 * 320 + 8, seed=12)[1:-7].view(512, 320)
    whole = tle_raw.fragment(kernels.gemm(512, 768, 320, (128, 128, 64)), route="linked").as_kernel()
    with pytest.raises(LaunchError, match="array of `A`"):
        whole(a, b, c)
