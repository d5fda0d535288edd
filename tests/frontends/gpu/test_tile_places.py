"""Where tiles of tensor descriptors begin, and the places that a GPU's copy engine does not take."""

from __future__ import annotations

import pytest
from triton.tools.tensor_descriptor import TensorDescriptor

import tle_raw
from tests.frontends.gpu import place_kernels as kernels
from tests.support import cause_of, compile_kernel
from tle_raw.errors import ArgumentTypeError, KernelFailed

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.every_triton(3)

PLACES = ("row", "column", "to_row", "to_column")
WRONG = {
    "loads between": ((0, 4, 0, 0), "between multiples of 16 bytes"),
    "stores between": ((0, 0, 0, 4), "between multiples of 16 bytes"),
    "stores above": ((0, 0, -2, 0), "from a negative place"),
    "stores to the left": ((0, 0, 0, -8), "from a negative place"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("capability", [90, 80])
def test_constants_are_checked_where_the_copy_engine_copies(case, capability):
    places, expected = WRONG[case]
    types = dict.fromkeys(("x_desc", "o_desc"), "tensordesc<fp16[16, 32]>")
    constants = {"M": 16, "N": 32, **dict(zip(PLACES, places))}
    if capability == 80:
        compile_kernel(kernels.moved, types, constants, capability=80)
        return
    with pytest.raises(Exception) as caught:
        compile_kernel(kernels.moved, types, constants)
    error = cause_of(caught.value)
    assert (
        isinstance(error, ArgumentTypeError)
        and expected in str(error)
        and f"offsets[{0 if 'above' in case else 1}]" in str(error)
    )


def on_cpu(places):
    x, o = torch.randn(40, 64).half(), torch.zeros(40, 64).half()
    descriptors = [TensorDescriptor.from_tensor(each, [16, 32]) for each in (x, o)]
    with tle_raw.knobs.scope() as knobs:
        knobs.target, knobs.debug = "cpu", True
        kernels.moved[(1,)](*descriptors, *places, M=16, N=32)
    return x, o


def test_tiles_go_to_places_that_the_copy_engine_takes():
    """From above and to the left of the array too: those are zeros."""
    x, o = on_cpu((-3, -8, 9, 40))
    expected = torch.zeros_like(x)
    expected[12:25, 48:64] = x[:13, :16]
    assert torch.equal(o, expected)


@pytest.mark.parametrize("case", WRONG)
def test_places_of_run_time_are_checked_by_knobs_debug(case):
    places, expected = WRONG[case]
    with pytest.raises(KernelFailed, match=expected):
        on_cpu(places)
