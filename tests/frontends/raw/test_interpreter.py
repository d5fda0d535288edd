"""Regions that meet the kernel's barriers and descriptors, in Triton's interpreter."""

from pathlib import Path

import pytest

from tests.interpreting import interpret, names_of
from tests.support import chosen_names

pytest.importorskip("torch")
pytest.importorskip("tilelang")

TESTS = names_of(Path(__file__).with_name("interpreted_meetings.py"))


@pytest.fixture(scope="module")
def said(request):
    return interpret("tests.frontends.raw.interpreted_meetings", [n for n in TESTS if n in chosen_names(request)])


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.every_triton(3)
def test_interpreted(said, name):
    assert f"ok {name}\n" in said, said[-3000:]
