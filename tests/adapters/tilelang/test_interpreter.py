"""TileLang regions in Triton's interpreter; the kernels stand in interpreted.py."""

from pathlib import Path

import pytest

from tests.interpreting import interpret, names_of
from tests.support import chosen_names

pytestmark = pytest.mark.every_triton(2)


@pytest.fixture(scope="module")
def output(request):
    return interpret("tests.adapters.tilelang.interpreted", chosen_names(request))


@pytest.mark.parametrize("name", names_of(Path(__file__).with_name("interpreted.py")))
def test_interpreted(output, name):
    assert f"ok {name}\n" in output, output[-3000:]
