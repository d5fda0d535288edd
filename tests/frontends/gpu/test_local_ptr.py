"""Pointers into shared buffers on the CPU: the numbers of NumPy, with the checks of ``knobs.debug`` and without."""

import pytest

pytest.importorskip("torch_mlir.ir")
pytest.importorskip("torch")

from tests.frontends.gpu.pointer_checks import ATOMICS, LOADED, Checks
from tests.frontends.gpu.pointer_kernels import LAYOUTS
from tle_raw.knobs import knobs


def each(values, step=4):
    """Every value without checks, and every fourth with them."""
    return [*((False, value) for value in values), *((True, value) for value in values[::step])]


@pytest.fixture(params=[False, True], ids=["plain", "checked"])
def checks(request):
    with knobs.scope():
        knobs.target, knobs.debug = "cpu", request.param
        yield Checks()


@pytest.mark.every_triton(2)
@pytest.mark.parametrize("bins, n", [(16, 1000), (256, 4096), (4096, 1)])
def test_histograms(checks, bins, n):
    checks.histogram(bins, n)


@pytest.mark.every_triton(3)
@pytest.mark.parametrize("checks, layout", each(list(LAYOUTS)), indirect=["checks"])
def test_any_element_of_any_layout(checks, layout):
    checks.any_element(layout, "f32", 64)


@pytest.mark.every_triton(3)
@pytest.mark.parametrize("checks, dtype", each(LOADED), indirect=["checks"])
def test_every_dtype_under_masks(checks, dtype):
    checks.masks(dtype, 64)


def test_rows_that_come_in_runs(checks):
    checks.runs("f16")


@pytest.mark.every_triton(2)
@pytest.mark.parametrize("dtype, size", [("i32", 64), ("f32", 16)])
def test_sums_of_all_beginnings(checks, dtype, size):
    checks.sums_of_beginnings(dtype, size)


def test_views(checks):
    checks.views("f32", 32, plain=True)


@pytest.mark.every_triton(2)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_pointers_are_passed_and_chosen(checks, n):
    checks.passed(n)


@pytest.mark.every_triton(4)
@pytest.mark.parametrize("checks, of", each(ATOMICS, 5), indirect=["checks"])
def test_atomics(checks, of):
    kind, dtype = of
    checks.atomics(kind, dtype, 64, 16)


@pytest.mark.every_triton(2)
@pytest.mark.parametrize("dtype", ["i32", "i64", "f32"])
def test_exchanges_lose_nothing(checks, dtype):
    checks.exchanges(dtype, 64, 16)


def test_one_of_many_swaps(checks):
    checks.swaps("i32", 64, 16)


def test_results_of_atomics_are_places(checks):
    checks.places(128, 16)


@pytest.mark.parametrize("what", ["the buffer", "a pointer", "both"])
@pytest.mark.every_triton(2)
def test_equal_loads_with_a_store_between(checks, what):
    checks.written_between(what)


def test_scalar_atomics(checks):
    checks.scalar_atomics()


def test_freed_memory_and_reductions(checks):
    checks.freed(64)
    checks.reductions(64)


@pytest.mark.every_triton(2)
@pytest.mark.parametrize("how", ["whole", "rectangles", "others"])
def test_products_of_what_pointers_load(checks, how):
    checks.products(how, 32)
