"""TLE-Struct in Triton's interpreter: buffers are arrays."""

from pathlib import Path

import pytest

from tests.interpreting import interpret, names_of
from tests.support import chosen_names

pytest.importorskip("torch")

MODULES = (
    "interpreted_kernels",
    "interpreted_pointers",
    "interpreted_partitions",
    "interpreted_region_partitions",
    "interpreted_pipes",
)
TESTS = [(module, name) for module in MODULES for name in names_of(Path(__file__).with_name(f"{module}.py"))]


@pytest.fixture(scope="module")
def said(request):
    """By module: a process for each."""
    chosen = chosen_names(request)
    found = {}
    for module in MODULES:
        names = [name for of_module, name in TESTS if of_module == module and name in chosen]
        found[module] = interpret(f"tests.frontends.gpu.{module}", names)
    return found


@pytest.mark.parametrize("module, name", TESTS)
@pytest.mark.every_triton(16)
def test_interpreted(said, module, name):
    assert f"ok {name}\n" in said[module], said[module][-3000:]
