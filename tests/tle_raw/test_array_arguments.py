"""``tle_raw.array``: an array with its sizes and strides, as one launch argument."""

from __future__ import annotations

import numpy as np
import pytest

import tle_raw
from tle_raw.errors import ArgumentTypeError


def test_sizes_and_strides_in_elements():
    values = np.zeros((6, 8), "f8")[::2, 1:]
    assert tle_raw.array(values)[1:] == ((3, 7), (16, 1))
    torch = pytest.importorskip("torch")
    assert tle_raw.array(torch.zeros(4, 5, dtype=torch.bfloat16).T)[1:] == ((5, 4), (1, 5))


@pytest.mark.parametrize("value", [3, "x", [1, 2], None])
def test_what_is_no_array(value):
    with pytest.raises(ArgumentTypeError, match="takes an array"):
        tle_raw.array(value)


def test_strides_between_elements():
    fields = np.zeros(4, dtype=[("a", "i1"), ("b", "f4")])["b"]
    with pytest.raises(ArgumentTypeError, match="whole numbers"):
        tle_raw.array(fields)
