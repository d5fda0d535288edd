"""Programs with local memories on a GPU, where they are shared memory, against float64 and integers."""

import pytest
import torch

from tests.frontends.dsa import numbers
from tests.gpu.device import COMPILE_ONLY, DEVICE, needs_gpu

pytestmark = [
    pytest.mark.gpu,
    needs_gpu,
    pytest.mark.skipif(COMPILE_ONLY, reason="tests/frontends/dsa/test_compiled.py compiles them"),
]
DTYPES = [*numbers.FLOATS, *numbers.INTEGERS]


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_chain_of_arithmetic(dtype):
    numbers.check_chain(dtype, DEVICE)
    numbers.check_chain(dtype, DEVICE, m=130, n=515, block=(32, 64))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_bounds(dtype):
    numbers.check_clamp(dtype, DEVICE)


@pytest.mark.parametrize("kind", ["pipeline", "parallel", "range"])
def test_loops(kind):
    numbers.check_rows(kind, DEVICE)


@pytest.mark.parametrize("at", [0, 5, 8])
def test_views(at):
    numbers.check_parts(DEVICE, at=at)


@pytest.mark.parametrize("row, column", [(0, 0), (3, 1), (9, 15)])
def test_slices(row, column):
    numbers.check_slices(DEVICE, row=row, column=column)


@pytest.mark.parametrize("name", ["flow", "product", "carried"])
def test_programs(name):
    getattr(numbers, f"check_{name}")(DEVICE)
