"""``tle.dsa`` in Triton's interpreter: buffers are arrays."""

from pathlib import Path

import pytest

from tests.interpreting import interpret, names_of
from tests.support import chosen_names

pytest.importorskip("torch")

MODULE = "interpreted_kernels"
NAMES = names_of(Path(__file__).with_name(f"{MODULE}.py"))


@pytest.fixture(scope="module")
def said(request):
    return interpret(f"tests.frontends.dsa.{MODULE}", chosen_names(request))


@pytest.mark.every_triton(4)
@pytest.mark.parametrize("name", NAMES)
def test_interpreted(said, name):
    assert f"ok {name}\n" in said, said[-3000:]
