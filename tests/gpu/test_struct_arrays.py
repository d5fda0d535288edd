"""Arrays in structs by value, read from the kernel's parameters at indices of run time."""

import pytest
import torch

from tests.adapters.cuda.test_struct_arrays import CASES, TYPES, check_type

pytestmark = pytest.mark.gpu


def put(array):
    return torch.from_numpy(array.copy()).cuda()


@pytest.mark.parametrize("type_", TYPES)
def test_an_array_of_each_type(type_):
    check_type(put, type_)


@pytest.mark.parametrize("case", CASES)
def test_arrays_beside_others(case):
    CASES[case](put)
