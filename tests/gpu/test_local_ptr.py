"""Pointers into shared buffers: loads, stores and atomics by any index, against NumPy."""

from __future__ import annotations

import pytest

from tests.frontends.gpu.pointer_checks import ATOMICS, LOADED, Checks
from tests.frontends.gpu.pointer_kernels import LAYOUTS
from tests.gpu.device import COMPILE_ONLY, DEVICE, ON_CPU

pytestmark = pytest.mark.gpu


def checks(warps=4):
    return Checks(DEVICE, compares=not COMPILE_ONLY, num_warps=warps)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("n", [1, 1000, 4096])
@pytest.mark.parametrize("bins", [16, 256, 4096])
def test_histograms(bins, n, warps):
    checks(warps).histogram(bins, n)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["i8", "f16", "f32"])
def test_any_element_of_any_layout(layout, dtype):
    checks().any_element(layout, dtype)


@pytest.mark.parametrize("dtype", LOADED)
@pytest.mark.parametrize("size", [16, 1024])
@pytest.mark.parametrize("warps", [1, 8])
def test_every_dtype_under_masks(dtype, size, warps):
    checks(warps).masks(dtype, size)


@pytest.mark.parametrize("dtype", ["i8", "f16", "f32", "f64"])
def test_rows_that_come_in_runs(dtype):
    checks().runs(dtype)


@pytest.mark.parametrize("dtype", ["i32", "f32"])
@pytest.mark.parametrize("size", [32, 1024])
@pytest.mark.parametrize("warps", [1, 4, 16])
def test_sums_of_all_beginnings(dtype, size, warps):
    checks(warps).sums_of_beginnings(dtype, size)


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("size, plain", [(32, True), (64, True), (128, False)])
def test_views(dtype, size, plain):
    checks().views(dtype, size, plain)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("warps", [1, 4])
def test_pointers_are_passed_and_chosen(n, warps):
    checks(warps).passed(n)


@pytest.mark.parametrize("size, elements", [(1024, 16), (1024, 512), (16, 4)])
@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("kind, dtype", ATOMICS)
def test_atomics(kind, dtype, warps, size, elements):
    """Also of fewer elements than there are threads: none is done twice."""
    checks(warps).atomics(kind, dtype, size, elements)


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("dtype", ["i32", "i64", "f32"])
def test_exchanges_lose_nothing(dtype, warps):
    checks(warps).exchanges(dtype)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_one_of_many_swaps(dtype, warps):
    checks(warps).swaps(dtype)


@pytest.mark.parametrize("size, groups", [(16, 4), (512, 16), (4096, 64)])
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_results_of_atomics_are_places(size, groups, warps):
    checks(warps).places(size, groups)


@pytest.mark.parametrize("what", ["the buffer", "a pointer", "both"])
def test_equal_loads_with_a_store_between(what):
    checks().written_between(what)


@pytest.mark.parametrize("warps", [1, 8])
def test_scalar_atomics_are_done_once(warps):
    checks(warps).scalar_atomics()


@pytest.mark.parametrize("size", [64, 1024])
def test_freed_memory_is_used_again(size):
    checks().freed(size)


@pytest.mark.parametrize("size", [64, 1024])
@pytest.mark.parametrize("warps", [1, 4])
def test_reductions_between_accesses(size, warps):
    checks(warps).reductions(size)


@pytest.mark.skipif(ON_CPU, reason="the same code runs there in one order")
def test_many_blocks_many_times():
    """A race shows now and then."""
    checks(8).many_blocks(3 if COMPILE_ONLY else 200)
