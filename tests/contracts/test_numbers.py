"""Tiles, scalars, elements, pointers and several results cross into every dialect and back."""

import pytest

from tests.contracts.running import check_numbers, pairs, ran

pytestmark = pytest.mark.every_triton(9)


@pytest.mark.parametrize("name, subject", pairs())
def test_a_subject_crosses_and_comes_back(name, subject):
    check_numbers(subject, ran(name, subject)[1])
