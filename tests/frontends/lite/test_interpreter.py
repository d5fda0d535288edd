"""TLE-Lite in Triton's interpreter gives the numbers of a compiled kernel."""

from pathlib import Path

import pytest

from tests.interpreting import interpret, names_of
from tests.support import chosen_names

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def said(request):
    return interpret("tests.frontends.lite.interpreted_kernels", chosen_names(request))


@pytest.mark.parametrize("name", names_of(Path(__file__).with_name("interpreted_kernels.py")))
def test_interpreted(said, name):
    assert f"ok {name}\n" in said, said[-3000:]
