"""Programs with local memories on the CPU, whole and with the checks of ``knobs.debug``, and in the interpreter."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("torch_mlir")
pytest.importorskip("llvmlite")

import torch

import tle_raw
from tests.frontends.dsa import numbers


@pytest.fixture(autouse=True)
def on_the_cpu():
    torch.manual_seed(0)
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        yield


@pytest.mark.every_triton(3)
@pytest.mark.parametrize("dtype", [*numbers.FLOATS, *numbers.INTEGERS], ids=str)
def test_a_chain_of_arithmetic(dtype):
    numbers.check_chain(dtype)


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("dtype", [*numbers.FLOATS, *numbers.INTEGERS], ids=str)
def test_bounds(dtype):
    numbers.check_clamp(dtype)


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("kind", ["pipeline", "parallel", "range"])
def test_loops(kind):
    numbers.check_rows(kind)


@pytest.mark.every_triton(9)
@pytest.mark.parametrize("name", ["flow", "parts", "slices", "product", "carried"])
def test_programs(name):
    getattr(numbers, f"check_{name}")()


@pytest.mark.every_triton(1)
@pytest.mark.parametrize("name", ["flow", "parts", "product", "carried"])
def test_programs_under_checks(name):
    tle_raw.knobs.debug = True
    getattr(numbers, f"check_{name}")()
    numbers.check_chain(torch.float32, m=9, n=21)
